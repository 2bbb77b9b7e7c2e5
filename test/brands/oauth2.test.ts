import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { refreshTurns, turnsOf } from '../../src/brands/refresh-turns.ts';
import { Sealing } from '../../src/brands/sealing.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { type OidcDouble, PATHS } from '../support/oidc.ts';
import { outboundWith } from '../support/outbound.ts';
import { Rest } from '../support/rest.ts';
import type { SmtpSink } from '../support/smtp.ts';
import { accessTokens, clientAccount, refreshAccount } from '../support/token-accounts.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { BRANDS, everything, newKey, startMailWorld, USER } from './oauth2-world.ts';

const KEY = newKey();

let oidc: OidcDouble;
let sink: SmtpSink;
beforeAll(async () => {
  ({ oidc, sink } = await startMailWorld());
});
afterEach(() => {
  oidc.faults.clear();
  sink.fault = null;
});
afterAll(() => Promise.all([oidc?.close(), sink?.close()]));

describe.each(KINDS)('brands that sign in by OAuth 2.0 (%s)', (kind) => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let root: Rest;
  let slugs = 0;
  beforeAll(async () => {
    storage = await createStorage(kind);
    usher = await startUsher(storage, { env: { BRAND_SMTP_KEY: KEY } });
    root = await Rest.as(usher, 'admin@example.com');
  }, 60_000);
  afterAll(async () => {
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  const account = () => {
    const { tokenUrl, clientId, clientSecret } = clientAccount(oidc);
    return { tokenUrl, clientId, clientSecret };
  };
  const server = () => ({ host: '127.0.0.1', port: sink.port, user: USER });
  const make = async (smtp: object) => {
    const slug = `b${slugs++}`;
    const made = await root.post(BRANDS, { slug, name: slug, smtp });
    expect([made.status, made.body.data?.slug]).toEqual([201, slug]);
    return `${BRANDS}/${made.body.data.id}`;
  };
  const secretsOf = async (path: string) =>
    await usher.app.database.read(
      async (tx) =>
        await tx.kysely
          .selectFrom('brand')
          .select(['smtpClientSecret', 'smtpRefreshToken', 'smtpPassword'])
          .where('id', '=', Number(path.slice(path.lastIndexOf('/') + 1)))
          .executeTakeFirstOrThrow(),
    );

  test('send, are shown without their secrets, and a PUT of what GET answers changes nothing', async () => {
    const refreshToken = 'canary-refresh-token';
    const path = await make({ ...server(), auth: 'oauth2', oauth2: { ...account(), scope: null } });
    expect((await root.post(`${path}/test-email`, { to: 'ben@example.com' })).status).toBe(200);
    expect(await sink.next()).toMatchObject({ user: USER, to: ['ben@example.com'] });
    const given = await root.put(path, { smtp: { oauth2: { refreshToken, scope: 'mail.send' } } });
    expect(given.body.data.smtp).toEqual({
      ...server(),
      secure: false,
      allowInsecure: false,
      auth: 'oauth2',
      hasPassword: false,
      oauth2: {
        tokenUrl: account().tokenUrl,
        clientId: account().clientId,
        scope: 'mail.send',
        hasClientSecret: true,
        hasRefreshToken: true,
      },
    });
    const before = await everything(usher.app.database);
    const read = await root.get(path);
    expect((await root.put(path, read.body.data)).body).toEqual(read.body);
    expect((await root.put(path, { smtp: { oauth2: { refreshToken, ...account() } } })).body).toEqual(read.body);
    expect(await everything(usher.app.database)).toBe(before);
    for (const secret of [account().clientSecret ?? '', refreshToken]) {
      expect(JSON.stringify([before, given.body, (await root.get(BRANDS)).body])).not.toContain(secret);
    }
  });

  test('say in the audit record where tokens come from, and that a secret changed', async () => {
    const path = await make({ ...server(), auth: 'oauth2', oauth2: account() });
    await root.put(path, { smtp: { oauth2: { clientSecret: 'canary-2', refreshToken: 'canary-3' } } });
    const [record] = await usher.app.database.read(
      async (tx) =>
        await tx.kysely
          .selectFrom('audit')
          .selectAll()
          .where('action', '=', 'brand.changed')
          .orderBy('id', 'desc')
          .limit(1)
          .execute(),
    );
    const { tokenUrl, clientId } = account();
    expect(record?.after).toMatchObject({
      smtp: { auth: 'oauth2', oauth2: { tokenUrl, clientId, hasClientSecret: true, hasRefreshToken: true } },
      clientSecretChanged: true,
      refreshTokenChanged: true,
    });
    expect(record?.after).not.toHaveProperty('passwordChanged');
    expect(JSON.stringify(record)).not.toContain('canary');
    // Nor anything sealed.
    expect(JSON.stringify(record)).not.toContain(`${new Sealing([KEY], systemClock).current}.`);
  });

  test.each<[string, (smtp: object, oauth2: object) => object, string, RegExp]>([
    ['no user', (smtp, oauth2) => ({ ...smtp, user: null, oauth2 }), 'smtp.user', /required with auth oauth2/],
    ['no oauth2', (smtp) => smtp, 'smtp.oauth2', /required/],
    ['oauth2 null', (smtp) => ({ ...smtp, oauth2: null }), 'smtp.oauth2', /required/],
    [
      'no tokenUrl',
      (smtp, oauth2) => ({ ...smtp, oauth2: { ...oauth2, tokenUrl: undefined } }),
      'smtp.oauth2.tokenUrl',
      /required/,
    ],
    [
      'no clientId',
      (smtp, oauth2) => ({ ...smtp, oauth2: { ...oauth2, clientId: undefined } }),
      'smtp.oauth2.clientId',
      /required/,
    ],
    [
      'no secret and no refresh token',
      (smtp, oauth2) => ({ ...smtp, oauth2: { ...oauth2, clientSecret: undefined } }),
      'smtp.oauth2.clientSecret',
      /required without a refreshToken/,
    ],
    ['a password', (smtp, oauth2) => ({ ...smtp, password: 'p', oauth2 }), 'smtp.password', /with auth oauth2/],
    [
      'oauth2 with auth password',
      (smtp, oauth2) => ({ ...smtp, auth: 'password', oauth2 }),
      'smtp.oauth2',
      /with auth password/,
    ],
    [
      'oauth2 without auth',
      (smtp, oauth2) => ({ ...smtp, auth: undefined, oauth2 }),
      'smtp.oauth2',
      /send auth oauth2/,
    ],
    ['another auth', (smtp, oauth2) => ({ ...smtp, auth: 'ntlm', oauth2 }), 'smtp.auth', /password|oauth2/],
    [
      'an unknown member',
      (smtp, oauth2) => ({ ...smtp, oauth2: { ...oauth2, secret: 's' } }),
      'smtp.oauth2.secret',
      /./,
    ],
    [
      'an empty secret',
      (smtp, oauth2) => ({ ...smtp, oauth2: { ...oauth2, clientSecret: '' } }),
      'smtp.oauth2.clientSecret',
      /empty/,
    ],
    [
      'a scope of two lines',
      (smtp, oauth2) => ({ ...smtp, oauth2: { ...oauth2, scope: 'a\nb' } }),
      'smtp.oauth2.scope',
      /line/,
    ],
    ...[
      'ftp://a.example.com/',
      'https://u:p@a.example.com/',
      'token',
      'https://a.example.com/#x',
      'https://169.254.169.254/t',
      'https://10.0.0.1/t',
      'https://[fd00::1]/t',
    ].map((tokenUrl): [string, (smtp: object, oauth2: object) => object, string, RegExp] => [
      tokenUrl,
      (smtp, oauth2) => ({ ...smtp, oauth2: { ...oauth2, tokenUrl } }),
      'smtp.oauth2.tokenUrl',
      /^must/,
    ]),
  ])('are refused with the field and the rule: %s', async (_, change, path, rule) => {
    const before = (await root.get(BRANDS)).body;
    const smtp = change({ ...server(), auth: 'oauth2' }, account());
    const refused = await root.post(BRANDS, { slug: 'refused', name: 'Refused', smtp });
    expect([refused.status, refused.body.details.issues]).toEqual([
      400,
      [{ path, message: expect.stringMatching(rule) }],
    ]);
    expect((await root.get(BRANDS)).body).toEqual(before);
  });

  test('need their secrets again for another server, user, token endpoint or client', async () => {
    const path = await make({ ...server(), auth: 'oauth2', oauth2: { ...account(), refreshToken: 'r' } });
    const before = await secretsOf(path);
    for (const smtp of [
      { host: '127.0.0.2' },
      { port: sink.port + 1 },
      { user: 'other@example.com' },
      { oauth2: { tokenUrl: `${oidc.issuer}/other` } },
      { oauth2: { clientId: 'other' } },
    ]) {
      const refused = await root.put(path, { name: 'Sneaked', smtp });
      const message = 'must be sent again when host, port, user, tokenUrl or clientId change';
      expect([refused.status, refused.body.details.issues]).toEqual([
        400,
        [
          { path: 'smtp.oauth2.clientSecret', message },
          { path: 'smtp.oauth2.refreshToken', message },
        ],
      ]);
    }
    expect(await secretsOf(path)).toEqual(before);
    const moved = await root.put(path, {
      smtp: { host: '127.0.0.2', oauth2: { clientSecret: 's', refreshToken: null } },
    });
    expect(moved.body.data.smtp).toMatchObject({
      host: '127.0.0.2',
      oauth2: { hasClientSecret: true, hasRefreshToken: false },
    });
    // Neither what signs in with a scope nor how the connection is made says where a secret goes.
    expect((await root.put(path, { smtp: { secure: true, oauth2: { scope: 's' } } })).status).toBe(200);
  });

  test('lose the secrets of one kind of sign-in with the other, and all with the server', async () => {
    const path = await make({ ...server(), password: 'p' });
    const turned = await root.put(path, { smtp: { auth: 'oauth2', oauth2: { ...account(), refreshToken: 'r' } } });
    expect(turned.body.data.smtp).toMatchObject({ auth: 'oauth2', hasPassword: false });
    expect((await secretsOf(path)).smtpPassword).toBeNull();
    const back = await root.put(path, { smtp: { auth: 'password', password: 'p' } });
    expect(back.body.data.smtp).toMatchObject({ auth: 'password', hasPassword: true, oauth2: null });
    expect(await secretsOf(path)).toMatchObject({ smtpClientSecret: null, smtpRefreshToken: null });
    await root.put(path, { smtp: { auth: 'oauth2', oauth2: { ...account(), refreshToken: 'r' } } });
    await root.put(path, { smtp: null });
    expect(await secretsOf(path)).toEqual({
      smtpClientSecret: null,
      smtpRefreshToken: null,
      smtpPassword: null,
    });
    expect((await root.put(path, { smtp: server() })).body.data.smtp).toMatchObject({ auth: 'password', oauth2: null });
  });

  test('tell in the answer of a test mail what the token endpoint says', async () => {
    const path = await make({ ...server(), auth: 'oauth2', oauth2: { ...account(), clientSecret: 'canary-wrong' } });
    const refused = await root.post(`${path}/test-email`, { to: 'ben@example.com' });
    expect([refused.status, refused.body.details]).toEqual([
      502,
      {
        code: 'SMTP_FAILED',
        smtp: { kind: 'auth', code: 'invalid_client', response: expect.stringContaining('invalid_client') },
      },
    ]);
    oidc.faults.set(PATHS.token, 'reset');
    const away = await root.post(`${path}/test-email`, { to: 'ben@example.com' });
    expect(away.body.details.smtp).toMatchObject({ kind: 'transient', code: 'token_unreachable' });
    expect(JSON.stringify([refused.body, away.body])).not.toContain('canary');
  });

  test('send what waited once their account is taken again', async () => {
    await root.post('/api/applications', { code: 'billing', name: 'Billing' });
    const path = await make({ ...server(), auth: 'oauth2', oauth2: { ...account(), clientSecret: 'wrong' } });
    const { slug } = (await root.get(path)).body.data;
    await (await Rest.as(usher, 'gigi@example.com')).put('/api/profile/me', { brand: slug });
    const order = { recipients: ['gigi@example.com'], subject: 'News', body: 'Plain.' };
    const sent = await root.post('/api/applications/billing/notifications', order);
    expect(sent.status).toBe(202);
    const error = async () =>
      await usher.app.database.read(
        async (tx) =>
          (
            await tx.kysely.selectFrom('delivery').select(['error', 'status']).orderBy('id', 'desc').limit(1).execute()
          )[0],
      );
    for (let tries = 0; (await error())?.error == null && tries < 200; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    // Of the account: tried again, not failed for good.
    expect(await error()).toEqual({ error: 'smtp_auth', status: 'queued' });
    expect((await root.put(path, { smtp: { oauth2: { clientSecret: account().clientSecret } } })).status).toBe(200);
    // Another process knows of no pause.
    await usher.close();
    usher = await startUsher(storage, { env: { BRAND_SMTP_KEY: KEY } });
    root = await Rest.as(usher, 'admin@example.com');
    expect((await sink.next()).to).toEqual(['gigi@example.com']);
  }, 90_000);

  test('use a refresh token one at a time, and keep the one that they are given in its place', async () => {
    oidc.accounts.set('postman', { email: USER });
    const { refreshToken, tokenUrl, clientId } = await refreshAccount(oidc);
    const path = await make({ ...server(), auth: 'oauth2', oauth2: { tokenUrl, clientId, refreshToken } });
    const id = Number(path.slice(path.lastIndexOf('/') + 1));
    const owner = { id, account: { tokenUrl, clientId, refreshToken, clientSecret: null, scope: null } };
    // Another process each: this provider takes a token that is used twice for stolen, and everything back that came of it.
    const sealing = new Sealing([KEY], systemClock);
    const process = () => {
      const turns = refreshTurns({ store: turnsOf(usher.app.database), sealing, clock: systemClock });
      return accessTokens({ outbound: outboundWith(), turns });
    };
    const tokens = await Promise.all(Array.from({ length: 5 }, () => process().tokenOf(owner)));
    expect(new Set(tokens).size).toBe(5);
    expect((await root.post(`${path}/test-email`, { to: 'ben@example.com' })).status).toBe(200);
    await sink.next();
    expect(await oidc.isActive(tokens[0] ?? '')).toBe(true);
    const stored = await everything(usher.app.database);
    expect(stored).not.toContain(refreshToken);
    // Another refresh token of an administrator's counts at once.
    const other = await refreshAccount(oidc);
    expect((await root.put(path, { smtp: { oauth2: { refreshToken: other.refreshToken } } })).status).toBe(200);
    expect((await root.post(`${path}/test-email`, { to: 'ben@example.com' })).status).toBe(200);
    await sink.next();
  });
});
