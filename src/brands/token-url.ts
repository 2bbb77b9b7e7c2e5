/**
 * Where a brand's access tokens may be fetched (docs/reference/brands.md#smtp-by-oauth-20). An administrator chooses the URL, and the service sends the client's
 * secret there from inside the network. The address is checked again at every connection (outbound.ts).
 */

import { isIP } from 'node:net';
import type { Config } from '../config/config.ts';
import { OutboundError, type Policy, readTarget } from '../outbound/outbound.ts';
import { isWithinReach } from '../outbound/reach.ts';

/** https on the internet; origins that the operator trusts, the issuer's among them; outside production this machine, too. */
export function tokenPolicy({ production, auth, brands }: Pick<Config, 'production' | 'auth' | 'brands'>): Policy {
  const trusted = [...brands.tokenOrigins, ...(auth.issuer === null ? [] : [auth.issuer])];
  const trustedOrigins = new Set(trusted.map((url) => new URL(url).origin));
  return production
    ? { reach: 'internet', http: false, anyPort: true, trustedOrigins }
    : { reach: 'loopback', http: true, anyPort: true, trustedOrigins };
}

/** Why tokens cannot be fetched at a URL, completing a sentence that begins with its field; null where they may be. */
export function tokenUrlProblem(text: string, policy: Policy): string | null {
  try {
    const { url, reach } = readTarget(text, policy);
    if (text.includes('#')) return 'must have no fragment';
    const host = url.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) === 0 || isWithinReach(reach, host)) return null;
    return 'must not name an address that this service may not reach: list its origin in brands.tokenOrigins';
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return policy.http
      ? 'must be an absolute http or https URL without credentials'
      : 'must be an absolute https URL without credentials, or be at an origin of brands.tokenOrigins';
  }
}
