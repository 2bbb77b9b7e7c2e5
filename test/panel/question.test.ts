import { describe, expect, test } from '@jest/globals';
import { assertionsIn, differenceOf, questionOf } from '../../panel/src/places/ask/assertions.ts';
import { adminGiven, overrideGiven, roleGiven } from '../../panel/src/places/ask/given.ts';
import {
  bodyOf,
  caseOf,
  commandOf,
  DEMO_QUESTION,
  isComplete,
  NO_QUESTION,
  type Question,
  queryOf,
  type TestCase,
  testFileOf,
  type Verdict,
} from '../../panel/src/places/ask/question.ts';
import { readTests } from '../../src/policy-tests/files.ts';

const MANIFEST = 'application: { code: atelier, name: Atelier }\n';
const DENIED: Verdict = { allowed: false, accessLevel: null, source: 'override' };

/** What `usher test` makes of a file. */
async function readBack(tests: readonly TestCase[]): Promise<readonly TestCase[]> {
  const texts = new Map([
    ['atelier.test.yaml', testFileOf('atelier.yaml', tests)],
    ['atelier.yaml', MANIFEST],
  ]);
  const read = async (name: string) => texts.get(name) ?? '';
  const { cases } = await readTests('atelier.test.yaml', { read, relative: (_, to) => to });
  return cases as readonly TestCase[];
}

describe('a question of the bench', () => {
  test('is whole with a person, a permission, an application, and a record or none', () => {
    expect(isComplete(DEMO_QUESTION)).toBe(true);
    expect(isComplete({ ...DEMO_QUESTION, resourceType: '', resourceId: '' })).toBe(true);
    expect(isComplete({ ...DEMO_QUESTION, resourceId: '' })).toBe(false);
    expect(isComplete({ ...DEMO_QUESTION, email: ' ' })).toBe(false);
    expect(isComplete(NO_QUESTION)).toBe(false);
  });

  test('is sent without what it does not give', () => {
    expect(bodyOf({ ...DEMO_QUESTION, resourceType: '', resourceId: '', email: ' a@b.example ' })).toEqual({
      email: 'a@b.example',
      permission: 'project.access',
    });
    expect(bodyOf({ ...DEMO_QUESTION, level: 'edit' })).toMatchObject({ accessLevel: 'edit', resourceId: '1042' });
    expect(queryOf({ ...NO_QUESTION, email: 'a+b@c.example' })).toBe('email=a%2Bb%40c.example');
  });

  test('is a command that a shell takes as it stands', () => {
    expect(commandOf('explain', { ...DEMO_QUESTION, level: 'view' })).toBe(
      'usher explain clara@example.com atelier project.access --resource project:1042 --level view',
    );
    const hostile = { ...DEMO_QUESTION, resourceId: `'; rm -rf / #` };
    expect(commandOf('check', hostile)).toContain(`--resource 'project:'\\''; rm -rf / #'`);
  });

  test('becomes a case that usher test reads, with every character', async () => {
    const strange = [
      '1042',
      'a:b',
      '"quoted" \\ and\ttab',
      'true',
      '# no comment',
      '- item',
      'ščř 🎭 שלום',
      '<script>',
    ];
    const questions: Question[] = strange.map((resourceId) => ({ ...DEMO_QUESTION, resourceId }));
    const cases = [
      ...questions.map((question) => caseOf(question, DENIED)),
      caseOf({ ...DEMO_QUESTION, level: 'edit' }, { allowed: true, accessLevel: 'edit', source: 'role' }),
      caseOf(DEMO_QUESTION, { allowed: true, accessLevel: 'view', source: 'superadmin' }),
      caseOf(DEMO_QUESTION, { allowed: true, accessLevel: 'allowed', source: 'app_admin' }),
      caseOf(DEMO_QUESTION, { allowed: false, accessLevel: null, source: null }),
    ];
    expect(await readBack(cases)).toEqual(cases);
    expect(cases.slice(-4).map(({ expect: expected, via }) => [expected, via])).toEqual([
      ['allowed', 'role'],
      ['view', 'superadmin'],
      ['allowed', 'app_admin'],
      ['denied', 'none'],
    ]);
  });
});

describe('assertions', () => {
  const kept: TestCase = { email: 'a@b.example', permission: 'p', expect: 'view', via: 'role' };

  test('compare as usher test compares', () => {
    expect(differenceOf(kept, { allowed: true, accessLevel: 'view', source: 'role' })).toBeNull();
    expect(differenceOf(kept, { allowed: true, accessLevel: 'edit', source: 'role' })).not.toBeNull();
    expect(differenceOf(kept, { allowed: true, accessLevel: 'view', source: 'override' })).not.toBeNull();
    expect(differenceOf({ ...kept, expect: 'denied', via: 'none' }, { ...DENIED, source: null })).toBeNull();
    expect(differenceOf({ ...kept, expect: 'denied' }, { allowed: true, accessLevel: 'view', source: 'role' })).toEqual(
      {
        allowed: true,
        accessLevel: 'view',
        source: 'role',
      },
    );
  });

  test('survive storage that holds something else', () => {
    expect(assertionsIn(null)).toEqual([]);
    expect(assertionsIn('{')).toEqual([]);
    expect(assertionsIn('{"a":1}')).toEqual([]);
    expect(assertionsIn(JSON.stringify([kept, null, 4, { email: 'x' }]))).toEqual([kept]);
    expect(questionOf(kept)).not.toBe(questionOf({ ...kept, level: 'view' }));
  });
});

describe('who gave something', () => {
  const at = (minute: number) => `2026-01-01T00:0${minute}:00.000Z`;
  const beside = ['project.access: denied', 'project.archive: allowed'];
  const records = [
    {
      at: at(5),
      actor: 'user:e@example.com',
      action: 'override.replaced',
      before: { resourceType: 'project', resourceId: '1042', overrides: ['project.access: denied'] },
      after: { resourceType: 'project', resourceId: '1042', overrides: beside },
    },
    { at: at(4), actor: 'user:d@example.com', action: 'assignment.removed', before: { role: 'clerk' }, after: null },
    {
      at: at(3),
      actor: 'user:c@example.com',
      action: 'user_roles.replaced',
      before: { roles: ['clerk'] },
      after: { roles: ['clerk', 'boss'] },
    },
    {
      at: at(2),
      actor: 'user:b@example.com',
      action: 'override.replaced',
      before: { resourceType: 'project', resourceId: '1042', overrides: [] },
      after: { resourceType: 'project', resourceId: '1042', overrides: ['project.access: denied'] },
    },
    { at: at(1), actor: 'system', action: 'assignment.created', before: null, after: { role: 'clerk' } },
    { at: at(0), actor: 'cli', action: 'app_admin.added', before: null, after: null },
  ].map((one) => ({ ...one, reason: null }));

  test('is the newest record that made it so', () => {
    expect(roleGiven(records, 'boss')?.actor).toBe('user:c@example.com');
    expect(roleGiven(records, 'clerk')?.actor).toBe('system');
    expect(roleGiven(records, 'guest')).toBeNull();
    expect(overrideGiven(records, DEMO_QUESTION)?.actor).toBe('user:b@example.com');
    expect(overrideGiven(records, { ...DEMO_QUESTION, resourceId: '7' })).toBeNull();
    expect(adminGiven(records)?.actor).toBe('cli');
  });
});
