/** One request to the API, typed by its operation: what goes in, what comes out, and every failure as an ApiError. */

import { methodOf, type OperationInput, unwrapped, urlOf } from '../../../src/base/operations.ts';
import type { Impact, Input, Operation, Out } from '../../../src/gen/api.ts';
import { ApiError, type ErrorDetails } from './error.ts';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Write only if the state still has this ETag. */
  readonly ifMatch?: string | undefined;
  /** Write only if nothing concerned has changed since this revision of a dry run. */
  readonly ifRevision?: string | undefined;
  /** Why it is done, in the words of who does it: kept in the audit. Empty for none. */
  readonly reason?: string | undefined;
  /** Headers of one operation, such as `accept`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Given each line before the last of an answer in lines (`accept: application/x-ndjson`), as it comes. */
  readonly onLine?: (value: unknown) => void;
  /** Milliseconds, 20,000 by default. */
  readonly timeoutMs?: number;
  /** For an operation that needs no credentials: sent without, so that it works signed out. */
  readonly anonymous?: boolean;
}

export interface Answer<T> {
  readonly data: T;
  readonly etag: string | null;
  readonly revision: string | null;
  /** The cursor of the next page; null on the last page. */
  readonly next: string | null;
  /** From when on counted rows are complete; null for everything else. */
  readonly since: string | null;
}

/** A request as the Inspect drawer shows it. */
export interface RequestRecord {
  readonly id: number;
  readonly method: string;
  readonly url: string;
  readonly body: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly startedAt: number;
  readonly milliseconds: number;
  /** 0 when the service could not be reached. */
  readonly status: number;
  readonly requestId: string | null;
  readonly revision: string | null;
}

/** What requests need of the page: who asks, and who wants to know of each request. */
interface Caller {
  /** The bearer token; rejects when nobody is signed in. */
  token(): Promise<string>;
  /** After a 401: resolves when somebody has signed in again, so that the request is repeated once. */
  renewed(refused: string): Promise<void>;
  note(record: RequestRecord): void;
}

let caller: Caller | null = null;
let requests = 0;

/** Called once, before the first request. */
export function setCaller(value: Caller): void {
  caller = value;
}

/** Throws ApiError. */
export async function call<K extends Operation>(
  operation: K,
  input: Input<K>,
  options: CallOptions = {},
): Promise<Answer<Out<K>>> {
  return (await send(operation, input as OperationInput, options)) as Answer<Out<K>>;
}

/** What a write would do, without doing it. Throws ApiError, as the write itself would. */
export async function rehearse<K extends Operation>(
  operation: K,
  input: Input<K>,
  options: CallOptions = {},
): Promise<{ result: Out<K>; impact: Impact }> {
  const query = { ...input.query, dryRun: 'true' };
  const answer = await send(operation, { ...(input as OperationInput), query }, options);
  return answer.data as { result: Out<K>; impact: Impact };
}

async function send(operation: string, input: OperationInput, options: CallOptions): Promise<Answer<unknown>> {
  if (caller === null) throw new Error('a request before setCaller');
  if (options.anonymous === true) return await fetchOnce(operation, input, options, null);
  const token = await caller.token();
  try {
    return await fetchOnce(operation, input, options, token);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    await caller.renewed(token);
    return await fetchOnce(operation, input, options, await caller.token());
  }
}

async function fetchOnce(
  operation: string,
  input: OperationInput,
  options: CallOptions,
  token: string | null,
): Promise<Answer<unknown>> {
  const method = methodOf(operation);
  const url = urlOf(operation, input);
  const file = input.body instanceof Blob ? input.body : null;
  const body = file === null ? textOf(input.body) : `(${file.size} bytes)`;
  const headers: Record<string, string> = {
    ...(body === null ? {} : { 'content-type': file?.type ?? 'application/json' }),
    ...(options.ifMatch === undefined ? {} : { 'if-match': options.ifMatch }),
    ...(options.ifRevision === undefined ? {} : { 'usher-if-revision': options.ifRevision }),
    ...(options.reason?.trim() ? { 'usher-reason': encodeURIComponent(options.reason.trim()) } : {}),
    ...options.headers,
  };
  const startedAt = Date.now();
  const started = performance.now();
  const note = (response: Response | null): void => {
    requests += 1;
    const milliseconds = Math.round(performance.now() - started);
    const [requestId, revision] = ['x-request-id', 'usher-revision'].map((name) => response?.headers.get(name) ?? null);
    const seen = { requestId: requestId ?? null, revision: revision ?? null, status: response?.status ?? 0 };
    caller?.note({ id: requests, method, url, body, headers, startedAt, milliseconds, ...seen });
  };
  const timeout = AbortSignal.timeout(options.timeoutMs ?? 20_000);
  const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
  let response: Response;
  let text: string;
  try {
    const credentials = token === null ? {} : { authorization: `Bearer ${token}` };
    response = await fetch(url, {
      method,
      headers: { ...headers, ...credentials },
      body: file ?? body,
      signal,
      credentials: 'omit',
    });
    text = options.onLine === undefined ? await response.text() : await lastLine(response, options.onLine);
  } catch (error) {
    if (options.signal?.aborted === true) throw error;
    note(null);
    throw ApiError.unreachable(timeout.aborted);
  }
  note(response);
  return answerOf(response, text);
}

/** A body as it is sent. A text, such as a manifest in YAML, is sent as it is; its operation says so in `content-type`. */
function textOf(body: unknown): string | null {
  if (body === undefined) return null;
  return typeof body === 'string' ? body : JSON.stringify(body);
}

/** Reads an answer line by line. The last line is the answer itself. */
async function lastLine(response: Response, onLine: (value: unknown) => void): Promise<string> {
  if (response.body === null || response.headers.get('content-type')?.startsWith(LINES_TYPE) !== true) {
    return await response.text();
  }
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of response.body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split(/\n(?=.)/s);
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(JSON.parse(line));
  }
  return rest;
}

const LINES_TYPE = 'application/x-ndjson';

function answerOf(response: Response, text: string): Answer<unknown> {
  const body = bodyOf(response, text);
  // The status of an answer in lines was sent before it was known.
  const failed = (body as (ErrorDetails & { success?: boolean }) | undefined)?.success === false;
  if (!response.ok || failed) throw ApiError.of(response, body as ErrorDetails | undefined);
  const { data, next, since } = unwrapped(body);
  return { data, next, since, etag: response.headers.get('etag'), revision: response.headers.get('usher-revision') };
}

function bodyOf(response: Response, text: string): unknown {
  if (text === '') return undefined;
  const type = response.headers.get('content-type') ?? '';
  if (!type.startsWith('application/json') && !type.startsWith(LINES_TYPE)) return text;
  try {
    return JSON.parse(text);
  } catch {
    // Something between the panel and the service answered.
    throw ApiError.of(response, undefined);
  }
}
