/**
 * Connect and gRPC-Web for usher.permission.v1.PermissionService (docs/reference/service.md#rpc): for languages and networks without HTTP/2. Slower
 * than the gRPC port by five times. Only POST: as GET the e-mail address would stand in URLs and logs.
 */

import type { DescMessage } from '@bufbuild/protobuf';
import {
  type ContextKey,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type ServiceImpl,
} from '@connectrpc/connect';
import type { UniversalHandler, UniversalServerResponse } from '@connectrpc/connect/protocol';
import { toUsherError, UsherError, validationFailed } from '../../base/errors.ts';
import { PermissionService } from '../../gen/usher/permission/v1/permission_pb.ts';
import type { KeyHolder } from '../../identity/api-keys.ts';
import { type Answer, answersOf, UNARY } from '../../rpc/methods.ts';
import { PROTO } from '../../rpc/naming.ts';
import { CallerGone, type Exchange } from '../http/exchange.ts';
import { type OpenUnproven, readBytes } from '../http/receive.ts';
import { logTrouble, type Responder } from '../http/respond.ts';
import { splitTarget } from '../http/url-tree.ts';
import { refuseBrowser, type Site } from '../middleware/cors.ts';
import { countRefused, type RateLimit } from '../middleware/rate-limit.ts';
import { checkMedia } from '../route/bodies.ts';
import { bringsSecret, type GuardRequest, key } from '../route/guards.ts';
import { DEADLINE_MS, RPC_MESSAGE_BYTES } from '../route/limits.ts';
import type { Services } from '../services.ts';
import { FRAME_BYTES, RPC_MEDIA, type RpcMedia, readMessage, rpcError, toConnectError } from './messages.ts';

export interface ConnectDoorOptions {
  readonly services: Services;
  readonly site: Site;
  readonly responder: Responder;
  readonly rateLimit: RateLimit | null;
  address(exchange: Exchange): string;
  /** Counts the body of a caller without credentials. */
  readonly unproven: OpenUnproven;
}

const ALLOW = 'POST, OPTIONS';
const GUARD = key('check');

/** What was wrong with a call before Connect read it; its handler says it in the protocol of the call. */
const FAULT: ContextKey<UsherError | null> = createContextKey<UsherError | null>(null, { description: 'fault' });
const EXCHANGE: ContextKey<Exchange | null> = createContextKey<Exchange | null>(null, { description: 'exchange' });

/** Answers the exchanges whose path is a method of the service; false for any other. */
export function createConnectDoor(options: ConnectDoorOptions): (exchange: Exchange) => boolean {
  const { responder } = options;
  const handlers = createHandlers(options.services);

  return (exchange) => {
    const path = splitTarget(exchange.req.url ?? '')?.path;
    const handler = path === undefined ? undefined : handlers.get(path);
    if (path === undefined || handler === undefined) return false;
    exchange.pattern = path;
    exchange.quiet = true;
    if (exchange.req.method === 'OPTIONS') {
      exchange.res.writeHead(204, [...responder.common(exchange), 'allow', ALLOW]).end();
    } else if (exchange.req.method !== 'POST') {
      const refusal = new UsherError('METHOD_NOT_ALLOWED', `This path takes ${ALLOW}.`);
      responder.error(exchange, refusal, { browsers: false, allow: ALLOW });
    } else {
      serve(options, exchange, handler).catch((error: unknown) => {
        responder.error(exchange, error, { browsers: false });
      });
    }
    return true;
  };
}

/** One call: who asks, what is asked, and Connect in between. */
async function serve(options: ConnectDoorOptions, exchange: Exchange, handler: UniversalHandler): Promise<void> {
  let fault = await admit(options, exchange);
  let media: RpcMedia;
  try {
    media = checkMedia(exchange.header('content-type'), Object.keys(RPC_MEDIA)) as RpcMedia;
  } catch (unsupported) {
    // In no protocol of the caller's that is known, so in ours.
    throw fault ?? unsupported;
  }
  fault ??= timeoutFault(exchange, media);
  let body: Buffer = Buffer.alloc(0);
  try {
    if (fault === null) {
      const unproven = exchange.caller === null ? options.unproven : null;
      body = await receive(exchange, media, handler.method.input, unproven);
    }
  } catch (error) {
    if (error instanceof CallerGone) return;
    fault = toUsherError(error);
  }
  const response = await handler({
    httpVersion: exchange.req.httpVersion,
    method: 'POST',
    // Connect wants a URL; the host that the caller named plays no part.
    url: `http://localhost${handler.requestPath}`,
    header: headersFor(exchange, media),
    body: oneChunk(body),
    signal: exchange.signal,
    contextValues: createContextValues().set(FAULT, fault).set(EXCHANGE, exchange),
  });
  await write(options.responder, exchange, response);
}

/** 401, 429, 403: in the order of the other doors. */
async function admit(options: ConnectDoorOptions, exchange: Exchange): Promise<UsherError | null> {
  const { services, rateLimit, site } = options;
  const { requestId, signal } = exchange;
  const request = { header: (name: string) => exchange.header(name), params: {}, requestId, signal };
  let holder: KeyHolder | null;
  try {
    if (bringsSecret(request)) await rateLimit?.refuseGuesser(options.address(exchange));
    holder = await GUARD.identify(services, request);
  } catch (error) {
    return await countedFault(options, exchange, request, error);
  }
  try {
    const actor = GUARD.actor(holder);
    exchange.caller = actor;
    await rateLimit?.take(actor ?? `ip:${options.address(exchange)}`);
    refuseBrowser(site, exchange);
    await GUARD.permit?.(services, request, holder);
    return null;
  } catch (error) {
    return toUsherError(error);
  }
}

/** Why a caller is refused; 429 instead where its address was refused too often. */
async function countedFault(
  options: ConnectDoorOptions,
  exchange: Exchange,
  request: Pick<GuardRequest, 'header'>,
  error: unknown,
): Promise<UsherError> {
  try {
    const { rateLimit } = options;
    if (rateLimit !== null) await countRefused(rateLimit, options.address(exchange), request, error);
    return toUsherError(error);
  } catch (limited) {
    return toUsherError(limited);
  }
}

async function receive(
  exchange: Exchange,
  media: RpcMedia,
  input: DescMessage,
  unproven: OpenUnproven | null,
): Promise<Buffer> {
  const limit = RPC_MESSAGE_BYTES + (RPC_MEDIA[media].framed ? FRAME_BYTES : 0);
  const body = await readBytes(exchange, limit, unproven);
  // Connect refuses every compression by name; what is compressed cannot be read here.
  const encoding = exchange.header(encodingOf(media));
  return encoding === undefined || encoding === 'identity' ? readMessage(body, media, input) : body;
}

/** What Connect reads of a request's headers: its encodings, and how long the caller waits. */
function headersFor(exchange: Exchange, media: RpcMedia): Headers {
  const headers = new Headers({ 'content-type': media });
  for (const name of ['connect-protocol-version', encodingOf(media)]) {
    const value = exchange.header(name);
    if (value !== undefined) headers.set(name, value);
  }
  const { name, form } = timeoutOf(media);
  const value = exchange.header(name);
  // Connect would refuse a caller who is ready to wait longer than we let him; our own deadline holds for him too.
  if (value !== undefined && form.test(value) && !exceeds(value, DEADLINE_MS.call)) headers.set(name, value);
  return headers;
}

/** Where a message's compression is named in the protocol of that media type; the other's name says nothing there. */
function encodingOf(media: RpcMedia): string {
  return RPC_MEDIA[media].framed ? 'grpc-encoding' : 'content-encoding';
}

/** A timeout that is none: Connect would refuse it without a reason (docs/reference/http.md#limits). */
function timeoutFault(exchange: Exchange, media: RpcMedia): UsherError | null {
  const { name, form } = timeoutOf(media);
  const value = exchange.header(name);
  if (value === undefined || form.test(value)) return null;
  return validationFailed([{ path: name, message: 'is no timeout' }]);
}

/** How a caller says in the protocol of that media type how long he waits. */
function timeoutOf(media: RpcMedia): { name: string; form: RegExp } {
  return RPC_MEDIA[media].framed
    ? { name: 'grpc-timeout', form: /^\d{1,8}[HMSmun]$/ }
    : { name: 'connect-timeout-ms', form: /^\d{1,10}$/ };
}

const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6, '': 1 };

/** Whether a well-formed timeout (`5000`, `5S`) is longer than `ms`. */
function exceeds(timeout: string, ms: number): boolean {
  const [, amount = '0', unit = ''] = /^(\d{1,10})([HMSmun]?)$/.exec(timeout) ?? [];
  return Number(amount) * (UNIT_MS[unit] ?? 0) > ms;
}

async function* oneChunk(body: Buffer): AsyncIterable<Uint8Array> {
  if (body.length > 0) yield body;
}

/** Unary answers are small and whole: written with their length, in one piece. */
async function write(responder: Responder, exchange: Exchange, response: UniversalServerResponse): Promise<void> {
  const chunks: Uint8Array[] = [];
  if (response.body) for await (const chunk of response.body) chunks.push(chunk);
  if (exchange.gone) return;
  const body = Buffer.concat(chunks);
  const headers = responder.common(exchange);
  headers.push('cache-control', 'no-store');
  for (const [name, value] of response.header ?? []) if (name !== 'content-length') headers.push(name, value);
  headers.push('content-length', String(body.length));
  exchange.res.writeHead(response.status, headers);
  exchange.res.end(body);
}

function createHandlers(services: Services): ReadonlyMap<string, UniversalHandler> {
  const answers = answersOf(services.engine);
  const router = createConnectRouter({
    grpc: false,
    readMaxBytes: RPC_MESSAGE_BYTES,
    maxTimeoutMs: DEADLINE_MS.call,
    acceptCompression: [],
    jsonOptions: { ignoreUnknownFields: false, alwaysEmitImplicit: true },
    requestGate: ({ values }) => {
      const fault = values.get(FAULT);
      if (fault !== null) throw told(values.get(EXCHANGE), fault);
    },
  });
  const implementation = UNARY.map(({ localName }) => [localName, bridged(answers[localName as keyof typeof answers])]);
  router.service(
    PermissionService,
    Object.fromEntries(implementation) as Partial<ServiceImpl<typeof PermissionService>>,
  );
  return new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
}

/** An answer within the deadline, and every failure as an error of ours. */
function bridged(answer: Answer): (request: never, context: HandlerContext) => Promise<Record<string, unknown>> {
  return async (request, { signal, values }) => {
    const exchange = values.get(EXCHANGE);
    try {
      const work = Promise.resolve(answer(request, { naming: PROTO, signal }));
      return await (exchange === null ? work : exchange.within(DEADLINE_MS.call, work));
    } catch (error) {
      // The caller's own deadline or departure: Connect knows its code.
      if (signal.aborted) throw rpcError(signal.reason);
      throw told(exchange, toUsherError(error));
    }
  };
}

function told(exchange: Exchange | null, error: UsherError): unknown {
  if (exchange !== null) logTrouble(exchange, error, error.httpStatus);
  return toConnectError(error);
}
