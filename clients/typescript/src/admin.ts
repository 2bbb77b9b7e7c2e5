/**
 * The administration over REST: every route of the gateway's OpenAPI document, by its method and path, with the types of that document.
 * (docs/reference/administration.md.)
 */

import createClient, { type ParamsOption, type RequestBodyOption } from 'openapi-fetch';
import type { HttpMethod, PathsWithMethod, RequiredKeysOf } from 'openapi-typescript-helpers';
import { type Faults, kindOf, type Members, malformed, type Shape } from './faults.ts';
import type { paths } from './gen/openapi.ts';
import { originOf, refused, tried } from './rest.ts';
import { hasMethod, readDeadline, readKey, readSettings, readUrl } from './settings.ts';
import { within } from './within.ts';

export interface AdminOptions {
  /** Of the gateway, such as `https://usher.example.com`. */
  readonly url: string;
  /** The access token of an administrator, or a function that gives one for each request. */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  /** The key of a backend, for the routes that take one: instead of a token. */
  readonly key?: string | undefined;
  /** Milliseconds for an answer; 30,000 by default. */
  readonly deadlineMs?: number | undefined;
}

/** What a write would do, and who would gain and lose: `?dryRun=true`. */
interface Rehearsed {
  readonly impact: unknown;
}

export interface Answer<T> {
  /** Without the envelope. Undefined of an answer without a body. */
  readonly data: T;
  /** Of the next page of a list; null for the last one, and of what has no pages. */
  readonly nextCursor: string | null;
  /** That a write made, or that a read reflects: for `minRevision` of a question. */
  readonly revision: string | null;
  /** The ETag of what was read: send it as `if-match` with a write. */
  readonly etag: string | null;
}

type Operation<P extends keyof paths, M extends HttpMethod> = M extends keyof paths[P] ? paths[P][M] : never;

/** `params`, by the places of the document: path, query and header; `body`; and a signal. */
export type Input<O> = ParamsOption<O> & RequestBodyOption<O> & { readonly signal?: AbortSignal };
type Given<I> = RequiredKeysOf<I> extends never ? [input?: I] : [input: I];

type Contents<R> = { [S in keyof R]: R[S] extends { content: { 'application/json': infer J } } ? J : undefined };
type Body<O> = O extends { responses: infer R } ? Contents<R>[keyof R] : never;
type Payload<B> = B extends { success: true; data: infer D } ? D : B extends { code: 'OK'; response: infer D } ? D : B;
type Dry<T> = Extract<T, Rehearsed>;
type Done<T> = [Exclude<T, Rehearsed>] extends [never] ? T : Exclude<T, Rehearsed>;
/** What an operation answers. */
export type Data<O> = Done<Payload<Body<O>>>;
/** What it answers to a dry run. */
export type DryRun<O> = Dry<Payload<Body<O>>>;
/** A dry run, of a write that has one. */
type Rehearsal<O> = O extends { parameters: { query?: { dryRun?: boolean } } }
  ? Input<O> & { params: { query: { dryRun: true } } }
  : never;

/** Two overloads, so that the compiler refuses members that an operation does not have. */
interface Call<M extends HttpMethod> {
  <P extends PathsWithMethod<paths, M>>(
    path: P,
    input: Rehearsal<Operation<P, M>>,
  ): Promise<Answer<DryRun<Operation<P, M>>>>;
  <P extends PathsWithMethod<paths, M>>(
    path: P,
    ...given: Given<Input<Operation<P, M>>>
  ): Promise<Answer<Data<Operation<P, M>>>>;
}

type Item<T> = T extends readonly (infer One)[] ? One : never;
type List = <P extends PathsWithMethod<paths, 'get'>>(
  path: P,
  ...given: Given<Input<Operation<P, 'get'>>>
) => AsyncIterable<Item<Data<Operation<P, 'get'>>>>;

/** Rejects with UsherError, as the questions do. Reads are tried again while the service is away or busy; writes are sent once. */
export interface Admin {
  readonly GET: Call<'get'>;
  readonly POST: Call<'post'>;
  readonly PUT: Call<'put'>;
  readonly PATCH: Call<'patch'>;
  readonly DELETE: Call<'delete'>;
  /** Every item of a list that has pages. */
  readonly list: List;
  /** The same client, whose writes say why: in the audit, and wherever it is shown. 1 to 500 characters. */
  withReason(reason: string): Admin;
}

interface Settings {
  readonly origin: string;
  readonly credentials: () => Promise<Readonly<Record<string, string>>>;
  readonly deadlineMs: number;
}

/** As openapi-fetch is called by a program without types. */
interface Asking {
  readonly params?: { readonly path?: Readonly<Record<string, unknown>>; readonly query?: object };
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

const DEADLINE_MS = 30_000;
const OPTIONS: Shape = {
  name: 'what an administration client is made with',
  members: ['url', 'token', 'key', 'deadlineMs'],
  meant: {
    address: 'write url, of the gateway',
    baseUrl: 'write url',
    apiKey: 'write key',
    timeout: 'write deadlineMs',
  },
};
const INPUT: Shape = {
  name: 'the input of a request',
  members: ['params', 'body', 'signal'],
  meant: {
    path: 'write params: {path: {…}}',
    query: 'write params: {query: {…}}',
    headers: 'write params: {header: {…}}',
    dryRun: 'write params: {query: {dryRun: true}}',
  },
};
const PARAMS: Shape = { name: 'the parameters of a request', members: ['path', 'query', 'header'] };

/** Throws InvalidQuestionError for options that it does not know or cannot read. */
export function createAdmin(options: AdminOptions): Admin {
  return adminOf(readSettings(options, 'options', OPTIONS, settingsOf));
}

function settingsOf(members: Members, faults: Faults): Settings {
  const origin = originOf(members, faults, readUrl(members, faults));
  const key = readKey(members, faults);
  const token = members.get('token');
  if (token !== undefined && typeof token !== 'string' && typeof token !== 'function') {
    faults.add('token', `must be a string or a function that gives one, not ${kindOf(token)}`);
  }
  if (!members.has('token') && !members.has('key')) faults.add('token', 'is required, or key');
  if (members.has('token') && members.has('key'))
    faults.add('key', 'must not stand beside token: one of them says who asks');
  const bearer = typeof token === 'function' ? (token as () => unknown) : () => token;
  const credentials = async (): Promise<Record<string, string>> =>
    members.has('key') ? { 'x-internal-api-key': key ?? '' } : { authorization: `Bearer ${textOf(await bearer())}` };
  return { origin, credentials, deadlineMs: readDeadline(members, faults) ?? DEADLINE_MS };
}

function textOf(token: unknown): string {
  if (typeof token === 'string' && /^[\x21-\x7e]+$/.test(token)) return token;
  throw malformed('token', 'must be an access token: visible ASCII, without a line break at its end');
}

function adminOf(settings: Settings, reason?: string): Admin {
  const { origin } = settings;
  const client = createClient<Record<string, Record<string, never>>>({ baseUrl: origin, redirect: 'error' });
  const call = (method: HttpMethod) => async (path: string, given?: object) => {
    const { signal, params, ...rest } = inputOf(path, given);
    const attempt = async (ends: AbortSignal): Promise<Answer<unknown>> => {
      const headers = { accept: 'application/json', ...(await settings.credentials()), ...reasonOf(reason) };
      const init = { ...rest, params, headers, signal: ends, parseAs: 'stream' };
      const { response, error } = await client.request(method, path as never, init as never);
      if (!response.ok) throw refused(response, JSON.stringify(error ?? null));
      return await answerOf(response);
    };
    const isRepeatable = method === 'get';
    return await within(settings.deadlineMs, signal, (ends) =>
      tried(() => attempt(ends), { origin, isRepeatable, signal: ends }),
    );
  };
  const GET = call('get');
  const admin = {
    GET,
    POST: call('post'),
    PUT: call('put'),
    PATCH: call('patch'),
    DELETE: call('delete'),
    list: (path: string, given?: object) => listed(GET, path, given),
    withReason: (words: string) => adminOf(settings, read(words)),
  };
  // What the calls take and answer is said by the document alone.
  return admin as unknown as Admin;
}

async function* listed(GET: (path: string, given?: object) => Promise<Answer<unknown>>, path: string, given?: object) {
  const input = (given ?? {}) as Asking;
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { ...input.params?.query, ...(cursor === undefined ? {} : { cursor }) };
    const page = await GET(path, { ...input, params: { ...input.params, query } });
    if (!Array.isArray(page.data)) throw malformed('path', `${path} answers no list`);
    yield* page.data as unknown[];
    cursor = page.nextCursor;
  }
}

/** A parameter of a path that is empty or a dot would name another thing. */
function inputOf(path: string, given: object | undefined): Asking {
  return readSettings(given ?? {}, 'input', INPUT, (members, faults) => {
    const input = Object.fromEntries(members) as Asking;
    if (input.params !== undefined) readSettings(input.params, 'params', PARAMS, () => undefined);
    const { signal, params } = input;
    if (signal !== undefined && !hasMethod(signal, 'addEventListener')) {
      faults.add('signal', `must be an AbortSignal, not ${kindOf(signal)}`);
    }
    for (const [, name = ''] of path.matchAll(/\{([^}]+)\}/g)) {
      const value = params?.path?.[name];
      const text = typeof value === 'number' ? String(value) : value;
      if (value === undefined) faults.add(`params.path.${name}`, 'is required');
      else if (typeof text !== 'string')
        faults.add(`params.path.${name}`, `must be a string or a number, not ${kindOf(value)}`);
      else if (/^\.{0,2}$/.test(text)) faults.add(`params.path.${name}`, 'must name something: it is empty, or dots');
    }
    return input;
  });
}

function read(reason: unknown): string {
  if (typeof reason === 'string' && reason !== '' && reason.isWellFormed()) return reason;
  throw malformed('reason', 'must be a text that is not empty');
}

function reasonOf(reason: string | undefined): Readonly<Record<string, string>> {
  return reason === undefined ? {} : { 'usher-reason': encodeURIComponent(reason) };
}

async function answerOf(response: Response): Promise<Answer<unknown>> {
  const text = await response.text();
  const body: unknown = text === '' ? undefined : JSON.parse(text);
  const { success, code, data, response: inner, page } = (body ?? {}) as Readonly<Record<string, unknown>>;
  return {
    data: success === true ? data : code === 'OK' ? inner : body,
    nextCursor: (page as { nextCursor?: string | null } | undefined)?.nextCursor ?? null,
    revision: response.headers.get('usher-revision'),
    etag: response.headers.get('etag'),
  };
}
