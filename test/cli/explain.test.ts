import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Outcome, type RunningService, startService, usher } from './harness.ts';

/** Why `usher check` says what it says, over a service: every rule, every way of not being granted, every kind of caller. */

const KEY = 'a-key-that-may-ask-checks-only';
const WEBHOOK_SECRET = 'a-secret-of-the-identity-provider';
const STUDIO = `
application: {code: studio, name: Studio}
entities: [{code: project, name: Project}, {code: document, name: Document}]
permissions:
  - {code: project.access, type: tiered}
  - {code: project.archive, type: binary}
roles:
  - {code: reader, permissions: {project.access: view}}
  - {code: idle, permissions: {}}
admins: [nora@example.com]
assignments:
  - {email: ada@example.com, roles: [reader]}
  - {email: blocked@example.com, roles: [reader]}
  - {email: left@example.com, roles: [reader]}
  - {email: idle@example.com, roles: [idle]}
overrides:
  - {email: ada@example.com, resourceType: project, resourceId: shut, permission: project.access, granted: false}
  - {email: ada@example.com, resourceType: project, resourceId: open, permission: project.access, granted: true}
  - {email: idle@example.com, resourceType: project, resourceId: '7', permission: project.archive, granted: true}
`;

let service: RunningService;

beforeAll(async () => {
  service = await startService({
    INTERNAL_API_KEY: `checks:check:${KEY}`,
    IDP_WEBHOOK_SECRET: WEBHOOK_SECRET,
    SUPERADMINS: 'admin@example.com,away@example.com',
  });
  Object.assign(service.env, { INTERNAL_API_KEY: `checks:check:${KEY}`, SUPERADMINS: 'admin@example.com' });
  await apply(STUDIO);
  await apply('application: {code: hollow, name: Hollow}\nadmins: [nora@example.com]\n');
  // The override that stands becomes dormant.
  await apply(
    'application: {code: studio, name: Studio}\npermissions: [{code: project.archive, type: binary, global: true}]\n',
  );
  const token = await tokenOf('admin@example.com');
  for (const email of ['blocked@example.com', 'away@example.com']) {
    const response = await fetch(`${service.url}/api/users/${email}/active`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"active": false}',
    });
    expect(response.status).toBe(200);
  }
  const left = await fetch(`${service.url}/api/idp/webhook`, {
    method: 'POST',
    headers: { 'x-webhook-secret': WEBHOOK_SECRET, 'content-type': 'application/json' },
    body: JSON.stringify({ eventType: 'user.deactivated', user: { email: 'left@example.com' } }),
  });
  expect(left.status).toBe(200);
}, 120_000);
afterAll(() => service.remove(), 30_000);

async function apply(manifest: string): Promise<void> {
  const file = join(mkdtempSync(join(tmpdir(), 'usher-cli-')), 'manifest.yaml');
  writeFileSync(file, manifest);
  const { code, stderr } = await usher(['apply', file], { env: service.env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
}

async function tokenOf(email: string): Promise<string> {
  return (await usher(['token', email], { env: service.env })).stdout.trim();
}

async function reasonFor(argv: readonly string[]): Promise<string> {
  const outcome: Outcome = await usher(['check', ...argv, '--json'], { env: service.env });
  expect(outcome).toMatchObject({ code: 0, stderr: '' });
  const { allowed, reason } = JSON.parse(outcome.stdout) as { allowed: boolean; reason: string };
  return `${allowed ? 'allowed' : 'denied'}: ${reason}`;
}

describe('the reason of a decision', () => {
  test.each([
    ['rule 1, blocked', 'blocked@example.com studio project.access', 'denied: the account is inactive'],
    ['rule 1, by the provider', 'left@example.com studio project.access', 'denied: the account is inactive'],
    ['rule 1 before rule 2', 'away@example.com studio project.access', 'denied: the account is inactive'],
    ['rule 1 before rule 2, undefined', 'away@example.com nowhere x', 'denied: the account is inactive'],
    ['rule 2', 'admin@example.com studio project.access', 'allowed: a SuperAdmin is allowed everything'],
    ['rule 2, undefined', 'admin@example.com nowhere x', 'allowed: a SuperAdmin is allowed everything'],
    [
      'rule 3',
      'nora@example.com studio project.access',
      'allowed: an application admin is allowed everything in the application',
    ],
    [
      'rule 3, undefined',
      'nora@example.com studio x',
      'allowed: an application admin is allowed everything in the application',
    ],
    [
      'rule 3, nothing defined',
      'nora@example.com hollow x',
      'allowed: an application admin is allowed everything in the application',
    ],
    [
      'rule 4, granting',
      'ada@example.com studio project.access --resource project:open --level edit',
      'allowed: an override grants edit',
    ],
    [
      'rule 4, denying',
      'ada@example.com studio project.access --resource project:shut',
      'denied: an override denies it',
    ],
    ['rule 4, dormant', 'idle@example.com studio project.archive --resource project:7', 'denied: no rule grants it'],
    ['rule 4, global', 'ada@example.com studio project.archive --resource project:7', 'denied: no rule grants it'],
    ['rule 5', 'ada@example.com studio project.access', 'allowed: a role grants view'],
    [
      'rule 5, level',
      'ada@example.com studio project.access --level edit',
      'denied: a role grants view, edit is needed',
    ],
    ['rule 6', 'ada@example.com studio project.archive', 'denied: no rule grants it'],
    ['rule 6, a role that grants nothing', 'idle@example.com studio project.access', 'denied: no rule grants it'],
    [
      'unknown person',
      'stranger@example.com studio project.access',
      'denied: no rule grants it: stranger@example.com is unknown',
    ],
    [
      'unknown permission',
      'ada@example.com studio project.acess',
      'denied: studio defines no permission project.acess; did you mean project.access?',
    ],
    ['nothing defined', 'ada@example.com hollow x', 'denied: hollow defines no permission x'],
    ['unknown application', 'ada@example.com nowhere x', 'denied: there is no application nowhere'],
    [
      'misspelled application',
      'ada@example.com studo project.access',
      'denied: there is no application studo; did you mean studio?',
    ],
    ['reserved application code', 'ada@example.com inbox x', 'denied: there is no application inbox'],
    [
      'unknown resource type',
      'idle@example.com studio project.access --resource projekt:1',
      'denied: no rule grants it',
    ],
    [
      'malformed resource type',
      'ada@example.com studio project.access --resource Project:1',
      'denied: "Project" is not a resource type (lower-case letters and digits, joined by . _ or -, at most 64)',
    ],
    [
      'malformed application',
      'ada@example.com Studio project.access',
      'denied: "Studio" is not an application code (lower-case letters and digits, joined by . _ or -, at most 64)',
    ],
    [
      'malformed permission',
      'ada@example.com studio project::access',
      'denied: "project::access" is not a permission code (letters and digits, joined by . _ : / or -, at most 128)',
    ],
    ['malformed address', 'ada studio project.access', 'denied: "ada" is not an e-mail address'],
    [
      'malformed for SuperAdmins as well',
      'admin@example.com Studio x',
      'denied: "Studio" is not an application code (lower-case letters and digits, joined by . _ or -, at most 64)',
    ],
  ])('the reason is right for %s', async (_, question, answer) => {
    expect(await reasonFor(question.split(' '))).toBe(answer);
  });
});

describe('what the caller cannot see is left open', () => {
  const OPEN =
    "denied: no rule grants it, or an override denies it, or the account is inactive (an administrator's token tells which)";

  test.each([
    ['blocked@example.com studio project.access', 'denied: the account is inactive'],
    ['stranger@example.com studio project.access', 'denied: no rule grants it: stranger@example.com is unknown'],
    ['ada@example.com studio project.archive', 'denied: no rule grants it'],
    ['ada@example.com nowhere x', 'denied: there is no application nowhere'],
    ['stranger@example.com studio x', 'denied: studio defines no permission x'],
    ['ada@example.com studio project.access --resource project:shut', 'denied: an override denies it'],
    ['admin@example.com nowhere x', 'allowed: a SuperAdmin is allowed everything'],
  ])('a key with the scope check sees the reason of %s', async (question, answer) => {
    expect(await reasonFor([...question.split(' '), '--key', KEY])).toBe(answer);
  });

  test.each([
    ['blocked@example.com studio project.access', OPEN],
    ['ada@example.com studio project.archive', OPEN],
    ['ada@example.com studio project.access --resource project:shut', OPEN],
    ['ada@example.com studio project.access --level edit', 'denied: a role grants view, edit is needed'],
    [
      'nora@example.com studio project.access',
      'allowed: an application admin is allowed everything in the application',
    ],
  ])('users who ask about themselves see only the reasons open to them: %s', async (question, answer) => {
    const [email = ''] = question.split(' ');
    expect(await reasonFor([...question.split(' '), '--token', await tokenOf(email)])).toBe(answer);
  });
});

describe('usher explain', () => {
  const ask = (argv: readonly string[]) => usher(['explain', ...argv], { env: service.env });

  test('explain shows the result of each of the six rules', async () => {
    const { code, stdout } = await ask(['ada@example.com', 'studio', 'project.access', '--resource', 'project:shut']);
    expect(code).toBe(0);
    const [verdict, since, ...rest] = stdout.split('\n');
    expect(since).toMatch(/^so since \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ, by admin@example\.com$/);
    expect(
      [verdict, ...rest].join('\n'),
    ).toBe(`denied: ada@example.com, project.access in studio for project:shut: an override denies it

#  rule               applies  gives            roles
1  inactive account   no       -
2  SuperAdmin         no       -
3  application admin  no       -
4  override           yes      denied  decides
5  roles              yes      view             reader: view
6  default            yes      denied
`);
  });

  test('explain says who made it so, when and why, however it was written', async () => {
    const token = await tokenOf('admin@example.com');
    const write = async (granted: boolean, reason: string) => {
      const path = 'users/ben@example.com/apps/studio/resources/project/9/permissions';
      const response = await fetch(`${service.url}/api/${path}`, {
        method: 'PUT',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'usher-reason': encodeURIComponent(reason),
        },
        body: JSON.stringify({ permissions: [{ permission: 'project.access', granted }] }),
      });
      expect(response.status).toBe(200);
    };
    const since = async (argv: readonly string[]) => (await ask(argv)).stdout.split('\n')[1];
    const question = ['ben@example.com', 'studio', 'project.access', '--resource', 'project:9'];
    await write(true, 'stands in');
    await write(false, 'is back: 東京');
    expect(await since(question)).toMatch(/^so since .*, by admin@example\.com \(why: is back: 東京\)$/);
    await usher(['grant', 'ben@example.com', 'studio', 'reader', '--reason', 'reads along'], { env: service.env });
    expect(await since(question.slice(0, 3))).toMatch(/by admin@example\.com \(why: reads along\)$/);
    expect(await since(['nora@example.com', 'studio', 'project.access'])).toMatch(
      /^so since .*, by admin@example\.com$/,
    );
    // Nothing made the default.
    expect(await since(['ada@example.com', 'studio', 'project.archive'])).toBe('');
    const { stdout } = await usher(['audit', '--person', 'ben@example.com'], { env: service.env });
    expect(stdout).toContain(
      'Overrides changed for ben@example.com on project:9 in studio: project.access: edit → denied (why: is back: 東京)',
    );
    expect(stdout).toContain('Role reader given to ben@example.com in studio (why: reads along)');
  });

  test('explain --json returns the complete explanation', async () => {
    const { stdout } = await ask(['idle@example.com', 'studio', 'project.access', '--level', 'edit', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      email: 'idle@example.com',
      permission: 'project.access',
      allowed: false,
      accessLevel: null,
      source: null,
      rule: 6,
      rules: [{}, {}, {}, { override: null }, { roles: [{ code: 'idle', accessLevel: null }] }, { decides: true }],
      known: { application: true, permission: true },
      revision: expect.stringMatching(/^\d+\.\d+$/),
    });
  });

  test('check recommends explain to an administrator with only a token', async () => {
    const token = await tokenOf('nora@example.com');
    const argv = ['check', 'ada@example.com', 'studio', 'project.access', '--token', token];
    const { code, stdout, stderr } = await usher(argv, { env: service.env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      "This call needs an internal API key in the header x-internal-api-key. Give a key with --key (USHER_API_KEY). For `usher explain` an administrator's token is enough.\n",
    );
  });

  test('explain accepts the token of an app admin, and refuses other users', async () => {
    const argv = ['ada@example.com', 'studio', 'project.access', '--token'];
    const { code, stdout } = await ask([...argv, await tokenOf('nora@example.com')]);
    expect({ code, first: stdout.split('\n')[0] }).toEqual({
      code: 0,
      first: 'allowed: ada@example.com, project.access in studio: a role grants view',
    });
    const refused = await ask([...argv, await tokenOf('ada@example.com')]);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
  });

  test.each([
    ['admin@example.com nowhere x', 'allowed: a SuperAdmin is allowed everything (nowhere defines no permission x)'],
    ['ada@example.com nowhere x', 'denied: there is no application nowhere'],
    ['ada@example.com Studio x', 'denied: "Studio" is not an application code'],
    ['ada@example.com studio project.acess', 'denied: studio defines no permission project.acess'],
    ['away@example.com studio project.access', 'denied: the account is inactive'],
  ])('explain gives the reason for %s', async (question, answer) => {
    const [verdict, reason] = answer.split(': ') as [string, string];
    const { stdout } = await ask(question.split(' '));
    expect(stdout.startsWith(`${verdict}: `)).toBe(true);
    expect(stdout.split('\n')[0]).toContain(`: ${reason}`);
  });
});

describe('check --exit-code', () => {
  test.each([
    ['0 for an allowed person', 'ada@example.com studio project.access', 0],
    ['2 for a denied person', 'ada@example.com studio project.archive', 2],
    ['1 for a question that is refused', 'ada@example.com studio project.access --level write', 1],
    ['1 for a service that does not answer', 'ada@example.com studio project.access --url http://127.0.0.1:1', 1],
    ['1 for a key that the service does not know', 'ada@example.com studio project.access --key unknown', 1],
  ])('check --exit-code exits with %s', async (_, question, code) => {
    expect((await usher(['check', ...question.split(' '), '--exit-code'], { env: service.env })).code).toBe(code);
  });

  test('check without --exit-code exits with 0 for a denial', async () => {
    const denied = ['check', 'ada@example.com', 'studio', 'project.archive'];
    expect((await usher(denied, { env: service.env })).code).toBe(0);
  });
});
