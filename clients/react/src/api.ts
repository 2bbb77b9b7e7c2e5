/** Requests to the REST gateway in the person's name. */

import { refusalOf, toUsherError } from './errors.ts';
import type { Session } from './session.ts';

export interface RequestOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** The request outlives the page: what a person did before they left it. */
  readonly keepalive?: boolean;
}

export interface Answer {
  /** Parsed JSON; null for an empty body. */
  readonly body: unknown;
  readonly headers: Headers;
}

const ANSWER_MS = 10_000;

export class Api {
  readonly #url: string;
  readonly #session: Session;

  constructor(url: string, session: Session) {
    this.#url = url.replace(/\/+$/, '');
    this.#session = session;
  }

  /** Rejects with an UsherError for everything but success. */
  async call(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const stop = new AbortController();
    const end = (): void => stop.abort(options.signal?.reason);
    const timer = setTimeout(() => stop.abort(new Error(`no answer within ${ANSWER_MS / 1000} s`)), ANSWER_MS);
    options.signal?.addEventListener('abort', end);
    if (options.signal?.aborted === true) end();
    try {
      const response = await this.#send(method, path, { ...options, signal: stop.signal });
      const text = await response.text();
      return { body: text === '' ? null : JSON.parse(text), headers: response.headers };
    } catch (error) {
      throw toUsherError(error);
    } finally {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', end);
    }
  }

  /** Opens a stream, which is read by fetch because the token stands in a header. It lasts until `signal` ends it. */
  async open(path: string, lastId: string | null, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    try {
      const headers = { accept: 'text/event-stream', ...(lastId === null ? {} : { 'last-event-id': lastId }) };
      const { body } = await this.#send('GET', path, { headers, signal });
      if (body === null) throw new Error('an answer without a body');
      return body;
    } catch (error) {
      throw toUsherError(error);
    }
  }

  async #send(method: string, path: string, options: RequestOptions): Promise<Response> {
    const token = await this.#session.token();
    const response = await this.#sendWith(token, method, path, options);
    if (response.status !== 401) return await successOf(response);
    await response.body?.cancel();
    const renewed = await this.#session.renewed(token);
    const again = await this.#sendWith(renewed, method, path, options);
    if (again.status === 401) {
      await again.body?.cancel();
      throw this.#session.reject(renewed);
    }
    return await successOf(again);
  }

  #sendWith(token: string, method: string, path: string, options: RequestOptions): Promise<Response> {
    const { body, headers, signal, keepalive = false } = options;
    return fetch(this.#url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
      cache: 'no-store',
      credentials: 'omit',
      keepalive,
    });
  }
}

async function successOf(response: Response): Promise<Response> {
  if (response.ok) return response;
  throw await refusalOf(response);
}
