import type { CompiledQuery, Kysely } from 'kysely';
import type { FactsSource, ReplicaSource, Revision, RevisionToken } from '../engine/types.ts';
import type { BarrierCounters } from './barrier.ts';
import type { Schema } from './entities/schema.ts';
import type { InboxSignals } from './signals.ts';

/**
 * The context of persistence's statements. Features pass it on and never look inside.
 * One connection, one transaction: never kept beyond the function it was passed to.
 */
export interface Tx {
  readonly kysely: Kysely<Schema>;
}

/** One statement that is a transaction of its own, as persistence makes them (`asOnly`); its rows are R. Opaque to features. */
export type Statement<R> = CompiledQuery<R>;

/**
 * A part of the policy data in the change log (docs/freshness.md): `p:APP` an application's permissions, roles and
 * their permissions; `u:EMAIL` active or SuperAdmin; `m:APP:EMAIL` roles, admin and overrides of one person in one
 * application; `a:APP` everything in an application; `*` everything.
 */
export type Scope = `p:${string}` | `u:${string}` | `m:${string}:${string}` | `a:${string}` | '*';

/**
 * The return value of a write: its result, and the scopes it touched. An empty list means "no policy row was touched"
 * (a profile, a refusal, no change); it is required, so that a policy write that announces nothing does not type-check.
 */
export interface Outcome<T> {
  result: T;
  scopes: readonly Scope[];
  /** Audit records to write with the commit, in this order, after those written before. */
  records?: readonly AuditEntry[];
}

/** A committed write: `revision` is the one it made, or the newest that its transaction saw, as callers see it. */
export interface Committed<T> {
  result: T;
  revision: string;
  /** The number of that revision. */
  number: Revision;
}

/** The engine's side of an acknowledged write, registered by `Database.follow`. */
export interface Follower {
  /** Resolves when this instance's answers are at least as fresh as `mark`. */
  reach(mark: RevisionToken): Promise<void>;
  /** Drops every cached fact: the outcome of a write is unknown, or `reach` failed. */
  dropAll(): void;
}

export type { StreamNews } from './signals.ts';

/** One action or refused attempt (docs/reference/administration.md#audit). */
export interface AuditEntry {
  /** `user:EMAIL`, `key:NAME`, `idp`, `cli` or `system`. */
  actor: string;
  /** `THING.VERB` in the past (`role.created`); a refused write ends in `.refused`. */
  action: string;
  appCode?: string | null;
  /** The target: an e-mail, a code, an id. */
  subject?: string | null;
  /** Plain JSON data; secrets in it are masked (audit.ts). */
  before?: unknown;
  after?: unknown;
  requestId?: string | null;
  /** The author's own words on why (docs/reference/administration.md#reasons). */
  reason?: string | null | undefined;
}

/** The only way to the data. Every method rejects with UsherError UNAVAILABLE (503) when the database is unavailable or too slow. */
export interface Database {
  /** `pglite` is one connection on this process's event loop: bulk work goes in statements of at most 1,000 rows. */
  readonly kind: 'postgresql' | 'pglite';
  /** Of an embedded database: its files as a compressed archive, of one moment, and its migrations. */
  readonly dump?: (() => Promise<{ archive: Blob; migrations: string[] }>) | undefined;
  /** The engine's reads; on connections of their own, so that slow writers never hold up a check. */
  readonly facts: FactsSource;
  /** Replicas that may answer them, null for none; on connections of their own. */
  readonly replica: ReplicaSource | null;
  /** What the barrier of early release counts; null without it. */
  readonly barrier: BarrierCounters | null;
  /** Tells other instances whose inbox changed. */
  readonly inboxSignals: InboxSignals;
  /** Runs `fn` in a read-only transaction on one snapshot. */
  read<T>(fn: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * Runs `fn` in the only kind of writing transaction, and resolves only after this instance has reached its revision.
   * Inside `fn`: no network, no question to the cached engine, no rendering, no other `read` or `change`. When
   * another transaction has overtaken it (a deadlock; a row it refers to was deleted, a value it inserts was taken) it is rolled back
   * and run again, so `fn` must have no effects but rows; UNAVAILABLE when that happens seven times in a row.
   * An error of `fn` rolls everything back and is rethrown; a refusal that must leave an audit row is a value. NOT_FOUND is
   * rethrown only after this instance has read the log again, so that the deletion behind it counts here, too.
   * A connection lost during COMMIT is OUTCOME_UNKNOWN (503); with early release of the numbering, so is a commit that was not
   * found again, or not made durable, by the barrier after it.
   */
  change<T>(fn: (tx: Tx) => Promise<Outcome<T>>): Promise<Committed<T>>;
  /**
   * Runs `fn` in a writing transaction on one snapshot that is always rolled back: nothing that it did stays, no instance is
   * notified and no revision is made. Repeated like `change`.
   */
  rehearse<T>(fn: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * Runs one statement that is a transaction of its own: one round trip on PostgreSQL. For statements that touch no policy row and
   * may run twice, which happens when a connection is lost after sending.
   */
  once<R>(statement: Statement<R>): Promise<R[]>;
  /** Registers the engine's follower, once, while the application is built. Before that, `change` does not wait. */
  follow(follower: Follower): void;
  /** Whether the database answers and every migration is applied; rejects with the reason. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
