import { createServer, type IncomingMessage } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import type { AccessTokensOptions } from '../../src/delivery/access-tokens.ts';
import { createMailer, type Mailer, type MailSender, type OAuth2Account } from '../../src/delivery/mail.ts';
import type { Policy } from '../../src/outbound/outbound.ts';
import { type BearerServer, startBearerServer } from '../support/oauthbearer.ts';
import { type OidcDouble, PATHS, RESOURCE_CLIENT, startOidc } from '../support/oidc.ts';
import { endings, listen, outboundWith, resolvingTo, startCanary } from '../support/outbound.ts';
import { type SmtpSink, startSmtp } from '../support/smtp.ts';
import { accessTokens, clientAccount, LOOPBACK, refreshAccount } from '../support/token-accounts.ts';

const USER = 'postman@example.com';
const MESSAGE = {
  to: 'ben@example.com',
  subject: 'Hello',
  html: '<p>Hello</p>',
  text: 'Hello',
  locale: 'en',
  messageId: 'n-1@example.com',
  fromName: null,
};

let oidc: OidcDouble;
let explaining: SmtpSink;
let curt: SmtpSink;
let bearer: BearerServer;
beforeAll(async () => {
  oidc = await startOidc();
  const takes = async (user: string, token: string) => user === USER && (await oidc.isActive(token));
  [explaining, curt, bearer] = await Promise.all([
    startSmtp({ xoauth2: { takes, explains: true } }),
    startSmtp({ xoauth2: { takes, explains: false } }),
    startBearerServer((token) => oidc.isActive(token)),
  ]);
});
afterEach(() => {
  oidc.faults.clear();
  oidc.tokenSeconds = 3600;
  explaining.fault = null;
  curt.fault = null;
});
afterAll(() => Promise.all([oidc, explaining, curt, bearer].map((server) => server?.close())));

const asked = () => oidc.requests.get(PATHS.token) ?? 0;

function senderAt(port: number, account: OAuth2Account | null, change: object = {}): MailSender {
  const server = { host: '127.0.0.1', port, secure: false, allowInsecure: false };
  return {
    brandId: 1,
    slug: 'atelier',
    name: 'Atelier',
    from: { address: 'hello@atelier.example.com', name: 'Atelier' },
    look: { primaryColor: null, backgroundColor: null, logoUrl: null, footerText: null },
    smtp: { ...server, user: USER, password: null, oauth2: account, ...change },
  };
}

function mailerWith(options: Partial<AccessTokensOptions> = {}): Mailer {
  const tokens = accessTokens({ outbound: outboundWith(), ...options });
  const mailer = createMailer({ mailbox: null, clock: systemClock, tokens });
  endings.push(() => mailer.close());
  return mailer;
}

/** Signs in anew for each mail: by other settings of the session, which have no meaning on loopback. */
function eachAnew(port: number, account: OAuth2Account) {
  let allowInsecure = false;
  return () => {
    allowInsecure = !allowInsecure;
    return senderAt(port, account, { allowInsecure });
  };
}

describe('mail of an account that signs in by a token', () => {
  test('is sent by XOAUTH2, with one token for all its sessions', async () => {
    const mailer = mailerWith();
    const sender = eachAnew(explaining.port, clientAccount(oidc));
    const before = asked();
    const logins = explaining.logins.length;
    for (const urgent of [true, false, true]) {
      expect((await mailer.send(sender(), { ...MESSAGE, urgent })).kind).toBe('sent');
      expect(await explaining.next()).toMatchObject({ user: USER, to: ['ben@example.com'] });
    }
    const tokens = explaining.logins.slice(logins);
    // A mail that is not urgent has a session of its own.
    expect([tokens.length, new Set(tokens).size, asked() - before]).toEqual([2, 1, 1]);
  });

  test('asks for one token, however many mails wait for it', async () => {
    const mailer = mailerWith();
    const before = asked();
    const mails = Array.from({ length: 12 }, (_, at) =>
      mailer.send(senderAt(explaining.port, clientAccount(oidc)), { ...MESSAGE, urgent: at % 2 === 0 }),
    );
    expect(new Set((await Promise.all(mails)).map(({ kind }) => kind))).toEqual(new Set(['sent']));
    for (const _ of mails) await explaining.next();
    expect(asked() - before).toBe(1);
  });

  test('is sent by OAUTHBEARER where that is what the server offers, whatever is in the name of the user', async () => {
    const mailer = mailerWith();
    const by = (user: string) => senderAt(bearer.port, clientAccount(oidc), { user });
    expect((await mailer.send(by('a=b,c@example.com'), MESSAGE)).kind).toBe('sent');
    expect(bearer.mails.at(-1)).toEqual({
      from: 'hello@atelier.example.com',
      to: 'ben@example.com',
      by: 'a=3Db=2Cc@example.com',
    });
    expect(bearer.signIns.at(-1)?.split('\x01')).toEqual([
      'n,a=a=3Db=2Cc@example.com,',
      'host=127.0.0.1',
      `port=${bearer.port}`,
      expect.stringMatching(/^auth=Bearer \S+$/),
      '',
      '',
    ]);
    oidc.revokeAccess();
    const again = senderAt(bearer.port, clientAccount(oidc), { user: 'd@example.com' });
    expect((await mailer.send(again, MESSAGE)).kind).toBe('sent');
    // RFC 7628 3.2.3: the client ends a refused exchange with ^A.
    expect(bearer.acknowledged).toEqual(['\x01']);
  });

  test('fails as the login of a password does where the server takes no tokens', async () => {
    const plain = await startSmtp({ login: { user: USER, password: 'p' } });
    const outcome = await mailerWith().send(senderAt(plain.port, clientAccount(oidc)), MESSAGE);
    await plain.close();
    expect(outcome).toMatchObject({ kind: 'auth', code: '504' });
    expect(plain.logins).toEqual([]);
  });

  test.each([
    ['explains', () => explaining],
    ['does not explain', () => curt],
  ])('gets one new token in place of a refused one where the server %s', async (_, sink) => {
    const mailer = mailerWith();
    const sender = eachAnew(sink().port, clientAccount(oidc));
    await mailer.send(sender(), MESSAGE);
    await sink().next();
    oidc.revokeAccess();
    const [before, logins] = [asked(), sink().logins.length];
    expect((await mailer.send(sender(), MESSAGE)).kind).toBe('sent');
    await sink().next();
    expect([asked() - before, sink().logins.length - logins]).toEqual([1, 2]);
  });

  test('fails when the new token is refused, too, and says nothing of tokens', async () => {
    const mailer = mailerWith();
    const sender = senderAt(curt.port, clientAccount(oidc));
    curt.fault = {
      at: 'login',
      words: (user, token) => {
        const initial = Buffer.from(`user=${user}\x01auth=Bearer ${token}\x01\x01`).toString('base64');
        return `no ${token} nor ${Buffer.from(token).toString('base64')} nor ${initial}`;
      },
    };
    const [before, logins] = [asked(), curt.logins.length];
    expect(await mailer.send(sender, MESSAGE)).toEqual({
      kind: 'auth',
      code: '535',
      response: '535 no *** nor *** nor ***',
    });
    expect([asked() - before, curt.logins.length - logins]).toEqual([2, 2]);
    // The next one begins anew: the account may have been given its right meanwhile.
    curt.fault = null;
    expect((await mailer.send(sender, MESSAGE)).kind).toBe('sent');
    await curt.next();
    expect(asked() - before).toBe(3);
  });

  test('is sent, or fails for the same reason, where a server hangs up after it refused a token', async () => {
    const mailer = mailerWith();
    const sender = eachAnew(bearer.port, clientAccount(oidc));
    await mailer.send(sender(), MESSAGE);
    bearer.hangsUp = true;
    oidc.revokeAccess();
    const mails = bearer.mails.length;
    expect((await mailer.send(sender(), MESSAGE)).kind).toBe('sent');
    expect(bearer.mails.length - mails).toBe(1);
    const refusing = await startBearerServer(() => Promise.resolve(false));
    refusing.hangsUp = true;
    endings.push(() => refusing.close());
    const before = asked();
    expect(await mailer.send(senderAt(refusing.port, clientAccount(oidc)), MESSAGE)).toMatchObject({
      kind: 'auth',
      code: '535',
    });
    expect(asked() - before).toBeLessThan(3);
    bearer.hangsUp = false;
  });

  test('is sent with a new token before the old one ends', async () => {
    let now = 0;
    const mailer = mailerWith({ clock: { monotonic: () => now } });
    const sender = eachAnew(explaining.port, clientAccount(oidc));
    const tokens = async (seconds: number) => {
      oidc.tokenSeconds = seconds;
      const from = explaining.logins.length;
      await mailer.send(sender(), MESSAGE);
      await explaining.next();
      return explaining.logins.slice(from);
    };
    const first = await tokens(3600);
    now = 3_539_000;
    expect(await tokens(100)).toEqual(first);
    now = 3_541_000;
    const second = await tokens(100);
    expect(second).not.toEqual(first);
    now += 79_000;
    expect(await tokens(100)).toEqual(second);
    now += 2_000;
    expect(await tokens(100)).not.toEqual(second);
  });

  test('has another token once its account is another', async () => {
    const tokens = accessTokens({ outbound: outboundWith() });
    const account = clientAccount(oidc);
    const first = await tokens.tokenOf({ id: 1, account });
    expect(await tokens.tokenOf({ id: 1, account })).toBe(first);
    expect(await tokens.tokenOf({ id: 1, account: { ...account, tokenUrl: `${account.tokenUrl}?a` } })).not.toBe(first);
    expect(await tokens.tokenOf({ id: 2, account })).not.toBe(first);
  });

  test('is sent by a refresh token, and ID tokens of another issuer do no harm', async () => {
    oidc.accounts.set('postman', { email: USER });
    const account = await refreshAccount(oidc);
    const mailer = mailerWith();
    expect((await mailer.send(senderAt(explaining.port, account), MESSAGE)).kind).toBe('sent');
    await explaining.next();
  });
});

describe('a token endpoint that gives no token', () => {
  const fails = async (account: OAuth2Account, options: Partial<AccessTokensOptions> = {}) => {
    const connections = explaining.connections;
    const outcome = await mailerWith(options).send(senderAt(explaining.port, account), MESSAGE);
    expect(explaining.connections).toBe(connections);
    expect(JSON.stringify(outcome)).not.toContain(RESOURCE_CLIENT.secret);
    return outcome;
  };

  test('is the fault of the account where it refuses client or grant, and no mail server is asked', async () => {
    const account = clientAccount(oidc);
    expect(await fails({ ...account, clientSecret: 'canary-secret' })).toMatchObject({
      kind: 'auth',
      code: 'invalid_client',
    });
    const refresh = { ...(await refreshAccount(oidc)), refreshToken: 'canary-refresh-token' };
    expect(await fails(refresh)).toMatchObject({ kind: 'auth', code: 'invalid_grant' });
  });

  test('is quoted without the secrets that it repeats', async () => {
    const account = { ...clientAccount(oidc), refreshToken: 'canary-refresh-token' };
    const form = new URLSearchParams({ a: account.clientSecret ?? '' }).toString().slice(2);
    const words = `no ${account.refreshToken} and ${account.clientSecret}\nnor ${form}`;
    oidc.faults.set(PATHS.token, {
      status: 400,
      body: JSON.stringify({ error: 'invalid_grant', error_description: words }),
    });
    expect((await fails(account)).kind).toBe('auth');
    expect(await fails(account)).toMatchObject({
      code: 'invalid_grant',
      response: 'The token endpoint refused the account: invalid_grant: no *** and *** nor ***',
    });
  });

  test.each<[string, Parameters<OidcDouble['faults']['set']>[1], string, string]>([
    ['that is cut off', 'reset', 'transient', 'token_unreachable'],
    ['503', { status: 503, body: 'later' }, 'transient', 'token_503'],
    ['429', { status: 429, body: '{}' }, 'transient', 'token_429'],
    ['a page', { status: 200, body: '<html>', headers: { 'content-type': 'text/html' } }, 'auth', 'token_bad_response'],
    ['404', { status: 404, body: 'none', headers: { 'content-type': 'text/plain' } }, 'auth', 'token_bad_response'],
    ['a redirect', { status: 302, body: '', headers: { location: '/' } }, 'auth', 'token_redirected'],
    ['no token', { status: 200, body: '{"token_type":"bearer"}' }, 'auth', 'token_bad_response'],
    [
      'a token of two lines',
      { status: 200, body: '{"token_type":"bearer","access_token":"a\\r\\nb"}' },
      'auth',
      'token_malformed',
    ],
    [
      'too much',
      { status: 200, body: JSON.stringify({ access_token: 'x'.repeat(100_000) }) },
      'auth',
      'token_too_large',
    ],
  ])('is told from one that is away: %s', async (_, fault, kind, code) => {
    oidc.faults.set(PATHS.token, fault);
    expect(await fails(clientAccount(oidc))).toMatchObject({ kind, code });
  });

  test('holds a mail no longer than its caller waits', async () => {
    oidc.faults.set(PATHS.token, 'hang');
    const leaving = new AbortController();
    const sender = senderAt(explaining.port, clientAccount(oidc));
    const sent = mailerWith().send(sender, MESSAGE, leaving.signal);
    leaving.abort();
    expect(await sent).toMatchObject({ kind: 'transient', code: 'EABORT' });
  });

  test('is asked at no address and in no way that the operator has not allowed', async () => {
    const canary = await startCanary();
    const production: Policy = { reach: 'internet', http: false, anyPort: true };
    const at = (tokenUrl: string) => ({ ...clientAccount(oidc), tokenUrl });
    for (const [url, code] of [
      [`http://127.0.0.1:${canary.port}/token`, 'token_refused_url'],
      [`https://127.0.0.1:${canary.port}/token`, 'token_refused_address'],
      [`https://[::1]:${canary.port}/token`, 'token_refused_address'],
      [`https://login.example.com:${canary.port}/token`, 'token_refused_address'],
    ] as const) {
      const outbound = outboundWith(resolvingTo(['127.0.0.1']));
      expect([url, await fails(at(url), { policy: production, outbound })]).toMatchObject([
        url,
        { kind: 'auth', code },
      ]);
    }
    expect(await fails(at('http://169.254.169.254/token'))).toMatchObject({ code: 'token_refused_address' });
    expect(canary.connections()).toBe(0);
  });
});

/** A token endpoint of this test's own: keeps what it gets, and answers as `answer` says. */
async function startEndpoint(answer: (request: IncomingMessage, times: number) => [status: number, body: object]) {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      bodies.push(body);
      const [status, said] = answer(request, bodies.length);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(said));
    });
  });
  return { bodies, tokenUrl: `http://127.0.0.1:${await listen(server, '127.0.0.1')}/tenant/token` };
}

test('a token endpoint gets the grant, the scope and the client, and nothing else', async () => {
  const { bodies, tokenUrl } = await startEndpoint((_, times) => [
    200,
    { token_type: 'Bearer', access_token: `token-${times}`, expires_in: '3600' },
  ]);
  const tokens = accessTokens({ outbound: outboundWith(), policy: LOOPBACK });
  const account = { tokenUrl, clientId: 'c', clientSecret: 's+s', scope: 'https://mail.example.com/.default' };
  expect(await tokens.tokenOf({ id: 1, account: { ...account, refreshToken: null } })).toBe('token-1');
  expect(await tokens.tokenOf({ id: 1, account: { ...account, scope: null, refreshToken: 'r' } })).toBe('token-2');
  const byName = ([one]: string[], [other]: string[]) => String(one).localeCompare(String(other));
  expect(bodies.map((body) => [...new URLSearchParams(body)].toSorted(byName))).toEqual([
    [
      ['client_id', 'c'],
      ['client_secret', 's+s'],
      ['grant_type', 'client_credentials'],
      ['scope', account.scope],
    ],
    [
      ['client_id', 'c'],
      ['client_secret', 's+s'],
      ['grant_type', 'refresh_token'],
      ['refresh_token', 'r'],
    ],
  ]);
});

test('a secret goes by HTTP Basic where the body is not taken, and from then on', async () => {
  const basic = `Basic ${Buffer.from('c%3Ad:s%2Bs').toString('base64')}`;
  const { bodies, tokenUrl } = await startEndpoint(({ headers }, times) =>
    headers.authorization === basic
      ? [200, { token_type: 'Bearer', access_token: `token-${times}`, expires_in: 1 }]
      : [401, { error: 'invalid_client' }],
  );
  let now = 0;
  const tokens = accessTokens({ outbound: outboundWith(), clock: { monotonic: () => now } });
  const account = { tokenUrl, clientId: 'c:d', clientSecret: 's+s', scope: null, refreshToken: null };
  expect(await tokens.tokenOf({ id: 1, account })).toBe('token-2');
  now = 1000;
  expect(await tokens.tokenOf({ id: 1, account })).toBe('token-3');
  expect(bodies.map((body) => body.includes('s%2Bs'))).toEqual([true, false, false]);
});
