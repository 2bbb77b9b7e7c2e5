/** SMTP accounts at a real token endpoint (support/oidc.ts), and what mailers of a test are built with. */

import { systemClock } from '../../src/base/clock.ts';
import { AccessTokens, type AccessTokensOptions } from '../../src/delivery/access-tokens.ts';
import type { OAuth2Account, RefreshTurns } from '../../src/delivery/mail.ts';
import { createOutbound, type Policy } from '../../src/outbound/outbound.ts';
import { CLIENT_ID, type OidcDouble, PATHS, RESOURCE_CLIENT } from './oidc.ts';

export const LOOPBACK: Policy = { reach: 'loopback', http: true, anyPort: true };

/** Refresh tokens that are used as they were configured: for accounts whose token endpoint gives no others. */
export const NO_TURNS: RefreshTurns = {
  use: async (_id, { refreshToken }, work) => (await work(refreshToken)).answer,
};

/** Tokens by requests of their own outbound client. */
export function accessTokens(options: Partial<AccessTokensOptions> = {}): AccessTokens {
  return new AccessTokens({
    outbound: createOutbound({ clock: systemClock, proxy: { proxy: null, noProxy: [] } }),
    policy: LOOPBACK,
    clock: systemClock,
    turns: NO_TURNS,
    ...options,
  });
}

/** An account by client credentials. */
export function clientAccount(oidc: Pick<OidcDouble, 'issuer'>): OAuth2Account {
  const { id: clientId, secret: clientSecret } = RESOURCE_CLIENT;
  return { tokenUrl: `${oidc.issuer}${PATHS.token}`, clientId, clientSecret, scope: null, refreshToken: null };
}

/** An account by a refresh token of a public client, which gets another one for each use. */
export async function refreshAccount(oidc: OidcDouble): Promise<OAuth2Account & { refreshToken: string }> {
  const { refreshToken = '' } = await oidc.signIn('postman', 'opaque');
  const tokenUrl = `${oidc.issuer}${PATHS.token}`;
  return { tokenUrl, clientId: CLIENT_ID, clientSecret: null, scope: null, refreshToken };
}
