/** Every limit of the gateway by name (docs/reference/http.md#limits): node:http's own defaults are unbounded or too generous. */

/** Maximum bytes of a request body, by the kind that the route takes. One byte more is 413. */
export const BODY_LIMIT = {
  /** A record or a question. */
  record: 64 * 1024,
  /** A logo. */
  image: 512 * 1024,
  /** A list: bulk checks, sends, templates, the e-mail endpoint. */
  list: 1024 * 1024,
  manifest: 32 * 1024 * 1024,
} as const;
export type BodyLimit = keyof typeof BODY_LIMIT;

/** Milliseconds that a call may take. After that the caller gets 503 and the handler's signal is aborted. */
export const DEADLINE_MS = { call: 10_000, manifest: 600_000 } as const;

/** A Connect or gRPC-Web message. */
export const RPC_MESSAGE_BYTES = 1024 * 1024;

/**
 * Bytes of unfinished bodies of callers without credentials, in total and for each address (of IPv6 a /64). Past the first
 * limit 503, past the second 429. A body that arrives in one chunk, as small bodies do, is not counted.
 */
export const UNPROVEN_BYTES = { total: 32 * 1024 * 1024, address: 4 * 1024 * 1024 } as const;

export const HTTP_LIMITS = {
  /** Within this time the whole request must arrive. A manifest of 32 MiB needs 9 Mbit/s. */
  requestTimeoutMs: 30_000,
  headersTimeoutMs: 10_000,
  connectionsCheckingIntervalMs: 5_000,
  /** Longer than a load balancer keeps idle connections (60 s), so that this side never closes one under a request. */
  keepAliveTimeoutMs: 65_000,
  maxRequestsPerSocket: 10_000,
  maxHeaderBytes: 16 * 1024,
  /** Counted here: node:http silently drops headers beyond its own limit. */
  maxHeaders: 100,
  /** A body of more chunks than this must average at least `finePieceBytes` each: reading smaller ones would block the event loop. */
  finePieces: 10_000,
  finePieceBytes: 32,
  /**
   * After as many chunks of a body, its connection waits for the next turn of the event loop, so that others are read. Behind a
   * refusal as many tiny ones end the reading.
   */
  turnPieces: 1_000,
  /** Pipelined requests that one chunk of a connection may hold. All of them are answered before another connection is read. */
  pipelined: 64,
  /** How long a refused upload may go on before its connection is cut. */
  lingerMs: 5_000,
  /**
   * How long a client that the parser refused (400, 408, 431), or that sent too many tiny chunks, may read the answer before its
   * connection is cut.
   */
  refusedMs: 1_000,
  /** How long a reader may leave written bytes unread before its connection is cut. Streams can be resumed. */
  stalledMs: 30_000,
  /** How long requests in flight may take once the server is closing. */
  drainMs: 15_000,
  /** The same for requests that have not fully arrived and for readers that read nothing. */
  drainArrivalMs: 2_000,
  /** How often a closing server checks its connections. */
  sweepMs: 50,
} as const;

/**
 * Whether a body arrives in tiny chunks, so that reading them blocks the event loop: chunks of one byte
 * cost a thousand times their size.
 */
export function isTooFine(pieces: number, bytes: number, most: number = HTTP_LIMITS.finePieces): boolean {
  return pieces > most && bytes < pieces * HTTP_LIMITS.finePieceBytes;
}
