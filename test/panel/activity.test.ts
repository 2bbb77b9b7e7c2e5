import { describe, expect, test } from '@jest/globals';
import { actorOf } from '../../panel/src/parts/actor.ts';
import { type AuditRecord, byDay, linkOf } from '../../panel/src/places/activity/changes.ts';
import { activity as cs } from '../../panel/src/places/activity/cs.ts';
import { activity as en } from '../../panel/src/places/activity/en.ts';
import { dayAt, momentOf } from '../../panel/src/places/activity/moments.ts';
import { restoreOf } from '../../panel/src/places/activity/restore.ts';
import { sentenceOf, sentenceText } from '../../panel/src/places/activity/sentence.ts';
import { differencesOf } from '../../src/base/audit-differences.ts';
import { actionOf } from '../../src/base/audit-sentences.ts';

function record(of: Partial<AuditRecord>): AuditRecord {
  const common = {
    id: 1,
    at: '2026-11-23T07:00:00.000Z',
    actor: 'user:ada@example.com',
    requestId: 'r1',
    reason: null,
  };
  return {
    ...common,
    action: 'role.changed',
    appCode: 'atelier',
    subject: 'designer',
    before: null,
    after: null,
    ...of,
  };
}

describe('the differences of a record', () => {
  test('are its fields, without what stayed', () => {
    const before = { name: 'A', description: null, languages: ['en'] };
    const after = { name: 'A', description: 'Works.', languages: ['en', 'cs'] };
    expect(differencesOf({ before, after })).toEqual([
      { name: 'description', before: null, after: 'Works.' },
      { name: 'languages', before: 'en', after: 'en, cs' },
    ]);
  });

  test('are by permission where a list names levels', () => {
    const before = { permissions: ['project.access: view', 'x: edit'] };
    const after = { permissions: ['project.access: edit', 'y: view'] };
    expect(differencesOf({ before, after })).toEqual([
      { name: 'project.access', before: 'view', after: 'edit' },
      { name: 'x', before: 'edit', after: null },
      { name: 'y', before: null, after: 'view' },
    ]);
  });

  test('are one for an override', () => {
    const before = { permission: 'p.a', resourceType: 'project', resourceId: '7', granted: false, accessLevel: null };
    const after = { ...before, granted: true, accessLevel: 'view' };
    expect(differencesOf({ before, after })).toEqual([{ name: 'p.a · project:7', before: 'denied', after: 'view' }]);
  });

  test('name the record where a set of overrides was replaced', () => {
    const at = { resourceType: 'ticket', resourceId: '42' };
    const before = { ...at, overrides: ['ticket.close: view'] };
    const after = { ...at, overrides: ['ticket.access: denied', 'ticket.close: view'] };
    expect(differencesOf({ before, after })).toEqual([
      { name: 'ticket.access · ticket:42', before: null, after: 'denied' },
    ]);
    expect(differencesOf({ before: null, after })[0]).toEqual({ name: 'resourceType', before: null, after: 'ticket' });
  });

  test('are of any value', () => {
    expect(differencesOf({ before: null, after: null })).toEqual([]);
    expect(differencesOf({ before: 1, after: [2] })).toEqual([{ name: 'value', before: '1', after: '[2]' }]);
    expect(differencesOf({ before: { smtp: { host: 'a' } }, after: { smtp: { host: 'b' } } })).toEqual([
      { name: 'smtp.host', before: 'a', after: 'b' },
    ]);
  });
});

test('records are together by day and by request', () => {
  const records = [
    record({ id: 5, at: '2026-11-23T08:00:00.000Z', requestId: 'r3' }),
    record({ id: 4, requestId: 'r2' }),
    record({ id: 3, requestId: 'r2' }),
    record({ id: 2, at: '2026-11-22T07:00:00.000Z', requestId: null, actor: 'system' }),
    record({ id: 1, at: '2026-11-22T07:00:00.000Z', requestId: null, actor: 'system' }),
  ];
  const days = byDay(records, (iso) => iso.slice(0, 10));
  expect(days.map(({ day, groups }) => [day, groups.map((group) => group.records.map(({ id }) => id))])).toEqual([
    ['2026-11-23', [[5], [4, 3]]],
    ['2026-11-22', [[2, 1]]],
  ]);
});

test.each([
  ['user:ada@example.com', { kind: 'user', name: 'ada@example.com' }],
  ['key:ci', { kind: 'key', name: 'ci' }],
  ['cli', { kind: 'cli', name: 'cli' }],
  ['system', { kind: 'system', name: 'system' }],
])('the actor %s is %j', (actor, expected) => {
  expect(actorOf(actor)).toEqual(expected);
});

test.each([
  [
    { action: 'override.created', subject: 'a@b.cz', after: { resourceType: 'project', resourceId: '10/4' } },
    '/applications/atelier/records/of/project/10%2F4',
  ],
  [{ action: 'assignment.created', subject: 'a@b.cz' }, '/people/a%40b.cz'],
  [{ action: 'role.changed' }, '/applications/atelier/matrix'],
  [{ action: 'application.changed' }, '/applications/atelier'],
  [{ action: 'superadmin.added', appCode: null, subject: null }, '/settings'],
  [{ action: 'unheard.of', appCode: null, subject: null }, null],
])('%j leads to %s', (of, href) => {
  expect(linkOf(record(of))).toBe(href);
});

describe('restoring', () => {
  test('gives a role its levels back', () => {
    const before = { permissions: ['project.access: view', 'project.archive: allowed'] };
    expect(restoreOf(record({ action: 'role_permissions.replaced', before, after: { permissions: [] } }))).toEqual({
      kind: 'role',
      appCode: 'atelier',
      role: 'designer',
      permissions: [
        { permission: 'project.access', accessLevel: 'view' },
        { permission: 'project.archive', accessLevel: 'allowed' },
      ],
    });
  });

  test('opens the editor of overrides with the draft', () => {
    const at = { resourceType: 'project', resourceId: '7' };
    const restored = restoreOf(
      record({
        action: 'override.replaced',
        subject: 'eva@example.com',
        before: { ...at, overrides: ['p.a: denied', 'p.b: view'] },
        after: { ...at, overrides: ['p.b: view', 'p.c: edit'] },
      }),
    );
    const { searchParams } = new URL(restored?.kind === 'link' ? restored.href : '', 'http://localhost');
    expect(Object.fromEntries(searchParams)).toEqual({
      edit: '1',
      of: 'eva@example.com',
      rt: 'project',
      rid: '7',
      want: 'p.a:denied,p.c:',
    });
  });

  test('is not offered for what was refused, or was recorded only in part', () => {
    const template = { type: 't', key: 'default', locale: 'en', subject: 'S', html: '<p>' };
    const changed = { action: 'template.changed', before: template };
    expect(restoreOf(record(changed))?.kind).toBe('template');
    expect(restoreOf(record({ ...changed, action: 'template.changed.refused' }))).toBeNull();
    expect(restoreOf(record({ ...changed, before: { ...template, html: '<p>… (9000 characters)' } }))).toBeNull();
    expect(restoreOf(record({ action: 'role.deleted', before: {} }))).toBeNull();
  });
});

test('a filter of time is a day of the reader, or a moment', () => {
  expect(momentOf('2026-11-23', 'start')).toBe(new Date('2026-11-23T00:00:00.000').toISOString());
  expect(momentOf('2026-11-23', 'end')).toBe(new Date('2026-11-23T23:59:59.999').toISOString());
  expect(momentOf('2026-11-23T07:00:00.000Z', 'end')).toBe('2026-11-23T07:00:00.000Z');
  expect([momentOf('soon', 'start'), dayAt('soon'), dayAt('2026-11-23')]).toEqual(['', '', '2026-11-23']);
});

test('both languages know the same actions and areas', () => {
  expect(Object.keys(cs.actions)).toEqual(Object.keys(en.actions));
  expect(Object.keys(cs.areas)).toEqual(Object.keys(en.areas));
  expect(actionOf('role.created.refused')).toEqual({ action: 'role.created', refused: true });
});

describe('the sentence of a record', () => {
  const AT = { resourceType: 'ticket', resourceId: '42' };

  test.each(Object.keys(en.actions))(
    'of %s names the person or thing, the record, the role and the application',
    (action) => {
      const about = { ...AT, role: 'agent' };
      const told = record({ action, appCode: 'help-desk', subject: 'eva@example.com', after: about });
      for (const words of [en, cs]) {
        const text = sentenceText(told, words);
        for (const name of ['eva@example.com', 'ticket:42', 'help-desk']) expect(text).toContain(name);
        if (action.startsWith('assignment.')) expect(text).toContain('agent');
        expect(text).not.toMatch(/[{}]|undefined/);
      }
    },
  );

  test('is whole where a record says less', () => {
    const bare = record({ action: 'override.replaced.refused', subject: null, appCode: null });
    expect(sentenceText(bare, en)).toBe('Overrides changed');
    expect(sentenceText(record({ action: 'unheard.of', subject: 'x' }), en, true)).toBe('unheard.of: x');
  });

  test('leads to the person, the record and the role', () => {
    const told = record({ action: 'override.replaced', subject: 'eva@example.com', after: AT });
    const links = sentenceOf(told, en).filter(({ href }) => href !== null);
    expect(links.map(({ text, href }) => [text, href])).toEqual([
      ['eva@example.com', '/people/eva%40example.com'],
      ['ticket:42', '/applications/atelier/records/of/ticket/42'],
      ['atelier', '/applications/atelier'],
    ]);
  });

  test('is known in both languages', () => {
    expect(Object.keys(cs.sentences)).toEqual(Object.keys(en.sentences));
    for (const action of Object.keys(en.sentences)) expect(en.actions).toHaveProperty([action]);
  });
});
