/**
 * What the front asks of the service that it stands before: whose methods it answers, its words for refusals, and where it
 * counts. Everything that is not HTTP/2 is handed in here.
 */

import type { Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';

/** Answers a request at once where it can. What it throws, or rejects with, `CallErrors` knows. */
export type Handle = (request: Buffer) => Buffer | Promise<Buffer>;

/**
 * Whether a caller who was admitted would still be, with the same key. Throws for a request that the key may not send: every request
 * is shown to it.
 */
export type Admission = (request?: Buffer) => boolean;

/** Throws where a key admits nobody. Receives undefined for a call without a key. */
export type Authorize = (key: string | undefined) => Admission | undefined;

/** A method as the front sees it, before a byte of a message is kept. */
export interface Entrance {
  /** Its number in `Metrics`; -1 for a method that is not counted. */
  readonly index: number;
  /** Null for a method that is open to everybody. */
  readonly authorize: Authorize | null;
  /** Whether callers may send several messages. */
  readonly many: boolean;
}

/** By path, `/package.Service/Method`. */
export type Entrances = ReadonlyMap<string, Entrance>;

/** A unary method that the front answers itself. */
export interface FrontMethod extends Entrance {
  readonly handle: Handle;
  readonly authorize: Authorize;
}

/** By path. */
export type FrontMethods = ReadonlyMap<string, FrontMethod>;

/** The end of a call that failed. The form of its metadata is that of grpc-js. */
export interface Status {
  readonly code: number;
  readonly details: string;
  readonly metadata: { toHttp2Headers(): Readonly<Record<string, unknown>> };
}

/** A refusal as the caller is told it. */
export interface Refusal {
  /** The same for refusals that differ by their request id alone: these are encoded once. */
  readonly kind: string;
  readonly code: number;
  /** Without a request id. */
  status(): Status;
}

/** What the service says of things that go wrong: thrown by its own functions, or a RefusedCall. */
export interface CallErrors {
  /** Null for what nobody expected: a failure. */
  refusalOf(thrown: unknown): Refusal | null;
  /** The end of a call that failed. Tells the operator of it. */
  failure(thrown: unknown, method: number, requestId: string | undefined, span?: object | null): Status;
  /** Whether it says that a key was wrong, and not merely too weak. */
  isWrongKey(thrown: unknown): boolean;
  /** Whether it says that too many keys were wrong. */
  isGuesser(thrown: unknown): boolean;
}

/** What a caller says of its trace (W3C Trace Context). */
export interface Carrier {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

/** The calls of a connection, which are asked only about one that gets a span. */
export interface Callers {
  /** What an open call says of its trace. Calls have numbers other than 0. */
  carrierOf(call: number): Carrier;
}

/** Spans of calls; of a span the front knows nothing but that there is one. */
export interface Traces {
  begins(method: number, callers: Callers, call: number, traceparent: string | undefined): void;
  answered(): object | null;
  end(span: object | null, code: number): void;
}

export interface Metrics {
  answered(method: number, code: number): void;
}

export interface Log {
  error(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  debug(fields: object, message: string): void;
  isLevelEnabled(level: 'debug'): boolean;
}

/** The transport's side of a call that waits. Either is called at most once. */
export interface Reply {
  /** The caller's `x-request-id`, as sent. */
  readonly requestId: string | undefined;
  answer(message: Buffer): void;
  fail(status: Status): void;
}

/** A call that waits for its answer. */
export interface Waiting {
  /** The caller hung up, or its deadline passed. */
  leave(code: number): void;
}

/** Calls that wait for their answer. */
export interface Calls {
  readonly options: { readonly metrics: Metrics; readonly log: Log; readonly traces: Traces | null };
  wait(method: number, reply: Reply, work: Promise<Buffer>): Waiting;
}

/** The place of a connection among those that a port may have. */
export interface Slot {
  /** A right was shown on it. */
  prove(): void;
  leave(): void;
}

export interface Slots {
  /** Null where there is no room. `end` closes the connection, which then leaves. */
  enter(address: string | null, end: () => void): Slot | null;
}

/** The wrong keys of a connection. `forwardedFor` is the call's `x-forwarded-for`. */
export interface ConnectionGuesses {
  /** Throws where too many were wrong. */
  check(forwardedFor: string | undefined): void;
  guessed(forwardedFor: string | undefined): void;
}

export interface Clock {
  /** Milliseconds, from any beginning. */
  monotonic(): number;
  /** Calls once after that many milliseconds. Returns what cancels it. */
  after(ms: number, fn: () => void): () => void;
  /** From 0 to 1. */
  random(): number;
}

/** Where to listen. `mode` are the permissions of a socket file. */
export type ListenAddress =
  | { readonly host: string; readonly port: number; readonly ipv6Only?: boolean }
  | { readonly path: string; readonly mode: number };

/**
 * Why something is refused, as it is counted: calls for their key, of callers who guess, for their bytes, or because they are late; connections
 * on which no right was shown, because they idle or for what they make the service keep.
 */
export type Counted = 'key' | 'guesses' | 'bytes' | 'late' | 'idle' | 'kept';

/** The service that the front stands before. */
export interface Service {
  readonly methods: FrontMethods;
  /** Every method that grpc-js has a handler of. */
  readonly served: Entrances;
  /** Bytes of a message. */
  readonly mostBytes: number;
  readonly calls: Calls;
  readonly errors: CallErrors;
  readonly slots: Slots;
  /** Null where wrong keys are not limited. */
  readonly guesses: { open(): ConnectionGuesses } | null;
  readonly refused: { count(what: Counted): void };
  /** The id of a call, by the caller's `x-request-id`. */
  readonly requestId: (given: string | undefined) => string;
  /** The network that counts as one caller: an address, of IPv6 a /64. */
  readonly networkOf: (address: string) => string;
  /** Listens. Resolves to the address with the port that it got. */
  readonly listenAt: (server: NetServer, at: ListenAddress) => Promise<ListenAddress>;
  /** Hands a connection over to grpc-js. */
  readonly inject: (connection: Duplex) => void;
}
