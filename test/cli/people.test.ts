import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Double, refusal } from './double.ts';
import { usher } from './harness.ts';

/** What commands about people make of a service's answers; people-service.test.ts asks a real one. */

const double = new Double();
let env: Record<string, string>;
beforeAll(async () => {
  await double.start();
  env = { USHER_URL: double.url, USHER_TOKEN: 'a-token' };
});
afterAll(() => double.stop());
beforeEach(() => {
  double.received.length = 0;
});

describe('check', () => {
  const DENIED = { allowed: false, accessLevel: null, source: null };

  test('check leaves the reason open when policies change between the decision and its explanation', async () => {
    double.answer = ({ url }) => ({
      status: 200,
      headers: { 'usher-revision': '7' },
      body: {
        success: true,
        data: url.endsWith('batch') ? { results: [DENIED] } : { ...DENIED, allowed: true, source: 'role', rule: 5 },
      },
    });
    const { code, stdout } = await usher(['check', 'clara@example.com', 'atelier', 'a.b', '--json'], { env });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ allowed: false, source: null, reason: 'no rule granted it' });
    expect(double.received.map(({ url }) => url)).toEqual(['/api/check/batch', '/api/applications/atelier/explain']);
  });

  test('check makes one call for a decision that a rule grants', async () => {
    const result = { allowed: true, accessLevel: 'view', source: 'role' };
    double.answer = () => ({ status: 200, body: { success: true, data: { results: [result] } } });
    const { stdout } = await usher(['check', 'clara@example.com', 'atelier', 'a.b', '--json'], { env });
    expect(JSON.parse(stdout)).toMatchObject({ ...result, reason: 'a role grants view' });
    expect(double.received).toHaveLength(1);
  });

  test('check fails when the service fails during the read of the reason', async () => {
    double.answer = ({ url }) =>
      url.endsWith('batch')
        ? { status: 200, body: { success: true, data: { results: [DENIED] } } }
        : refusal(503, 'UNAVAILABLE');
    const { code, stdout } = await usher(['check', 'clara@example.com', 'atelier', 'a.b', '--json'], { env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  });

  test("check of an unknown code of a strict application fails with the service's message", async () => {
    double.answer = () => refusal(400, 'BAD_REQUEST', 'UNKNOWN_CODE');
    const { code, stderr } = await usher(['check', 'clara@example.com', 'atelier', 'a.b', '--exit-code', '--json'], {
      env,
    });
    expect(code).toBe(1);
    expect(JSON.parse(stderr)).toMatchObject({ code: 'UNKNOWN_CODE', message: 'No: UNKNOWN_CODE.' });
  });
});

describe('grant and revoke', () => {
  test('grant adds one role and changes no other', async () => {
    double.answer = () => ({ status: 201, body: { success: true, data: [] } });
    expect(await usher(['grant', 'clara+x@example.com', 'atelier', 'accountant'], { env })).toEqual({
      code: 0,
      stdout: 'clara+x@example.com now holds accountant in atelier.\n',
      stderr: '',
    });
    expect(double.received).toMatchObject([
      { method: 'POST', url: '/api/users/clara%2Bx%40example.com/apps/atelier/roles', body: '{"role":"accountant"}' },
    ]);
  });

  test('grant of a held role changes nothing, and reports that', async () => {
    double.answer = () => ({ status: 200, body: { success: true, data: [] } });
    const argv = ['grant', 'clara@example.com', 'atelier', 'accountant'];
    expect((await usher(argv, { env })).stdout).toBe('clara@example.com already held accountant in atelier.\n');
    expect(JSON.parse((await usher([...argv, '--json'], { env })).stdout)).toEqual({
      email: 'clara@example.com',
      app: 'atelier',
      role: 'accountant',
      changed: false,
    });
  });

  test('revoke removes one role by its code', async () => {
    double.answer = () => ({ status: 204 });
    expect(await usher(['revoke', 'clara@example.com', 'atelier', 'team/lead'], { env })).toEqual({
      code: 0,
      stdout: 'clara@example.com no longer holds team/lead in atelier.\n',
      stderr: '',
    });
    expect(double.received).toMatchObject([
      { method: 'DELETE', url: '/api/users/clara%40example.com/apps/atelier/roles/team%2Flead', body: '' },
    ]);
  });

  test("revoke of a role that is not held fails with the service's message", async () => {
    double.answer = () => refusal(404, 'NOT_FOUND');
    const { code, stderr } = await usher(['revoke', 'clara@example.com', 'atelier', 'guest', '--json'], { env });
    expect(code).toBe(1);
    expect(JSON.parse(stderr)).toMatchObject({ code: 'NOT_FOUND', message: 'No: NOT_FOUND.' });
  });
});

describe('roles', () => {
  test.each([
    [['atelier'], '/api/applications/atelier/roles'],
    [['clara@example.com', 'atelier'], '/api/users/clara%40example.com/apps/atelier/roles'],
  ])('roles %j prints a table by code', async (argv, url) => {
    double.answer = () => ({
      status: 200,
      body: {
        success: true,
        data: [
          { code: 'lead', description: 'Leads.' },
          { code: 'x', description: null },
        ],
      },
    });
    const { stdout } = await usher(['roles', ...argv], { env });
    expect(stdout).toBe('ROLE  DESCRIPTION\nlead  Leads.\nx\n');
    expect(double.received.at(-1)?.url).toBe(url);
  });

  test('an empty list prints a sentence', async () => {
    double.answer = () => ({ status: 200, body: { success: true, data: [] } });
    expect((await usher(['roles', 'a@b.c', 'x'], { env })).stdout).toBe('a@b.c holds no roles in x.\n');
    expect((await usher(['roles', 'x'], { env })).stdout).toBe('x has no roles.\n');
    expect((await usher(['roles', 'x', '-o', 'json'], { env })).stdout).toBe('[]\n');
  });

  test.each([[['x', 'y']], [['a@b.c']], [['x', 'a@b.c']]])('roles %j is refused before any request', async (argv) => {
    const { code, stderr } = await usher(['roles', ...argv], { env });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'Give an application, or an address and an application.\n',
    });
    expect(double.received).toEqual([]);
  });
});

function user(n: number): Record<string, unknown> {
  const registered = n % 2 === 0;
  return { email: `u${n}@example.com`, displayName: null, active: true, blocked: false, registered, lastLoginAt: null };
}

describe('lists', () => {
  test('lists follow pages up to the limit, and report further rows on stderr', async () => {
    double.answer = ({ url }) => {
      const query = new URL(url, 'http://x').searchParams;
      const from = Number(query.get('cursor') ?? 0);
      const to = Math.min(450, from + Number(query.get('limit')));
      const data = Array.from({ length: to - from }, (_, i) => user(from + i));
      return { status: 200, body: { success: true, data, page: { nextCursor: to < 450 ? String(to) : null } } };
    };
    const some = await usher(['users', '--limit', '401', '--json', '--app', 'a b', '--q', '%', '--active'], { env });
    expect(JSON.parse(some.stdout)).toHaveLength(401);
    expect(some.stderr).toBe('There are more people: raise --limit (now 401).\n');
    expect(double.received.map(({ url }) => url)).toEqual([
      '/api/users?limit=200&appCode=a+b&q=%25&active=true',
      '/api/users?limit=200&appCode=a+b&q=%25&active=true&cursor=200',
      '/api/users?limit=1&appCode=a+b&q=%25&active=true&cursor=400',
    ]);
    const all = await usher(['users', '--limit', '1000', '--json'], { env });
    expect(JSON.parse(all.stdout)).toHaveLength(450);
    expect(all.stderr).toBe('');
  });

  test("control characters in others' texts do not reach the terminal", async () => {
    const data = [
      { ...user(0), displayName: '\u001b[2J\u009b1mEve\n', blocked: true, active: false, isSuperAdmin: true },
    ];
    double.answer = () => ({ status: 200, body: { success: true, data, page: { nextCursor: null } } });
    const { stdout } = await usher(['users'], { env });
    expect(stdout.split('\n')).toEqual([
      'EMAIL           NAME         LAST LOGIN  REMARKS',
      'u0@example.com  �[2J�1mEve�  -           blocked, SuperAdmin',
      '',
    ]);
  });

  test('--active and --inactive are refused together', async () => {
    expect((await usher(['users', '--active', '--inactive'], { env })).stderr).toContain('cannot be used with');
  });
});

describe('audit', () => {
  const records = [
    {
      at: '2026-11-22T10:00:00.123Z',
      actor: 'user:admin@example.com',
      action: 'user_roles.replaced',
      appCode: 'atelier',
      subject: 'clara@example.com',
      before: { roles: ['guest'] },
      after: { roles: ['guest', 'accountant'] },
    },
    {
      at: '2026-11-22T09:00:00.000Z',
      actor: 'cli',
      action: 'superadmin.added',
      appCode: null,
      subject: 'x',
      before: null,
      after: { long: 'x'.repeat(200) },
    },
  ];
  const page = { nextCursor: null };

  test('audit prints a table with short changes', async () => {
    double.answer = () => ({ status: 200, body: { success: true, data: records, page } });
    const { stdout } = await usher(['audit'], { env });
    expect(stdout.split('\n').map((line) => line.replace(/ {2,}/g, '|'))).toEqual([
      'AT|ACTOR|ACTION|APP|SUBJECT|CHANGE',
      '2026-11-22 10:00:00Z|user:admin@example.com|user_roles.replaced|atelier|clara@example.com|{"roles":["guest"]} → {"roles":["guest","accountant"]}',
      `2026-11-22 09:00:00Z|cli|superadmin.added|-|x|{"long":"${'x'.repeat(70)}…`,
      '',
    ]);
    expect(JSON.parse((await usher(['audit', '--json'], { env })).stdout)).toEqual(records);
  });

  test('audit passes every filter to the service, with resolved times', async () => {
    double.answer = () => ({ status: 200, body: { success: true, data: [], page } });
    const flags =
      '--person clara@example.com --actor idp --app atelier --action user.blocked --from 2026-11-01 --to 2026-11-02T10:30+01:00 --limit 7';
    expect((await usher(['audit', ...flags.split(' ')], { env })).stdout).toBe('No records match.\n');
    const { pathname, searchParams } = new URL(double.received[0]?.url ?? '', 'http://x');
    expect({ pathname, ...Object.fromEntries(searchParams) }).toEqual({
      pathname: '/api/admin/audit',
      limit: '7',
      subject: 'clara@example.com',
      actor: 'idp',
      action: 'user.blocked',
      from: '2026-11-01T00:00:00.000Z',
      to: '2026-11-02T09:30:00.000Z',
      appCode: 'atelier',
    });
    await usher(['audit', '--from', '24h'], { env });
    const from = Date.parse(new URL(double.received[1]?.url ?? '', 'http://x').searchParams.get('from') ?? '');
    expect(Math.abs(Date.now() - 24 * 3_600_000 - from)).toBeLessThan(60_000);
  });

  test("audit uses the application's own list for its administrators", async () => {
    double.answer = ({ url }) =>
      url.startsWith('/api/admin/')
        ? refusal(403, 'FORBIDDEN')
        : { status: 200, body: { success: true, data: records, page } };
    expect(JSON.parse((await usher(['audit', '--app', 'atelier', '--json'], { env })).stdout)).toHaveLength(2);
    expect(double.received.map(({ url }) => url)).toEqual([
      '/api/admin/audit?limit=50&appCode=atelier',
      '/api/applications/atelier/audit?limit=50',
    ]);
    const { code, stderr } = await usher(['audit'], { env });
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'No: FORBIDDEN.\n' });
  });
});
