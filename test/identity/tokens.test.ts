import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  AUDIENCE,
  type Fault,
  newSigningKey,
  type OidcDouble,
  PATHS,
  RESOURCE_CLIENT,
  startOidc,
} from '../support/oidc.ts';
import { believe, type Harness, outcome } from './harness.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const AWAY = '503 UNAVAILABLE: The identity provider cannot be asked about the access token; try again.';
const UNKNOWN_KEY = '401 UNAUTHENTICATED: The access token is signed by a key that the issuer does not have.';
const UNVERIFIED = '401 EMAIL_NOT_VERIFIED: The e-mail address of this account is not verified; verify it first.';
const JANE = 'jane@example.com';

let oidc: OidcDouble;
let harness: Harness;
const endings: (() => Promise<void>)[] = [];

beforeEach(async () => {
  oidc = await startOidc();
  harness = start();
  oidc.accounts.set('jane', {
    email: JANE,
    email_verified: true,
    given_name: 'Jane',
    family_name: 'Doe',
    locale: 'cs',
  });
});
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
  await oidc.close();
});

function start(...options: Parameters<typeof believe> extends [unknown, ...infer Rest] ? Rest : never): Harness {
  const started = believe(oidc, ...options);
  endings.push(() => started.close());
  return started;
}

type Change = Record<string, unknown>;
const mint = async (change: Change = {}, header: Change = {}) =>
  `Bearer ${await oidc.mint({ ...oidc.claims('jane', harness.clock.now()), ...change }, header)}`;
/** As the provider makes them by default: who it is, says userinfo. */
const mintBare = (change: Change = {}) => mint({ email: undefined, email_verified: undefined, ...change });
const ask = (authorization: string, of = harness) => outcome(of.tokens, authorization);
const count = (path: string) => oidc.requests.get(path) ?? 0;

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let time = 0; time < 400; time++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error('the condition was not met within 2 s');
}

describe('real tokens of a real provider', () => {
  test('a JWT with the address in it', async () => {
    oidc.tokenClaims = ['email', 'email_verified', 'given_name'];
    const { accessToken } = await oidc.signIn('jane', 'jwt');
    const caller = await harness.tokens.authenticate(`Bearer ${accessToken}`);
    expect(caller).toEqual({
      email: JANE,
      issuer: oidc.issuer,
      subject: 'jane',
      issuedAt: expect.any(Number),
      expiresAt: caller.issuedAt + 3600,
      givenName: 'Jane',
      familyName: null,
      name: null,
      picture: null,
      locale: null,
      token: accessToken,
    });
    expect(count(PATHS.userinfo)).toBe(0);
  });

  test('a JWT without the address is completed from userinfo, names too', async () => {
    const { accessToken } = await oidc.signIn('jane', 'jwt');
    expect(await harness.tokens.authenticate(`Bearer ${accessToken}`)).toMatchObject({
      email: JANE,
      givenName: 'Jane',
      familyName: 'Doe',
      locale: 'cs',
    });
  });

  test('its ID token and its refresh token are refused', async () => {
    const { idToken, refreshToken } = await oidc.signIn('jane', 'jwt');
    expect(await ask(`Bearer ${idToken}`)).toMatch(/^401 UNAUTHENTICATED/);
    expect(await ask(`Bearer ${idToken}`, start({ audience: 'panel' }))).toMatch(/^401 .* is an ID token/);
    expect(await ask(`Bearer ${refreshToken}`)).toBe('401 UNAUTHENTICATED: The access token is no signed JWT.');
  });

  test('an opaque token is refused where introspection is not configured, although userinfo would know it', async () => {
    const { accessToken } = await oidc.signIn('jane', 'opaque');
    expect(await ask(`Bearer ${accessToken}`)).toBe('401 UNAUTHENTICATED: The access token is no signed JWT.');
    expect(count(PATHS.userinfo) + count(PATHS.introspection)).toBe(0);
  });
});

describe('opaque tokens, introspection configured', () => {
  const introspecting = (change: Change = {}) =>
    start({
      introspectionUrl: `${oidc.issuer}${PATHS.introspection}`,
      clientId: RESOURCE_CLIENT.id,
      clientSecret: RESOURCE_CLIENT.secret,
      ...change,
    });
  const answering = async (change: Change) => {
    const now = Math.floor(harness.clock.now() / 1000);
    const answer = {
      active: true,
      iss: oidc.issuer,
      aud: [AUDIENCE],
      sub: 'jane',
      exp: now + 600,
      iat: now,
      token_type: 'Bearer',
      email: JANE,
      email_verified: true,
      ...change,
    };
    oidc.faults.set(PATHS.introspection, { status: 200, body: JSON.stringify(answer) });
    return ask('Bearer opaque', introspecting());
  };

  test('a real one is taken, with one introspection and one userinfo for a minute', async () => {
    const { accessToken, refreshToken } = await oidc.signIn('jane', 'opaque');
    const own = introspecting();
    for (let time = 0; time < 5; time++) expect(await ask(`Bearer ${accessToken}`, own)).toBe(JANE);
    expect([count(PATHS.introspection), count(PATHS.userinfo), count(PATHS.jwks)]).toEqual([1, 1, 0]);
    own.clock.advance(MINUTE);
    expect(await ask(`Bearer ${accessToken}`, own)).toBe(JANE);
    expect(count(PATHS.introspection)).toBe(2);
    expect(await ask(`Bearer ${refreshToken}`, own)).toMatch(/^401 UNAUTHENTICATED/);
    expect(await ask('Bearer nonsense', own)).toBe('401 UNAUTHENTICATED: The access token is not active.');
  });

  test('a revoked one is refused a minute later', async () => {
    const { accessToken } = await oidc.signIn('jane', 'opaque');
    const own = introspecting();
    expect(await ask(`Bearer ${accessToken}`, own)).toBe(JANE);
    const revoked = await fetch(`${oidc.issuer}${PATHS.revocation}`, {
      method: 'POST',
      body: new URLSearchParams({ token: accessToken, client_id: 'panel' }),
    });
    expect(revoked.status).toBe(200);
    own.clock.advance(MINUTE);
    expect(await ask(`Bearer ${accessToken}`, own)).toBe('401 UNAUTHENTICATED: The access token is not active.');
  });

  test('JWTs are still proved by their signature', async () => {
    const own = introspecting();
    expect(await ask(await mint(), own)).toBe(JANE);
    expect(await ask(await mint({ iss: 'https://x.example' }), own)).toMatch(/another issuer/);
    expect(count(PATHS.introspection)).toBe(0);
  });

  test.each<[string, Change, string | RegExp]>([
    ['all of it', {}, JANE],
    ['audience as text', { aud: AUDIENCE }, JANE],
    ['no expiry', { exp: undefined }, JANE],
    ['not active', { active: false }, /not active/],
    ['active as text', { active: 'true' }, /not active/],
    ['active left out', { active: undefined }, /not active/],
    ['no issuer', { iss: undefined }, /another issuer/],
    ['another issuer', { iss: 'https://x.example' }, /another issuer/],
    ['no audience', { aud: undefined }, /another audience/],
    ['another audience', { aud: ['panel'] }, /another audience/],
    ['expired', { exp: 1 }, /expired/],
    ['not yet valid', { nbf: 1e11 }, /not valid yet/],
    ['a refresh token', { token_type: 'refresh_token' }, /no bearer access token/],
    ['bound to a key', { token_type: 'DPoP' }, /no bearer access token/],
    ['no subject', { sub: undefined }, /names no subject/],
    ['not verified', { email_verified: false }, UNVERIFIED],
  ])('%s', async (_name, change, expected) => {
    expect(await answering(change)).toMatch(expected);
  });

  test.each<[string, Fault]>([
    ['wrong credentials of ours', { status: 401, body: '{"error":"invalid_client"}' }],
    ['500', { status: 500, body: '' }],
    ['no JSON', { status: 200, body: 'active' }],
    ['a list', { status: 200, body: '[true]' }],
    ['gone', 'reset'],
  ])('trouble is 503, never 401: %s', async (_name, fault) => {
    oidc.faults.set(PATHS.introspection, fault);
    expect(await ask('Bearer opaque', introspecting())).toBe(AWAY);
  });

  test('our own wrong secret is trouble too', async () => {
    expect(await ask('Bearer opaque', introspecting({ clientSecret: 'wrong' }))).toBe(AWAY);
  });
});

describe('the address', () => {
  const withUserinfo = (change: Change) => {
    const { email: _, ...account } = oidc.accounts.get('jane') ?? {};
    oidc.accounts.set('jane', { ...account, email: JANE, ...change });
  };

  test.each<[string, Change, Change, string | RegExp]>([
    ['verified in the token: userinfo is not asked', { email_verified: true }, { email_verified: false }, JANE],
    ['the token does not say, userinfo says true', { email_verified: undefined }, {}, JANE],
    [
      'the token does not say, userinfo says false',
      { email_verified: undefined },
      { email_verified: false },
      UNVERIFIED,
    ],
    [
      'the token does not say, userinfo neither',
      { email_verified: undefined },
      { email_verified: undefined },
      UNVERIFIED,
    ],
    [
      'the token does not say, userinfo vouches for another address',
      { email_verified: undefined },
      { email: 'x@example.com' },
      UNVERIFIED,
    ],
    [
      'the token does not say, userinfo has the same in capitals',
      { email_verified: undefined },
      { email: 'JANE@example.com' },
      JANE,
    ],
    ['the token denies, userinfo is not asked', { email_verified: false }, {}, UNVERIFIED],
    ['only in userinfo, verified', { email: undefined }, {}, JANE],
    [
      'only in userinfo, whatever the token says of an address that it has not',
      { email: undefined, email_verified: true },
      { email_verified: undefined },
      UNVERIFIED,
    ],
    [
      'only in userinfo, not verified',
      { email: undefined, email_verified: undefined },
      { email_verified: false },
      UNVERIFIED,
    ],
    [
      'only in userinfo, a look-alike',
      { email: undefined, email_verified: undefined },
      { email: '\u212aate@example.com' },
      /^401 .*address is none that Usher takes/,
    ],
    [
      'nowhere',
      { email: undefined, email_verified: undefined },
      { email: undefined },
      /^401 .*Neither token nor userinfo/,
    ],
    [
      'userinfo speaks of another subject',
      { email: undefined, email_verified: undefined },
      { sub: 'root' },
      /^401 .*another subject/,
    ],
  ])('%s', async (_name, inToken, inUserinfo, expected) => {
    withUserinfo(inUserinfo);
    expect(await ask(await mint(inToken))).toMatch(expected);
  });

  const metadataWithout = (endpoint: string) => async () => {
    const document = (await (await fetch(`${oidc.issuer}${PATHS.discovery}`)).json()) as Record<string, unknown>;
    delete document[endpoint];
    oidc.faults.set(PATHS.discovery, { status: 200, body: JSON.stringify(document) });
  };

  test.each([
    ['required', true, UNVERIFIED],
    ['not required', false, JANE],
  ])('no userinfo endpoint, the token does not say, verification %s', async (_name, requireVerifiedEmail, expected) => {
    await metadataWithout('userinfo_endpoint')();
    expect(await ask(await mint({ email_verified: undefined }), start({ requireVerifiedEmail }))).toBe(expected);
  });

  test('no userinfo endpoint, no address: refused', async () => {
    await metadataWithout('userinfo_endpoint')();
    const own = start({ requireVerifiedEmail: false });
    expect(await ask(await mintBare(), own)).toMatch(/^401 UNAUTHENTICATED: The access token names no e-mail address/);
    expect(await ask(await mint({ email_verified: false }), own)).toBe(UNVERIFIED);
  });

  test('an issuer without metadata, its keys configured: there is no userinfo', async () => {
    oidc.faults.set(PATHS.discovery, { status: 404, body: '' });
    const jwksUrl = `${oidc.issuer}${PATHS.jwks}`;
    expect(await ask(await mint(), start({ jwksUrl }))).toBe(JANE);
    expect(await ask(await mint({ email_verified: undefined }), start({ jwksUrl }))).toBe(UNVERIFIED);
    const lenient = start({ jwksUrl, requireVerifiedEmail: false });
    expect(await ask(await mint({ email_verified: undefined }), lenient)).toBe(JANE);
  });

  test.each([401, 403])('userinfo refuses the token (%s): so do we', async (status) => {
    oidc.faults.set(PATHS.userinfo, { status, body: '' });
    expect(await ask(await mintBare())).toBe(
      '401 UNAUTHENTICATED: The identity provider does not take the access token.',
    );
    oidc.faults.clear();
  });

  test('userinfo is asked once in five minutes a token, and not beyond its expiry', async () => {
    const token = await mintBare({ exp: Math.floor(harness.clock.now() / 1000) + 400 });
    const asked: number[] = [];
    for (const step of [0, 4 * MINUTE, MINUTE - 1, 1, 0]) {
      harness.clock.advance(step);
      expect(await ask(token)).toBe(JANE);
      asked.push(count(PATHS.userinfo));
    }
    expect(asked).toEqual([1, 1, 1, 2, 2]);
    oidc.accounts.set('jane', { email: JANE, email_verified: false });
    harness.clock.advance(130_000);
    expect(await ask(token)).toBe('401 UNAUTHENTICATED: The access token has expired.');
  });
});

describe('the provider is in trouble: 503, never 401', () => {
  const tooLarge = JSON.stringify({ keys: [], filler: 'x'.repeat(300_000) });
  const faults: [string, Fault][] = [
    ['500', { status: 500, body: '{}' }],
    ['429', { status: 429, body: '{}', headers: { 'retry-after': '9' } }],
    ['404', { status: 404, body: '{}' }],
    ['400', { status: 400, body: '{}' }],
    ['204', { status: 204, body: '' }],
    ['a redirect', { status: 302, body: '', headers: { location: '/oauth/v2/keys' } }],
    ['a page', { status: 200, body: '<!doctype html><h1>Maintenance</h1>' }],
    ['nothing', { status: 200, body: '' }],
    ['null', { status: 200, body: 'null' }],
    ['a list', { status: 200, body: '[]' }],
    ['an empty object', { status: 200, body: '{}' }],
    ['too much', { status: 200, body: tooLarge }],
    ['compressed', { status: 200, body: 'x', headers: { 'content-encoding': 'gzip' } }],
    ['gone', 'reset'],
    ['silent', 'hang'],
  ];
  type Place = 'discovery' | 'jwks' | 'userinfo';
  const places = (['discovery', 'jwks', 'userinfo'] as const).flatMap((place) =>
    faults.map(([name, fault]): [Place, string, Fault] => [place, name, fault]),
  );

  test.each(places)('%s: %s', async (place, _name, fault) => {
    oidc.faults.set(PATHS[place], fault);
    const own = start({}, { speed: fault === 'hang' ? 10 : 1 });
    const token = await mintBare();
    const error = await own.tokens.authenticate(token).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      httpStatus: 503,
      code: 'UNAVAILABLE',
      details: { code: 'IDP_UNREACHABLE' },
      retryAfter: 5,
    });
    oidc.faults.clear();
    own.clock.advance(1000);
    expect(await ask(token, own)).toBe(JANE);
  });

  test.each<[string, unknown]>([
    ['no list of keys', { keys: 'none' }],
    ['no keys', { keys: [] }],
    ['a symmetric key', { keys: [{ kty: 'oct', k: 'AAAA', kid: 'x' }] }],
    ['keys for encryption only', { keys: [{ kty: 'RSA', use: 'enc', n: 'x'.repeat(342), e: 'AQAB' }] }],
    ['an RSA key of 1024 bits', { keys: [{ kty: 'RSA', n: 'x'.repeat(171), e: 'AQAB' }] }],
    ['keys that are null', { keys: [null, 1, 'x'] }],
  ])('a key set with %s is no key set', async (_name, document) => {
    oidc.faults.set(PATHS.jwks, { status: 200, body: JSON.stringify(document) });
    expect(await ask(await mint())).toBe(AWAY);
    expect(harness.warnings).toEqual(["The identity provider's keys cannot be read"]);
  });

  test('a key that is broken where it counts', async () => {
    const ec = newSigningKey('ES256', 'ec');
    const broken = { ...ec.publicJwk, x: 'AAAA' };
    oidc.faults.set(PATHS.jwks, { status: 200, body: JSON.stringify({ keys: [broken] }) });
    const token = await oidc.mint(oidc.claims('jane', harness.clock.now()), {}, ec);
    expect(await ask(`Bearer ${token}`)).toBe(AWAY);
  });

  test.each<[string, Change]>([
    ['another issuer', { issuer: 'https://idp.example.com' }],
    ['keys that are nowhere', { jwks_uri: undefined }],
    ['keys at no URL', { jwks_uri: 'keys' }],
    ['keys in a file', { jwks_uri: 'file:///etc/passwd' }],
    ['keys at the metadata service of a cloud', { jwks_uri: 'http://169.254.169.254/latest' }],
    ['keys behind credentials', { jwks_uri: 'http://a:b@127.0.0.1/' }],
  ])('metadata with %s', async (_name, change) => {
    const document = { issuer: oidc.issuer, jwks_uri: `${oidc.issuer}${PATHS.jwks}`, ...change };
    oidc.faults.set(PATHS.discovery, { status: 200, body: JSON.stringify(document) });
    expect(await ask(await mint())).toBe(AWAY);
    expect(count(PATHS.jwks)).toBe(0);
  });

  test('an outage costs one attempt a second, not one a request', async () => {
    oidc.faults.set('*', 'reset');
    for (let time = 0; time < 20; time++) expect(await ask(await mint())).toBe(AWAY);
    const attempts = count(PATHS.discovery);
    // A GET whose connection closed is repeated once.
    expect(attempts).toBeLessThanOrEqual(2);
    harness.clock.advance(1000);
    expect(await ask(await mint())).toBe(AWAY);
    expect(count(PATHS.discovery)).toBeLessThanOrEqual(2 * attempts);
  });
});

describe('the key set', () => {
  test('rotation: a token of a new key is taken at once, one of a removed key no more', async () => {
    const old = await mint();
    expect(await ask(old)).toBe(JANE);
    oidc.rotate();
    harness.clock.advance(1);
    expect(await ask(await mint())).toBe(JANE);
    expect(count(PATHS.jwks)).toBe(2);
    expect(await ask(old)).toBe(UNKNOWN_KEY);
  });

  test('rotation that keeps the old key: both are taken', async () => {
    const old = await mint();
    expect(await ask(old)).toBe(JANE);
    oidc.rotate({ keepOld: true });
    harness.clock.advance(1);
    expect(await ask(await mint())).toBe(JANE);
    expect(await ask(old)).toBe(JANE);
  });

  test('a removed key is noticed without a token of a new one, within ten minutes and a request', async () => {
    const old = await mint();
    expect(await ask(old)).toBe(JANE);
    oidc.rotate();
    harness.clock.advance(10 * MINUTE - 1);
    expect(await ask(old)).toBe(JANE);
    harness.clock.advance(1);
    expect(await ask(old)).toBe(JANE);
    await until(async () => (await ask(old)) === UNKNOWN_KEY);
  });

  test('after an hour of silence the keys are read before a token of yesterday is believed', async () => {
    const old = await mint({ exp: Math.floor(harness.clock.now() / 1000) + 86_400 });
    expect(await ask(old)).toBe(JANE);
    oidc.rotate();
    harness.clock.advance(HOUR);
    expect(await ask(old)).toBe(UNKNOWN_KEY);
  });

  test('an unknown key in the first token ever: a set read for it is not read again', async () => {
    expect(await ask(await mint({}, { kid: 'x' }))).toBe(UNKNOWN_KEY);
    expect(count(PATHS.jwks)).toBe(1);
  });

  test('a flood of unknown keys reads the set once in 30 s', async () => {
    expect(await ask(await mint())).toBe(JANE);
    const reads: number[] = [];
    for (let second = 0; second <= 90; second++) {
      harness.clock.advance(1000);
      const flood = await Promise.all(Array.from({ length: 5 }, (_, n) => mint({}, { kid: `${second}-${n}` })));
      expect(await Promise.all(flood.map((token) => ask(token)))).toEqual(flood.map(() => UNKNOWN_KEY));
      reads.push(count(PATHS.jwks));
    }
    expect(reads[0]).toBe(2);
    expect(reads.at(-1)).toBe(5);
    expect(reads.filter((total, second) => total > 2 + Math.floor(second / 30))).toEqual([]);
    expect(count(PATHS.discovery)).toBe(1);
  });

  test('an unknown key while newer keys cannot be read is trouble, not a bad token', async () => {
    expect(await ask(await mint())).toBe(JANE);
    oidc.rotate();
    oidc.faults.set(PATHS.jwks, { status: 500, body: '' });
    harness.clock.advance(1000);
    const token = await mint();
    expect(await ask(token)).toBe(AWAY);
    expect(await ask(token)).toBe(AWAY);
    oidc.faults.clear();
    harness.clock.advance(30_000);
    expect(await ask(token)).toBe(JANE);
  });

  test('the last good set serves for 24 hours, and not longer', async () => {
    const exp = Math.floor(harness.clock.now() / 1000) + 7 * 86_400;
    const seen = await mint({ exp });
    expect(await ask(seen)).toBe(JANE);
    const unseen = await mint({ exp, jti: 'another' });
    oidc.faults.set('*', 'reset');
    for (let hour = 1; hour < 24; hour++) {
      harness.clock.advance(HOUR);
      expect([hour, await ask(seen)]).toEqual([hour, JANE]);
    }
    harness.clock.advance(HOUR - 1000);
    expect(await ask(unseen)).toBe(JANE);
    harness.clock.advance(1000);
    expect(await ask(seen)).toBe(AWAY);
    expect(await ask(unseen)).toBe(AWAY);
    expect(await ask(await mint({ exp, iss: 'https://x.example' }))).toBe(AWAY);
    oidc.faults.clear();
    // An attempt that began during the outage may still be under way: recovery takes a second more then.
    await until(async () => {
      harness.clock.advance(1000);
      return (await ask(seen)) === JANE;
    });
  });

  test('an outage keeps nobody waiting while the last good set serves', async () => {
    expect(await ask(await mint())).toBe(JANE);
    oidc.faults.set('*', 'hang');
    for (let time = 0; time < 5; time++) {
      harness.clock.advance(11 * MINUTE);
      const start = performance.now();
      expect(await ask(await mint({ jti: String(time) }))).toBe(JANE);
      // The provider's silence would last for 5 s.
      expect(performance.now() - start).toBeLessThan(2000);
    }
  });

  test('a set of garbage does not replace a good one', async () => {
    expect(await ask(await mint())).toBe(JANE);
    oidc.faults.set(PATHS.jwks, { status: 200, body: '{"keys":[]}' });
    harness.clock.advance(20 * MINUTE);
    const before = count(PATHS.jwks);
    expect(await ask(await mint({ jti: 'x' }))).toBe(JANE);
    await until(() => count(PATHS.jwks) > before && harness.warnings.length === 1);
    expect(await ask(await mint({ jti: 'y' }))).toBe(JANE);
  });
});

describe('concurrency and memory', () => {
  test('1,000 first uses of one token at once: one look at each thing', async () => {
    const token = await mintBare();
    const answers = await Promise.all(Array.from({ length: 1000 }, () => ask(token)));
    expect(new Set(answers)).toEqual(new Set([JANE]));
    expect([count(PATHS.discovery), count(PATHS.jwks), count(PATHS.userinfo)]).toEqual([1, 1, 1]);
  });

  test('1,000 tokens at once: one key set, one userinfo a token', async () => {
    const tokens = await Promise.all(Array.from({ length: 1000 }, (_, n) => mintBare({ jti: `t${n}` })));
    const answers = await Promise.all([...tokens, ...tokens].map((token) => ask(token)));
    expect(new Set(answers)).toEqual(new Set([JANE]));
    expect([count(PATHS.discovery), count(PATHS.jwks), count(PATHS.userinfo)]).toEqual([1, 1, 1000]);
  });

  test('1,000 at once while the provider is away: all 503, then all good', async () => {
    oidc.faults.set('*', { status: 503, body: '' });
    const token = await mintBare();
    const all = () => Promise.all(Array.from({ length: 1000 }, () => ask(token)));
    expect(new Set(await all())).toEqual(new Set([AWAY]));
    oidc.faults.clear();
    harness.clock.advance(1000);
    expect(new Set(await all())).toEqual(new Set([JANE]));
  });

  test('a remembered token costs no second verification, and ends with its expiry', async () => {
    const token = await mint({ exp: Math.floor(harness.clock.now() / 1000) + 600 });
    const first = await harness.tokens.authenticate(token);
    const second = await harness.tokens.authenticate(token);
    expect(second).toEqual(first);
    harness.clock.advance(629_000);
    expect(await ask(token)).toBe(JANE);
    harness.clock.advance(1000);
    expect(await ask(token)).toBe('401 UNAUTHENTICATED: The access token has expired.');
  });

  test('what is remembered is bounded, the oldest goes first', async () => {
    const own = start({}, { maxTokens: 3 });
    const tokens = await Promise.all([1, 2, 3, 4].map((n) => mintBare({ jti: `t${n}` })));
    for (const token of tokens) await ask(token, own);
    expect(count(PATHS.userinfo)).toBe(4);
    for (const token of tokens.slice(1)) await ask(token, own);
    expect(count(PATHS.userinfo)).toBe(4);
    await ask(tokens[0] ?? '', own);
    expect(count(PATHS.userinfo)).toBe(5);
  });

  test('a refusal is not remembered: what the provider mends is good at once', async () => {
    oidc.accounts.set('jane', { email: JANE, email_verified: false });
    const token = await mintBare();
    expect(await ask(token)).toBe(UNVERIFIED);
    oidc.accounts.set('jane', { email: JANE, email_verified: true });
    expect(await ask(token)).toBe(JANE);
  });

  test('nothing of a token is in an error, its causes, or the log', async () => {
    oidc.faults.set(PATHS.userinfo, 'reset');
    const token = (await mintBare()).slice('Bearer '.length);
    const error = await harness.tokens.authenticate(`Bearer ${token}`).catch((thrown: unknown) => thrown);
    const texts: string[] = [...harness.warnings];
    for (let at: unknown = error; at instanceof Error; at = at.cause) texts.push(at.message, JSON.stringify(at));
    expect(texts.length).toBeGreaterThan(4);
    for (const part of token.split('.')) expect(texts.join('\n')).not.toContain(part);
  });
});

test('metadata and keys that an https issuer names without TLS are refused', async () => {
  const { createProvider } = await import('../../src/identity/provider.ts');
  const document = { issuer: 'https://idp.example.com', jwks_uri: 'http://idp.example.com/keys' };
  const provider = createProvider({
    auth: { issuer: document.issuer, jwksUrl: null, introspectionUrl: null, clientId: null, clientSecret: null },
    outbound: {
      send: async () => ({ status: 200, header: () => undefined, body: Buffer.alloc(0), json: () => document }),
      close: async () => undefined,
    },
    clock: harness.clock,
    log: { warn: () => undefined },
  });
  await expect(provider.keys.get()).rejects.toThrow('without TLS');
});
