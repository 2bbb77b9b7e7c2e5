import type { Revision } from './types.ts';

/** Shared by a fact and everything derived from it. Once false it stays false. */
export interface Lease {
  live: boolean;
}

export interface Fact<T> {
  value: T;
  /** Of the snapshot that it was last read from. */
  revision: Revision;
  /** Monotonic milliseconds: when the statement that last read it was sent. */
  readAt: number;
  /** Monotonic milliseconds, an integer: the end of its use, except for the question that it was read for. */
  expires: number;
  /** The same, never after `expires`: a question that uses it later has it read again (ahead.ts). NOT_KEPT where it has a bound. */
  due: number;
  /** Which statement read it last: the facts of one are of one instant. */
  statement: number;
  /** Null for a fact that only a write can change. */
  bound: Bound | null;
  readonly lease: Lease;
  /** Notes that it was read again, and found unchanged. Decisions derived earlier keep their expiry. */
  renew(read: Pick<Fact<T>, 'revision' | 'readAt'>, expires: number, timing: Timing): void;
}

/** Of a fact that changes by itself, when a grant begins or ends (docs/freshness.md#boundaries-in-time). */
export interface Bound {
  /** Monotonic milliseconds, an integer: the end of its use, except for the question that it was read for. */
  readonly ends: number;
  /** When it is due to be read ahead, in place of the fact's `due`. */
  due: number;
}

/** When and by what facts were read, and until when each holds by itself, as `Bound` says; null for always. */
export interface Timing {
  readonly statement: number;
  readonly ends: number | null;
}

/**
 * What stands for `due` in a fact with a bound: always in the past. So nothing made from it is kept, and each question that uses it
 * compares the bound with the clock. A small integer, which needs no heap object.
 */
export const NOT_KEPT = -1;

/** A small fact that is its own lease: saves one object per fact, and one access per answer. */
export class LeasedFact<T> implements Fact<T>, Lease {
  // What each answer reads comes first, next to each other in memory.
  readonly lease: Lease;
  live = true;
  due: number;
  value: T;
  bound: Bound | null;
  expires: number;
  revision: Revision;
  readAt: number;
  statement: number;

  /** @param lease a separate lease for a large value, which a decision derived from it must not keep in memory */
  constructor(
    value: T,
    { revision, readAt }: Pick<Fact<T>, 'revision' | 'readAt'>,
    expires: number,
    { statement, ends }: Timing,
    lease: Lease | null,
  ) {
    this.value = value;
    this.revision = revision;
    this.readAt = readAt;
    this.expires = expires;
    this.statement = statement;
    // As `renew` does, and not by calling it: a hot Check took a tenth more of the processor then.
    const due = dueAt(readAt, expires);
    this.bound = ends === null ? null : { ends, due };
    this.due = ends === null ? due : NOT_KEPT;
    this.lease = lease ?? this;
  }

  renew(
    { revision, readAt }: Pick<Fact<T>, 'revision' | 'readAt'>,
    expires: number,
    { statement, ends }: Timing,
  ): void {
    this.revision = revision;
    this.readAt = readAt;
    this.expires = expires;
    this.statement = statement;
    const due = dueAt(readAt, expires);
    this.bound = ends === null ? null : { ends, due };
    this.due = ends === null ? due : NOT_KEPT;
  }
}

/** Early enough that a fact in use every few seconds is read again before half of its life is over. */
function dueAt(readAt: number, expires: number): number {
  return Math.floor(readAt + 0.4 * (expires - readAt));
}
