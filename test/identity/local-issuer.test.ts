import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type LocalIssuer, openLocalIssuer } from '../../src/identity/local-issuer.ts';
import { createTokens, type Tokens } from '../../src/identity/tokens.ts';
import { createOutbound } from '../../src/outbound/outbound.ts';
import { AUTH } from '../support/auth.ts';
import { outcome } from './harness.ts';
import { ManualClock } from './manual-clock.ts';

const FILE = 'local-issuer.jwk.json';
let root: string;
let dataDir: string;
let clock: ManualClock;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'usher-issuer-'));
  dataDir = join(root, 'a', 'data');
  clock = new ManualClock();
});
afterEach(() => rmSync(root, { recursive: true }));

const open = () => openLocalIssuer({ dataDir, clock });

function believe(local: LocalIssuer): Tokens {
  return createTokens({
    auth: { ...AUTH, algorithms: ['RS256'] },
    local,
    outbound: createOutbound({ clock, proxy: { proxy: null, noProxy: [] } }),
    clock,
    log: { warn: () => undefined },
  });
}

test('a signed token authenticates a caller without a network', async () => {
  const issuer = await open();
  const token = await issuer.sign(' Admin@Example.com', { given_name: 'Ada', locale: 'cs' });
  const now = Math.floor(clock.now() / 1000);
  expect(await believe(issuer).authenticate(`Bearer ${token}`)).toEqual({
    email: 'admin@example.com',
    issuer: 'urn:usher:local',
    subject: 'local:admin@example.com',
    issuedAt: now,
    expiresAt: now + 43_200,
    givenName: 'Ada',
    familyName: null,
    name: null,
    picture: null,
    organization: null,
    locale: 'cs',
    token,
  });
});

test('a signed token has the requested lifetime', async () => {
  const issuer = await open();
  const tokens = believe(issuer);
  const token = `Bearer ${await issuer.sign('a@example.com', {}, 60)}`;
  expect(await outcome(tokens, token)).toBe('a@example.com');
  clock.advance(89_000);
  expect(await outcome(tokens, token)).toBe('a@example.com');
  clock.advance(1000);
  expect(await outcome(tokens, token)).toBe('401 UNAUTHENTICATED: The access token has expired.');
});

test('an invalid address is refused', async () => {
  await expect((await open()).sign('nobody')).rejects.toMatchObject({ reason: 'VALIDATION_FAILED' });
});

test('tokens of another data directory are refused', async () => {
  const other = await openLocalIssuer({ dataDir: join(root, 'other'), clock });
  const token = await other.sign('admin@example.com');
  expect(await outcome(believe(await open()), `Bearer ${token}`)).toMatch(
    /^401 .* a key that is not in the issuer's key set/,
  );
});

test('an unverified address is refused by the local issuer, too', async () => {
  const issuer = await open();
  const token = await issuer.sign('admin@example.com', { email_verified: false });
  expect(await outcome(believe(issuer), `Bearer ${token}`)).toMatch(/^401 EMAIL_NOT_VERIFIED/);
});

test('the key is kept, 0600 in 0700, and its private part stays there', async () => {
  const first = await open();
  const second = await open();
  expect(second.jwks).toEqual(first.jwks);
  expect(readdirSync(dataDir)).toEqual([FILE]);
  expect(statSync(join(dataDir, FILE)).mode & 0o777).toBe(0o600);
  expect(statSync(dataDir).mode & 0o777).toBe(0o700);
  expect(JSON.stringify(first.jwks)).not.toContain('"d"');
});

test('a directory and a file that others could read are made private', async () => {
  mkdirSync(dataDir, { recursive: true, mode: 0o755 });
  await open();
  expect(statSync(dataDir).mode & 0o777).toBe(0o700);
  const path = join(dataDir, FILE);
  const text = readFileSync(path, 'utf8');
  rmSync(path);
  writeFileSync(path, text, { mode: 0o644 });
  await open();
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test.each([
  ['empty', ''],
  ['no JSON', 'key'],
  ['another kind of key', '{"kty":"RSA","n":"x","e":"AQAB"}'],
  ['cut off', '{"kty":"OKP","crv":"Ed25519","x":"AAAA"}'],
  ['halves that are not a pair of keys', '{"kty":"OKP","crv":"Ed25519","x":"AAAA","d":"AAAA"}'],
])('a damaged key file (%s) fails the start with the fix', async (_name, text) => {
  mkdirSync(dataDir, { recursive: true });
  writeFileSync(join(dataDir, FILE), text);
  await expect(open()).rejects.toThrow(/local-issuer\.jwk\.json does not hold the key of the local issuer; delete it/);
});

test('starts that race for a new directory agree on one key', async () => {
  const source = new URL('../../src/identity/local-issuer.ts', import.meta.url).href;
  const script = `
    import { parentPort, workerData } from 'node:worker_threads';
    const { openLocalIssuer } = await import(${JSON.stringify(source)});
    const { randomBytes } = await import('node:crypto');
    parentPort.postMessage('ready');
    await new Promise((resolve) => parentPort.once('message', resolve));
    const clock = { now: () => Date.now(), bytes: (count) => randomBytes(count) };
    const { jwks } = await openLocalIssuer({ dataDir: workerData, clock });
    parentPort.postMessage(jwks.keys[0].kid);
    process.exit(0);
  `;
  const url = new URL(`data:text/javascript,${encodeURIComponent(script)}`);
  const workers = Array.from({ length: 4 }, () => new Worker(url, { workerData: dataDir }));
  const next = (worker: Worker) =>
    new Promise<unknown>((resolve, reject) => worker.once('message', resolve).once('error', reject));
  await Promise.all(workers.map(next));
  const kids = workers.map(next);
  for (const worker of workers) worker.postMessage('go');
  expect(new Set(await Promise.all(kids)).size).toBe(1);
  expect(readdirSync(dataDir)).toEqual([FILE]);
});
