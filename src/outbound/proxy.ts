/**
 * Requests by way of the operator's proxy (docs/operations/secure.md#requests-that-leave): it looks names up and connects. Targets
 * with TLS are reached by CONNECT, with TLS from here to the target; others are passed on by the proxy (RFC 9110 9.3.6, RFC 9112 3.2.2).
 */

import type { Dispatcher, ProxyAgent } from 'undici';
import type { Clock } from '../base/clock.ts';
import { hostName } from '../base/host-names.ts';
import { codeOf } from '../base/members.ts';
import { CONNECT_TIMEOUT_MS, forEachReach, LIMITS, TLS, type Undici } from './connections.ts';
import { OutboundError } from './errors.ts';
import { NameGuard } from './names.ts';
import type { Reach, Resolve } from './reach.ts';

export interface ProxySettings {
  /** `http://` or `https://` with host and port, and with credentials where the proxy asks for them; null for none. */
  readonly proxy: string | null;
  /** What is reached without it: names and addresses as URLs write them, `.example.com` for all names below that. */
  readonly noProxy: readonly string[];
}

/** How a proxy is shown: without its credentials. */
export function proxyOrigin(proxy: string): string {
  return new URL(proxy).origin;
}

export class ProxyRoute {
  /** Host and port, for messages. */
  readonly host: string;
  readonly #agents: Record<Reach, ProxyAgent>;
  readonly #names: NameGuard;
  readonly #noProxy: readonly string[];

  constructor(
    undici: Undici,
    url: URL,
    options: { noProxy: readonly string[]; resolve: Resolve; clock: Pick<Clock, 'after'> },
  ) {
    this.host = url.host;
    this.#noProxy = options.noProxy;
    this.#names = new NameGuard(options.resolve, options.clock);
    this.#agents = forEachReach(() => createProxyAgent(undici, url));
  }

  /** Whether requests to that target go by the proxy. */
  takes(target: URL): boolean {
    return !isListed(target, this.#noProxy);
  }

  /** Throws OutboundError `refused_address` for a target that the proxy must not be asked for. */
  async to(target: URL, reach: Reach, signal: AbortSignal): Promise<Dispatcher> {
    await this.#names.admit(target, reach, signal);
    return this.#agents[reach];
  }

  async destroy(): Promise<void> {
    await Promise.all(Object.values(this.#agents).map((agent) => agent.destroy()));
  }
}

/** Whether `outbound.noProxy` names the target. */
export function isListed(target: URL, noProxy: readonly string[]): boolean {
  const name = hostName(target);
  return noProxy.some((one) => (one.startsWith('.') ? name.endsWith(one) && name.length > one.length : name === one));
}

function createProxyAgent({ Pool, ProxyAgent }: Undici, { origin, host, username, password }: URL): ProxyAgent {
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return new ProxyAgent({
    // Without the credentials, so that no error of the library can name them.
    uri: origin,
    ...(username === '' ? {} : { token: `Basic ${Buffer.from(user, 'utf8').toString('base64')}` }),
    connectTimeout: CONNECT_TIMEOUT_MS,
    requestTls: TLS,
    proxyTls: TLS,
    ...LIMITS,
    factory: (target, options) => new Pool(target, Object.assign({}, options, LIMITS)),
    clientFactory: (proxy, options) =>
      new Pool(proxy, { ...options, maxHeaderSize: LIMITS.maxHeaderSize, headersTimeout: CONNECT_TIMEOUT_MS }).compose(
        (dispatch) => (asked, handler) => dispatch(asked, tunnelling(host, handler)),
      ),
  });
}

/** The handler of a CONNECT, with what the proxy did in our words. */
function tunnelling(host: string, handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  let sent = false;
  return {
    onRequestStart(controller, context) {
      sent = true;
      handler.onRequestStart?.(controller, context);
    },
    onRequestUpgrade(controller, status, headers, socket) {
      if (status === 200) {
        handler.onRequestUpgrade?.(controller, status, headers, socket);
        return;
      }
      socket.on('error', () => undefined).destroy();
      handler.onResponseError?.(controller, refusal(host, status));
    },
    onResponseError(controller, error) {
      handler.onResponseError?.(controller, failure(host, error, sent));
    },
  };
}

/** What a status of the proxy itself means. */
export function refusal(host: string, status: number): OutboundError {
  if (status === 407) {
    return new OutboundError('proxy_refused', `The proxy ${host} does not take the credentials (407): outbound.proxy.`);
  }
  // Whether it could not connect, or not find the name.
  if (status >= 500) return new OutboundError('unreachable', `The proxy ${host} cannot reach the target (${status}).`);
  return new OutboundError('proxy_refused', `The proxy ${host} does not let this request pass (${status}).`);
}

/** Why there is no tunnel; `sent`: once there was a connection to the proxy. */
function failure(host: string, error: Error, sent: boolean): OutboundError {
  const code = codeOf(error);
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_CONNECT_TIMEOUT') {
    return new OutboundError('timeout', `The proxy ${host} did not answer within ${CONNECT_TIMEOUT_MS} ms.`, error);
  }
  if (!sent) return new OutboundError('unreachable', `The proxy ${host} cannot be reached.`, error);
  return new OutboundError('unreachable', `The proxy ${host} ended the connection without a tunnel.`, error);
}
