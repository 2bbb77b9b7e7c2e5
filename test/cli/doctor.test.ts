import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { fits } from '../../src/app/doctor/machine.ts';
import { systemClock } from '../../src/base/clock.ts';
import { refreshTokenContext, Sealing } from '../../src/brands/sealing.ts';
import {
  type BrandChange,
  deleteBrand,
  insertBrand,
  listBrands,
  updateBrand,
} from '../../src/persistence/brands/brands.ts';
import { createAuthority } from '../grpc/certificates.ts';
import { PATHS } from '../support/oidc.ts';
import { createDatabase, SERVER_VARIABLE } from '../support/postgres.ts';
import { startSmtp } from '../support/smtp.ts';
import { refreshAccount } from '../support/token-accounts.ts';
import { TransactionPooler } from '../support/transaction-pooler.ts';
import { startUsher } from '../support/usher.ts';
import { database, examine, file, healthy, LOGIN, oidc, SEALING_KEY, smtp, storage } from './doctor-world.ts';
import { usher } from './harness.ts';

let taken: Server | undefined;
afterEach(() => {
  taken?.close();
  taken = undefined;
});

describe('usher doctor', () => {
  test('finds a healthy service healthy, by free ports and beside it, sends no mail and leaves no row', async () => {
    const rows = () => database.read(listBrands);
    const before = await rows();
    const { code, text, bad } = await examine();
    expect({ code, failed: text.match(/"result": "failed"/g) }).toEqual({ code: 0, failed: null });
    expect([bad('database').filter(([result]) => result === 'failed'), bad('provider'), bad('mail')]).toEqual([
      [],
      [],
      [],
    ]);
    expect(text).toMatch(/brand atelier, 127\.0\.0\.1:\d+ answers, and takes the login/);
    expect(text).toMatch(/"gateway, 127\.0\.0\.1:\d+: free"/);
    expect([smtp.mails.length, await rows()]).toEqual([0, before]);
    const running = await startUsher(storage, {
      env: { HTTP_PORT: healthy.HTTP_PORT ?? '', GRPC_PORT: healthy.GRPC_PORT ?? '', BRAND_SMTP_KEY: SEALING_KEY },
    });
    try {
      const beside = await examine();
      expect(beside.bad('listeners')).toEqual([]);
      expect(beside.text.match(/in use by a running Usher/g)).toHaveLength(2);
    } finally {
      await running.close();
    }
    const { stdout } = await usher(['doctor'], { env: healthy });
    expect(stdout).toMatch(/^ok {7}node {11}Node\.js /);
    expect(stdout).toMatch(/\n\d+ ok, \d+ warnings, 0 failed\n$/);
  }, 90_000);

  test.each<[string, string, () => Record<string, string | undefined>, RegExp]>([
    [
      'no database at the address',
      'database',
      () => ({ DATABASE_URL: 'postgresql://usher:canary@127.0.0.1:1/usher' }),
      /127\.0\.0\.1:1.*cannot be used/,
    ],
    [
      'no such database',
      'database',
      () => ({ DATABASE_URL: new URL('/nowhere', process.env[SERVER_VARIABLE]).href }),
      /there is no database nowhere/,
    ],
    ['another issuer', 'provider', () => ({ AUTH_ISSUER: `${oidc.issuer}/` }), /issuer in the metadata differs/],
    ['no issuer', 'provider', () => ({ AUTH_ISSUER: 'http://127.0.0.1:1' }), /unreachable/],
    [
      'the key of the brands gone',
      'mail',
      () => ({ BRAND_SMTP_KEY: Buffer.alloc(32, 8).toString('base64') }),
      /sealed with a key that is not configured/,
    ],
    [
      'an address that is not here',
      'listeners',
      () => ({ HTTP_HOST: '192.0.2.1' }),
      /cannot be listened on \(EADDRNOTAVAIL\)/,
    ],
  ])(
    '%s is found, with what to do',
    async (_, check, env, words) => {
      const { code, bad } = await examine(env());
      expect(code).toBe(1);
      const [first] = bad(check);
      expect(first?.[0]).toBe('failed');
      expect(first?.[1]).toMatch(words);
    },
    60_000,
  );

  test('pending migrations are found, and not applied', async () => {
    const empty = await createDatabase({ empty: true });
    try {
      const { code, bad } = await examine({ DATABASE_URL: empty.url, DATABASE_MIGRATE_ON_START: 'false' });
      expect([code, bad('database').at(-1)?.[1]]).toEqual([1, expect.stringMatching(/^\d+ migrations are pending$/)]);
      expect((await examine({ DATABASE_URL: empty.url, DATABASE_MIGRATE_ON_START: 'true' })).text).toMatch(
        /\d+ migrations are pending; the next start applies them/,
      );
    } finally {
      await empty.drop();
    }
  }, 60_000);

  test('a pooler in transaction mode, without and with a way past it', async () => {
    const pooler = await TransactionPooler.start(storage.url ?? '', { size: 2 });
    try {
      const through = await examine({ DATABASE_URL: pooler.url });
      expect(through.bad('database').at(-1)).toEqual([
        'warning',
        expect.stringMatching(/^a pooler in transaction mode stands in between, and nothing leads past it/),
        expect.stringMatching(/DATABASE_DIRECT_URL/),
      ]);
      const past = await examine({ DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: storage.url ?? '' });
      expect(past.text).toMatch(/"a pooler in transaction mode stands in between"/);
      const notPast = await examine({ DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: pooler.url });
      expect([notPast.code, notPast.bad('database').at(-1)?.[1]]).toEqual([1, expect.stringMatching(/cannot LISTEN/)]);
      expect((await examine()).text).toMatch(/"no pooler in between"/);
    } finally {
      await pooler.close();
    }
  }, 60_000);

  test('a database that takes connections and says nothing is told of in time', async () => {
    taken = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const since = performance.now();
    const silent = `postgresql://usher@127.0.0.1:${(taken.address() as AddressInfo).port}/usher`;
    expect((await examine({ DATABASE_URL: silent })).bad('database')[0]?.[1]).toMatch(/cannot be used/);
    expect(performance.now() - since).toBeLessThan(14_000);
  }, 60_000);

  test('a provider without keys, one that hangs, and one whose clock is off', async () => {
    oidc.faults.set(PATHS.jwks, { status: 200, body: '{"keys":[]}' });
    expect((await examine()).bad('provider')[0]?.[1]).toMatch(/no public key/);
    oidc.faults.set(PATHS.jwks, 'hang');
    expect((await examine()).bad('provider')[0]?.[1]).toMatch(/timeout/);
    oidc.faults.clear();
    const date = new Date(Date.now() - 3_600_000).toUTCString();
    const body = await (await fetch(`${oidc.issuer}${PATHS.discovery}`)).text();
    oidc.faults.set(PATHS.discovery, { status: 200, body, headers: { date } });
    const { code, bad } = await examine();
    expect([code, bad('provider')[0]?.[0]]).toEqual([0, 'warning']);
    expect(bad('provider')[0]?.[1]).toMatch(/differs from this one by -3\d{3} s/);
  }, 60_000);

  test('several organizations of the provider, and nothing that says whose administrators are', async () => {
    const several = { IDP_ORG_TO_APP: '{"17":"auth","18":"auth"}' };
    expect((await examine()).bad('accounts')).toEqual([]);
    expect((await examine({ IDP_ORG_TO_APP: '{"17":"auth"}' })).bad('accounts')).toEqual([]);
    const [found] = (await examine(several)).bad('accounts');
    expect(found).toEqual([
      'warning',
      expect.stringMatching(/^2 organizations/),
      expect.stringMatching(/AUTH_ADMIN_ORGANIZATIONS/),
    ]);
    for (const told of [
      { AUTH_ADMIN_ORGANIZATIONS: '17' },
      { AUTH_ORGANIZATIONS: '17' },
      { AUTH_BIND_FIRST: 'false' },
    ]) {
      expect((await examine({ ...several, ...told })).bad('accounts')).toEqual([]);
    }
    const unbound = (await examine({ ...several, AUTH_BIND_SUBJECT: 'false' })).bad('accounts');
    expect(unbound.map(([, words]) => words.slice(0, 16))).toEqual(['auth.bindSubject', '2 organizations ']);
  }, 60_000);

  test('an SMTP server that refuses the login, cuts the line, or is not there', async () => {
    smtp.fault = { at: 'login', words: (user, password) => `no ${user} ${password}` };
    expect((await examine()).bad('mail')).toEqual([
      ['failed', expect.stringMatching(/the login is refused \(535\)/), expect.any(String)],
    ]);
    smtp.fault = { at: 'greeting' };
    expect((await examine()).bad('mail')[0]?.[1]).toMatch(/no session/);
    expect(smtp.mails).toEqual([]);
  }, 60_000);

  test('a brand that signs in by OAuth 2.0, and keeps the refresh token that it is given', async () => {
    const takes = async (user: string, token: string) => user === LOGIN.user && (await oidc.isActive(token));
    const mail = await startSmtp({ xoauth2: { takes, explains: true } });
    const { tokenUrl, clientId, refreshToken } = await refreshAccount(oidc);
    const sealing = new Sealing([SEALING_KEY], systemClock);
    const id = (
      await database.change(async (tx) => ({ result: await insertBrand(tx, { slug: 'o', name: 'O' }), scopes: [] }))
    ).result.id;
    const set = async (change: BrandChange) =>
      await database.change(async (tx) => ({ result: await updateBrand(tx, id, change), scopes: [] }));
    try {
      const server = { smtpHost: '127.0.0.1', smtpPort: mail.port, smtpUser: LOGIN.user };
      const smtpRefreshToken = sealing.sealText(refreshTokenContext(id), refreshToken);
      const account = { smtpTokenUrl: tokenUrl, smtpClientId: clientId, smtpRefreshToken };
      await set({ ...server, smtpAuth: 'oauth2', ...account });
      // The provider takes each refresh token once.
      for (let time = 0; time < 2; time++) {
        const { bad, text } = await examine();
        expect([bad('mail'), text]).toEqual([
          [],
          expect.stringMatching(/brand o, 127\.0\.0\.1:\d+ answers, and takes the login/),
        ]);
      }
      await set({ smtpUser: 'other@example.com' });
      expect((await examine()).bad('mail')[0]).toEqual([
        'failed',
        expect.stringMatching(/the login is refused \(535\)/),
        expect.stringMatching(/user and scope/),
      ]);
      await set({ smtpRefreshToken: sealing.sealText(refreshTokenContext(id), 'canary-refresh-token') });
      expect((await examine()).bad('mail')[0]).toEqual([
        'failed',
        expect.stringMatching(/no access token \(invalid_grant\)/),
        expect.stringMatching(/secrets of the brand anew/),
      ]);
      oidc.faults.set(PATHS.token, 'reset');
      expect((await examine()).bad('mail')[0]?.[1]).toMatch(/no access token \(token_unreachable\)/);
      expect((await examine({ BRAND_SMTP_KEY: Buffer.alloc(32, 8).toString('base64') })).bad('mail')).toHaveLength(2);
      expect(mail.mails).toEqual([]);
    } finally {
      await database.change(async (tx) => ({ result: await deleteBrand(tx, id), scopes: [] }));
      await mail.close();
    }
  }, 90_000);

  test('a port that somebody else holds', async () => {
    taken = createServer().listen(Number(healthy.GRPC_PORT), '127.0.0.1');
    const { code, bad } = await examine();
    expect([code, bad('listeners')[0]?.[1]]).toEqual([1, `gRPC, 127.0.0.1:${healthy.GRPC_PORT}: in use`]);
  }, 60_000);

  test('files of secrets that others can read, and a certificate that ends soon', async () => {
    const { cert, key } = createAuthority('Usher test authority').issue('usher');
    const [crt, pem] = [file('tls.crt', cert), file('tls.key', key)];
    const secret = file('key', 'canary-key-of-a-backend');
    chmodSync(secret, 0o644);
    chmodSync(pem, 0o666);
    const env = {
      INTERNAL_API_KEY: undefined,
      INTERNAL_API_KEY_FILE: secret,
      GRPC_TLS_CERT: crt,
      GRPC_TLS_KEY: pem,
    };
    const { code, bad } = await examine(env);
    expect(code).toBe(0);
    expect(bad('files').map(([, found, advice]) => [found, advice])).toEqual([
      [`${secret} can be read by others (mode 644)`, `chmod 600 ${secret}`],
      [`${pem} can be read or written by others (mode 666)`, `chmod 600 ${pem}`],
    ]);
    expect(bad('certificates')[0]?.[1]).toBe('the certificate of gRPC expires in 6 days');
    // A group is others, too.
    chmodSync(secret, 0o640);
    chmodSync(pem, 0o600);
    const { bad: inGroup } = await examine(env);
    expect(inGroup('files').map(([, found]) => found)).toEqual([`${secret} can be read by others (mode 640)`]);
    chmodSync(secret, 0o600);
    expect((await examine(env)).bad('files')).toEqual([]);
  }, 60_000);

  test('a configuration that is wrong is all that is told', async () => {
    const { code, stdout } = await usher(['doctor'], { env: { ...healthy, CACHE_TTL_MS: 'soon' } });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^failed {3}configuration {2}cache\.ttlMs \(CACHE_TTL_MS\): must be a whole number/);
  });

  test('versions of Node.js', () => {
    const engines = '^24.12.0 || ^26.0.0';
    const versions = ['24.12.0', '24.21.3', '26.1.0', '24.11.9', '25.0.0', '22.12.0'];
    expect(versions.map((version) => fits(version, engines))).toEqual([true, true, true, false, false, false]);
  });
});
