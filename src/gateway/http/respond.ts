/** Writing an answer: payloads through their envelope, errors in the one error shape (docs/reference/http.md#error-bodies). */

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { toUsherError, type UsherError } from '../../base/errors.ts';
import { corsHeaders, type HeaderList, type Site, securityHeaders } from '../middleware/cors.ts';
import {
  type ErrorBody,
  HTML_TYPE,
  JSON_TYPE,
  negotiate,
  type Page,
  type Pieces,
  type ProgressLines,
  type StreamEnvelope,
  type ValueEnvelope,
} from '../route/envelopes.ts';
import { HTTP_LIMITS } from '../route/limits.ts';
import { Answer, type AnswerMeta, type Route } from '../route/route.ts';
import { CallerGone, type Exchange } from './exchange.ts';

// Not imported: see gateway/app.ts.
const { STATUS_CODES } = process.getBuiltinModule('node:http');

/** Progress may come faster than anybody reads it. */
const PROGRESS_INTERVAL_MS = 100;
const NO_META: AnswerMeta = {};

/** Headers of a status that belong to an error but not to its body. */
export interface ErrorContext {
  /** For 401. */
  challenge?: string;
  /** For 405. */
  allow?: string;
  /** Whether a browser of a listed origin may read the error. */
  browsers: boolean;
  /** Makes a page of the error, for a caller who prefers one. */
  problem?: ValueEnvelope['problem'];
  /** A status of HTTP's own that the table of codes does not know: 408, 417, 431. */
  status?: number;
}

export class Responder {
  readonly #site: Site;
  readonly #security: readonly string[];
  readonly #policy: string;

  constructor(site: Site) {
    const { headers, policy } = securityHeaders(site);
    this.#site = site;
    this.#security = headers;
    this.#policy = policy;
  }

  /** The headers that go with every answer of the gateway, RPC included. */
  common(exchange: Exchange): HeaderList {
    return ['x-request-id', exchange.requestId, ...this.#security];
  }

  /** Answers a route's result. What is a stream is a promise, which resolves when it is written, or the caller is gone. */
  answer(exchange: Exchange, route: Route, result: unknown, writer: AnswerWriter): Promise<void> | undefined {
    const { payload, meta } = result instanceof Answer ? result : { payload: result, meta: NO_META };
    const { envelope } = route;
    if (exchange.gone) return undefined;
    if (envelope.kind === 'empty') {
      exchange.res.writeHead(meta.status ?? route.statuses[0], this.#headers(exchange, route, meta));
      exchange.res.end();
    } else if (envelope.kind === 'stream') {
      return this.#stream(exchange, route, envelope, payload as Pieces<unknown>, meta);
    } else {
      writer.finish(envelope.encode(payload, writer.media), meta);
    }
    return undefined;
  }

  /** What writes the one body of an answer, with lines of progress before it where the caller takes them. */
  writer(exchange: Exchange, route: Route): AnswerWriter {
    return new AnswerWriter(exchange, route, (meta, media) => this.#headers(exchange, route, meta, media));
  }

  async #stream(
    exchange: Exchange,
    route: Route,
    envelope: StreamEnvelope,
    pieces: Pieces<unknown>,
    meta: AnswerMeta,
  ): Promise<void> {
    const { req, res } = exchange;
    res.writeHead(meta.status ?? route.statuses[0], this.#headers(exchange, route, meta, envelope.media[0]));
    if (req.method === 'HEAD') {
      res.end();
      return;
    }
    res.flushHeaders();
    // Whoever waits for the next piece learns of it at once; no signal is made for that, since ten thousand may be open.
    res.once('close', () => pieces.end?.());
    for await (const piece of pieces) {
      if (exchange.gone) break;
      if (res.write(envelope.encode(piece)) || (await hasReadOn(res, pieces.ended))) continue;
      // Whoever may read no longer, or does not, keeps neither the connection nor what waits in it.
      res.destroy();
      return;
    }
    res.end();
  }

  #headers(exchange: Exchange, route: Route, meta: AnswerMeta, media?: string): HeaderList {
    const headers = this.common(exchange);
    headers.push('cache-control', route.cacheControl);
    if (media !== undefined) headers.push('content-type', media);
    const own = route.envelope.kind === 'empty' ? undefined : route.envelope.headers;
    const policy = meta.policy ?? this.#policy;
    if (own === undefined) headers.push('content-security-policy', policy);
    else
      for (const [name, value] of Object.entries({ 'content-security-policy': policy, ...own }))
        headers.push(name, value);
    if (meta.revision !== undefined) headers.push('usher-revision', meta.revision);
    if (meta.etag !== undefined) headers.push('etag', `"${meta.etag}"`);
    if (meta.location !== undefined) headers.push('location', meta.location);
    if (meta.cookie !== undefined) headers.push('set-cookie', meta.cookie);
    if (route.guard.browsers) headers.push(...corsHeaders(this.#site, exchange));
    return headers;
  }

  /** Answers whatever was thrown, in the one error shape; 5xx are logged with their cause, to a caller who has left only defects. */
  error(exchange: Exchange, thrown: unknown, context: ErrorContext): void {
    if (thrown instanceof CallerGone) return;
    const error = toUsherError(thrown);
    const status = context.status ?? error.httpStatus;
    if (status === 500 || !exchange.gone) logTrouble(exchange, error, status);
    if (exchange.gone) return;
    const { res } = exchange;
    if (res.headersSent) {
      // Half an answer must not look like a whole one.
      res.destroy();
      return;
    }
    const page = problemPage(exchange, error, context);
    const body = page?.page ?? JSON.stringify(errorBody(error, exchange.requestId));
    const headers = this.common(exchange);
    headers.push('content-security-policy', page?.policy ?? this.#policy, 'cache-control', 'no-store');
    headers.push('content-type', page === null ? JSON_TYPE : HTML_TYPE);
    if (status === 401 && context.challenge !== undefined) headers.push('www-authenticate', context.challenge);
    if (status === 405 && context.allow !== undefined) headers.push('allow', context.allow);
    if (error.retryAfter !== undefined) headers.push('retry-after', String(error.retryAfter));
    if (context.browsers) headers.push(...corsHeaders(this.#site, exchange));
    headers.push('content-length', String(Buffer.byteLength(body)));
    res.writeHead(status, headers);
    res.end(body);
  }
}

/** Null for callers who take JSON, or do not say: programs. */
function problemPage(exchange: Exchange, error: UsherError, { problem }: ErrorContext): Page | null {
  if (problem === undefined || negotiate(exchange.header('accept'), [JSON_TYPE, HTML_TYPE]) !== HTML_TYPE) return null;
  return problem({ error, languages: exchange.header('accept-language') });
}

/** Whether what was written has been read; false when that takes too long, the caller goes, or `over` comes first. */
async function hasReadOn(res: ServerResponse, over: AbortSignal | undefined): Promise<boolean> {
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  res.once('close', leave);
  const limit = AbortSignal.timeout(HTTP_LIMITS.stalledMs);
  const signal = AbortSignal.any([gone.signal, limit, ...(over === undefined ? [] : [over])]);
  try {
    await once(res, 'drain', { signal });
    return true;
  } catch (error) {
    if (signal.aborted || res.destroyed) return false;
    throw error;
  } finally {
    res.off('close', leave);
  }
}

/** One body, begun by progress or written whole. */
export class AnswerWriter {
  /** What the caller and the envelope agreed on; '' where there is no body. */
  readonly media: string;
  readonly #exchange: Exchange;
  readonly #route: Route;
  readonly #headers: (meta: AnswerMeta, media: string) => HeaderList;
  readonly #lines: ProgressLines | null;
  #lastLine = Number.NEGATIVE_INFINITY;

  constructor(exchange: Exchange, route: Route, headers: (meta: AnswerMeta, media: string) => HeaderList) {
    const { envelope } = route;
    this.#exchange = exchange;
    this.#route = route;
    this.#headers = headers;
    this.media = envelope.kind === 'empty' ? '' : negotiate(exchange.header('accept'), envelope.media);
    const takesLines = envelope.kind === 'value' && envelope.progress?.media === this.media;
    this.#lines = takesLines && exchange.req.method !== 'HEAD' ? (envelope.progress ?? null) : null;
  }

  progress(done: number, total: number): void {
    if (this.#lines === null || this.#exchange.gone) return;
    const now = performance.now();
    if (now - this.#lastLine < PROGRESS_INTERVAL_MS && done < total) return;
    this.#lastLine = now;
    const { res } = this.#exchange;
    if (!res.headersSent) res.writeHead(this.#route.statuses[0], this.#headers(NO_META, this.media));
    res.write(this.#lines.line(done, total));
  }

  finish(body: string | Buffer, meta: AnswerMeta): void {
    const { res } = this.#exchange;
    if (!res.headersSent) {
      const headers = this.#headers(meta, this.media);
      headers.push('content-length', String(Buffer.byteLength(body)));
      res.writeHead(meta.status ?? this.#route.statuses[0], headers);
    }
    res.end(body);
  }

  /** Writes the error as the last line of a body that has begun; false when it has not. */
  fail(error: UsherError): boolean {
    const { res, requestId } = this.#exchange;
    if (this.#lines === null || !res.headersSent) return false;
    res.end(this.#lines.failure(errorBody(error, requestId)));
    return true;
  }
}

/** The body of an error. 503 is UNAVAILABLE on this door, also for a deadline (docs/reference/http.md#error-bodies: code by status). */
export function errorBody(error: UsherError, requestId: string): ErrorBody {
  return {
    success: false,
    code: error.code === 'DEADLINE_EXCEEDED' ? 'UNAVAILABLE' : error.code,
    message: error.message,
    ...(error.details === undefined ? {} : { details: error.details }),
    requestId,
  };
}

/** The same for a request that never became one: what node:http's parser refused, written straight to the socket. */
export function rawErrorResponse(status: number, message: string, requestId: string): string {
  const body = JSON.stringify({ success: false, code: 'BAD_REQUEST', message, requestId } satisfies ErrorBody);
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Bad Request'}`,
    `content-type: ${JSON_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'x-content-type-options: nosniff',
    'cache-control: no-store',
    'connection: close',
    '',
    body,
  ].join('\r\n');
}

export function logTrouble(exchange: Exchange, error: UsherError, status: number): void {
  if (status < 500) return;
  const line = { requestId: exchange.requestId, route: exchange.pattern, code: error.code, err: error.cause ?? error };
  if (status === 500) exchange.log.error(line, 'request failed');
  else exchange.log.warn(line, 'request could not be answered');
}
