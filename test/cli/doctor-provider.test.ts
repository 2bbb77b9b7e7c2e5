import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { AUDIENCE } from '../support/oidc.ts';
import { straight } from '../support/postgres.ts';
import { type IdpDouble, SERVICE_TOKEN, startIdp } from '../support/provider/double.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { newFolder, usher } from './harness.ts';

const ADMIN = '/api/idp/admin';
const SEALING_KEY = Buffer.alloc(32, 7).toString('base64');
const { folder } = newFolder();

let storage: TestStorage;
let idp: IdpDouble;
let running: RunningUsher;
let env: Record<string, string>;

beforeAll(async () => {
  storage = await createStorage('postgresql');
  idp = await startIdp();
  env = {
    PUBLIC_URL: 'https://usher.example.com',
    AUTH_ISSUER: idp.url,
    AUTH_AUDIENCE: AUDIENCE,
    SUPERADMINS: 'admin@example.com',
    IDP_API_URL: idp.url,
    IDP_SERVICE_ACCOUNT_TOKEN: SERVICE_TOKEN,
    BRAND_SMTP_KEY: SEALING_KEY,
  };
  running = await startUsher(storage, { env });
}, 60_000);

afterAll(async () => {
  await running?.close();
  await idp?.close();
  await storage?.remove();
  await rm(folder, { recursive: true, force: true });
}, 60_000);

/** The rows about the provider, as `result: found`, and the advice for those that are not well. */
async function rows(changed: Record<string, string | undefined> = {}): Promise<{ found: string[]; advice: string[] }> {
  const whole = {
    ...env,
    DATA_DIR: join(folder, 'data'),
    DATABASE_URL: straight(storage.url).url,
    HTTP_PORT: '0',
    GRPC_PORT: '0',
    INTERNAL_API_KEY: 'canary-key-of-a-backend',
    ...changed,
  };
  const { stdout } = await usher(['doctor', '--json'], { env: whole });
  for (const secret of [SERVICE_TOKEN, SEALING_KEY, 'canary']) expect(stdout).not.toContain(secret);
  const { findings } = JSON.parse(stdout) as {
    findings: { check: string; result: string; found: string; advice: string | null }[];
  };
  const own = findings.filter(({ check }) => check === 'provider');
  return {
    found: own.map(({ result, found }) => `${result}: ${found}`),
    advice: own.flatMap(({ advice }) => (advice === null ? [] : [advice])),
  };
}

async function setUp(): Promise<void> {
  const token = await idp.oidc.mint({ ...idp.oidc.claims('admin'), email: 'admin@example.com' });
  const root = Rest.bearing(running, token);
  for (const path of ['/notification-provider/setup', '/actions/setup']) {
    expect((await root.post(ADMIN + path, {})).body).toMatchObject({ success: true, data: { configured: true } });
  }
}

async function forget(): Promise<void> {
  Object.assign(idp.state, { emailProviders: [], targets: [], executions: new Map() });
  await running.app.database.change(async ({ kysely }) => {
    await sql`delete from setting where key like 'idp.%'`.execute(kysely);
    return { result: null, scopes: [] };
  });
}

const ANSWERS = () => [
  expect.stringMatching(/^ok: .* answers, with \d+ keys$/),
  'ok: its clock agrees with this one',
  `ok: ${idp.url} answers`,
];
const KEYS = [
  'ok: its e-mails can be verified, by the key that set-up stored',
  'ok: its events can be verified, by the key that set-up stored',
];
const SETUP = '/api/idp/admin/actions/setup';

describe('what usher doctor says of the provider', () => {
  beforeEach(forget);

  test('a set-up that was never made is a warning, unless a key for events is configured', async () => {
    const { found, advice } = await rows();
    const missing = 'warning: no target and executions at the provider send its events here';
    expect(found).toEqual([...ANSWERS(), missing]);
    expect(advice).toEqual([expect.stringContaining(SETUP)]);
    expect((await rows({ IDP_EVENT_SIGNING_KEYS: 'a key', IDP_NOTIFICATION_SIGNING_KEY: 'b key' })).found).toEqual([
      ...ANSWERS(),
      'ok: its e-mails can be verified, by a configured key',
      'ok: its events can be verified, by a configured key',
    ]);
  }, 60_000);

  test('what was set up is well', async () => {
    await setUp();
    const { found, advice } = await rows();
    expect(found).toEqual([...ANSWERS(), ...KEYS, 'ok: its events are sent here, by a target that set-up made']);
    expect(advice).toEqual([]);
  }, 60_000);

  test.each<[string, () => unknown, string]>([
    [
      'a target that is gone',
      () => {
        idp.state.targets = [];
      },
      'warning: the target of its events is gone at the provider',
    ],
    [
      'executions that are gone',
      () => {
        for (const event of ['user.removed', 'user.locked']) idp.state.executions.delete(event);
      },
      'warning: of 11 types of its events 9 are sent here',
    ],
    [
      'an execution for another target',
      () => idp.state.executions.set('user.removed', ['another']),
      'warning: of 11 types of its events 10 are sent here',
    ],
    [
      'a target that sends elsewhere',
      () => {
        for (const target of idp.state.targets) target.endpoint = 'https://old.example.com/api/idp/events';
      },
      'warning: its events are sent to https://old.example.com/api/idp/events, and https://usher.example.com/api/idp/events is here',
    ],
    [
      'a set-up that stopped in the middle',
      () =>
        running.app.database.change(async ({ kysely }) => {
          await sql`update setting set value = value - 'complete' where key = 'idp.event-target'`.execute(kysely);
          return { result: null, scopes: [] };
        }),
      'warning: the set-up of its events was not completed',
    ],
  ])(
    '%s is a warning, and the set-up mends it',
    async (_name, spoil, said) => {
      await setUp();
      await spoil();
      const { found, advice } = await rows();
      expect(found).toEqual([...ANSWERS(), ...KEYS, said]);
      expect(advice).toEqual([expect.stringContaining(SETUP)]);
      await setUp();
      expect((await rows()).advice).toEqual([]);
    },
    60_000,
  );

  test('keys that were sealed with a key that is gone cannot verify anything', async () => {
    await setUp();
    const { found, advice } = await rows({ BRAND_SMTP_KEY: Buffer.alloc(32, 8).toString('base64') });
    const lost = (what: string) =>
      `failed: ${what} cannot be verified: their key was sealed with a key that is not configured`;
    expect(found.slice(3, 5)).toEqual([lost('its e-mails'), lost('its events')]);
    for (const one of advice) expect(one).toMatch(/brandSmtpKey.*repeat POST \/api\/idp\/admin\//);
    expect(advice).toHaveLength(2);
  }, 60_000);

  test('a service account that may not read targets, and an API that is not there', async () => {
    await setUp();
    const refused = await rows({ IDP_SERVICE_ACCOUNT_TOKEN: 'another token' });
    expect(refused.found.at(-1)).toMatch(/^failed: its targets cannot be read: .*Errors\.Token\.Invalid/);
    expect(refused.advice).toEqual([expect.stringContaining('idp.serviceAccountToken')]);
    const away = await rows({ IDP_API_URL: 'http://127.0.0.1:1' });
    expect(away.found[2]).toMatch(/^failed: http:\/\/127\.0\.0\.1:1: /);
    expect(away.advice[0]).toContain('IDP_API_URL');
  }, 60_000);
});
