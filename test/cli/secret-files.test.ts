import { createECDH } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { MAX_SECRET } from '../../src/cli/secret-files.ts';
import { KEYS } from '../../src/config/keys.ts';
import type { Key } from '../../src/config/kinds.ts';
import { newFolder, startService, usher, usherProcess } from './harness.ts';

const KEY_32 = Buffer.alloc(32, 7).toString('base64');
const CANARY = 'a-canary-of-many-characters';
const pair = createECDH('prime256v1');
pair.generateKeys();
/** A value of each secret. */
const SECRETS: Readonly<Record<string, string>> = {
  UPSTREAM_KEY: CANARY,
  DATABASE_URL: `postgresql://usher:${CANARY}@db/usher`,
  DATABASE_DIRECT_URL: `postgresql://usher:${CANARY}@direct/usher`,
  DATABASE_FACTS_URL: `postgresql://usher:${CANARY}@replica/usher`,
  AUTH_CLIENT_SECRET: CANARY,
  INTERNAL_API_KEY: `${CANARY},shop:check:${CANARY}-of-a-shop`,
  USHER_SECRET_KEY: CANARY,
  DECISION_LOG_HASH_KEY: `${CANARY}-of-the-decision-log`,
  BRAND_SMTP_KEY: KEY_32,
  IDP_SERVICE_ACCOUNT_TOKEN: CANARY,
  IDP_WEBHOOK_SECRET: CANARY,
  IDP_NOTIFICATION_SIGNING_KEY: CANARY,
  IDP_EVENT_SIGNING_KEYS: CANARY,
  IDP_CLIENT_SECRET: CANARY,
  OUTBOUND_PROXY: `http://usher:${CANARY}@proxy.example.com:3128`,
  PUSH_PRIVATE_KEY: pair.getPrivateKey('base64url'),
};
/** What the others require beside them. */
const BESIDE: Readonly<Record<string, Record<string, string>>> = {
  UPSTREAM_KEY: { UPSTREAM_ADDRESS: 'usher.internal:50051', INTERNAL_API_KEY: 'the-key-of-callers-of-an-edge' },
  DATABASE_DIRECT_URL: { DATABASE_URL: 'postgresql://usher@db/usher' },
  DATABASE_FACTS_URL: { DATABASE_URL: 'postgresql://usher@db/usher' },
  PUSH_PRIVATE_KEY: {
    PUSH_PUBLIC_KEY: pair.getPublicKey('base64url'),
    PUSH_SUBJECT: 'mailto:ops@example.com',
  },
};
const secrets = Object.entries<Key<unknown>>(KEYS).filter(([, { secret }]) => secret);

const { folder, file } = newFolder();

/** The row of `usher config` for a key. */
async function shown(key: string, env: Record<string, string>) {
  const { code, stdout, stderr } = await usher(['config', '-o', 'json'], { env });
  if (code !== 0) throw new Error(stderr);
  return (JSON.parse(stdout) as { key: string }[]).find((row) => row.key === key);
}

async function refusal(env: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await usher(['config'], { env });
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).not.toContain(CANARY);
  return stderr;
}

describe('a secret in a file', () => {
  test('every secret can stand in a file, and is masked', async () => {
    expect(secrets.map(([, { variable }]) => variable).toSorted()).toEqual(Object.keys(SECRETS).toSorted());
    for (const [key, { variable }] of secrets) {
      const path = file(variable.toLowerCase(), `${SECRETS[variable]}\n`);
      const given = await shown(key, { ...BESIDE[variable], [`${variable}_FILE`]: path });
      const itself = await shown(key, { ...BESIDE[variable], [variable]: SECRETS[variable] ?? '' });
      expect(given).toEqual({ ...itself, variable: `${variable}_FILE` });
      for (const secret of [CANARY, SECRETS[variable]]) expect(JSON.stringify(given)).not.toContain(secret);
    }
  });

  test('a line break at the end is no part of it', async () => {
    const path = file('token-key', `usher:check:${CANARY}\r\n`);
    const asked = { INTERNAL_API_KEY_FILE: path, HTTP_PORT: '0', GRPC_PORT: '0' };
    const service = await startService(asked);
    try {
      const ask = async (key: string) => {
        const question = { email: 'clara@example.com', app: 'atelier', permission: 'project.access' };
        const headers = { 'content-type': 'application/json', 'x-internal-api-key': key };
        return (await fetch(`${service.url}/api/check`, { method: 'POST', headers, body: JSON.stringify(question) }))
          .status;
      };
      expect([await ask(CANARY), await ask(`${CANARY}x`)]).toEqual([200, 401]);
    } finally {
      await service.stop();
      await service.remove();
    }
  }, 60_000);

  test('a relative path starts at the working directory', async () => {
    file('beside', CANARY);
    const around = { env: { USHER_SECRET_KEY_FILE: 'beside' }, cwd: folder };
    const { stdout } = await usher(['config', '-o', 'json'], around);
    expect(stdout).toContain('"USHER_SECRET_KEY_FILE"');
  });

  test('both variables are refused, whatever they hold', async () => {
    for (const value of [CANARY, '']) {
      const env = { USHER_SECRET_KEY: value, USHER_SECRET_KEY_FILE: file('twice', CANARY) };
      expect(await refusal(env)).toContain(
        'secretKey (USHER_SECRET_KEY): is given twice: remove USHER_SECRET_KEY or USHER_SECRET_KEY_FILE',
      );
    }
  });

  test('a file that cannot be used is refused by key, variable and path, and all are told at once', async () => {
    mkdirSync(join(folder, 'directory'));
    writeFileSync(join(folder, 'binary'), Buffer.from([0xff, 0xfe, 0x00]));
    const message = await refusal({
      NODE_ENV: 'production',
      DATABASE_URL_FILE: join(folder, 'missing'),
      USHER_SECRET_KEY_FILE: join(folder, 'directory'),
      IDP_CLIENT_SECRET_FILE: join(folder, 'binary'),
      IDP_WEBHOOK_SECRET_FILE: file('large', 'x'.repeat(MAX_SECRET + 1)),
      AUTH_CLIENT_SECRET_FILE: '/dev/zero',
      BRAND_SMTP_KEY_FILE: file('blank', '\n'),
      INTERNAL_API_KEY_FILE: '',
    });
    const lines = message.split('\n').map((line) => line.trim());
    const of = (key: string) => lines.filter((line) => line.startsWith(`${key} (`));
    expect(of('database.url')).toEqual([
      `database.url (DATABASE_URL_FILE): the file ${folder}/missing cannot be read (ENOENT); for example /run/secrets/usher`,
    ]);
    expect(of('secretKey')).toEqual([expect.stringContaining(`the file ${folder}/directory cannot be read (EISDIR)`)]);
    expect(of('idp.clientSecret')).toEqual([expect.stringContaining('is not text in UTF-8')]);
    for (const key of ['idp.webhookSecret', 'auth.clientSecret'])
      expect(of(key)).toEqual([expect.stringContaining(`is larger than ${MAX_SECRET} bytes`)]);
    expect(of('brandSmtpKey')).toEqual([expect.stringMatching(/\(BRAND_SMTP_KEY_FILE\): is empty/)]);
    expect(of('internal.apiKeys')).toEqual([expect.stringContaining('(INTERNAL_API_KEY_FILE): is empty')]);
  });

  test('a wrong value in a file names the variable of the file', async () => {
    const env = { DATABASE_URL_FILE: file('wrong', `mysql://usher:${CANARY}@db/usher`) };
    expect(await refusal(env)).toContain('database.url (DATABASE_URL_FILE): must be a postgresql:// URL');
  });

  test('the file goes before the configuration file, as the variable does', async () => {
    const config = file('usher.yaml', 'secretKey: another-secret-of-the-file\n');
    const env = { USHER_CONFIG: config, USHER_SECRET_KEY_FILE: file('first', CANARY) };
    expect(await shown('secretKey', env)).toMatchObject({ source: 'environment', variable: 'USHER_SECRET_KEY_FILE' });
  });

  test('a file that is not readable for this user is refused', async () => {
    // A user who may read everything would read it.
    const path = process.getuid?.() === 0 ? '/proc/self/mem' : file('closed', CANARY);
    if (process.getuid?.() !== 0) (await import('node:fs')).chmodSync(path, 0);
    expect(await refusal({ USHER_SECRET_KEY_FILE: path })).toMatch(/cannot be read \((EIO|EACCES)\)/);
  });

  test('a variable that names a file in vain, and one that is misspelled, are named at the start', async () => {
    const env = {
      USHER_CONFIG: file('none.yaml', 'roles: [none]\n'),
      HTTP_PORT_FILE: '/run/secrets/port',
      DATABASE_URL_FIEL: '/run/secrets/url',
    };
    const { stderr } = await usherProcess(['serve'], env);
    expect(stderr).toContain('HTTP_PORT_FILE has no effect: only secrets are read from files');
    expect(stderr).toContain('DATABASE_URL_FIEL is not known; did you mean DATABASE_URL_FILE?');
  });
});
