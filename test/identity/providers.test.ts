import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { TokensOptions } from '../../src/identity/tokens.ts';
import { AUDIENCE, type OidcDouble, PATHS, RESOURCE_CLIENT, startOidc } from '../support/oidc.ts';
import { believe, type Harness, outcome } from './harness.ts';

/**
 * Tokens as the providers of docs/guides/identity-provider.md issue them, signed by keys that a real OpenID provider serves over a socket,
 * with the settings that the table there names.
 */
type Claims = Record<string, unknown>;
type Auth = Partial<TokensOptions['auth']>;

interface Shape {
  readonly name: string;
  readonly auth: Auth;
  readonly header: Claims;
  readonly claims: (now: number) => Claims;
  /** What userinfo answers; null: it refuses the token. */
  readonly userinfo: Claims | null;
}

const EMAIL = 'jane@example.com';
const ORGANIZATION = 'urn:zitadel:iam:user:resourceowner:id';
const times = (now: number) => ({ iat: now - 1, exp: now + 3600 });
const VERIFIED = { sub: 'jane', email: EMAIL, email_verified: true };

const SHAPES: readonly Shape[] = [
  {
    name: 'ZITADEL',
    auth: {},
    header: { typ: 'JWT' },
    claims: (now) => ({
      ...times(now),
      sub: 'jane',
      aud: ['285', AUDIENCE],
      client_id: '285',
      jti: 'V2_1-at_2',
      nbf: now - 1,
      [ORGANIZATION]: '17',
    }),
    userinfo: VERIFIED,
  },
  {
    name: 'Keycloak',
    auth: {},
    header: { typ: 'JWT' },
    claims: (now) => ({
      ...times(now),
      jti: randomUUID(),
      aud: [AUDIENCE, 'account'],
      sub: 'jane',
      typ: 'Bearer',
      azp: 'panel',
      sid: 's',
      acr: '1',
      nonce: 'n',
      scope: 'openid email profile',
      email: EMAIL,
      email_verified: true,
      preferred_username: 'jane',
      name: 'Jane',
    }),
    userinfo: null,
  },
  {
    name: 'Auth0',
    auth: {},
    header: { typ: 'JWT' },
    claims: (now) => ({
      ...times(now),
      sub: 'jane',
      aud: [AUDIENCE, 'https://tenant.auth0.com/userinfo'],
      azp: 'spa',
      scope: 'openid profile email',
    }),
    userinfo: VERIFIED,
  },
  {
    name: 'Entra ID',
    auth: { emailClaims: ['email', 'upn'], emailTrust: 'issuer' },
    header: { typ: 'JWT' },
    claims: (now) => ({
      ...times(now),
      nbf: now - 1,
      aud: AUDIENCE,
      sub: 'jane',
      azp: 'spa',
      azpacr: '0',
      oid: randomUUID(),
      tid: randomUUID(),
      ver: '2.0',
      scp: 'access',
      uti: 'u',
      rh: 'r',
      name: 'Jane',
      preferred_username: EMAIL,
      upn: EMAIL,
    }),
    userinfo: null,
  },
  {
    name: 'Cognito',
    auth: { audienceClaim: 'client_id' },
    header: {},
    claims: (now) => ({
      ...times(now),
      sub: 'jane',
      client_id: AUDIENCE,
      token_use: 'access',
      scope: 'openid email',
      username: 'jane',
      version: 2,
      auth_time: now,
      event_id: randomUUID(),
      jti: randomUUID(),
      origin_jti: randomUUID(),
    }),
    // Cognito writes booleans as text.
    userinfo: { sub: 'jane', email: EMAIL, email_verified: 'true', username: 'jane' },
  },
  {
    name: 'Okta',
    auth: {},
    header: {},
    claims: (now) => ({
      ...times(now),
      ver: 1,
      jti: `AT.${randomUUID()}`,
      aud: AUDIENCE,
      cid: 'spa',
      uid: '00u',
      scp: ['openid', 'email'],
      auth_time: now,
      sub: 'jane',
    }),
    userinfo: VERIFIED,
  },
  {
    // Its access tokens are opaque to everybody else: the ID token stands in for one.
    name: 'Google',
    auth: { acceptNonce: true },
    header: { typ: 'JWT' },
    claims: (now) => ({
      ...times(now),
      azp: AUDIENCE,
      aud: AUDIENCE,
      sub: 'jane',
      email: EMAIL,
      email_verified: true,
      at_hash: 'h',
      nonce: 'n',
      hd: 'example.com',
      name: 'Jane',
    }),
    userinfo: null,
  },
  {
    name: 'Dex',
    auth: { acceptNonce: true },
    header: {},
    claims: (now) => ({
      ...times(now),
      aud: AUDIENCE,
      sub: 'jane',
      nonce: 'n',
      at_hash: 'h',
      email: EMAIL,
      email_verified: true,
      name: 'Jane',
    }),
    userinfo: null,
  },
  {
    name: 'authentik',
    auth: { emailTrust: 'always' },
    header: { typ: 'JWT' },
    claims: (now) => ({
      ...times(now),
      sub: 'jane',
      aud: AUDIENCE,
      azp: AUDIENCE,
      auth_time: now,
      acr: 'goauthentik.io/providers/oauth2/default',
      nonce: 'n',
      uid: 'u',
      jti: randomUUID(),
      scope: 'openid profile email',
      email: EMAIL,
      email_verified: false,
      name: 'Jane',
      groups: [],
    }),
    userinfo: null,
  },
  {
    name: 'Logto',
    auth: { emailTrust: 'issuer' },
    header: { typ: 'at+jwt' },
    // The address is a custom claim of the access token; userinfo takes opaque tokens only.
    claims: (now) => ({
      ...times(now),
      jti: randomUUID(),
      sub: 'jane',
      scope: '',
      client_id: 'spa',
      aud: AUDIENCE,
      email: EMAIL,
    }),
    userinfo: null,
  },
];

let oidc: OidcDouble;
let harness: Harness | null = null;

beforeAll(async () => {
  oidc = await startOidc();
});
afterAll(() => oidc.close());
beforeEach(() => {
  oidc.faults.clear();
  oidc.requests.clear();
});
afterEach(async () => {
  await harness?.close();
  harness = null;
});

async function ask(token: string, auth: Auth = {}): Promise<string> {
  await harness?.close();
  harness = believe(oidc, auth);
  return await outcome(harness.tokens, `Bearer ${token}`);
}
function answering(userinfo: Claims | null): void {
  const fault = userinfo === null ? { status: 401, body: '{}' } : { status: 200, body: JSON.stringify(userinfo) };
  oidc.faults.set(PATHS.userinfo, fault);
}
const now = () => Math.floor(Date.now() / 1000);
const mint = ({ claims, header }: Pick<Shape, 'claims' | 'header'>, more: Claims = {}) =>
  oidc.mint({ iss: oidc.issuer, ...claims(now()), ...more }, { typ: undefined, ...header });

describe.each(SHAPES)('tokens of $name', (shape) => {
  test('are accepted with the settings of the guide', async () => {
    answering(shape.userinfo);
    expect(await ask(await mint(shape), shape.auth)).toBe(EMAIL);
  });

  test('are refused for another audience, of another issuer, and when they are bound to a key', async () => {
    answering(shape.userinfo);
    const claim = shape.auth.audienceClaim ?? 'aud';
    expect(await ask(await mint(shape, { [claim]: 'other' }), shape.auth)).toMatch(/another audience/);
    expect(await ask(await mint(shape, { iss: 'https://other.example' }), shape.auth)).toMatch(/another issuer/);
    expect(await ask(await mint(shape, { cnf: { jkt: 'x' } }), shape.auth)).toMatch(/bound to a key/);
  });

  test('need each setting that the guide names', async () => {
    answering(shape.userinfo);
    const token = await mint(shape);
    for (const key of Object.keys(shape.auth)) {
      const { [key as keyof Auth]: _, ...others } = shape.auth;
      expect([key, await ask(token, others)]).toEqual([key, expect.stringMatching(/^401 /)]);
    }
  });

  test('no ID token passes for them that says it is one', async () => {
    answering(shape.userinfo);
    for (const said of [{ typ: 'ID' }, { jti: 'ID.1' }, { token_use: 'id' }]) {
      expect(await ask(await mint(shape, said), shape.auth)).toMatch(/^401 UNAUTHENTICATED/);
    }
  });
});

const plain: Pick<Shape, 'claims' | 'header'> = {
  header: { typ: 'JWT' },
  claims: (at) => ({ ...times(at), sub: 'jane', aud: AUDIENCE, jti: 'x', client_id: 'spa' }),
};
const NOT_VERIFIED = expect.stringMatching(/^401 EMAIL_NOT_VERIFIED/);
const REFUSED = expect.stringMatching(/^401 UNAUTHENTICATED/);

describe('auth.emailTrust', () => {
  const rows: readonly [string, Claims, Claims | null, Record<'claim' | 'issuer' | 'always', unknown>][] = [
    ['verified', { email: EMAIL, email_verified: true }, null, { claim: EMAIL, issuer: EMAIL, always: EMAIL }],
    [
      'unverified',
      { email: EMAIL, email_verified: false },
      VERIFIED,
      { claim: NOT_VERIFIED, issuer: NOT_VERIFIED, always: EMAIL },
    ],
    ['silent, userinfo refuses', { email: EMAIL }, null, { claim: REFUSED, issuer: EMAIL, always: EMAIL }],
    ['silent, userinfo says true', { email: EMAIL }, VERIFIED, { claim: EMAIL, issuer: EMAIL, always: EMAIL }],
    [
      'silent, userinfo has another',
      { email: EMAIL },
      { ...VERIFIED, email: 'x@example.com' },
      { claim: NOT_VERIFIED, issuer: EMAIL, always: EMAIL },
    ],
    [
      'without an address, userinfo silent',
      {},
      { sub: 'jane', email: EMAIL },
      { claim: NOT_VERIFIED, issuer: EMAIL, always: EMAIL },
    ],
    [
      'without an address, userinfo says false',
      {},
      { sub: 'jane', email: EMAIL, email_verified: false },
      { claim: NOT_VERIFIED, issuer: NOT_VERIFIED, always: EMAIL },
    ],
    ['without an address, userinfo refuses', {}, null, { claim: REFUSED, issuer: REFUSED, always: REFUSED }],
    [
      'without an address, userinfo has none',
      {},
      { sub: 'jane' },
      { claim: REFUSED, issuer: REFUSED, always: REFUSED },
    ],
    [
      'without an address, userinfo of another',
      {},
      { ...VERIFIED, sub: 'root' },
      { claim: REFUSED, issuer: REFUSED, always: REFUSED },
    ],
    [
      'without an address, userinfo bound to a key',
      {},
      { ...VERIFIED, cnf: { jkt: 'x' } },
      { claim: REFUSED, issuer: REFUSED, always: REFUSED },
    ],
  ];
  test.each(rows)('%s', async (_name, claims, userinfo, said) => {
    answering(userinfo);
    const token = await mint(plain, claims);
    for (const emailTrust of ['claim', 'issuer', 'always'] as const) {
      expect([emailTrust, await ask(token, { emailTrust })]).toEqual([emailTrust, said[emailTrust]]);
    }
  });
});

describe('auth.emailClaims', () => {
  const auth = { emailClaims: ['email', 'upn', 'https://usher.example/mail'], emailTrust: 'issuer' } as const;
  test.each<[string, Claims, unknown]>([
    ['the first', { email: EMAIL, upn: 'x@example.com' }, EMAIL],
    ['the next where the first is missing', { upn: EMAIL }, EMAIL],
    ['the next where the first is no address', { email: 'jane', upn: EMAIL }, EMAIL],
    ['the next where the first has two', { email: ['a@example.com', 'b@example.com'], upn: EMAIL }, EMAIL],
    ['a list of one', { upn: [EMAIL] }, EMAIL],
    ['the last', { email: null, upn: 7, 'https://usher.example/mail': EMAIL }, EMAIL],
    ['none that is an address', { email: 'jane', upn: '' }, REFUSED],
  ])('%s', async (_name, claims, said) => {
    answering(null);
    expect(await ask(await mint(plain, claims), auth)).toEqual(said);
  });

  test('email_verified: true says nothing of another claim, and false says something of each', async () => {
    answering(VERIFIED);
    const named = { emailClaims: ['upn'] };
    const token = (more: Claims) => mint(plain, { email: EMAIL, ...more });
    expect(await ask(await token({ upn: 'root@example.com', email_verified: true }), named)).toEqual(NOT_VERIFIED);
    expect(
      await ask(await token({ upn: 'root@example.com', email_verified: false }), { ...named, emailTrust: 'issuer' }),
    ).toEqual(NOT_VERIFIED);
  });
});

describe('ID tokens', () => {
  test.each<[string, Claims, unknown, unknown]>([
    ['nonce', { nonce: 'n' }, REFUSED, EMAIL],
    ['at_hash', { at_hash: 'h' }, REFUSED, EMAIL],
    ['c_hash', { c_hash: 'h' }, REFUSED, EMAIL],
    ['nonce beside scope', { nonce: 'n', scope: 'openid' }, EMAIL, EMAIL],
    ['at_hash beside scp', { at_hash: 'h', scp: ['openid'] }, EMAIL, EMAIL],
    ['typ ID', { typ: 'ID', scope: 'openid' }, REFUSED, REFUSED],
    ['jti of an ID token', { jti: 'ID.1', scope: 'openid' }, REFUSED, REFUSED],
  ])('%s', async (_name, claims, usually, withNonce) => {
    const token = await mint(plain, { ...VERIFIED, ...claims });
    expect([await ask(token), await ask(token, { acceptNonce: true })]).toEqual([usually, withNonce]);
  });
});

describe('auth.audienceClaim', () => {
  const auth = { audienceClaim: 'client_id' };
  test.each<[string, Claims, unknown]>([
    ['an access token', { client_id: AUDIENCE, token_use: 'access', aud: undefined }, EMAIL],
    ['of another client', { client_id: 'spa', token_use: 'access', aud: AUDIENCE }, REFUSED],
    ['an ID token', { client_id: AUDIENCE, token_use: 'id', aud: AUDIENCE }, REFUSED],
    ['a token that does not say what it is', { client_id: AUDIENCE, aud: AUDIENCE }, REFUSED],
  ])('client_id: %s', async (_name, claims, said) => {
    expect(await ask(await mint(plain, { ...VERIFIED, ...claims }), auth)).toEqual(said);
  });

  test('another claim', async () => {
    const token = await mint(plain, { ...VERIFIED, resource: ['x', AUDIENCE], aud: 'x' });
    expect([await ask(token, { audienceClaim: 'resource' }), await ask(token)]).toEqual([EMAIL, REFUSED]);
  });
});

describe('opaque tokens', () => {
  const answer = (more: Claims) => {
    const said = {
      active: true,
      iss: oidc.issuer,
      aud: AUDIENCE,
      exp: now() + 600,
      token_type: 'Bearer',
      ...VERIFIED,
      ...more,
    };
    oidc.faults.set(PATHS.introspection, { status: 200, body: JSON.stringify(said) });
  };
  const introspecting = (auth: Auth = {}): Auth => ({
    introspectionUrl: `${oidc.issuer}${PATHS.introspection}`,
    clientId: RESOURCE_CLIENT.id,
    clientSecret: RESOURCE_CLIENT.secret,
    ...auth,
  });

  test('are refused when they are bound to a key, and compared by the claim of the audience', async () => {
    answer({});
    expect(await ask('opaque', introspecting())).toBe(EMAIL);
    answer({ cnf: { jkt: 'x' } });
    expect(await ask('opaque', introspecting())).toMatch(/bound to a key/);
    answer({ aud: 'x', client_id: AUDIENCE, token_use: 'access' });
    expect(await ask('opaque', introspecting({ audienceClaim: 'client_id' }))).toBe(EMAIL);
    expect(await ask('opaque', introspecting())).toMatch(/another audience/);
  });

  test('carry their organization', async () => {
    answer({ [ORGANIZATION]: '17' });
    expect(await ask('opaque', introspecting({ organizations: ['17'] }))).toBe(EMAIL);
    expect(await ask('opaque', introspecting({ organizations: ['18'] }))).toMatch(/^403 ORGANIZATION_NOT_ADMITTED/);
  });
});

describe('auth.organizations', () => {
  test.each<[string, Claims, Claims | null, string]>([
    ['a listed one', { ...VERIFIED, [ORGANIZATION]: '18' }, null, EMAIL],
    ['a list of one', { ...VERIFIED, [ORGANIZATION]: ['17'] }, null, EMAIL],
    ['one that userinfo names', {}, { ...VERIFIED, [ORGANIZATION]: '17' }, EMAIL],
    ['another', { ...VERIFIED, [ORGANIZATION]: '19' }, null, '403'],
    ['another, whatever userinfo says', { [ORGANIZATION]: '19' }, { ...VERIFIED, [ORGANIZATION]: '17' }, '403'],
    ['none', VERIFIED, null, '403'],
    ['several', { ...VERIFIED, [ORGANIZATION]: ['17', '18'] }, null, '403'],
    ['no text', { ...VERIFIED, [ORGANIZATION]: 17 }, null, '403'],
  ])('%s', async (_name, claims, userinfo, said) => {
    answering(userinfo);
    const answered = await ask(await mint(plain, claims), { organizations: ['17', '18'] });
    expect(answered.startsWith('403') ? answered.slice(0, 29) : answered).toBe(
      said === '403' ? '403 ORGANIZATION_NOT_ADMITTED' : said,
    );
  });

  test('by another claim', async () => {
    const token = await mint(plain, { ...VERIFIED, org_id: 'org_1' });
    const auth = { organizations: ['org_1'], organizationClaim: 'org_id' };
    expect(await ask(token, auth)).toBe(EMAIL);
    expect(await harness?.tokens.authenticate(`Bearer ${token}`)).toMatchObject({ organization: 'org_1' });
  });
});
