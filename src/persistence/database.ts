import type { CompiledQuery, Kysely } from 'kysely';
import type { FactsSource, Mark, Revision } from '../engine/types.ts';
import type { Schema } from './entities/schema.ts';
import type { InboxSignals } from './signals.ts';

/**
 * What a statement of persistence runs in. Features pass it on and never look inside.
 * One connection, one transaction: never kept beyond the function it was handed to.
 */
export interface Tx {
  readonly kysely: Kysely<Schema>;
}

/** One statement that is a transaction of its own, as persistence makes them (`asOnly`); rows of it are R. Never looked into. */
export type Statement<R> = CompiledQuery<R>;

/**
 * A part of the policy data, as the change log names it (docs/freshness.md): `p:APP` an application's permissions, roles and
 * their permissions; `u:EMAIL` active or SuperAdmin; `m:APP:EMAIL` roles, admin and overrides of one person in one
 * application; `a:APP` everything in an application; `*` everything.
 */
export type Scope = `p:${string}` | `u:${string}` | `m:${string}:${string}` | `a:${string}` | '*';

/**
 * What a write returns: its result, and the scopes it touched. An empty list says "no policy row was touched"
 * (a profile, a refusal, nothing to change); it must be said, so that a policy write that announces nothing does not type-check.
 */
export interface Outcome<T> {
  result: T;
  scopes: readonly Scope[];
  /** Audit records that are written with the commit, in this order; those written before come before them. */
  records?: readonly AuditEntry[];
}

/** A committed write: `revision` is the one it made, or the newest that its transaction saw, as callers see it. */
export interface Committed<T> {
  result: T;
  revision: string;
  /** The number of that revision. */
  number: Revision;
}

/** The engine's side of an acknowledged write: told by `Database.follow`. */
export interface Follower {
  /** Resolves when this instance's answers are at least as fresh as `mark`. */
  reach(mark: Mark): Promise<void>;
  /** Forgets every cached fact: the outcome of a write is unknown, or `reach` failed. */
  dropAll(): void;
}

export type { StreamNews } from './signals.ts';

/** One thing that somebody did, or was refused (docs/reference/administration.md#audit). */
export interface AuditEntry {
  /** `user:EMAIL`, `key:NAME`, `idp`, `cli` or `system`. */
  actor: string;
  /** `THING.VERB` in the past (`role.created`); a refused write ends in `.refused`. */
  action: string;
  appCode?: string | null;
  /** Whom or what it was done to: an e-mail, a code, an id. */
  subject?: string | null;
  /** Plain data, as JSON can say it; secrets in it are masked (audit.ts). */
  before?: unknown;
  after?: unknown;
  requestId?: string | null;
}

/** The only way to the data. Every method rejects with UsherError UNAVAILABLE (503) when the database is away or too slow. */
export interface Database {
  /** `pglite` is one connection on this process's event loop: bulk work goes in statements of at most 1,000 rows. */
  readonly kind: 'postgresql' | 'pglite';
  /** What the engine reads through; its own connections, so that slow writers never hold up a check. */
  readonly facts: FactsSource;
  /** Between instances: whose inbox is another now. */
  readonly inboxSignals: InboxSignals;
  /** Runs `fn` in a read-only transaction on one snapshot. */
  read<T>(fn: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * Runs `fn` in the one kind of writing transaction there is, and answers only after this instance has reached its revision.
   * Inside `fn`: no network, no question to the cached engine, no rendering, no other `read` or `change`. When
   * another transaction has overtaken it (a deadlock; what it refers to is gone, what it takes is taken) it is rolled back and
   * run again, so that it leaves nothing behind but rows; UNAVAILABLE when that happens seven times in a row.
   * What `fn` throws rolls everything back and is rethrown; a refused write that must leave an audit row is a value. NOT_FOUND is
   * rethrown only after this instance has read the log once more: what is gone was taken away by a write that counts here, too.
   * A connection lost during COMMIT is OUTCOME_UNKNOWN (503).
   */
  change<T>(fn: (tx: Tx) => Promise<Outcome<T>>): Promise<Committed<T>>;
  /**
   * Carries out one statement that is a transaction of its own: one round trip on PostgreSQL. For what touches no policy row and
   * may be done twice, as it is when a connection is lost that may have done it.
   */
  once<R>(statement: Statement<R>): Promise<R[]>;
  /** Hands over the engine's follower, once, while the application is built. Before that, `change` waits for nobody. */
  follow(follower: Follower): void;
  /** Whether the database answers and every migration is applied; rejects with the reason. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
