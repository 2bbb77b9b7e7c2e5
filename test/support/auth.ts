import type { TokensOptions } from '../../src/identity/tokens.ts';

/** What `auth` says by default in production, without an issuer. */
export const AUTH: TokensOptions['auth'] = {
  issuer: null,
  audience: null,
  jwksUrl: null,
  algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
  requireVerifiedEmail: true,
  introspectionUrl: null,
  clientId: null,
  clientSecret: null,
  audienceClaim: 'aud',
  emailClaims: ['email'],
  emailTrust: 'claim',
  acceptNonce: false,
  organizations: [],
  organizationClaim: 'urn:zitadel:iam:user:resourceowner:id',
};
