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
