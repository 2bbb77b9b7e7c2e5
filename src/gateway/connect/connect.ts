/**
 * Connect and gRPC-Web for usher.permission.v1.PermissionService (docs/reference/service.md#rpc), carried by connect-express: for
 * languages and networks without HTTP/2. Slower than the gRPC port by five times.
 *
 * Key, size and strictness are checked before Connect sees a call: it offers no hook between the headers and its own
 * reading of the body, which closes the connection of a message that is too large, repairs text that is not UTF-8, and does not
 * name an unknown field. Connect writes errors found here in the protocol of the call.
 */

import type { DescMessage, DescMethod } from '@bufbuild/protobuf';
import {
  type ContextKey,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type ServiceImpl,
} from '@connectrpc/connect';
import { expressConnectMiddleware } from '@connectrpc/connect-express';
import type { Request, RequestHandler } from 'express';
import { certain } from '../../base/certain.ts';
import { toUsherError, type UsherError, validationFailed } from '../../base/errors.ts';
import type { WatchStream } from '../../engine/watch.ts';
import { PermissionService } from '../../gen/usher/permission/v1/permission_pb.ts';
import { type KeyHolder, type KeyScope, refuseOtherApplications } from '../../identity/api-keys.ts';
import { ABOUT, type Answer, answersOf, UNARY } from '../../rpc/methods.ts';
import { PROTO } from '../../rpc/naming.ts';
import { openWatch, toWatchResponse } from '../../rpc/watch.ts';
import { type Admission, admit, type Entrance } from '../middleware/admit.ts';
import { readBytes } from '../middleware/body.ts';
import { logTrouble } from '../middleware/errors.ts';
import { CallerGone, type Exchange } from '../middleware/exchange.ts';
import type { UnprovenBodies } from '../middleware/unproven.ts';
import { checkMedia } from '../route/bodies.ts';
import { type Guard, key } from '../route/guards.ts';
import { DEADLINE_MS, RPC_MESSAGE_BYTES } from '../route/limits.ts';
import type { Services } from '../services.ts';
import { FRAME_BYTES, RPC_MEDIA, type RpcMedia, readMessage, rpcError, toConnectError } from './messages.ts';
import { answerAsText, fromText, isText, textLength } from './text.ts';

export interface ConnectOptions extends Admission {
  /** Counts the bodies of callers without credentials. */
  readonly unproven: UnprovenBodies;
}

const entrance = (scope: KeyScope): Entrance => ({
  guard: key(scope) as Guard<unknown>,
  refusal: null,
  counted: true,
  concerns: 'within',
});

/** The checks of a call of one method, before Connect reads it. */
interface Door {
  readonly input: DescMessage;
  readonly entrance: Entrance;
  readonly media: readonly string[];
  /** The longest timeout that Connect is told of. */
  readonly mostMs: number;
}

function doorOf({ input, methodKind }: DescMethod): Door {
  const streams = methodKind !== 'unary';
  const media = Object.entries(RPC_MEDIA).flatMap(([name, { answers }]) =>
    answers === (streams ? 'once' : 'streams') ? [] : [name],
  );
  return streams
    ? { input, entrance: entrance('watch'), media, mostMs: Number.POSITIVE_INFINITY }
    : { input, entrance: entrance('check'), media, mostMs: DEADLINE_MS.call };
}

declare global {
  namespace Express {
    interface Locals {
      /** The error of an RPC, found before Connect read it. */
      fault?: UsherError;
    }
  }
}

const EXCHANGE: ContextKey<Exchange | null> = createContextKey<Exchange | null>(null, { description: 'exchange' });

/** Answers the calls of the service's methods. */
export function createConnect(options: ConnectOptions): RequestHandler {
  const doors = new Map(
    PermissionService.methods.map((method) => [`/${PermissionService.typeName}/${method.name}`, doorOf(method)]),
  );
  const call = expressConnectMiddleware({
    grpc: false,
    readMaxBytes: RPC_MESSAGE_BYTES,
    acceptCompression: [],
    jsonOptions: { ignoreUnknownFields: false, alwaysEmitImplicit: true },
    contextValues: (req) => createContextValues().set(EXCHANGE, req.res?.locals.exchange ?? null),
    requestGate: ({ values }) => {
      exchangeOf(values);
    },
    routes: (router) => router.service(PermissionService, implementation(options.services)),
  });

  return async (req, res, next) => {
    const { exchange } = res.locals;
    exchange.quiet = true;
    exchange.span?.setAttributes({ 'rpc.system.name': 'connectrpc', 'rpc.method': exchange.pattern.slice(1) });
    const door = certain(doors.get(exchange.pattern));
    let message: Buffer = EMPTY;
    try {
      message = await receive(options, exchange, door);
    } catch (error) {
      if (error instanceof CallerGone) return;
      // The caller's protocol is unknown, so the answer is a plain HTTP error.
      if (!door.media.includes(req.headers['content-type'] ?? '')) throw error;
      res.locals.fault = toUsherError(error);
    }
    answerAsText(req, res);
    // Connect parses the first as a URL, throws if it cannot, and compares the second. Nothing else reads them after this.
    Object.assign(req.headers, { host: 'localhost', 'content-length': String(message.length) });
    // Connect takes the body from here, where body-parser would leave it; bytes too.
    req.body = oneChunk(message);
    call(req, res, next);
  };
}

const EMPTY = Buffer.alloc(0);

/** Admits the caller and reads the message: 401, 429, 403, then 415, then faults of the message. */
async function receive(options: ConnectOptions, exchange: Exchange, door: Door): Promise<Buffer> {
  const { req } = exchange;
  const media = mediaOf(req, door);
  exchange.caller = await admit(options, exchange, door.entrance);
  if (media instanceof Error) throw media;
  checkTimeout(req, media, door.mostMs);
  // Connect refuses every compression by name; a compressed message cannot be read here.
  const encoding = req.get(encodingHeader(media));
  if (encoding !== undefined && encoding !== 'identity') return EMPTY;
  const limit = RPC_MESSAGE_BYTES + (RPC_MEDIA[media].framed ? FRAME_BYTES : 0);
  const unproven = exchange.caller === null ? options.unproven : null;
  const body = await readBytes(exchange, isText(media) ? textLength(limit) : limit, unproven);
  return readMessage(isText(media) ? fromText(body) : body, media, door.input);
}

function encodingHeader(media: RpcMedia): string {
  const { grpc, framed } = RPC_MEDIA[media];
  if (grpc) return 'grpc-encoding';
  return framed ? 'connect-content-encoding' : 'content-encoding';
}

/** The media type of a call, whose header then holds it without parameters; an error of 415 for any other. */
function mediaOf(req: Request, { media: allowed }: Door): RpcMedia | UsherError {
  try {
    const media = checkMedia(req.get('content-type'), allowed) as RpcMedia;
    req.headers['content-type'] = media;
    return media;
  } catch (unsupported) {
    return toUsherError(unsupported);
  }
}

const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/**
 * Caps the timeout that Connect reads: a caller that would wait longer than this service allows is held to the service's
 * deadline. Throws VALIDATION_FAILED for a malformed timeout, which Connect would refuse without a reason.
 */
function checkTimeout(req: Request, media: RpcMedia, mostMs: number): void {
  const [name, form] = RPC_MEDIA[media].grpc
    ? (['grpc-timeout', /^(\d{1,8})([HMSmun])$/] as const)
    : (['connect-timeout-ms', /^(\d{1,10})$/] as const);
  const value = req.get(name);
  if (value === undefined) return;
  const [, amount, unit = 'm'] = form.exec(value) ?? [];
  if (amount === undefined) throw validationFailed([{ path: name, message: 'must be a timeout' }]);
  if (Number(amount) * (UNIT_MS[unit] ?? 0) > mostMs) delete req.headers[name];
}

async function* oneChunk(body: Buffer): AsyncIterable<Uint8Array> {
  if (body.length > 0) yield body;
}

function implementation(services: Services): Partial<ServiceImpl<typeof PermissionService>> {
  const answers = answersOf(services.engine);
  const methods = UNARY.map(({ localName }) => {
    const name = localName as keyof typeof answers;
    return [localName, bridged(answers[name], ABOUT[name])];
  });
  return { ...Object.fromEntries(methods), watch: watchBridged(services) } as ServiceImpl<typeof PermissionService>;
}

/** Messages until the caller leaves, or its deadline passes. Connect takes each once the one before was written. */
function watchBridged({ watch, keys }: Services): ServiceImpl<typeof PermissionService>['watch'] {
  return async function* (request, { signal, values }) {
    const exchange = exchangeOf(values);
    const { stillAdmitted } = (exchange.caller ?? { stillAdmitted: keys.stillOpen }) as Partial<KeyHolder>;
    const leave = (): void => stream?.end();
    let stream: WatchStream | undefined;
    try {
      refuseOthers(exchange, request.apps);
      stream = openWatch(watch, request, PROTO, stillAdmitted);
      signal.addEventListener('abort', leave, { once: true });
      for await (const batch of stream) yield toWatchResponse(batch);
      if (signal.aborted) throw signal.reason;
    } catch (error) {
      if (signal.aborted) throw rpcError(signal.reason);
      throw connectError(exchange, toUsherError(error));
    } finally {
      signal.removeEventListener('abort', leave);
      leave();
    }
  };
}

/** An answer within the deadline; every failure becomes a Connect error. */
function bridged(
  answer: Answer,
  about: (request: never) => readonly string[],
): (request: never, context: HandlerContext) => Promise<Record<string, unknown>> {
  return async (request, { signal, values }) => {
    // The caller is already admitted; checked again, so that the key check never depends on Connect's options.
    const exchange = exchangeOf(values);
    try {
      refuseOthers(exchange, about(request));
      const work = Promise.resolve(answer(request, { naming: PROTO, signal }));
      return await exchange.within(DEADLINE_MS.call, work);
    } catch (error) {
      // The caller's own deadline or departure: Connect knows its code.
      if (signal.aborted) throw rpcError(signal.reason);
      throw connectError(exchange, toUsherError(error));
    }
  };
}

/** Throws KEY_SCOPE for a caller whose key is narrowed to other applications. */
function refuseOthers({ caller }: Exchange, apps: readonly string[]): void {
  if (caller !== null) refuseOtherApplications(caller as KeyHolder, apps);
}

/** The exchange of an admitted call; throws the error of any other. */
function exchangeOf(values: ContextValues): Exchange {
  const exchange = values.get(EXCHANGE);
  if (exchange === null) throw new Error('the RPC has no exchange');
  const { fault } = exchange.res.locals;
  if (fault !== undefined) throw connectError(exchange, fault);
  return exchange;
}

function connectError(exchange: Exchange, error: UsherError): unknown {
  logTrouble(exchange, error, error.httpStatus);
  return toConnectError(error);
}
