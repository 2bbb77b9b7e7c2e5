/**
 * The only way out for HTTP requests. The address that the socket is about to connect to decides, not the text of a URL: names
 * that resolve to internal addresses, resolvers that change their answer and odd spellings all end at that address.
 * No redirects, no compression, no proxy but the configured one (proxy.ts), one limit for time and one for size.
 */

import { lookup as systemLookup } from 'node:dns';
import type { Agent, Dispatcher } from 'undici';
import type { Clock } from '../base/clock.ts';
import { LIMITS } from '../base/grammar.ts';
import { carried, inChild, markFailed, SpanKind } from '../base/tracing.ts';
import { CONNECT_TIMEOUT_MS, createAgent, forEachReach, MAX_HEADER_BYTES, prepareOutbound } from './connections.ts';
import { OutboundError } from './errors.ts';
import { ProxyRoute, type ProxySettings, refusal } from './proxy.ts';
import type { Reach, Resolve } from './reach.ts';

export { prepareOutbound } from './connections.ts';
export { OutboundError, type OutboundReason } from './errors.ts';
export type { Reach, Resolve } from './reach.ts';

/** The URLs that a kind of target may have. */
export interface Policy {
  readonly reach: Reach;
  /** Allows cleartext. */
  readonly http: boolean;
  /** Allows ports other than the scheme's own. */
  readonly anyPort: boolean;
  /** Origins that the operator has listed, such as `http://10.0.0.5:8080`. None of the three restrictions above applies to them. */
  readonly trustedOrigins?: ReadonlySet<string>;
  /** Whether the target is told of the trace (W3C Trace Context): one of the operator's own. A push service would learn who was told together. */
  readonly traced?: true;
}

/** Targets from the configuration: the identity provider and the endpoints in its metadata. */
export const OPERATOR_POLICY: Policy = { reach: 'internal', http: true, anyPort: true, traced: true };
/** Targets from users. */
export const INTERNET_POLICY: Policy = { reach: 'internet', http: false, anyPort: false };

export interface OutboundRequest {
  readonly url: string;
  readonly policy: Policy;
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** For the whole exchange, from name resolution to the last byte, in milliseconds. */
  readonly timeoutMs: number;
  /** Of the response's body, in bytes. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

export interface OutboundResponse {
  /** 200 to 299 or 400 to 599: redirects are errors. */
  readonly status: number;
  /** A response header by its lower-case name; several are joined by ", ". */
  header(name: string): string | undefined;
  readonly body: Buffer;
  /** The body as JSON. Throws OutboundError `not_json`. */
  json(): unknown;
}

export interface Outbound {
  /** Throws OutboundError; every status but a redirect is a response. */
  send(request: OutboundRequest): Promise<OutboundResponse>;
  /** Ends all connections, those in use too. */
  close(): Promise<void>;
}

/** `resolve` is for tests. */
export function createOutbound(options: {
  clock: Pick<Clock, 'after'>;
  proxy: ProxySettings;
  resolve?: Resolve;
}): Outbound {
  const ways = { resolve: systemLookup, ...options };
  let closed = false;
  let opened: Promise<Ways> | undefined;
  return {
    async send(request) {
      const { url, reach } = readTarget(request.url, request.policy);
      if (closed) throw new OutboundError('unreachable', 'The service is shutting down.');
      // undici is loaded with the first request: many installations never send one.
      opened ??= openWays(ways);
      const { agents, proxy } = await opened;
      const by = proxy?.takes(url) ? proxy : null;
      const limit = startLimit(request, options.clock);
      try {
        return await inExchange(url, request, async () => {
          const way = by === null ? agents[reach] : await by.to(url, reach, limit.signal);
          return await exchange(way, url, request, limit.signal);
        });
      } catch (error) {
        throw limit.reason() ?? toOutboundError(error, url.protocol === 'http:' ? by : null);
      } finally {
        limit.end();
      }
    },
    async close() {
      closed = true;
      const held = await opened;
      if (held === undefined) return;
      const agents = [...Object.values(held.agents), held.proxy].filter((one) => one !== null);
      await Promise.all(agents.map((one) => one.destroy()));
    },
  };
}

/** Straight to targets, and by the proxy. */
interface Ways {
  readonly agents: Record<Reach, Agent>;
  readonly proxy: ProxyRoute | null;
}

async function openWays(options: Parameters<typeof createOutbound>[0] & { resolve: Resolve }): Promise<Ways> {
  const { proxy: url, noProxy } = options.proxy;
  const undici = await prepareOutbound();
  return {
    agents: forEachReach((reach) => createAgent(undici, reach, options.resolve)),
    proxy: url === null ? null : new ProxyRoute(undici, new URL(url), { ...options, noProxy }),
  };
}

/** The URL and its reach, or OutboundError `refused_url`. Reads the text only; the address is checked when connecting. */
export function readTarget(text: string, policy: Policy): { url: URL; reach: Reach } {
  const refuse = (message: string) => new OutboundError('refused_url', message);
  const url = text.length > LIMITS.url ? null : URL.parse(text);
  if (url === null) throw refuse('This is not a URL.');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refuse('The URL must begin with https://.');
  if (url.username !== '' || url.password !== '') throw refuse('The URL must not contain credentials.');
  if (policy.trustedOrigins?.has(url.origin)) return { url, reach: 'internal' };
  if (url.protocol === 'http:' && !policy.http) throw refuse('The URL must begin with https://.');
  if (url.port !== '' && !policy.anyPort) throw refuse('The URL must not name a port.');
  return { url, reach: policy.reach };
}

/** The span of an exchange names the host alone: a path may hold a user's secret. */
function inExchange(
  { hostname, protocol }: URL,
  { method = 'GET' }: OutboundRequest,
  work: () => Promise<OutboundResponse>,
): Promise<OutboundResponse> {
  const attributes = {
    'http.request.method': method,
    'server.address': hostname,
    'url.scheme': protocol.slice(0, -1),
  };
  return inChild(method, { kind: SpanKind.CLIENT, attributes }, async (span) => {
    const response = await work();
    span?.setAttribute('http.response.status_code', response.status);
    if (span !== null && response.status >= 400) markFailed(span, String(response.status));
    return response;
  });
}

async function exchange(
  way: Dispatcher,
  url: URL,
  request: OutboundRequest,
  signal: AbortSignal,
): Promise<OutboundResponse> {
  const response = await begin(way, url, request, signal);
  const { statusCode: status, body } = response;
  const headers = new Map(
    Object.entries(response.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
  const problem = headProblem(status, headers, request.maxBytes);
  if (problem !== null) {
    body.on('error', () => undefined).destroy();
    throw problem;
  }
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop by a throw destroys the body, and with it the connection.
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > request.maxBytes) throw tooLarge(request.maxBytes);
    chunks.push(chunk);
  }
  const whole = Buffer.concat(chunks);
  return { status, header: (name) => headers.get(name), body: whole, json: () => readJson(whole) };
}

async function begin(way: Dispatcher, url: URL, request: OutboundRequest, signal: AbortSignal) {
  const method = request.method ?? 'GET';
  const options: Dispatcher.RequestOptions = {
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method,
    headers: {
      'user-agent': 'usher',
      ...request.headers,
      ...(request.policy.traced ? carried() : {}),
      'accept-encoding': 'identity',
    },
    body: request.body ?? null,
    signal,
  };
  try {
    return await way.request(options);
  } catch (error) {
    // The peer closed a kept connection meanwhile (RFC 9112 9.5): safe to repeat a request that only reads.
    if (method !== 'GET' || !CLOSED_BY_PEER.has(codeOf(error)) || signal.aborted) throw error;
    return await way.request(options);
  }
}

function headProblem(status: number, headers: ReadonlyMap<string, string | undefined>, maxBytes: number) {
  if (status >= 300 && status < 400) {
    return new OutboundError('redirected', `The target answered ${status}; redirects are not followed.`);
  }
  const encoding = headers.get('content-encoding') ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    return new OutboundError('bad_response', 'The target compressed its answer although the request forbids it.');
  }
  return Number(headers.get('content-length') ?? 0) > maxBytes ? tooLarge(maxBytes) : null;
}

function tooLarge(maxBytes: number): OutboundError {
  return new OutboundError('too_large', `The answer is larger than ${maxBytes} bytes.`);
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

function readJson(body: Buffer): unknown {
  try {
    return JSON.parse(UTF8.decode(body));
  } catch (error) {
    throw new OutboundError('not_json', 'The answer is not JSON.', error);
  }
}

/** One timer for the whole exchange, joined with the caller's signal. `reason` is the error of whichever ended it. */
function startLimit(request: OutboundRequest, clock: Pick<Clock, 'after'>) {
  const controller = new AbortController();
  let reason: OutboundError | undefined;
  const end = (error: OutboundError) => {
    reason ??= error;
    controller.abort();
  };
  const onAbort = () => end(new OutboundError('aborted', 'The caller cancelled the request.'));
  const cancel = clock.after(request.timeoutMs, () =>
    end(new OutboundError('timeout', `There was no full answer within ${request.timeoutMs} ms.`)),
  );
  request.signal?.addEventListener('abort', onAbort, { once: true });
  if (request.signal?.aborted) onAbort();
  return {
    signal: controller.signal,
    reason: () => reason,
    end() {
      cancel();
      request.signal?.removeEventListener('abort', onAbort);
    },
  };
}

const CLOSED_BY_PEER: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** `forwarder`: the proxy that reads the request itself, as it does one without TLS; every connection is with it. */
function toOutboundError(error: unknown, forwarder: Pick<ProxyRoute, 'host'> | null): OutboundError {
  if (error instanceof OutboundError) return error;
  const code = codeOf(error);
  const peer = forwarder === null ? 'The target' : `The proxy ${forwarder.host}`;
  if (code === 'UND_ERR_CONNECT_TIMEOUT') {
    const what = forwarder === null ? 'no connection' : `no connection with the proxy ${forwarder.host}`;
    return new OutboundError('timeout', `There was ${what} within ${CONNECT_TIMEOUT_MS} ms.`, error);
  }
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new OutboundError('too_large', `The answer's headers are larger than ${MAX_HEADER_BYTES} bytes.`, error);
  }
  if (error instanceof Error && error.name === 'HTTPParserError') {
    return new OutboundError('bad_response', `${peer} does not speak HTTP.`, error);
  }
  if (code === 'UND_ERR_INVALID_ARG') {
    // Only so does the library tell that a proxy wants other credentials.
    if (forwarder !== null && (error as Error).message.includes('(407)')) return refusal(forwarder.host, 407);
    return new OutboundError('refused_url', 'The request cannot be sent.', error);
  }
  return new OutboundError('unreachable', `${peer} cannot be reached.`, error);
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}
