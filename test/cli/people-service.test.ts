import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type RunningService, startService, usher } from './harness.ts';

/** Roles, people and the audit over a service, as an administrator works: by codes and addresses alone. */

let service: RunningService;
beforeAll(async () => {
  service = await startService();
}, 120_000);
afterAll(() => service.remove(), 30_000);

async function json(...argv: string[]): Promise<unknown> {
  const { code, stdout, stderr } = await usher([...argv, '--json'], { env: service.env });
  expect({ argv, code, stderr }).toEqual({ argv, code: 0, stderr: '' });
  return JSON.parse(stdout);
}

async function codes(...argv: string[]): Promise<string[]> {
  return ((await json('roles', ...argv)) as { code: string }[]).map(({ code }) => code);
}

test("roles lists an application's roles, and those of a person", async () => {
  expect(await codes('atelier')).toEqual(['accountant', 'designer', 'director', 'guest']);
  expect(await codes('clara@example.com', 'atelier')).toEqual(['accountant']);
  expect(await codes('stranger@example.com', 'atelier')).toEqual([]);
  const { code, stderr } = await usher(['roles', 'nowhere'], { env: service.env });
  expect({ code, stderr }).toEqual({ code: 1, stderr: 'There is no application nowhere.\n' });
});

test('users filters by application, text and state', async () => {
  const emails = async (...argv: string[]) =>
    ((await json('users', ...argv)) as { email: string }[]).map(({ email }) => email);
  expect(await emails('--app', 'atelier', '--q', 'clara')).toEqual(['clara@example.com']);
  expect(await emails('--q', '%')).toEqual([]);
  expect(await emails('--inactive')).toEqual([]);
  expect((await emails('--active')).length).toBeGreaterThan(4);
  const { stdout, stderr } = await usher(['users', '--limit', '1'], { env: service.env });
  expect(stdout.split('\n')).toHaveLength(3);
  expect(stderr).toMatch(/^There are more people: /);
});

test('grant and revoke change one role at a time, and audit shows who did it to whom', async () => {
  expect(await json('grant', 'clara@example.com', 'atelier', 'guest')).toMatchObject({ changed: true });
  expect(await json('grant', 'clara@example.com', 'atelier', 'guest')).toMatchObject({ changed: false });
  // A year from now, in a zone of its own, without seconds.
  const day = new Date(Date.now() + 365 * 86_400_000).toISOString().slice(0, 10);
  const window = ['--from', `${day}T00:00+00:00`, '--until', `${day}T18:00+01:00`];
  expect(await json('grant', 'clara@example.com', 'atelier', 'guest', ...window)).toMatchObject({
    changed: false,
    startsAt: `${day}T00:00:00.000Z`,
    endsAt: `${day}T17:00:00.000Z`,
  });
  expect(
    await json('grant', 'clara@example.com', 'atelier', 'guest', '--from', 'none', '--until', 'none'),
  ).toMatchObject({
    startsAt: null,
    endsAt: null,
  });
  expect(await codes('clara@example.com', 'atelier')).toEqual(['accountant', 'guest']);
  expect(await json('revoke', 'clara@example.com', 'atelier', 'guest')).toMatchObject({ changed: true });
  expect(await codes('clara@example.com', 'atelier')).toEqual(['accountant']);
  const again = await usher(['revoke', 'clara@example.com', 'atelier', 'guest'], { env: service.env });
  expect(again).toMatchObject({ code: 1, stdout: '' });
  expect(again.stderr).not.toBe('');

  const records = (await json('audit', '--person', 'clara@example.com', '--app', 'atelier', '--from', '1h')) as {
    actor: string;
    subject: string;
  }[];
  expect(records.length).toBeGreaterThanOrEqual(2);
  for (const { subject } of records) expect(subject).toBe('clara@example.com');
  expect(records[0]?.actor).toBe('user:admin@example.com');
});

test('grant of an unknown role fails and changes nothing', async () => {
  const argv = ['grant', 'clara@example.com', 'atelier', 'accountnt', '--json'];
  const { code, stderr } = await usher(argv, { env: service.env });
  expect(code).toBe(1);
  expect(JSON.parse(stderr)).toMatchObject({ code: 'UNKNOWN_REFERENCE' });
  expect(await codes('clara@example.com', 'atelier')).toEqual(['accountant']);
});

test('a person is exported, offboarded and erased', async () => {
  const exported = await usher(['person', 'export', 'clara@example.com'], { env: service.env });
  expect({ code: exported.code, stderr: exported.stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(exported.stdout)).toMatchObject({ person: { email: 'clara@example.com' }, notifications: [] });
  const table = await usher(['person', 'export', 'clara@example.com', '-o', 'table'], { env: service.env });
  expect({ code: table.code, stdout: table.stdout }).toEqual({ code: 1, stdout: '' });

  const rehearsed = await usher(['person', 'offboard', 'clara@example.com', '--dry-run'], { env: service.env });
  expect(rehearsed.stdout).toMatch(
    /would be offboarded\.\nRemoved:\n {2}roles: 1\n {2}overrides: 1\nDecisions: [1-9]\d* fall, 0 rise\.\n$/,
  );
  expect(await codes('clara@example.com', 'atelier')).toEqual(['accountant']);
  const argv = ['person', 'offboard', 'clara@example.com', '--hand-over-to', 'admin@example.com'];
  expect(await json(...argv)).toMatchObject({ removed: { roles: 1 }, handedOver: [] });
  expect(await codes('clara@example.com', 'atelier')).toEqual([]);

  const foreseen = await usher(['person', 'erase', 'clara@example.com'], { env: service.env });
  expect(foreseen.stdout).toMatch(/^clara@example\.com would be erased; nothing was changed\./);
  expect(await json('users', '--q', 'clara@example.com')).toHaveLength(1);
  const erased = await usher(['person', 'erase', 'clara@example.com', '--yes'], { env: service.env });
  expect(erased.stdout).toMatch(
    /^clara@example\.com is erased; in the audit they are erased-[0-9a-f]{32}\.\nRemoved:\n {2}people: 1\n/,
  );
  expect(await json('users', '--q', 'clara@example.com')).toEqual([]);
  const unknown = await usher(['person', 'erase', 'nobody@example.com', '--yes'], { env: service.env });
  expect(unknown).toMatchObject({ code: 1, stdout: '', stderr: 'There is no user nobody@example.com.\n' });
});

test('an export that breaks off is a failure', async () => {
  const breaking = createServer((_, res) => {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.write('{"exportedAt":', () => res.destroy());
  });
  await new Promise<void>((resolve) => breaking.listen(0, '127.0.0.1', resolve));
  try {
    const url = `http://127.0.0.1:${(breaking.address() as AddressInfo).port}`;
    const { code, stderr } = await usher(['person', 'export', 'clara@example.com', '--url', url, '--token', 'a-token']);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'The service broke off: what was printed is not complete. Try again.\n',
    });
  } finally {
    breaking.closeAllConnections();
    await new Promise((resolve) => breaking.close(resolve));
  }
});
