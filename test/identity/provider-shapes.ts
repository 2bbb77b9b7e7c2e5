import { randomUUID } from 'node:crypto';
import type { TokensOptions } from '../../src/identity/tokens.ts';
import { AUDIENCE } from '../support/oidc.ts';

/**
 * Tokens as the providers of docs/guides/identity-provider.md issue them, signed by keys that a real OpenID provider serves over a socket,
 * with the settings that the table there names.
 */
export type Claims = Record<string, unknown>;
export type Auth = Partial<TokensOptions['auth']>;

export interface Shape {
  readonly name: string;
  readonly auth: Auth;
  readonly header: Claims;
  readonly claims: (now: number) => Claims;
  /** What userinfo answers; null: it refuses the token. */
  readonly userinfo: Claims | null;
}

export const EMAIL = 'jane@example.com';
export const ORGANIZATION = 'urn:zitadel:iam:user:resourceowner:id';
export const times = (now: number) => ({ iat: now - 1, exp: now + 3600 });
export const VERIFIED = { sub: 'jane', email: EMAIL, email_verified: true };

export const SHAPES: readonly Shape[] = [
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
