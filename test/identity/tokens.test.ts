import { describe, expect, test } from '@jest/globals';
import { AUDIENCE, type Fault, PATHS, RESOURCE_CLIENT } from '../support/oidc.ts';

import {
  AWAY,
  ask,
  type Change,
  count,
  harness,
  JANE,
  MINUTE,
  mint,
  mintBare,
  oidc,
  start,
  UNVERIFIED,
} from './provider.ts';

describe('real tokens of a real provider', () => {
  test('a JWT with an address is accepted', async () => {
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
      organization: null,
      locale: null,
      token: accessToken,
    });
    expect(count(PATHS.userinfo)).toBe(0);
  });

  test('a JWT without an address is completed from userinfo, including names', async () => {
    const { accessToken } = await oidc.signIn('jane', 'jwt');
    expect(await harness.tokens.authenticate(`Bearer ${accessToken}`)).toMatchObject({
      email: JANE,
      givenName: 'Jane',
      familyName: 'Doe',
      locale: 'cs',
    });
  });

  test("a provider's ID token and refresh token are refused", async () => {
    const { idToken, refreshToken } = await oidc.signIn('jane', 'jwt');
    expect(await ask(`Bearer ${idToken}`)).toMatch(/^401 UNAUTHENTICATED/);
    expect(await ask(`Bearer ${idToken}`, start({ audience: 'panel' }))).toMatch(/^401 .* is an ID token/);
    expect(await ask(`Bearer ${refreshToken}`)).toBe(
      '401 UNAUTHENTICATED: The access token is not a signed JWT, and introspection is not configured. Let the provider issue JWT access tokens for this application, or set auth.introspectionUrl.',
    );
  });

  test('an opaque token is refused without introspection, although userinfo would accept it', async () => {
    const { accessToken } = await oidc.signIn('jane', 'opaque');
    expect(await ask(`Bearer ${accessToken}`)).toBe(
      '401 UNAUTHENTICATED: The access token is not a signed JWT, and introspection is not configured. Let the provider issue JWT access tokens for this application, or set auth.introspectionUrl.',
    );
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

  test('an opaque token costs one introspection and one userinfo a minute', async () => {
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

  test('a revoked opaque token is refused a minute later', async () => {
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

  test('JWTs are verified by signature even with introspection', async () => {
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
    ['a refresh token', { token_type: 'refresh_token' }, /not a bearer access token/],
    ['bound to a key', { token_type: 'DPoP' }, /not a bearer access token/],
    ['no subject', { sub: undefined }, /has no valid subject/],
    ['not verified', { email_verified: false }, UNVERIFIED],
  ])('introspection decides: %s', async (_name, change, expected) => {
    expect(await answering(change)).toMatch(expected);
  });

  test.each<[string, Fault]>([
    ['wrong credentials of this service', { status: 401, body: '{"error":"invalid_client"}' }],
    ['500', { status: 500, body: '' }],
    ['no JSON', { status: 200, body: 'active' }],
    ['a list', { status: 200, body: '[true]' }],
    ['gone', 'reset'],
  ])('trouble of introspection is 503, never 401: %s', async (_name, fault) => {
    oidc.faults.set(PATHS.introspection, fault);
    expect(await ask('Bearer opaque', introspecting())).toBe(AWAY);
  });

  test('a wrong client secret of this service is 503, too', async () => {
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
      /^401 .*address is not one that Usher accepts/,
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
  ])('the address is decided: %s', async (_name, inToken, inUserinfo, expected) => {
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
  ])('without a userinfo endpoint and the claim, verification %s', async (_name, requireVerifiedEmail, expected) => {
    await metadataWithout('userinfo_endpoint')();
    expect(await ask(await mint({ email_verified: undefined }), start({ requireVerifiedEmail }))).toBe(expected);
  });

  test('a token without an address is refused when userinfo is missing', async () => {
    await metadataWithout('userinfo_endpoint')();
    const own = start({ requireVerifiedEmail: false });
    expect(await ask(await mintBare(), own)).toMatch(/^401 UNAUTHENTICATED: The access token has no e-mail address/);
    expect(await ask(await mint({ email_verified: false }), own)).toBe(UNVERIFIED);
  });

  test('an issuer without metadata has no userinfo', async () => {
    oidc.faults.set(PATHS.discovery, { status: 404, body: '' });
    const jwksUrl = `${oidc.issuer}${PATHS.jwks}`;
    expect(await ask(await mint(), start({ jwksUrl }))).toBe(JANE);
    expect(await ask(await mint({ email_verified: undefined }), start({ jwksUrl }))).toBe(UNVERIFIED);
    const lenient = start({ jwksUrl, requireVerifiedEmail: false });
    expect(await ask(await mint({ email_verified: undefined }), lenient)).toBe(JANE);
  });

  test.each([401, 403])('a token that userinfo refuses (%s) is refused', async (status) => {
    oidc.faults.set(PATHS.userinfo, { status, body: '' });
    expect(await ask(await mintBare())).toBe('401 UNAUTHENTICATED: The identity provider refuses the access token.');
    oidc.faults.clear();
  });

  test('userinfo is called once in five minutes a token, and not beyond its expiry', async () => {
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

test("an https issuer's metadata and keys without TLS are refused", async () => {
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
