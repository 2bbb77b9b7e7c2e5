import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { passwordContext, Sealing } from '../../src/brands/sealing.ts';
import { generatePair } from '../../src/delivery/p256.ts';
import { insertBrand, updateBrand } from '../../src/persistence/brands/brands.ts';
import type { Database } from '../../src/persistence/database.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { AUDIENCE, type OidcDouble, startOidc } from '../support/oidc.ts';
import { freePort, straight } from '../support/postgres.ts';
import { type SmtpSink, startSmtp } from '../support/smtp.ts';
import { newFolder, usher } from './harness.ts';

export const SEALING_KEY = Buffer.alloc(32, 7).toString('base64');
export const LOGIN = { user: 'postman@example.com', password: 'canary-password-of-smtp' };
const [publicKey, privateKey] = generatePair();
export const { folder, file } = newFolder();

export let storage: TestStorage;
export let database: Database;
export let smtp: SmtpSink;
export let oidc: OidcDouble;
export let healthy: Record<string, string>;

beforeAll(async () => {
  storage = await createStorage('postgresql');
  database = await storage.open();
  smtp = await startSmtp({ login: LOGIN });
  oidc = await startOidc();
  await database.change(async (tx) => {
    const { id } = await insertBrand(tx, { slug: 'atelier', name: 'Atelier' });
    const sealed = new Sealing([SEALING_KEY], systemClock).seal(passwordContext(id), LOGIN.password);
    await updateBrand(tx, id, {
      smtpHost: '127.0.0.1',
      smtpPort: smtp.port,
      smtpUser: LOGIN.user,
      smtpPassword: sealed.text,
      smtpKey: sealed.key,
    });
    return { result: null, scopes: [] };
  });
  healthy = {
    DATA_DIR: join(folder, 'data'),
    // What it says of a pooler, one of this test's own shows.
    DATABASE_URL: straight(storage.url).url,
    HTTP_PORT: `${await freePort()}`,
    GRPC_PORT: `${await freePort()}`,
    AUTH_ISSUER: oidc.issuer,
    AUTH_AUDIENCE: AUDIENCE,
    INTERNAL_API_KEY: 'canary-key-of-a-backend',
    BRAND_SMTP_KEY: SEALING_KEY,
    PUSH_PUBLIC_KEY: publicKey,
    PUSH_PRIVATE_KEY: privateKey,
    PUSH_SUBJECT: 'mailto:operations@example.com',
  };
}, 60_000);

afterEach(() => {
  smtp.fault = null;
  oidc.faults.clear();
});

afterAll(async () => {
  await oidc?.close();
  await smtp?.close();
  await storage?.remove();
  await rm(folder, { recursive: true, force: true });
}, 60_000);

interface Seen {
  code: number;
  /** Of a check, but for those that are well. */
  readonly bad: (check: string) => [result: string, found: string, advice: string][];
  text: string;
}

export async function examine(env: Record<string, string | undefined> = {}): Promise<Seen> {
  const { code, stdout, stderr } = await usher(['doctor', '--json'], { env: { ...healthy, ...env } });
  expect(stderr).toBe('');
  const { findings } = JSON.parse(stdout) as {
    findings: { check: string; result: string; found: string; advice: string | null }[];
  };
  for (const secret of [LOGIN.password, SEALING_KEY, privateKey, 'canary']) expect(stdout).not.toContain(secret);
  // What is wrong says what to do, and what is well says nothing of the kind.
  for (const { result, advice } of findings) expect(advice === null).toBe(result === 'ok');
  const bad = (check: string) =>
    findings
      .filter((finding) => finding.check === check && finding.result !== 'ok')
      .map(({ result, found, advice }): [string, string, string] => [result, found, advice ?? '']);
  return { code, bad, text: stdout };
}
