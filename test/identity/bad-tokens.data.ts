/** Bad tokens of every kind, with what each is refused with; and the provider that signed those that are signed. */
import { createPublicKey, sign } from 'node:crypto';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { SignJWT } from 'jose';
import { AUDIENCE, mintWith, newSigningKey, type OidcDouble, type SigningKey, startOidc } from '../support/oidc.ts';
import { believe, type Harness, hmac, outcome, part, rawJws } from './harness.ts';

const NOT_WELL_FORMED = '401 UNAUTHENTICATED: The access token is malformed.';
const NO_JWT =
  '401 UNAUTHENTICATED: The access token is not a signed JWT, and introspection is not configured. Let the provider issue JWT access tokens for this application, or set auth.introspectionUrl.';
const SIGNATURE = "401 UNAUTHENTICATED: The access token's signature is invalid.";
const UNKNOWN_KEY = "401 UNAUTHENTICATED: The access token is signed by a key that is not in the issuer's key set.";
const ALGORITHM =
  '401 UNAUTHENTICATED: The access token is signed with an algorithm that is not allowed (see auth.algorithms).';
const ISSUER = '401 UNAUTHENTICATED: The access token is from another issuer.';
const OTHER_AUDIENCE = '401 UNAUTHENTICATED: The access token is for another audience.';
const EXPIRED = '401 UNAUTHENTICATED: The access token has expired.';
const NO_EXPIRY = '401 UNAUTHENTICATED: The access token has no time of expiry (claim exp).';
const NOT_YET = '401 UNAUTHENTICATED: The access token is not valid yet.';
const ISSUED_WHEN = '401 UNAUTHENTICATED: The token has no valid time of issue (claim iat).';
const FUTURE = '401 UNAUTHENTICATED: The token was issued in the future (claim iat).';
const OTHER_TYPE = '401 UNAUTHENTICATED: The token is not an access token: its header typ must be JWT or at+jwt.';
const ID_TOKEN = '401 UNAUTHENTICATED: The token is an ID token; send the access token.';
const EVENT = '401 UNAUTHENTICATED: The token is not an access token: it reports an event.';
const SUBJECT = '401 UNAUTHENTICATED: The token has no valid subject (claim sub).';
const NO_SUBJECT = '401 UNAUTHENTICATED: The access token lacks a valid claim sub.';
const BOUND = '401 UNAUTHENTICATED: The access token is bound to a key (claim cnf), and Usher checks no proof of it.';
const EMAIL = "401 UNAUTHENTICATED: The token's e-mail address is not one that Usher accepts.";
const UNVERIFIED =
  '401 EMAIL_NOT_VERIFIED: The e-mail address of this account is not verified; verify it at the identity provider first.';
const NO_EMAIL = '401 UNAUTHENTICATED: Neither token nor userinfo has an e-mail address.';
const MISSING = '401 UNAUTHENTICATED: This call needs an access token in the header Authorization: Bearer <token>.';
const SCHEME = '401 UNAUTHENTICATED: The Authorization header must use the scheme Bearer.';
const ONE_TOKEN = '401 UNAUTHENTICATED: The Authorization header must contain one access token.';
export const SEVERAL = '401 UNAUTHENTICATED: The request has several Authorization headers; send one.';
const TOO_LONG = '401 UNAUTHENTICATED: The access token is too long.';

export const rsa = newSigningKey('RS256', 'rsa');
export const ec = newSigningKey('ES256', 'ec');
export const ed = newSigningKey('EdDSA', 'ed');
/** Names no algorithm, so it may verify RS256 and PS256. */
export const any = withoutAlgorithm(newSigningKey('RS256', 'any'));
const stranger = newSigningKey('RS256', 'rsa');
export let oidc: OidcDouble;
export let harness: Harness;

beforeAll(async () => {
  oidc = await startOidc({ keys: [rsa, ec, ed, any] });
  oidc.accounts.set('jane', {});
  harness = believe(oidc);
  expect(await outcome(harness.tokens, await minted())).toBe('jane@example.com');
  harness.clock.advance(1);
});
afterAll(async () => {
  await harness.close();
  await oidc.close();
});

function withoutAlgorithm(key: SigningKey): SigningKey {
  const publicJwk = { ...key.publicJwk };
  delete publicJwk.alg;
  return { ...key, publicJwk };
}

type Change = Record<string, unknown>;
export const seconds = () => Math.floor(harness.clock.now() / 1000);
const good = (change: Change = {}) => ({ ...oidc.claims('jane', harness.clock.now()), ...change });
export const bearer = (token: string) => `Bearer ${token}`;
/** A token as the provider signs it, with other claims or another header. */
export const minted = (change: Change = {}, header: Change = {}, key = rsa) =>
  oidc.mint(good(change), header, key).then(bearer);
/** A token signed by hand with the provider's RSA key. */
const signed = (header: unknown, payload: unknown) =>
  bearer(rawJws(header, payload, (input) => sign('sha256', Buffer.from(input), rsa.privateKey)));
const RS256 = { alg: 'RS256', typ: 'JWT', kid: 'rsa' };
const publicPem = createPublicKey(rsa.privateKey).export({ type: 'spki', format: 'pem' });

type Case = [name: string, authorization: () => Promise<string> | string | string[] | undefined, expected: string];

export const CASES: Record<string, Case[]> = {
  'the header': [
    ['none', () => undefined, MISSING],
    ['empty', () => '', MISSING],
    ['an empty list', () => [], MISSING],
    ['the scheme alone', () => 'Bearer', ONE_TOKEN],
    ['the scheme and a space', () => 'Bearer ', ONE_TOKEN],
    ['another scheme', async () => (await minted()).replace('Bearer', 'Basic'), SCHEME],
    ['DPoP', async () => (await minted()).replace('Bearer', 'DPoP'), SCHEME],
    ['no scheme', async () => (await minted()).slice('Bearer '.length), SCHEME],
    ['a space before', async () => ` ${await minted()}`, SCHEME],
    ['a tab for the space', async () => (await minted()).replace(' ', '\t'), SCHEME],
    ['a space after', async () => `${await minted()} `, ONE_TOKEN],
    ['two tokens', async () => `${await minted()} ${await minted()}`, ONE_TOKEN],
    ['two headers, joined', async () => `${await minted()}, ${await minted()}`, ONE_TOKEN],
    ['a key beside it', async () => `${await minted()}, Basic eDp5`, ONE_TOKEN],
    ['quoted', () => 'Bearer "abc"', ONE_TOKEN],
    ['a control character', () => 'Bearer abc\0def', ONE_TOKEN],
    ['not ASCII', () => 'Bearer abcé', ONE_TOKEN],
    ['one character over the limit', () => bearer('a'.repeat(16_385)), TOO_LONG],
    ['far over the limit', () => bearer('a'.repeat(1_000_000)), TOO_LONG],
    ['spaces over the limit', () => `Bearer${' '.repeat(100_000)}a`, TOO_LONG],
  ],
  'the form': [
    ['opaque', () => 'Bearer abcdef', NO_JWT],
    ['of the limit', () => bearer('a'.repeat(16_384)), NO_JWT],
    ['two dots', () => 'Bearer ..', NO_JWT],
    ['two parts', async () => (await minted()).split('.').slice(0, 2).join('.'), NO_JWT],
    ['four parts', async () => `${await minted()}.abcd`, NO_JWT],
    ['five parts, as encrypted', () => bearer(`${part({ alg: 'dir', enc: 'A256GCM' })}..a.b.c`), NO_JWT],
    ['a header that is not JSON', () => bearer(`${part('nope')}.${part({})}.YQ`), NO_JWT],
    ['a header that is null', () => bearer(`${part('null')}.${part({})}.YQ`), NO_JWT],
    ['a header that is a list', () => bearer(`${part([])}.${part({})}.YQ`), NO_JWT],
    ['a header without alg', () => signed({ kid: 'rsa' }, good()), NO_JWT],
    ['alg that is not text', () => signed({ ...RS256, alg: 256 }, good()), NOT_WELL_FORMED],
    ['claims that are not JSON', () => signed(RS256, 'nope'), NOT_WELL_FORMED],
    ['claims that are a list', () => signed(RS256, '[]'), NOT_WELL_FORMED],
    ['claims that are null', () => signed(RS256, 'null'), NOT_WELL_FORMED],
    [
      'claims that are not UTF-8',
      () => {
        const input = `${part(RS256)}.${Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]).toString('base64url')}`;
        return bearer(`${input}.${sign('sha256', Buffer.from(input), rsa.privateKey).toString('base64url')}`);
      },
      NOT_WELL_FORMED,
    ],
    ['padded base64', async () => `${await minted()}==`, NO_JWT],
    [
      'spare bits set in the last character',
      async () => {
        const token = await minted();
        const last = token.at(-1) ?? '';
        const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
        return token.slice(0, -1) + (alphabet[alphabet.indexOf(last) + 1] ?? '');
      },
      NOT_WELL_FORMED,
    ],
    [
      'a payload not encoded (RFC 7797)',
      () => signed({ ...RS256, b64: false, crit: ['b64'] }, good()),
      NOT_WELL_FORMED,
    ],
    ['an unknown crit', () => signed({ ...RS256, crit: ['x-new'], 'x-new': true }, good()), NOT_WELL_FORMED],
    ['an empty crit', () => signed({ ...RS256, crit: [] }, good()), NOT_WELL_FORMED],
  ],
  'algorithm and key': [
    ['none', () => bearer(rawJws({ alg: 'none', typ: 'JWT' }, good())), ALGORITHM],
    ['none, with a kid', () => bearer(rawJws({ ...RS256, alg: 'none' }, good())), ALGORITHM],
    ['None', () => bearer(rawJws({ ...RS256, alg: 'None' }, good())), ALGORITHM],
    [
      'HS256 with the public key as PEM',
      () => bearer(rawJws({ ...RS256, alg: 'HS256' }, good(), hmac(publicPem.toString()))),
      ALGORITHM,
    ],
    [
      'HS256 with the public key as JWK',
      () => bearer(rawJws({ ...RS256, alg: 'HS256' }, good(), hmac(JSON.stringify(rsa.publicJwk)))),
      ALGORITHM,
    ],
    [
      'HS256 with the modulus',
      () => bearer(rawJws({ ...RS256, alg: 'HS256' }, good(), hmac(Buffer.from(rsa.publicJwk.n ?? '', 'base64url')))),
      ALGORITHM,
    ],
    ['HS256 with an empty secret', () => bearer(rawJws({ ...RS256, alg: 'HS256' }, good(), hmac(''))), ALGORITHM],
    [
      'RS512, genuine but not configured',
      async () => bearer(await new SignJWT(good()).setProtectedHeader({ ...RS256, alg: 'RS512' }).sign(rsa.privateKey)),
      ALGORITHM,
    ],
    [
      'ES384, genuine but not configured',
      async () => bearer(await mintWith(newSigningKey('ES384', 'x'), good())),
      ALGORITHM,
    ],
    [
      'the algorithm of another key',
      () =>
        bearer(rawJws({ ...RS256, kid: 'ec' }, good(), (input) => sign('sha256', Buffer.from(input), rsa.privateKey))),
      UNKNOWN_KEY,
    ],
    [
      'PS256 under a key that is for RS256',
      async () => bearer(await new SignJWT(good()).setProtectedHeader({ ...RS256, alg: 'PS256' }).sign(rsa.privateKey)),
      UNKNOWN_KEY,
    ],
    ["a stranger's key under a known kid", async () => bearer(await mintWith(stranger, good())), SIGNATURE],
    [
      "a stranger's key under its own kid",
      async () => bearer(await mintWith(newSigningKey('RS256', 'theirs'), good())),
      UNKNOWN_KEY,
    ],
    [
      "a stranger's key without kid",
      async () => bearer(await mintWith(stranger, good(), { kid: undefined })),
      UNKNOWN_KEY,
    ],
    [
      "a stranger's key in the header jwk",
      async () => bearer(await mintWith(stranger, good(), { jwk: stranger.publicJwk })),
      SIGNATURE,
    ],
    [
      "a stranger's key in the header jwk, no kid",
      async () => bearer(await mintWith(stranger, good(), { jwk: stranger.publicJwk, kid: undefined })),
      UNKNOWN_KEY,
    ],
    [
      "a stranger's key set in jku",
      async () => bearer(await mintWith(stranger, good(), { jku: `${oidc.issuer}/theirs` })),
      SIGNATURE,
    ],
    [
      "a stranger's certificate in x5u",
      async () => bearer(await mintWith(stranger, good(), { x5u: `${oidc.issuer}/theirs` })),
      SIGNATURE,
    ],
    [
      "a stranger's certificate in x5c",
      async () => bearer(await mintWith(stranger, good(), { x5c: ['MIIB'] })),
      SIGNATURE,
    ],
    ['a kid of a path', async () => bearer(await mintWith(stranger, good(), { kid: '../../dev/null' })), UNKNOWN_KEY],
    ['a kid that is not text', async () => bearer(await mintWith(stranger, good(), { kid: 7 })), UNKNOWN_KEY],
    ['no signature', async () => `${(await minted()).split('.').slice(0, 2).join('.')}.`, SIGNATURE],
    [
      'the signature of another token',
      async () => {
        const [header, , signature] = (await minted()).split('.');
        return `${header}.${part(good({ email: 'root@example.com' }))}.${signature}`;
      },
      SIGNATURE,
    ],
    [
      'ES256 with zeros for a signature (CVE-2022-21449)',
      () => bearer(rawJws({ alg: 'ES256', kid: 'ec' }, good(), () => Buffer.alloc(64))),
      SIGNATURE,
    ],
    [
      'ES256 in DER',
      () =>
        bearer(
          rawJws({ alg: 'ES256', kid: 'ec' }, good(), (input) => sign('sha256', Buffer.from(input), ec.privateKey)),
        ),
      SIGNATURE,
    ],
    ['EdDSA with zeros', () => bearer(rawJws({ alg: 'EdDSA', kid: 'ed' }, good(), () => Buffer.alloc(64))), SIGNATURE],
  ],
  'issuer and audience': [
    ['another issuer', () => minted({ iss: 'https://idp.example.com' }), ISSUER],
    ['a slash after the issuer', () => minted({ iss: `${oidc.issuer}/` }), ISSUER],
    ['a list of issuers', () => minted({ iss: [oidc.issuer] }), ISSUER],
    ['no issuer', () => minted({ iss: undefined }), ISSUER],
    ['another audience', () => minted({ aud: 'https://other.test/api' }), OTHER_AUDIENCE],
    ['a longer audience', () => minted({ aud: `${AUDIENCE}/v2` }), OTHER_AUDIENCE],
    ['no audience', () => minted({ aud: undefined }), OTHER_AUDIENCE],
    ['no audience in the list', () => minted({ aud: [] }), OTHER_AUDIENCE],
    ['an audience in a list in the list', () => minted({ aud: [[AUDIENCE]] }), OTHER_AUDIENCE],
    ['an audience as a member', () => minted({ aud: { [AUDIENCE]: true } }), OTHER_AUDIENCE],
  ],
  times: [
    ['expired 31 s ago', () => minted({ exp: seconds() - 31 }), EXPIRED],
    ['expired 30 s ago, to the second', () => minted({ exp: seconds() - 30 }), EXPIRED],
    ['no expiry', () => minted({ exp: undefined }), NO_EXPIRY],
    ['expiry as text', () => minted({ exp: String(seconds() + 600) }), NO_EXPIRY],
    ['expiry null', () => minted({ exp: null }), NO_EXPIRY],
    [
      'expiry without end',
      () => signed(RS256, JSON.stringify(good({ exp: 0 })).replace('"exp":0', '"exp":1e999')),
      '401 UNAUTHENTICATED: The token has no valid time of expiry (claim exp).',
    ],
    ['valid in 31 s', () => minted({ nbf: seconds() + 31 }), NOT_YET],
    ['valid from some text on', () => minted({ nbf: 'now' }), NOT_YET],
    ['issued in 31 s', () => minted({ iat: seconds() + 31 }), FUTURE],
    ['issued before 1970', () => minted({ iat: -1 }), ISSUED_WHEN],
    [
      'issued at some text',
      () => minted({ iat: 'now' }),
      '401 UNAUTHENTICATED: The access token lacks a valid claim iat.',
    ],
  ],
  kind: [
    ['typ of an ID token', () => minted({}, { typ: 'id_token+jwt' }), OTHER_TYPE],
    ['typ of a logout token', () => minted({}, { typ: 'logout+jwt' }), OTHER_TYPE],
    ['typ of a DPoP proof', () => minted({}, { typ: 'dpop+jwt' }), OTHER_TYPE],
    ['typ of an introspection answer', () => minted({}, { typ: 'token-introspection+jwt' }), OTHER_TYPE],
    ['typ of a security event', () => minted({}, { typ: 'application/secevent+jwt' }), OTHER_TYPE],
    ['typ that is not text', () => signed({ ...RS256, typ: 7 }, good()), OTHER_TYPE],
    ['an empty typ', () => signed({ ...RS256, typ: '' }, good()), OTHER_TYPE],
    ['bound to a key of DPoP', () => minted({ cnf: { jkt: 'x' } }), BOUND],
    ['bound to a certificate', () => minted({ cnf: { 'x5t#S256': 'x' } }, { typ: 'at+jwt' }), BOUND],
    ['bound to nothing that is known', () => minted({ cnf: null }), BOUND],
    ['typ ID in an access token', () => minted({ typ: 'ID', scope: 'openid' }, { typ: 'at+jwt' }), ID_TOKEN],
    [
      'jti of an ID token',
      () => minted({ jti: 'ID.1', scope: 'openid', token_use: 'access' }, { typ: 'at+jwt' }),
      ID_TOKEN,
    ],
    ['nonce', () => minted({ nonce: 'n' }), ID_TOKEN],
    ['at_hash', () => minted({ at_hash: 'x' }), ID_TOKEN],
    ['c_hash', () => minted({ c_hash: 'x' }), ID_TOKEN],
    ['s_hash', () => minted({ s_hash: 'x' }), ID_TOKEN],
    ['nonce, without typ', () => minted({ nonce: 'n' }, { typ: undefined }), ID_TOKEN],
    [
      'for its own client and nothing of an access token',
      () => minted({ azp: AUDIENCE, client_id: undefined, jti: undefined }),
      ID_TOKEN,
    ],
    [
      'the same, audience as text',
      () => minted({ aud: AUDIENCE, azp: AUDIENCE, client_id: undefined, jti: undefined }),
      ID_TOKEN,
    ],
    ['ID by the word of Keycloak', () => minted({ typ: 'ID' }), ID_TOKEN],
    ['ID by the word of Cognito', () => minted({ token_use: 'id' }), ID_TOKEN],
    ['ID in claims, access in the header', () => minted({ typ: 'ID' }, { typ: 'at+jwt' }), ID_TOKEN],
    [
      'a logout token without its typ',
      () => minted({ events: { 'http://schemas.openid.net/event/backchannel-logout': {} } }),
      EVENT,
    ],
  ],
  'subject and address': [
    ['no subject', () => minted({ sub: undefined }), NO_SUBJECT],
    ['an empty subject', () => minted({ sub: '' }), SUBJECT],
    ['a subject that is a number', () => minted({ sub: 7 }), SUBJECT],
    ['a subject of 256 characters', () => minted({ sub: 'x'.repeat(256) }), SUBJECT],
    ['a subject with NUL', () => minted({ sub: 'a\0b' }), SUBJECT],
    [
      'a subject with half a character',
      () => signed(RS256, JSON.stringify(good({ sub: 'SUB' })).replace('SUB', '\\ud800')),
      SUBJECT,
    ],
    ['no address anywhere', () => minted({ email: undefined }), NO_EMAIL],
    ['address null', () => minted({ email: null }), NO_EMAIL],
    ['an empty address', () => minted({ email: '' }), EMAIL],
    ['two addresses in a list', () => minted({ email: ['jane@example.com', 'root@example.com'] }), EMAIL],
    ['an empty list', () => minted({ email: [] }), EMAIL],
    ['a list in a list', () => minted({ email: [['jane@example.com']] }), EMAIL],
    ['an address that is an object', () => minted({ email: { value: 'jane@example.com' } }), EMAIL],
    ['no @', () => minted({ email: 'jane.example.com' }), EMAIL],
    ['two @', () => minted({ email: 'jane@example.com@evil.com' }), EMAIL],
    ['two addresses', () => minted({ email: 'jane@example.com,root@example.com' }), EMAIL],
    ['a display name', () => minted({ email: 'Jane <jane@example.com>' }), EMAIL],
    ['a quoted local part', () => minted({ email: '"jane"@example.com' }), EMAIL],
    ['a comment', () => minted({ email: 'jane(x)@example.com' }), EMAIL],
    ['a literal for a domain', () => minted({ email: 'jane@[127.0.0.1]' }), EMAIL],
    ['KELVIN SIGN for k', () => minted({ email: '\u212aate@example.com' }), EMAIL],
    ['Cyrillic a', () => minted({ email: 'j\u0430ne@example.com' }), EMAIL],
    ['fullwidth @', () => minted({ email: 'jane\uff20example.com' }), EMAIL],
    ['dotless i', () => minted({ email: 'adm\u0131n@example.com' }), EMAIL],
    ['a domain in Unicode', () => minted({ email: 'jane@ex\u00e4mple.com' }), EMAIL],
    ['a zero width space', () => minted({ email: 'jane\u200b@example.com' }), EMAIL],
    ['a no-break space around', () => minted({ email: '\u00a0jane@example.com' }), EMAIL],
    ['a space inside', () => minted({ email: 'jane doe@example.com' }), EMAIL],
    ['a line break inside', () => minted({ email: 'jane\r\n@example.com' }), EMAIL],
    ['a NUL after', () => minted({ email: 'jane@example.com\0' }), EMAIL],
    ['a colon', () => minted({ email: 'jane:x@example.com' }), EMAIL],
    [
      '255 characters',
      () => minted({ email: `j@${'x'.repeat(61)}.${'x'.repeat(63)}.${'x'.repeat(63)}.${'x'.repeat(63)}` }),
      EMAIL,
    ],
    ['not verified', () => minted({ email_verified: false }), UNVERIFIED],
    ['not verified, as text', () => minted({ email_verified: 'false' }), UNVERIFIED],
    ['verified by a number', () => minted({ email_verified: 1 }), UNVERIFIED],
    ['verified by an object', () => minted({ email_verified: {} }), UNVERIFIED],
    ['verified at some time', () => minted({ email_verified: 'yes' }), UNVERIFIED],
    ['not said, and userinfo has no address', () => minted({ email_verified: undefined }), UNVERIFIED],
  ],
};
