/**
 * The only way out for HTTP requests. The address that the socket is about to connect to decides, not the text of a URL: names
 * that resolve to internal addresses, resolvers that change their answer and odd spellings all end at that address.
 * No redirects, no compression, no proxy from the environment, one limit for time and one for size.
 */

import { type LookupAddress, type LookupOptions, lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { Agent, Dispatcher } from 'undici';
import type { Clock } from '../base/clock.ts';
import { LIMITS } from '../base/grammar.ts';
import { type AddressKind, addressKind } from '../base/ip-address.ts';
import { carried, inChild, markFailed, SpanKind } from '../base/tracing.ts';

/** How far a request may go: the internet only, this machine too, or the operator's own networks too. */
export type Reach = 'internet' | 'loopback' | 'internal';

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

export type OutboundReason =
  /** Not a URL, not http(s), with credentials, or a scheme or port that the policy forbids. Nothing was sent. */
  | 'refused_url'
  /** Every address of the name is outside the policy's reach. Nothing was connected. */
  | 'refused_address'
  | 'unreachable'
  | 'timeout'
  | 'too_large'
  | 'redirected'
  /** Compressed although the request forbids it, or not HTTP. */
  | 'bad_response'
  | 'not_json'
  | 'aborted';

/** Why there is no response. The message contains no part of the URL, which may hold a user's secret. */
export class OutboundError extends Error {
  readonly reason: OutboundReason;
  constructor(reason: OutboundReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'OutboundError';
    this.reason = reason;
  }
}

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

/** `dns.lookup` with `all`. */
export type Resolve = (
  hostname: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

const MAX_HEADER_BYTES = 16 * 1024;
const CONNECT_TIMEOUT_MS = 5000;
const CONNECTIONS_PER_ORIGIN = 64;

/** `resolve` is for tests. */
export function createOutbound(options: { clock: Pick<Clock, 'after'>; resolve?: Resolve }): Outbound {
  const resolve: Resolve = options.resolve ?? systemLookup;
  let closed = false;
  let opened: Promise<Record<Reach, Agent>> | undefined;
  return {
    async send(request) {
      const { url, reach } = readTarget(request.url, request.policy);
      if (closed) throw new OutboundError('unreachable', 'The service is shutting down.');
      opened ??= openAgents(resolve);
      const agents = await opened;
      const limit = startLimit(request, options.clock);
      try {
        return await inExchange(url, request, () => exchange(agents[reach], url, request, limit.signal));
      } catch (error) {
        throw limit.reason() ?? toOutboundError(error);
      } finally {
        limit.end();
      }
    },
    async close() {
      closed = true;
      const agents = await opened;
      if (agents !== undefined) await Promise.all(Object.values(agents).map((agent) => agent.destroy()));
    },
  };
}

/** Loads undici with the first request: many installations never send one. */
async function openAgents(resolve: Resolve): Promise<Record<Reach, Agent>> {
  const undici = await prepareOutbound();
  // One pool for each reach: a connection that one policy opened is never lent to a narrower one.
  return {
    internet: createAgent(undici, 'internet', resolve),
    loopback: createAgent(undici, 'loopback', resolve),
    internal: createAgent(undici, 'internal', resolve),
  };
}

/**
 * Loads what requests are sent with: some 50 ms in which this thread answers nobody. To be awaited before a listener opens where
 * requests will be sent; the first request does it otherwise.
 */
export async function prepareOutbound(): Promise<Undici> {
  return await import('undici');
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

type Undici = Pick<typeof import('undici'), 'Agent' | 'buildConnector'>;

const ALLOWED: Record<Reach, ReadonlySet<AddressKind>> = {
  internet: new Set(['global']),
  loopback: new Set(['global', 'loopback']),
  internal: new Set(['global', 'loopback', 'private']),
};

/** Whether a literal address is one that requests of this reach may connect to. */
export function isWithin(reach: Reach, address: string): boolean {
  return ALLOWED[reach].has(addressKind(address));
}

function createAgent({ Agent, buildConnector }: Undici, reach: Reach, resolve: Resolve): Agent {
  const refused = () => new OutboundError('refused_address', "The target's address is not allowed for this request.");
  const mayConnect = (address: string) => isWithin(reach, address);
  const lookup: LookupFunction = (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const fit = addresses.filter(({ address }) => mayConnect(address));
      const first = fit[0];
      if (first === undefined) return callback(refused(), []);
      // The socket connects to the addresses returned here; the name is not resolved again.
      return options.all === true ? callback(null, fit) : callback(null, first.address, first.family);
    });
  };
  const connect = buildConnector({ lookup, timeout: CONNECT_TIMEOUT_MS, rejectUnauthorized: true, allowH2: false });
  return new Agent({
    // For a literal address undici makes no look-up.
    connect: (target, callback) => {
      if (isIP(target.hostname) !== 0 && !mayConnect(target.hostname)) return callback(refused(), null);
      return connect(target, callback);
    },
    connections: CONNECTIONS_PER_ORIGIN,
    maxHeaderSize: MAX_HEADER_BYTES,
    // Only the limit of the whole exchange counts.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
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
  agent: Agent,
  url: URL,
  request: OutboundRequest,
  signal: AbortSignal,
): Promise<OutboundResponse> {
  const response = await begin(agent, url, request, signal);
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

async function begin(agent: Agent, url: URL, request: OutboundRequest, signal: AbortSignal) {
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
    return await agent.request(options);
  } catch (error) {
    // The peer closed a kept connection meanwhile (RFC 9112 9.5): safe to repeat a request that only reads.
    if (method !== 'GET' || !CLOSED_BY_PEER.has(codeOf(error)) || signal.aborted) throw error;
    return await agent.request(options);
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

function toOutboundError(error: unknown): OutboundError {
  if (error instanceof OutboundError) return error;
  const code = codeOf(error);
  if (code === 'UND_ERR_CONNECT_TIMEOUT') {
    return new OutboundError('timeout', `There was no connection within ${CONNECT_TIMEOUT_MS} ms.`, error);
  }
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new OutboundError('too_large', `The answer's headers are larger than ${MAX_HEADER_BYTES} bytes.`, error);
  }
  if (error instanceof Error && error.name === 'HTTPParserError') {
    return new OutboundError('bad_response', 'The target does not speak HTTP.', error);
  }
  if (code === 'UND_ERR_INVALID_ARG') return new OutboundError('refused_url', 'The request cannot be sent.', error);
  return new OutboundError('unreachable', 'The target cannot be reached.', error);
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}
