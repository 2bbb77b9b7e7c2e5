import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Double, refusal } from './double.ts';
import { type RunningService, startService, usher } from './harness.ts';

describe('who, reach and access, beside a development start on an embedded database', () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await startService();
  }, 120_000);
  afterAll(() => service.remove(), 30_000);

  const print = async (...argv: string[]) => {
    const { code, stdout, stderr } = await usher(argv, { env: service.env });
    expect([code, stderr]).toEqual([0, '']);
    return stdout;
  };

  test('usher who lists everybody who holds a permission, with the level and the rule', async () => {
    expect(await print('who', 'atelier', 'invoice.approve')).toBe(`EMAIL              LEVEL    BY
admin@example.com  edit     SuperAdmin
ada@example.com    allowed  role
nora@example.com   allowed  application admin
`);
  });

  test('usher who leaves out people whom an override denies the record', async () => {
    const asked = ['who', 'atelier', 'project.access', '--resource', 'project:1042', '--json'];
    expect(JSON.parse(await print(...asked))).toEqual({
      app: 'atelier',
      permission: 'project.access',
      resourceType: 'project',
      resourceId: '1042',
      subjects: [
        { email: 'admin@example.com', accessLevel: 'edit', source: 'superadmin' },
        { email: 'ada@example.com', accessLevel: 'edit', source: 'role' },
        { email: 'ben@example.com', accessLevel: 'edit', source: 'role' },
        { email: 'dan@example.com', accessLevel: 'edit', source: 'role' },
        { email: 'eva@client.example', accessLevel: 'view', source: 'role' },
        { email: 'nora@example.com', accessLevel: 'edit', source: 'app_admin' },
      ],
      more: false,
      revision: expect.stringMatching(/^\d+\.\d+$/),
    });
    expect(await print(...asked.slice(0, -1), '--level', 'edit')).not.toContain('eva@client.example');
  });

  test('usher who reports that there are more people than it lists', async () => {
    const asked = ['who', 'atelier', 'project.access', '--limit', '2'];
    const { stdout, stderr } = await usher(asked, { env: service.env });
    expect(stdout.split('\n')).toHaveLength(4);
    expect(stderr).toBe('There are more: raise --limit (now 2).\n');
  });

  test('usher who refuses a misspelled permission of a strict application with the nearest one', async () => {
    expect(await usher(['who', 'atelier', 'invoice.aprove'], { env: service.env })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'permission: atelier defines no permission invoice.aprove; did you mean invoice.approve?\n',
    });
  });

  test.each([
    [
      ['clara@example.com', 'atelier', 'project.access', 'project'],
      'clara@example.com holds project.access in atelier for every project but these:\n  1042\n',
    ],
    [
      ['clara@example.com', 'atelier', 'project.access', 'project', '--level', 'edit'],
      'clara@example.com holds project.access in atelier for no project.\n',
    ],
    [
      ['ada@example.com', 'atelier', 'project.access', 'project'],
      'ada@example.com holds project.access in atelier for every project.\n',
    ],
    [
      ['eva@client.example', 'atelier', 'document.access', 'document'],
      'eva@client.example holds document.access in atelier only for these document records:\n  contract-77\n',
    ],
  ])('usher reach %j prints a filter in words', async (argv, answer) => {
    expect(await print('reach', ...argv)).toBe(answer);
  });

  test('usher reach --json prints the filter with its revision', async () => {
    const asked = ['reach', 'eva@client.example', 'atelier', 'document.access', 'document', '--json'];
    expect(JSON.parse(await print(...asked))).toEqual({
      email: 'eva@client.example',
      app: 'atelier',
      permission: 'document.access',
      resourceType: 'document',
      scope: 'only',
      resourceIds: ['contract-77'],
      revision: expect.stringMatching(/^\d+\.\d+$/),
    });
  });

  test('usher access lists what a person has, by application', async () => {
    expect(await print('access', 'clara@example.com')).toBe(`clara@example.com: active

atelier (Atelier)
  roles       accountant
  permissions
    invoice.access  edit
    project.access  view
    report.export   allowed
  overrides
    project:1042  project.access  denied
`);
    expect(JSON.parse(await print('access', 'admin@example.com', '--json'))).toEqual({
      email: 'admin@example.com',
      active: true,
      isSuperAdmin: true,
      applications: [],
    });
  });
});

describe('who, reach and access with different credentials', () => {
  const double = new Double();
  const ada = `x.${Buffer.from('{"email": "Ada@example.com"}').toString('base64url')}.x`;
  beforeAll(() => double.start());
  afterAll(() => double.stop());
  beforeEach(() => {
    double.received.length = 0;
  });

  const paged = (data: object, nextCursor: string | null = null) => {
    return { status: 200, body: { success: true, data, page: { nextCursor } } };
  };
  const asked = () => double.received.map(({ url, body }) => [url, body === '' ? null : JSON.parse(body)]);
  const at = (...argv: string[]) => usher([...argv, '--url', double.url]);

  test('usher who calls the backend endpoint with a key, and the endpoint of administrators with only a token', async () => {
    double.answer = () => paged({ subjects: [] });
    expect((await at('who', 'shop', 'read', '--key', 'k')).stdout).toBe('Nobody holds read in shop.\n');
    await at('who', 'shop', 'read', '--level', 'view', '--token', ada);
    expect(asked()).toEqual([
      ['/api/check/subjects', { app: 'shop', permission: 'read', limit: 100, cursor: null }],
      ['/api/applications/shop/subjects', { permission: 'read', accessLevel: 'view', limit: 100, cursor: null }],
    ]);
  });

  test('usher who reads pages up to its limit, including short and empty ones', async () => {
    const pages = [[1, 2], [], [3]].map((ids) =>
      ids.map((id) => ({ email: `p${id}`, accessLevel: 'view', source: 'role' })),
    );
    double.answer = () => {
      const subjects = pages[double.received.length - 1] ?? [];
      return paged({ subjects }, double.received.length < 3 ? `c${double.received.length}` : null);
    };
    const { stdout } = await at('who', 'shop', 'read', '--key', 'k', '--json', '--limit', '10');
    expect(JSON.parse(stdout)).toMatchObject({ subjects: pages.flat(), more: false });
    expect(asked().map(([, body]) => [body.limit, body.cursor])).toEqual([
      [10, null],
      [8, 'c1'],
      [8, 'c2'],
    ]);
  });

  test("usher reach calls the user's own endpoint with their token, and the endpoint of administrators for others", async () => {
    double.answer = ({ url }) =>
      url.includes('/me/')
        ? { status: 200, body: { scope: 'all', resourceIds: ['1'], page: { nextCursor: null } } }
        : paged({ scope: 'only', resourceIds: [] });
    const question = ['shop', 'read', 'page'];
    expect(
      JSON.parse((await at('reach', 'ada@example.com', ...question, '--token', ada, '--json')).stdout),
    ).toMatchObject({
      scope: 'all',
      resourceIds: ['1'],
    });
    await at('reach', 'ben@example.com', ...question, '--token', ada);
    await at('reach', 'ben@example.com', ...question, '--key', 'k');
    const body = { permission: 'read', resourceType: 'page', limit: 10_000, cursor: null };
    expect(asked()).toEqual([
      ['/api/profile/me/check/resources', { app: 'shop', ...body }],
      ['/api/applications/shop/resources', { email: 'ben@example.com', ...body }],
      ['/api/check/resources', { email: 'ben@example.com', app: 'shop', ...body }],
    ]);
  });

  test('usher reach starts over when the list changes during the read, and gives up after five times', async () => {
    double.answer = ({ body }) => {
      const { cursor } = JSON.parse(body) as { cursor: string | null };
      if (cursor === null) return paged({ scope: 'only', resourceIds: ['old'] }, 'c');
      return double.received.length < 4
        ? refusal(409, 'CONFLICT', 'LIST_CHANGED')
        : paged({ scope: 'only', resourceIds: ['new'] });
    };
    const question = ['reach', 'ben@example.com', 'shop', 'read', 'page', '--key', 'k', '--json'];
    expect(JSON.parse((await at(...question)).stdout)).toMatchObject({ resourceIds: ['old', 'new'] });
    expect(double.received).toHaveLength(4);
    double.received.length = 0;
    double.answer = ({ body }) =>
      body.includes('"cursor":null')
        ? paged({ scope: 'only', resourceIds: [] }, 'c')
        : refusal(409, 'CONFLICT', 'LIST_CHANGED');
    const { code, stdout } = await at(...question);
    expect([code, stdout]).toEqual([1, '']);
    expect(double.received).toHaveLength(10);
  });

  test('usher access prints no control characters, and counts the entries left out', async () => {
    const override = {
      resourceType: 'page',
      resourceId: 'a\u001b[2J',
      permission: 'read',
      granted: true,
      accessLevel: 'view',
    };
    const application = {
      code: 'shop',
      name: 'Sh\u0007op',
      level: 'app_admin',
      roles: [],
      permissions: [],
      overrides: [override],
      moreOverrides: 12,
      lastLoginAt: '2026-03-01T08:00:00.000Z',
    };
    double.answer = () => ({
      status: 200,
      body: { success: true, data: { email: 'ben@example.com', active: false, applications: [application] } },
    });
    const { stdout } = await at('access', 'ben@example.com', '--token', ada);
    expect(stdout).toBe(`ben@example.com: inactive, so everything is denied

shop (Sh�op), application admin
  last login  2026-03-01 08:00:00Z
  overrides
    page:a�[2J  read  view
    and 12 more
`);
    expect(asked()).toEqual([['/api/users/ben%40example.com/access', null]]);
    await at('access', 'ada@example.com', '--token', ada);
    expect(asked().at(-1)).toEqual(['/api/profile/me/access', null]);
  });
});
