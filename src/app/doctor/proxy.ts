/** The proxy that requests leave by (docs/reference/service.md#requests-that-leave). */

import type { Config } from '../../config/config.ts';
import {
  INTERNET_POLICY,
  OPERATOR_POLICY,
  type Outbound,
  OutboundError,
  type Policy,
} from '../../outbound/outbound.ts';
import { isListed, proxyOrigin } from '../../outbound/proxy.ts';
import type { Findings } from './finding.ts';

export const REQUEST = { timeoutMs: 5000, maxBytes: 256 * 1024 } as const;
/** Asked for where the configuration names no target of its own. */
const A_TARGET = 'https://fcm.googleapis.com';

/** What other programs read, and Usher does not. */
const UNREAD = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'];

export async function checkOutbound(
  { auth, idp, outbound: { proxy, noProxy } }: Config,
  { outbound, env }: { outbound: Outbound; env: Readonly<Record<string, string | undefined>> },
  to: Findings,
): Promise<void> {
  if (proxy === null) {
    const unread = UNREAD.filter((name) => (env[name] ?? '') !== '');
    if (unread.length === 0) to.ok('requests leave directly, without a proxy');
    else {
      const advice = 'Set outbound.proxy (OUTBOUND_PROXY), if this machine reaches others by a proxy alone.';
      to.warn(`requests leave directly: ${unread.join(', ')} is not read`, advice);
    }
    return;
  }
  const shown = proxyOrigin(proxy);
  const targets = [auth.issuer, idp.apiUrl, A_TARGET].filter((url) => url !== null);
  const target = targets.find((url) => !isListed(new URL(url), noProxy));
  if (target === undefined) {
    to.ok(`${shown}, which outbound.noProxy takes everything from`);
    return;
  }
  const { host } = new URL(target);
  const problem = await problemOf(outbound, target, OPERATOR_POLICY);
  if (problem === null) to.ok(`${shown} passes requests on, to ${host} for one`);
  else
    to.fail(
      `${shown}, asked for ${host}: ${problem}`,
      'Check outbound.proxy (OUTBOUND_PROXY), its name and password, and what the proxy lets pass.',
    );
}

/** Why nobody answers there; null for an answer, whatever it says. */
export async function problemOf(outbound: Outbound, url: string, policy: Policy = INTERNET_POLICY) {
  try {
    await outbound.send({ url, policy, ...REQUEST });
    return null;
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return ANSWERS.has(error.reason) ? null : error.message;
  }
}

/** What says that there was an answer, which nobody here reads. */
const ANSWERS: ReadonlySet<string> = new Set(['redirected', 'too_large', 'bad_response']);
