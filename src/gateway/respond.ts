/** Writing an answer: payloads through their envelope, errors in the one error shape (contract 2). */

import { once } from 'node:events';
import { STATUS_CODES } from 'node:http';
import { formatRevision } from '../engine/question.ts';
import { toUsherError, type UsherError } from '../errors.ts';
import { corsHeaders, type HeaderList, type Site, securityHeaders } from './browsers.ts';
import { type Envelope, type ErrorBody, negotiate, type StreamEnvelope } from './envelopes.ts';
import { CallerGone, type Exchange } from './exchange.ts';
import { HTTP_LIMITS } from './limits.ts';
import { Answer, type AnswerMeta, type Route } from './route.ts';

/** Progress may come faster than anybody reads it. */
const PROGRESS_INTERVAL_MS = 100;
const NO_META: AnswerMeta = {};
const JSON_TYPE = 'application/json; charset=utf-8';

/** Headers of a status that belong to an error but not to its body. */
export interface ErrorContext {
  /** For 401. */
  challenge?: string;
  /** For 405. */
  allow?: string;
  /** Whether a browser of a listed origin may read the error. */
  browsers: boolean;
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

  /** Answers a route's result. Resolves when it is written, or the caller is gone. */
  async answer(exchange: Exchange, route: Route, result: unknown, writer: AnswerWriter): Promise<void> {
    const { payload, meta } = result instanceof Answer ? result : { payload: result, meta: NO_META };
    const { envelope } = route;
    if (exchange.gone) return;
    if (envelope.kind === 'empty') {
      exchange.res.writeHead(meta.status ?? route.statuses[0], this.#headers(exchange, route, meta));
      exchange.res.end();
    } else if (envelope.kind === 'stream') {
      await this.#stream(exchange, route, envelope, payload as AsyncIterable<unknown>, meta);
    } else {
      writer.finish(envelope.encode(payload, writer.media), meta);
    }
  }

  /** What writes the one body of an answer, with lines of progress before it where the caller takes them. */
  writer(exchange: Exchange, route: Route): AnswerWriter {
    const { envelope } = route;
    const media = envelope.kind === 'empty' ? '' : negotiate(exchange.header('accept'), envelope.media);
    const { res } = exchange;
    let lastLine = Number.NEGATIVE_INFINITY;
    const lines = envelope.kind === 'value' && envelope.progress?.media === media ? envelope.progress : null;

    return {
      media,
      progress: (done, total) => {
        if (lines === null || exchange.gone || exchange.req.method === 'HEAD') return;
        const now = performance.now();
        if (now - lastLine < PROGRESS_INTERVAL_MS && done < total) return;
        lastLine = now;
        if (!res.headersSent) res.writeHead(route.statuses[0], this.#headers(exchange, route, NO_META, media));
        res.write(lines.line(done, total));
      },
      finish: (body, meta) => {
        if (res.headersSent) {
          res.end(body);
          return;
        }
        const headers = this.#headers(exchange, route, meta, media);
        headers.push('content-length', String(Buffer.byteLength(body)));
        res.writeHead(meta.status ?? route.statuses[0], headers);
        res.end(body);
      },
      fail: (error) => {
        if (lines === null || !res.headersSent) return false;
        res.end(lines.failure(errorBody(error, exchange.requestId)));
        return true;
      },
    };
  }

  async #stream(
    exchange: Exchange,
    route: Route,
    envelope: StreamEnvelope,
    pieces: AsyncIterable<unknown>,
    meta: AnswerMeta,
  ): Promise<void> {
    const { req, res } = exchange;
    res.writeHead(meta.status ?? route.statuses[0], this.#headers(exchange, route, meta, envelope.media[0]));
    if (req.method === 'HEAD') {
      res.end();
      return;
    }
    res.flushHeaders();
    for await (const piece of pieces) {
      if (exchange.gone) break;
      if (!res.write(envelope.encode(piece))) await once(res, 'drain', { signal: exchange.signal });
    }
    res.end();
  }

  #headers(exchange: Exchange, route: Route, meta: AnswerMeta, media?: string): HeaderList {
    const headers = this.common(exchange);
    headers.push('cache-control', route.cacheControl);
    if (media !== undefined) headers.push('content-type', media);
    const own = headersOf(route.envelope);
    headers.push('content-security-policy', own['content-security-policy'] ?? this.#policy);
    for (const [name, value] of Object.entries(own)) if (name !== 'content-security-policy') headers.push(name, value);
    if (meta.revision !== undefined) headers.push('usher-revision', formatRevision(meta.revision));
    if (meta.etag !== undefined) headers.push('etag', `"${meta.etag}"`);
    if (meta.location !== undefined) headers.push('location', meta.location);
    if (route.guard.browsers) headers.push(...corsHeaders(this.#site, exchange));
    return headers;
  }

  /** Answers whatever was thrown, in the one error shape; 5xx are logged with their cause. */
  error(exchange: Exchange, thrown: unknown, context: ErrorContext): void {
    if (thrown instanceof CallerGone || exchange.gone) return;
    const error = toUsherError(thrown);
    const status = context.status ?? error.httpStatus;
    logTrouble(exchange, error, status);
    const { res } = exchange;
    if (res.headersSent) {
      // Half an answer must not look like a whole one.
      res.destroy();
      return;
    }
    const body = JSON.stringify(errorBody(error, exchange.requestId));
    const headers = this.common(exchange);
    headers.push('content-security-policy', this.#policy, 'cache-control', 'no-store', 'content-type', JSON_TYPE);
    if (status === 401 && context.challenge !== undefined) headers.push('www-authenticate', context.challenge);
    if (status === 405 && context.allow !== undefined) headers.push('allow', context.allow);
    if (error.retryAfter !== undefined) headers.push('retry-after', String(error.retryAfter));
    if (context.browsers) headers.push(...corsHeaders(this.#site, exchange));
    headers.push('content-length', String(Buffer.byteLength(body)));
    exchange.cutUploadAfter(HTTP_LIMITS.lingerMs);
    res.writeHead(status, headers);
    res.end(body);
  }
}

export interface AnswerWriter {
  /** What the caller and the envelope agreed on; '' where there is no body. */
  readonly media: string;
  progress(done: number, total: number): void;
  finish(body: string | Buffer, meta: AnswerMeta): void;
  /** Writes the error as the last line of a body that has begun; false when it has not. */
  fail(error: UsherError): boolean;
}

/** The body of an error. 503 is UNAVAILABLE on this door, also for a deadline (contract 2: code by status). */
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

function headersOf(envelope: Envelope): Readonly<Record<string, string>> {
  return envelope.kind === 'empty' ? {} : (envelope.headers ?? {});
}

export function logTrouble(exchange: Exchange, error: UsherError, status: number): void {
  if (status < 500) return;
  const line = { requestId: exchange.requestId, route: exchange.pattern, code: error.code, err: error.cause ?? error };
  if (status === 500) exchange.log.error(line, 'request failed');
  else exchange.log.warn(line, 'request could not be answered');
}
