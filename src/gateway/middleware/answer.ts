/** Writes answers: payloads in their envelope, with their headers. */

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { UsherError } from '../../base/errors.ts';
import type { Sliced } from '../../base/slices.ts';
import { inSlices } from '../../base/time-slice.ts';
import { type Chunks, negotiate, type ProgressLines, type StreamEnvelope } from '../route/envelopes.ts';
import { isKnownTag } from '../route/etag.ts';
import { HTTP_LIMITS } from '../route/limits.ts';
import { Answer, type AnswerMeta, type Route } from '../route/route.ts';
import { codingFor, compress, isLarge } from './compress.ts';
import { errorBody } from './errors.ts';
import type { Exchange } from './exchange.ts';

/** At most one progress line in this time. */
const PROGRESS_INTERVAL_MS = 100;
const NO_META: AnswerMeta = {};

/** One answer of a route: written whole, after lines of progress, or in chunks. */
export class AnswerWriter {
  readonly #exchange: Exchange;
  readonly #route: Route;
  /** The negotiated media type; '' without a body. */
  readonly #media: string;
  readonly #lines: ProgressLines | null;
  #lastLine = Number.NEGATIVE_INFINITY;

  constructor(exchange: Exchange, route: Route) {
    const { envelope } = route;
    const { req } = exchange;
    this.#exchange = exchange;
    this.#route = route;
    this.#media = envelope.kind === 'empty' ? '' : negotiate(req.get('accept'), envelope.media);
    const takesLines = envelope.kind === 'value' && envelope.progress?.media === this.#media;
    this.#lines = takesLines && req.method !== 'HEAD' ? (envelope.progress ?? null) : null;
    if (this.#lines !== null) exchange.onLateFailure((error) => this.#fail(error));
  }

  get media(): string {
    return this.#media;
  }

  progress(done: number, total: number): void {
    if (this.#lines === null || this.#exchange.gone) return;
    const now = performance.now();
    if (now - this.#lastLine < PROGRESS_INTERVAL_MS && done < total) return;
    this.#lastLine = now;
    const { res } = this.#exchange;
    if (!res.headersSent) this.#begin(NO_META);
    res.write(this.#lines.line(done, total));
  }

  /** Writes a route's result. A promise for a stream, and for a body that is compressed or encoded in slices; it resolves when all is written or the caller is gone. */
  answer(result: unknown): Promise<void> | undefined {
    const { payload, meta } = result instanceof Answer ? result : { payload: result, meta: NO_META };
    const { envelope } = this.#route;
    const { res, gone } = this.#exchange;
    if (gone) return undefined;
    if (envelope.kind === 'stream') return this.#stream(envelope, payload as Chunks<unknown>, meta);
    if (envelope.kind === 'empty') {
      this.#begin(meta);
      res.end();
      return undefined;
    }
    if (meta.etag !== undefined && this.#isKnown(meta.etag)) {
      this.#begin({ ...meta, status: 304 });
      if (!this.#route.holdsSecret) res.vary('accept-encoding');
      res.removeHeader('content-type');
      res.end();
      return undefined;
    }
    if (envelope.encodeInSlices !== undefined)
      return this.#encoded(envelope.encodeInSlices(payload, this.#media), meta);
    return this.#finish(envelope.encode(payload, this.#media), meta);
  }

  async #encoded(encoding: Sliced<Buffer>, meta: AnswerMeta): Promise<void> {
    const body = await inSlices(encoding);
    if (!this.#exchange.gone) await this.#finish(body, meta);
  }

  #finish(body: string | Buffer, meta: AnswerMeta): Promise<void> | undefined {
    const { res } = this.#exchange;
    if (res.headersSent) {
      res.end(body);
      return undefined;
    }
    const bytes = Buffer.byteLength(body);
    if (isLarge(bytes) && !this.#route.holdsSecret) return this.#writeLarge(body, bytes, meta);
    this.#write(body, bytes, meta);
    return undefined;
  }

  /** The body in the caller's coding. Its ETag stays that of the state, whatever the coding. */
  async #writeLarge(body: string | Buffer, bytes: number, meta: AnswerMeta): Promise<void> {
    const { req, res } = this.#exchange;
    const coding = codingFor(req);
    const compressed = coding === null ? null : await compress(coding, body);
    if (this.#exchange.gone) return;
    res.vary('accept-encoding');
    if (coding !== null) res.setHeader('content-encoding', coding);
    this.#write(compressed ?? body, compressed?.length ?? bytes, meta);
  }

  /** Not by `res.send`, which takes the `Cache-Control: no-cache` of every fetch with an If-None-Match for a wish to get it all. */
  #write(body: string | Buffer, bytes: number, meta: AnswerMeta): void {
    const { res } = this.#exchange;
    this.#begin(meta);
    res.setHeader('content-length', bytes);
    res.end(body);
  }

  /** Whether the caller already has this state, where the route reads If-None-Match. */
  #isKnown(etag: string): boolean {
    if (!this.#route.headers.includes('if-none-match')) return false;
    return isKnownTag(this.#exchange.req.get('if-none-match'), etag);
  }

  async #stream(envelope: StreamEnvelope, pieces: Chunks<unknown>, meta: AnswerMeta): Promise<void> {
    const { req, res } = this.#exchange;
    this.#begin(meta);
    if (req.method === 'HEAD') {
      res.end();
      return;
    }
    res.flushHeaders();
    // Ends the wait for the next chunk. Without an AbortSignal, because ten thousand streams may be open.
    res.once('close', () => pieces.end?.());
    for await (const piece of pieces) {
      if (this.#exchange.gone) break;
      if (res.write(envelope.encode(piece)) || (await hasReadOn(res, pieces.ended))) continue;
      // A reader that lost its right to read, or does not read, keeps neither the connection nor its buffer.
      res.destroy();
      return;
    }
    res.end();
  }

  /** Status and headers, in addition to those of every answer. */
  #begin(meta: AnswerMeta): void {
    const { res } = this.#exchange;
    const { cacheControl, envelope, statuses } = this.#route;
    res.statusCode = meta.status ?? statuses[0];
    res.setHeader('cache-control', cacheControl);
    if (this.#media !== '') res.setHeader('content-type', this.#media);
    if (meta.policy !== undefined) res.setHeader('content-security-policy', meta.policy);
    if (envelope.kind !== 'empty' && envelope.headers !== undefined) res.set(envelope.headers);
    if (meta.revision !== undefined) res.setHeader('usher-revision', meta.revision);
    if (meta.etag !== undefined) res.setHeader('etag', `"${meta.etag}"`);
    if (meta.location !== undefined) res.setHeader('location', meta.location);
    if (meta.headers !== undefined) res.set(meta.headers);
    if (meta.cookie !== undefined) res.setHeader('set-cookie', meta.cookie);
  }

  /** Writes the error as the last line of a body that has begun; false if none has. */
  #fail(error: UsherError): boolean {
    const { res, requestId } = this.#exchange;
    if (this.#lines === null || !res.headersSent) return false;
    res.end(this.#lines.failure(errorBody(error, requestId)));
    return true;
  }
}

/** Whether the written bytes have been read; false when that takes too long, the caller leaves, or `over` is aborted first. */
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
