import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { AUDIENCE, type OidcDouble, PATHS, RESOURCE_CLIENT, startOidc } from '../support/oidc.ts';
import { believe, type Harness, outcome } from './harness.ts';
import { type Auth, type Claims, EMAIL, ORGANIZATION, SHAPES, type Shape, times, VERIFIED } from './provider-shapes.ts';

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
