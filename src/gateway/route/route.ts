/**
 * A route is one value: method, path, guard, schemas, envelope and handler. The same schemas validate and document, and a
 * route without a guard does not compile. `router.ts` runs these values, `openapi/document.ts` documents them.
 */

import { z } from 'zod';
import type { DryRun } from '../../administration/dry-run.ts';
import type { ErrorCode, Reason } from '../../base/errors.ts';
import { REASON_HEADER } from '../../base/reason.ts';
import type { RevisionToken } from '../../engine/types.ts';
import type { Services } from '../services.ts';
import { type BodyFormat, json } from './bodies.ts';
import {
  type Chunks,
  type EmptyEnvelope,
  type Envelope,
  noContent,
  type StreamEnvelope,
  successData,
  type TextEnvelope,
} from './envelopes.ts';
import type { Guard } from './guards.ts';
import { type BodyLimit, DEADLINE_MS } from './limits.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The groups of the document, in its order. */
export const TAGS = {
  Checks: 'Is it allowed? Asked by backends with an internal key, and by signed-in users about themselves.',
  AuthZEN: 'Decisions by the OpenID Authorization API 1.0: for gateways and other enforcement points that speak it.',
  Profile: 'Who somebody is, and what they prefer in each application.',
  Inbox: 'Notifications of a signed-in user, and what they want to be notified about.',
  Push: 'Browsers that take pushes for a signed-in user.',
  Applications: 'The registry of applications and what each defines.',
  Permissions: 'What an application can allow.',
  Roles: 'Bundles of permissions, and what each gives.',
  Users: 'People as administrators see them: state, roles, overrides, preferences.',
  Administrators: 'SuperAdmins, and administrators of single applications.',
  Notifications: 'Types, templates, sends and their log.',
  Languages: 'The registry of languages and their fallbacks.',
  Brands: 'Look, sender and mail server.',
  Audit: 'Who changed what.',
  Manifests: 'A complete application as one file.',
  'Identity provider': 'Webhook, e-mail provider, health, login for development, organizations.',
  Internal: 'For backends and the identity provider, with an internal key.',
  Operations: 'Health, readiness, metrics and this document.',
} as const;
type Tag = keyof typeof TAGS;

/** Request headers that a route may read beside those that the gateway itself handles, with their documentation. */
export const REQUEST_HEADERS = {
  'usher-min-revision':
    'Answer at least as fresh as this revision, taken from the `usher-revision` header of an earlier answer.',
  'last-event-id': 'Continue after the event with this id.',
  'accept-language': 'The languages of the reader, for pages of users whose language is unknown.',
  'usher-if-revision':
    'Write only when nothing that the write concerns has changed since this revision, taken from a dry run; else 412.',
  'usher-reason':
    'Why, in your own words: percent-encoded UTF-8, 1 to 500 characters, no control characters. The audit keeps it.',
  'if-match': 'Write only when the state still has this `ETag`; else 412.',
  'if-none-match': 'Answer 304 without a body when the state still has one of these `ETag`s.',
} as const;
export type RequestHeader = keyof typeof REQUEST_HEADERS;

/** A cookie of a request, with its documentation. */
export interface CookieSpec {
  readonly name: string;
  readonly description: string;
}

/** What an answer may carry beside its payload: its status and headers. */
export interface AnswerMeta {
  /** The revision that the answer reflects, or that the write made: `usher-revision`. */
  revision?: string;
  /** The opaque tag without quotes: `etag`. */
  etag?: string;
  /** The path of the created record: `location`. */
  location?: string;
  /** A whole `set-cookie` line. */
  cookie?: string;
  /** One of the route's statuses other than its first. */
  status?: number;
  /** The content security policy of this page, for envelopes without one of their own. */
  policy?: string;
  /** Headers of this answer alone. */
  headers?: Readonly<Record<string, string>>;
}

/** A payload with headers of its own. */
export class Answer<T> {
  readonly payload: T;
  readonly meta: AnswerMeta;
  constructor(payload: T, meta: AnswerMeta) {
    this.payload = payload;
    this.meta = meta;
  }
}

export function answer<T>(payload: T, meta: AnswerMeta): Answer<T> {
  return new Answer(payload, meta);
}

/** The answer of a write: its result, and the revision that it made. */
export function written<T>({ result, revision }: { result: T; revision: string }): Answer<T> {
  return answer(result, { revision });
}

/** The same without a body. */
export function removed({ revision }: { revision: string }): Answer<undefined> {
  return answer(undefined, { revision });
}

/** A request as its handler sees it. Every field is already checked. */
export interface Input<C, P, Q, B, H extends RequestHeader> {
  readonly caller: C;
  /** The caller as audit records name it: `user:<email>`, `key:<name>`; `system` for nobody in particular. */
  readonly actor: string;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** A header that the route declares in `headers`; undefined when absent. */
  readonly header: (name: H) => string | undefined;
  /** The cookie that the route declares; undefined when absent, or sent twice. */
  readonly cookie: string | undefined;
  readonly requestId: string;
  /** Aborted when the caller is gone or the deadline has passed. */
  readonly signal: AbortSignal;
  /** The media type of the answer, as `Accept` has chosen it. */
  readonly media: string;
  /** Reports the progress of a long operation. Free unless the caller asked for it. */
  readonly progress: (done: number, total: number) => void;
  /** Set by route/dry-run.ts: the write is only rehearsed. A write passes both to `administer`. */
  dryRun?: DryRun | undefined;
  ifRevision?: RevisionToken | undefined;
  /** The author's own words on why, of an administrative write. Writes pass it on to the audit. */
  readonly reason: string | undefined;
}

/** What of a request says which applications it is about. */
export type Requested<P, B> = Pick<Input<unknown, P, unknown, B, RequestHeader>, 'params' | 'body'>;

/** The type that a handler returns for its envelope and a response schema of type T. */
export type Payload<E extends Envelope, T> = E extends EmptyEnvelope
  ? undefined
  : E extends TextEnvelope
    ? Chunks<string>
    : E extends StreamEnvelope
      ? Chunks<T>
      : T;

type Handled<T> = T | Answer<T>;

type BodyOf<B> = B extends z.ZodType ? z.output<B> : B extends BodyFormat<infer T> ? T : never;

/**
 * Which requests are dear reads: all, those with one of these parameters, or none. `while-reading`: all, and each takes a connection
 * only while it reads; what comes after that is bounded where it is done.
 */
export type Dear = boolean | 'while-reading' | readonly string[];

interface RouteSpec<
  C,
  E extends Envelope,
  P extends z.ZodType,
  Q extends z.ZodType,
  B extends z.ZodType | BodyFormat<unknown>,
  R extends z.ZodType,
  H extends RequestHeader,
> {
  readonly method: Method;
  /** Parameters as `:name`; a literal segment wins over a parameter. */
  readonly path: `/${string}`;
  /** What generated clients call it: the `operationId` of the document, which stays as it is. */
  readonly operation: string;
  readonly tag: Tag;
  readonly summary: string;
  /** Markdown. */
  readonly description?: string;
  readonly guard: Guard<C>;
  /** One member for each parameter of the path. */
  readonly params?: P;
  /** Values arrive as strings: coerce in the schema. Without it a route takes no query. */
  readonly query?: Q;
  /** A schema for JSON, or a format. Without it a route takes no body. */
  readonly body?: B;
  /** For a JSON body: 64 KiB (`record`, the default), 1 MiB (`list`) or 32 MiB (`manifest`). */
  readonly limit?: BodyLimit;
  readonly headers?: readonly H[];
  /** The one cookie that it reads. No route authenticates by cookies. */
  readonly cookie?: CookieSpec;
  /** Default `successData`; without a response `noContent`. */
  readonly envelope?: E;
  /** The status of success, or several: the first unless the answer sets another. Default 200, or 204 for an empty answer. */
  readonly status?: number | readonly [number, ...number[]];
  /** The payload without the envelope; omitted for an empty answer. */
  readonly response?: R;
  /** The errors of the handler, for the document; those of the guard and the gateway are added. */
  readonly errors?: readonly (Reason | ErrorCode)[];
  /** For the document; a test checks them against the schemas. */
  readonly example?: { readonly body?: unknown; readonly response?: unknown };
  readonly deadlineMs?: number;
  /** Default `no-store`: nearly everything here is personal. */
  readonly cacheControl?: string;
  /**
   * The audit action of a write that the guard refused an identified caller, such as `manifest.applied.refused`. Every administrative
   * write has one, and takes `usher-reason`.
   */
  readonly refusal?: `${string}.refused`;
  /**
   * Whether each of its requests is a dear read (docs/reference/http.md#dear-reads), or those that name one of these parameters.
   * Default: those with `q` or `sort`, where its query has them. A dry run always is. False for one that reads no database.
   */
  readonly dear?: Dear;
  /** Whether it takes `?dryRun=true` and `usher-if-revision`: a write that can make a revision, carried out by `administer`. */
  readonly dryRun?: boolean;
  /** Logged at `debug` while it succeeds: called thousands of times a second, or by probes. */
  readonly quiet?: boolean;
  /** A GET that changes something: it takes no HEAD, which must change nothing. */
  readonly unsafe?: boolean;
  /** A GET that answers every method alike, at its path and every path below it, and reads no body: for proxies that pass on what they were sent. */
  readonly everyMethod?: boolean;
  /** Whether people follow links to it, to which mail programs and relays add parameters: unknown ones are then ignored. */
  readonly forPeople?: boolean;
  /** Whether it repeats every `x-request-id` of 1 to 128 visible ASCII characters, as AuthZEN asks. */
  readonly anyRequestId?: boolean;
  /** Whether the answer holds a token, a code or a link with one: compressed, its length would tell parts of it (BREACH). */
  readonly holdsSecret?: boolean;
  /**
   * Of a guard that takes a key: the codes of the applications that a request is about, so that a narrowed key may ask it. `path`: the
   * parameter `appCode` alone, compared before the body is read. `within`: the handler compares them itself. Absent: what is about all
   * applications, which a narrowed key may not ask.
   */
  readonly concerns?: 'path' | 'within' | ((request: Requested<z.output<P>, BodyOf<B>>) => readonly string[]);
  readonly handle: (
    services: Services,
    input: Input<C, z.output<P>, z.output<Q>, BodyOf<B>, H>,
  ) => Handled<Payload<E, z.input<R>>> | Promise<Handled<Payload<E, z.input<R>>>>;
}

/** A route without the types of its parts, as the router and the document see it. */
export interface Route {
  readonly method: Method;
  readonly path: `/${string}`;
  readonly operation: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description: string | undefined;
  readonly guard: Guard<unknown>;
  readonly params: z.ZodType | null;
  /** Whether every parameter accepts any text unchanged: then checking is skipped. */
  readonly takesAnyText: boolean;
  readonly query: z.ZodType | null;
  readonly body: BodyFormat<unknown> | null;
  readonly headers: readonly RequestHeader[];
  readonly cookie: CookieSpec | null;
  readonly envelope: Envelope;
  readonly statuses: readonly [number, ...number[]];
  readonly response: z.ZodType | null;
  readonly errors: readonly (Reason | ErrorCode)[];
  readonly example: { readonly body?: unknown; readonly response?: unknown };
  readonly deadlineMs: number;
  readonly cacheControl: string;
  readonly refusal: string | null;
  readonly quiet: boolean;
  readonly unsafe: boolean;
  readonly everyMethod: boolean;
  readonly anyRequestId: boolean;
  readonly forPeople: boolean;
  readonly holdsSecret: boolean;
  /** True: each of its requests is a dear read; else those with one of these parameters are. */
  readonly dear: Dear;
  readonly concerns: 'path' | 'within' | ((request: Requested<unknown, unknown>) => readonly string[]) | null;
  readonly handle: (services: Services, input: Input<unknown, unknown, unknown, unknown, RequestHeader>) => unknown;
  readonly dryRun: boolean;
  /** Answers `?dryRun=true` (dry-run.ts); null for routes without dry runs. */
  readonly rehearsal: Route | null;
}

/** Checks the rules that types cannot express, and fills in defaults. Throws at load when a route contradicts itself. */
export function defineRoute<
  C,
  E extends Envelope = typeof successData,
  P extends z.ZodType = z.ZodObject<Record<never, never>>,
  Q extends z.ZodType = z.ZodObject<Record<never, never>>,
  B extends z.ZodType | BodyFormat<unknown> = BodyFormat<undefined>,
  R extends z.ZodType = z.ZodUndefined,
  H extends RequestHeader = never,
>(spec: RouteSpec<C, E, P, Q, B, R, H>): Route {
  const fault = (problem: string): Error => new Error(`${spec.method} ${spec.path}: ${problem}`);
  const named = spec.path
    .split('/')
    .filter((segment) => segment.startsWith(':'))
    .map((segment) => segment.slice(1));
  const declared = spec.params instanceof z.ZodObject ? Object.keys(spec.params.shape) : [];
  if (named.toSorted().join() !== declared.toSorted().join()) throw fault('path and params name different parameters');
  if (spec.limit !== undefined && !(spec.body instanceof z.ZodType)) throw fault('a limit belongs to a JSON body');
  const envelope = spec.envelope ?? (spec.response === undefined ? noContent : successData);
  const { status = envelope.kind === 'empty' ? 204 : 200 } = spec;
  if ((envelope.kind === 'empty') !== (spec.response === undefined)) {
    throw fault('a response schema belongs to every envelope but the empty one');
  }
  if (spec.concerns !== undefined && spec.guard.key === undefined)
    throw fault('`concerns` belongs to a guard with keys');
  if (spec.method === 'get' && spec.body !== undefined) throw fault('a GET takes no body');
  for (const name of ['unsafe', 'everyMethod'] as const) {
    if (spec.method !== 'get' && spec[name] !== undefined) throw fault(`\`${name}\` belongs to a GET`);
  }

  return {
    method: spec.method,
    path: spec.path,
    operation: spec.operation,
    tag: spec.tag,
    summary: spec.summary,
    description: spec.description,
    guard: spec.guard as Guard<unknown>,
    params: spec.params ?? null,
    takesAnyText: spec.params === undefined || isAnyText(spec.params),
    query: spec.query ?? null,
    body: spec.body instanceof z.ZodType ? json(spec.body, spec.limit) : (spec.body ?? null),
    headers: [...(spec.headers ?? []), ...(spec.refusal === undefined ? [] : ([REASON_HEADER] as const))],
    cookie: spec.cookie ?? null,
    envelope,
    statuses: typeof status === 'number' ? [status] : status,
    response: spec.response ?? null,
    errors: spec.errors ?? [],
    example: spec.example ?? {},
    deadlineMs: spec.deadlineMs ?? DEADLINE_MS.call,
    cacheControl: spec.cacheControl ?? 'no-store',
    refusal: spec.refusal ?? null,
    quiet: spec.quiet ?? false,
    unsafe: spec.unsafe ?? false,
    everyMethod: spec.everyMethod ?? false,
    anyRequestId: spec.anyRequestId ?? false,
    forPeople: spec.forPeople ?? false,
    holdsSecret: spec.holdsSecret ?? false,
    dear: spec.dear ?? searchesOf(spec.query),
    // The one place where the types of the parts are dropped: router.ts passes what these very schemas have checked.
    handle: spec.handle as unknown as Route['handle'],
    concerns: (spec.concerns ?? null) as Route['concerns'],
    dryRun: spec.dryRun ?? false,
    rehearsal: null,
  };
}

/** The parameters that make a list a search. */
const SEARCHES = ['q', 'sort'];

function searchesOf(query: z.ZodType | undefined): readonly string[] {
  return query instanceof z.ZodObject ? SEARCHES.filter((name) => name in query.shape) : [];
}

/** Whether a schema accepts any object of texts and returns it unchanged. */
function isAnyText(params: z.ZodType): boolean {
  return (
    params instanceof z.ZodObject &&
    (params.def.checks ?? []).length === 0 &&
    Object.values(params.shape).every(
      (field) => field instanceof z.ZodString && !('format' in field.def) && (field.def.checks ?? []).length === 0,
    )
  );
}
