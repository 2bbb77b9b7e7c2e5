/**
 * A route, once: method, path, guard, schemas, envelope and handler are one value. What validates is what documents, and a
 * route without a guard does not compile. `router.ts` runs these values, `openapi/document.ts` documents them.
 */

import { z } from 'zod';
import type { ErrorCode, Reason } from '../../base/errors.ts';
import type { Services } from '../services.ts';
import { type BodyFormat, json } from './bodies.ts';
import type { EmptyEnvelope, Envelope, Pieces, StreamEnvelope } from './envelopes.ts';
import type { Guard } from './guards.ts';
import { type BodyLimit, DEADLINE_MS } from './limits.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The groups of the document, in its order. */
export const TAGS = {
  Checks: 'Is it allowed? Asked by backends with an internal key, and by signed-in users about themselves.',
  Profile: 'Who somebody is, and what they prefer in each application.',
  Inbox: 'Notifications of a signed-in user, and what they want to be notified about.',
  Push: 'Browsers that take pushes for a signed-in user.',
  Applications: 'The registry of applications and what each defines.',
  Permissions: 'What an application can allow.',
  Roles: 'Bundles of permissions, and what each gives.',
  Users: 'People as administrators see them: state, roles, overrides, preferences.',
  Administrators: 'SuperAdmins, and administrators of single applications.',
  Notifications: 'Types, templates, sends and their log.',
  Languages: 'The registry of languages and what each falls back to.',
  Brands: 'Look, sender and mail server.',
  Audit: 'Who changed what.',
  Manifests: 'A whole application as one file.',
  'Identity provider': 'Webhook, e-mail provider, health, login for development, organizations.',
  Internal: 'For backends and the identity provider, with an internal key.',
  Operations: 'Health, readiness, metrics and this document.',
} as const;
export type Tag = keyof typeof TAGS;

/** Request headers that a route may read beside those that the machinery handles, with their documentation. */
export const REQUEST_HEADERS = {
  'usher-min-revision':
    'Answer at least as fresh as this revision, taken from the `usher-revision` header of an earlier answer.',
  'last-event-id': 'Go on behind the event with this id.',
  'accept-language': 'The languages of the reader, for pages where none is known otherwise.',
  'if-match': 'Write only when the state still has this `ETag`; else 412.',
} as const;
export type RequestHeader = keyof typeof REQUEST_HEADERS;

/** A cookie of a request, with its documentation. */
export interface CookieSpec {
  readonly name: string;
  readonly description: string;
}

/** What an answer may carry beside its payload; all of it becomes headers. */
export interface AnswerMeta {
  /** The revision that the answer is true of, or that the write made: `usher-revision`. */
  revision?: string;
  /** The opaque tag without quotes: `etag`. */
  etag?: string;
  /** The path of what was created: `location`. */
  location?: string;
  /** A whole `set-cookie` line. */
  cookie?: string;
  /** One of the route's statuses other than its first. */
  status?: number;
  /** The content security policy of this page, where its envelope names none. */
  policy?: string;
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

/** What a handler gets to see of a request. Everything in it is checked. */
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
  /** Reports how far a long operation is. Costs nothing where the caller did not ask for it. */
  readonly progress: (done: number, total: number) => void;
}

/** What the handler of an envelope returns, for a response schema of type T. */
export type Payload<E extends Envelope, T> = E extends EmptyEnvelope
  ? undefined
  : E extends StreamEnvelope
    ? Pieces<T>
    : T;

type Handled<T> = T | Answer<T>;

type BodyOf<B> = B extends z.ZodType ? z.output<B> : B extends BodyFormat<infer T> ? T : never;

export interface RouteSpec<
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
  /** The one cookie that it reads. Nothing here authenticates by cookies. */
  readonly cookie?: CookieSpec;
  readonly envelope: E;
  /** The status of success, or several: the first unless the answer says another. */
  readonly status: number | readonly [number, ...number[]];
  /** The payload, without the envelope. Left out where there is none. */
  readonly response?: R;
  /** What the handler refuses with, for the document; those of guard and machinery are known. */
  readonly errors?: readonly (Reason | ErrorCode)[];
  /** For the document; a test proves that they fit the schemas. */
  readonly example?: { readonly body?: unknown; readonly response?: unknown };
  readonly deadlineMs?: number;
  /** Default `no-store`: nearly everything here is personal. */
  readonly cacheControl?: string;
  /** The audit action of a write that the guard refused an identified caller, such as `manifest.applied.refused`. */
  readonly refusal?: `${string}.refused`;
  /** Logged at `debug` while it succeeds: asked thousands of times a second, or by probes. */
  readonly quiet?: boolean;
  /** A GET that changes something: it takes no HEAD, which must never do what it does. */
  readonly unsafe?: boolean;
  readonly handle: (
    services: Services,
    input: Input<C, z.output<P>, z.output<Q>, BodyOf<B>, H>,
  ) => Handled<Payload<E, z.output<R>>> | Promise<Handled<Payload<E, z.output<R>>>>;
}

/** A route as the machinery sees it: the types of its parts have done their work. */
export interface Route {
  readonly method: Method;
  readonly path: `/${string}`;
  readonly tag: Tag;
  readonly summary: string;
  readonly description: string | undefined;
  readonly guard: Guard<unknown>;
  readonly params: z.ZodType | null;
  /** Whether any text fits each parameter, as it is: then there is nothing to check. */
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
  readonly handle: (services: Services, input: Input<unknown, unknown, unknown, unknown, RequestHeader>) => unknown;
}

/** Checks what types cannot, and gives the route its defaults. Throws at load when a route contradicts itself. */
export function defineRoute<
  C,
  E extends Envelope,
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
  if ((spec.envelope.kind === 'empty') !== (spec.response === undefined)) {
    throw fault('a response schema belongs to every envelope but the empty one');
  }
  if (spec.method === 'get' && spec.body !== undefined) throw fault('a GET takes no body');
  if (spec.method !== 'get' && spec.unsafe !== undefined) throw fault('only a GET is safe unless it says otherwise');

  return {
    method: spec.method,
    path: spec.path,
    tag: spec.tag,
    summary: spec.summary,
    description: spec.description,
    guard: spec.guard as Guard<unknown>,
    params: spec.params ?? null,
    takesAnyText: spec.params === undefined || isAnyText(spec.params),
    query: spec.query ?? null,
    body: spec.body instanceof z.ZodType ? json(spec.body, spec.limit) : (spec.body ?? null),
    headers: spec.headers ?? [],
    cookie: spec.cookie ?? null,
    envelope: spec.envelope,
    statuses: typeof spec.status === 'number' ? [spec.status] : spec.status,
    response: spec.response ?? null,
    errors: spec.errors ?? [],
    example: spec.example ?? {},
    deadlineMs: spec.deadlineMs ?? DEADLINE_MS.call,
    cacheControl: spec.cacheControl ?? 'no-store',
    refusal: spec.refusal ?? null,
    quiet: spec.quiet ?? false,
    unsafe: spec.unsafe ?? false,
    // The one place where the types of the parts are dropped: router.ts passes what these very schemas have checked.
    handle: spec.handle as unknown as Route['handle'],
  };
}

/** Whether a schema takes an object of texts, and answers it as it is. */
function isAnyText(params: z.ZodType): boolean {
  return (
    params instanceof z.ZodObject &&
    (params.def.checks ?? []).length === 0 &&
    Object.values(params.shape).every(
      (field) => field instanceof z.ZodString && !('format' in field.def) && (field.def.checks ?? []).length === 0,
    )
  );
}
