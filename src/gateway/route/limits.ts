/** Every limit of the gateway by name (docs/reference/http.md#limits): node:http's own defaults are unbounded or too generous. */

/** Bytes of a request body, by what the route takes. A body of one byte more is 413. */
export const BODY_LIMIT = {
  /** A record or a question. */
  record: 64 * 1024,
  /** A list: bulk checks, sends, templates, the e-mail endpoint. */
  list: 1024 * 1024,
  manifest: 32 * 1024 * 1024,
} as const;
export type BodyLimit = keyof typeof BODY_LIMIT;

/** Milliseconds that a call may take. Past it the caller gets 503 and the handler's signal is aborted. */
export const DEADLINE_MS = { call: 10_000, manifest: 600_000 } as const;

/** A Connect or gRPC-Web message. */
export const RPC_MESSAGE_BYTES = 1024 * 1024;

/**
 * Bytes of unfinished bodies whose callers have shown no credentials, over all and for each address (of IPv6 a /64). Past the first
 * 503, past the second 429. What comes in one piece, as small bodies do, is not counted.
 */
export const UNPROVEN_BYTES = { total: 32 * 1024 * 1024, address: 4 * 1024 * 1024 } as const;

export const HTTP_LIMITS = {
  /** The whole request has arrived. A manifest of 32 MiB needs 9 Mbit/s. */
  requestTimeoutMs: 30_000,
  headersTimeoutMs: 10_000,
  connectionsCheckingIntervalMs: 5_000,
  /** Longer than a load balancer keeps idle connections (60 s), so that it is never us who closes one under a request. */
  keepAliveTimeoutMs: 65_000,
  maxRequestsPerSocket: 10_000,
  maxHeaderBytes: 16 * 1024,
  /** Counted by us: node:http silently drops what exceeds its own limit. */
  maxHeaders: 100,
  /** A body may come in so many pieces of fewer than so many bytes: of more the reading would take everybody's time. */
  finePieces: 10_000,
  finePieceBytes: 32,
  /** Requests that one piece of a connection may hold. Nobody pipelines more; each is answered before another connection is read. */
  pipelined: 64,
  /** A refused upload may go on for so long before its connection is cut. */
  lingerMs: 5_000,
  /** A client that the parser refused (400, 408, 431) has so long to read why before its connection is cut. */
  refusedMs: 1_000,
  /** A reader may leave what was written unread for so long; then it is cut. Streams can be resumed. */
  stalledMs: 30_000,
  /** In-flight requests may take so long once the server is closing, */
  drainMs: 15_000,
  /** requests that have not arrived by then, and readers that read nothing, only so long. */
  drainArrivalMs: 2_000,
  /** How often a closing server looks at its connections. */
  sweepMs: 50,
} as const;

/**
 * Whether a body comes in so many pieces of a few bytes each that reading them takes the time of everybody else: chunks of one byte
 * cost a thousand times what they bring.
 */
export function isTooFine(pieces: number, bytes: number): boolean {
  return pieces > HTTP_LIMITS.finePieces && bytes < pieces * HTTP_LIMITS.finePieceBytes;
}
