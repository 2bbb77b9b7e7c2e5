import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newFolder, type RunningService, startService, usher, usherProcess } from './harness.ts';

const DEMO = 'examples/demo.yaml';
const { folder, file } = newFolder();

describe('the command line beside a development service with an embedded database', () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await startService();
  }, 120_000);
  afterAll(() => service.remove(), 30_000);

  test.each([
    [
      ['clara@example.com', 'atelier', 'invoice.access', '--level', 'edit'],
      'allowed: clara@example.com, invoice.access in atelier: a role grants edit',
    ],
    [
      ['ada@example.com', 'atelier', 'invoice.access', '--level', 'edit'],
      'denied: ada@example.com, invoice.access in atelier: a role grants view, edit is needed',
    ],
    [
      ['clara@example.com', 'atelier', 'project.access', '--resource', 'project:1042'],
      'denied: clara@example.com, project.access in atelier for project:1042: an override denies it',
    ],
    [
      ['eva@client.example', 'atelier', 'document.access', '--resource', 'document:contract-77'],
      'allowed: eva@client.example, document.access in atelier for document:contract-77: an override grants view',
    ],
    [
      ['nora@example.com', 'atelier', 'invoice.approve'],
      'allowed: nora@example.com, invoice.approve in atelier: an application admin is allowed everything in the application',
    ],
    [
      ['admin@example.com', 'nowhere', 'x'],
      'allowed: admin@example.com, x in nowhere: a SuperAdmin is allowed everything',
    ],
    [
      ['ben@example.com', 'atelier', 'invoice.access'],
      'denied: ben@example.com, invoice.access in atelier: no rule grants it',
    ],
  ])('check %j', async (argv, answer) => {
    expect(await usher(['check', ...argv], { env: service.env })).toEqual({
      code: 0,
      stdout: `${answer}\n`,
      stderr: '',
    });
  });

  test('check of an unknown permission of a strict application suggests the nearest one', async () => {
    expect(await usher(['check', 'ben@example.com', 'atelier', 'project.acess'], { env: service.env })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'permission: atelier defines no permission project.acess; did you mean project.access?\n',
    });
  });

  test('check --json prints the decision and its reason', async () => {
    const { stdout } = await usher(['check', 'eva@client.example', 'atelier', 'project.access', '--json'], {
      env: service.env,
    });
    expect(JSON.parse(stdout)).toEqual({
      email: 'eva@client.example',
      app: 'atelier',
      permission: 'project.access',
      allowed: true,
      accessLevel: 'view',
      source: 'role',
      reason: 'a role grants view',
      revision: expect.stringMatching(/^\d+\.\d+$/),
    });
  });

  test('undefined permissions are allowed by the rules that precede roles, each with its level', async () => {
    const empty = file('empty.yaml', 'application: {code: hollow, name: Hollow}\nadmins: [nora@example.com]\n');
    const lenient = file(
      'lenient.yaml',
      'application: {code: lenient, name: Lenient}\npermissions: [{code: a, type: tiered}]\nadmins: [nora@example.com]\n',
    );
    expect((await usher(['apply', empty, lenient], { env: service.env })).code).toBe(0);
    expect(await usher(['check', 'ben@example.com', 'hollow', 'nothing'], { env: service.env })).toMatchObject({
      stdout: 'denied: ben@example.com, nothing in hollow: hollow defines no permission nothing\n',
    });
    for (const [email, app, accessLevel, source] of [
      ['admin@example.com', 'nowhere', 'edit', 'superadmin'],
      ['admin@example.com', 'lenient', 'edit', 'superadmin'],
      ['admin@example.com', 'hollow', 'edit', 'superadmin'],
      ['nora@example.com', 'lenient', 'allowed', 'app_admin'],
      ['nora@example.com', 'hollow', 'allowed', 'app_admin'],
    ] as const) {
      const { stdout } = await usher(['check', email, app, 'unheard.of', '--json'], { env: service.env });
      expect(JSON.parse(stdout)).toMatchObject({ email, app, allowed: true, accessLevel, source });
    }
  });

  test('effective lists permissions by group with their sources', async () => {
    const { stdout } = await usher(['effective', 'clara@example.com', 'atelier', '--resource', 'project:1042'], {
      env: service.env,
    });
    expect(stdout).toBe(`Finance
  invoice.access      edit     by role
  invoice.approve     -
  report.export       allowed  by role

Projects
  document.access     -
  project.access      -        denied by override
  project.archive     -

Workspace
  workspace.settings  -
`);
  });

  test('apply, export and apply again work as separate processes', async () => {
    const dry = await usherProcess(['apply', DEMO, '--dry-run'], service.env);
    expect(dry).toEqual({
      code: 0,
      stdout: 'Application atelier\nNo changes: all 26 match the manifest.\n',
      stderr: '',
    });

    const exported = await usherProcess(['export', 'atelier'], service.env);
    expect(exported.code).toBe(0);
    const other = exported.stdout.replace('code: atelier', 'code: atelier-two');
    const todo = await usherProcess(['apply', '-', '--dry-run'], service.env, { stdin: other });
    expect(todo.code).toBe(2);
    expect(todo.stdout).toContain('+ application atelier-two');
    const around = { ...service, stdin: other };
    const done = await usher(['apply', '-', '--json'], around);
    expect(done.code).toBe(0);
    expect(JSON.parse(done.stdout)).toMatchObject({ application: 'atelier-two', summary: { create: 27, keep: 0 } });
    const check = await usher(['check', 'ada@example.com', 'atelier-two', 'project.access'], service);
    expect(check.stdout).toMatch(/^allowed: /);
    expect((await usher(['apply', '-', '--dry-run', '--prune'], around)).code).toBe(0);
  }, 120_000);

  test('apply reports each fault with file, line and column, and applies nothing', async () => {
    const path = file(
      'faulty.yaml',
      'application: {code: faulty, name: Faulty}\nroles: [{code: a, permissions: {b: edit}}]\nadmins: [nobody]\n',
    );
    const { code, stdout, stderr } = await usher(['apply', path], { env: service.env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(`${path} has 2 faults; nothing was applied.
  ${path}:2:33: roles.0.permissions.b: b is not a permission of faulty
  ${path}:3:10: admins.0: "nobody" must be an e-mail address such as ada@example.com: ASCII, one @ with a host name after it, at most 254 characters
`);
    expect((await usher(['export', 'faulty'], { env: service.env })).stderr).toBe('There is no application faulty.\n');
    const json = await usher(['apply', path, '--json'], { env: service.env });
    expect(JSON.parse(json.stderr)).toMatchObject({
      code: 'VALIDATION_FAILED',
      details: { issues: [{ line: 2, column: 33 }, { line: 3 }] },
    });
  });

  test('apply applies none of several manifests when one is invalid', async () => {
    const good = file('good.yaml', 'application: {code: good, name: Good}\n');
    const bad = file('bad.yaml', 'application: {code: bad}\n');
    const { code, stderr } = await usher(['apply', good, bad], { env: service.env });
    expect(code).toBe(1);
    expect(stderr).toContain(`${bad}:1:1: application: name is missing`);
    expect((await usher(['export', 'good'], { env: service.env })).code).toBe(1);
  });

  test('a token works for its own user only', async () => {
    const made = await usher(['token', 'Ben@example.com'], { env: service.env });
    expect(made.code).toBe(0);
    const token = made.stdout.trim();
    const own = await usher(['check', 'ben@example.com', 'atelier', 'project.access', '--token', token], {
      env: service.env,
    });
    expect(own.stdout).toMatch(/^allowed: /);
    const { code, stderr } = await usher(['apply', DEMO, '--token', token], { env: service.env });
    expect(code).toBe(1);
    expect(stderr).toBe('Only a SuperAdmin may do this.\n');
    const json = await usher(['token', 'ben@example.com', '--json'], { env: service.env });
    expect(Date.parse((JSON.parse(json.stdout) as { expiresAt: string }).expiresAt)).toBeGreaterThan(
      Date.now() + 11 * 3_600_000,
    );
  });

  test('a running service locks the database, and superadmin and migrate work afterwards', async () => {
    const ports = { HTTP_PORT: '0', GRPC_PORT: '0' };
    for (const held of [
      await usher(['superadmin', 'list'], service),
      await usher(['migrate'], service),
      await usherProcess(['serve'], { ...service.env, ...ports }),
    ]) {
      expect(held).toMatchObject({ code: 1, stdout: '' });
      expect(held.stderr.split('\n').filter((line) => line !== '')).toEqual([
        expect.stringMatching(/^Another process is using the embedded database in .*DATABASE_URL\)\.$/),
      ]);
    }
    expect(await service.stop()).toBe(0);

    const { env } = service;
    expect(await usher(['superadmin', 'list'], { env })).toEqual({
      code: 0,
      stdout: 'admin@example.com\n',
      stderr: '',
    });
    expect((await usher(['superadmin', 'remove', 'admin@example.com'], { env })).stderr).toBe(
      'This is the last active SuperAdmin; add another one first.\n',
    );
    expect((await usher(['superadmin', 'add', ' Ada@Example.com'], { env })).stdout).toBe(
      'ada@example.com is now a SuperAdmin.\n',
    );
    expect((await usher(['superadmin', 'add', 'ada@example.com'], { env })).stdout).toBe(
      'ada@example.com already was a SuperAdmin.\n',
    );
    expect((await usher(['superadmin', 'remove', 'admin@example.com'], { env })).code).toBe(0);
    expect((await usher(['superadmin', 'remove', 'admin@example.com'], { env })).stderr).toBe(
      'admin@example.com is not a SuperAdmin.\n',
    );
    const list = await usher(['superadmin', 'list', '--json'], { env });
    expect(JSON.parse(list.stdout)).toMatchObject([{ email: 'ada@example.com', active: true }]);
    expect((await usher(['migrate'], { env })).stdout).toBe('No pending migrations.\n');
    expect((await usher(['export', 'atelier'], { env })).stderr).toMatch(/^No service answers at /);
  }, 120_000);
});

describe('token', () => {
  test('token needs a local issuer and its data directory', async () => {
    const provider = { AUTH_ISSUER: 'https://idp.example.com', AUTH_AUDIENCE: 'usher' };
    expect((await usher(['token', 'a@example.com'], { env: provider })).stderr).toMatch(
      /^Tokens come from https:\/\/idp\.example\.com: /,
    );
    const nowhere = join(folder, 'nowhere');
    expect((await usher(['token', 'a@example.com'], { env: { DATA_DIR: nowhere } })).stderr).toBe(
      `${nowhere} does not exist: start the service once, or set DATA_DIR to its data directory.\n`,
    );
  });
});
