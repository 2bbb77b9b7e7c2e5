/** The rows of the table of keys about tokens and accounts (docs/reference/callers.md). */

import * as kind from './kinds.ts';
import { key } from './kinds.ts';

export const TOKENS_AND_ACCOUNTS = {
  'auth.issuer': key(kind.url, {
    example: 'https://idp.example.com',
    default: null,
    otherwise: 'none: the local issuer, outside production',
    about: 'The issuer of bearer tokens.',
  }),
  'auth.audience': key(kind.text, {
    example: 'usher',
    default: null,
    about: 'The audience that a token must name; required with an issuer.',
  }),
  'auth.jwksUrl': key(kind.url, {
    example: 'https://idp.example.com/oauth/v2/keys',
    default: null,
    otherwise: 'found by discovery',
    about: 'The key set of the issuer.',
  }),
  'auth.algorithms': key(kind.filled(kind.asymmetric), {
    example: 'RS256,ES256',
    default: ['RS256', 'PS256', 'ES256', 'EdDSA'],
    about: 'Algorithms that a token may be signed with.',
  }),
  'auth.requireVerifiedEmail': key(kind.flag, {
    default: ({ production }) => production,
    otherwise: 'true in production',
    about: 'Whether a token must state that its address is verified.',
  }),
  'auth.audienceClaim': key(kind.filledText, {
    default: 'aud',
    about: 'The claim that is compared with `auth.audience`: `client_id` for Cognito.',
  }),
  'auth.emailClaims': key(kind.filled(kind.filledText), {
    example: 'email,upn',
    default: ['email'],
    about:
      "The claims that may hold a token's e-mail address, in this order: [Providers](../guides/identity-provider.md#other-providers).",
  }),
  'auth.emailTrust': key(kind.oneOf(['claim', 'issuer', 'always']), {
    default: 'claim',
    about:
      'What verifies an address: the claim `email_verified`; the issuer, unless that claim says false; or the issuer, whatever it says.',
  }),
  'auth.acceptNonce': key(kind.flag, {
    default: false,
    about:
      'Whether tokens that look like ID tokens count as access tokens, for providers whose access tokens look so (Dex).',
  }),
  'auth.bindSubject': key(kind.flag, {
    default: (before) => before['auth.issuer'] !== null,
    otherwise: 'true with `auth.issuer`, false with the local issuer',
    about: 'Whether an address belongs to the first account (`sub`) that comes with it.',
  }),
  'auth.organizations': key(kind.list(kind.text), {
    example: '271828182845904523,314159265358979323',
    default: [],
    otherwise: 'all',
    about: 'The organizations of the provider whose tokens are admitted: [Organizations](secure.md#organizations).',
  }),
  'auth.adminOrganizations': key(kind.list(kind.text), {
    example: '271828182845904523',
    default: [],
    otherwise: 'none: `auth.bindFirst` decides',
    about: 'The organizations whose tokens may bind an address that has administrative rights.',
  }),
  'auth.organizationClaim': key(kind.filledText, {
    default: 'urn:zitadel:iam:user:resourceowner:id',
    about: "The claim that names the organization of a token's account.",
  }),
  'auth.bindFirst': key(kind.flag, {
    default: null,
    otherwise: 'true while at most one organization of the provider is known',
    about:
      'Without `auth.adminOrganizations`: whether the first token may bind an address that has administrative rights.',
  }),
  'auth.introspectionUrl': key(kind.url, {
    example: 'https://idp.example.com/oauth/v2/introspect',
    default: null,
    otherwise: 'none: opaque tokens are refused',
    about: 'The introspection endpoint for opaque tokens.',
  }),
  'auth.clientId': key(kind.text, {
    example: 'usher',
    default: null,
    about: 'The client that introspects; required with `auth.introspectionUrl`.',
  }),
  'auth.clientSecret': key(kind.text, {
    example: 'a secret of the provider',
    default: null,
    secret: true,
    about: 'The secret of `auth.clientId`.',
  }),
};
