/**
 * A database that keeps every state it ever had, in every history that it ever had: commits are atomic and get the next
 * revision, a restore goes back to an earlier one, and what is committed after that is another history under the same numbers.
 * A commit that is released early can be seen before it is durable.
 */
import { randomBytes } from 'node:crypto';
import type { Change, LogWindow, Revision, RevisionToken } from '../../../src/engine/types.ts';
import { NONCE_BYTES, nonceOf } from '../../../src/persistence/change-log.ts';
import { applyTo, NO_ROWS, type Operation, type Rows } from '../../oracle/rows.ts';
import { scopesOf } from '../../oracle/storage.ts';
import { NAMES, type Names, type Random, randomOperation } from '../../oracle/world.ts';

export interface State {
  readonly revision: Revision;
  /** Which state of that revision it is; null for revision 0, of which there is one. */
  readonly nonce: string | null;
  readonly rows: Rows;
  readonly scopes: readonly string[];
  /** The one that it was made from. */
  readonly parent: State | null;
  /** When it ceased to be the newest; Infinity as long as it is. */
  supersededAt: number;
}

export class SimulatedDatabase {
  readonly #random: Random;
  readonly #all = new Map<string | null, State>();
  #states: State[];
  /** Rows of the log up to this revision are gone. */
  #pruned = 0;
  /** What survives the server that is the primary now. */
  #durable: Revision = 0;
  #releasesEarly = false;
  /** Which server is the primary. */
  server = 0;
  /** A commit that a replica shows already. */
  #prepared: State | undefined;

  readonly #names: Names;

  constructor(random: Random, rows?: Rows, names: Names = NAMES) {
    this.#random = random;
    this.#names = names;
    rows ??= someRows(random, names);
    const first = { revision: 0, nonce: null, rows, scopes: [], parent: null, supersededAt: Number.POSITIVE_INFINITY };
    this.#states = [first];
    this.#all.set(null, first);
  }

  get newest(): State {
    return this.#states.at(-1) as State;
  }

  get head(): Revision {
    return this.newest.revision;
  }

  /** The state that the log row with this nonce made. */
  byNonce(nonce: string | null): State | undefined {
    return this.#all.get(nonce);
  }

  /** Whether that row of the log is gone, so that its history can no longer be determined. */
  isPruned(revision: Revision): boolean {
    return revision <= this.#pruned;
  }

  /** Every state that was ever called that revision. */
  called(revision: Revision): State[] {
    return [...this.#all.values()].filter((state) => state.revision === revision);
  }

  has({ number, nonce }: RevisionToken): boolean {
    return this.#states[number]?.nonce === nonce;
  }

  /** One to three writes in one commit, durable when it is seen or released early. Answers its revision. */
  commit(now: number, early = false): Revision {
    this.#releasesEarly = early;
    const prepared = this.#prepared;
    if (prepared === undefined || prepared.parent !== this.newest) this.append(now, ...this.#writes());
    else this.#show(now, prepared);
    if (!early) this.#durable = this.head;
    return this.head;
  }

  /** Makes everything durable up to that revision. */
  flush(to: Revision): void {
    this.#durable = Math.max(this.#durable, to);
  }

  protected nonce(early = this.#releasesEarly): string {
    return nonceOf(randomBytes(NONCE_BYTES), early);
  }

  /** The primary dies, and a standby takes its place that has what is durable, or more. Answers its newest revision. */
  failOver(now: number): Revision {
    return this.restore(now, this.#durable + this.#random(1 + this.head - this.#durable));
  }

  /** The next commit, before it is seen here. It is lost where the database is restored first. */
  prepare(): State {
    if (this.#prepared?.parent !== this.newest) this.#prepared = this.#made(...this.#writes());
    return this.#prepared as State;
  }

  #writes(): [rows: Rows, scopes: readonly string[]] {
    let rows = this.newest.rows;
    const operations: Operation[] = [];
    for (let left = 1 + this.#random(3); left > 0; left--) {
      const operation = randomOperation(this.#random, rows, this.#names);
      rows = applyTo(rows, operation);
      operations.push(operation);
    }
    return [rows, this.#widened(operations.flatMap(scopesOf))];
  }

  protected append(now: number, rows: Rows, scopes: readonly string[]): void {
    this.#show(now, this.#made(rows, scopes));
  }

  #made(rows: Rows, scopes: readonly string[]): State {
    const parent = this.newest;
    const revision = parent.revision + 1;
    return { revision, nonce: this.nonce(), rows, scopes, parent, supersededAt: Number.POSITIVE_INFINITY };
  }

  #show(now: number, state: State): void {
    this.newest.supersededAt = now;
    this.#states.push(state);
    this.#all.set(state.nonce, state);
    this.#prepared = undefined;
  }

  /** These writes in one commit, announced as they are or otherwise. Answers its revision. */
  write(operations: readonly Operation[], scopes: readonly string[] = operations.flatMap(scopesOf)): Revision {
    this.append(0, operations.reduce(applyTo, this.newest.rows), scopes);
    return this.head;
  }

  /** Now and then as a write with very many scopes would, or as a newer version might. */
  #widened(scopes: readonly string[]): string[] {
    switch (this.#random(20)) {
      case 0:
        return ['*'];
      case 1:
        return [`x:${scopes.join('+')}`];
      case 2:
        return [...new Set(scopes.map((scope) => (/^[pm]:/.test(scope) ? `a:${scope.split(':')[1]}` : scope)))];
      default:
        return [...new Set(scopes)];
    }
  }

  /** As after a failover that lost the newest commits, or a restored backup. Answers the revision that is the newest now. */
  restore(now: number, to = this.head - 1 - this.#random(4)): Revision {
    const revision = Math.max(this.#pruned, to, 0);
    this.newest.supersededAt = now;
    this.#states = this.#states.slice(0, revision + 1);
    this.#durable = revision;
    this.server++;
    this.newest.supersededAt = Number.POSITIVE_INFINITY;
    return revision;
  }

  /** Forgets the older half of the log, though never its newest row. */
  prune(to = Math.floor((this.#pruned + this.head) / 2)): void {
    this.#pruned = Math.max(this.#pruned, Math.min(this.head - 1, to));
  }

  /** The log as the present snapshot shows it. `limit` as MAX_CHANGES of persistence. */
  window(since: Revision, limit: number): LogWindow {
    const rows = this.#states.filter(({ revision }) => revision > since && revision > this.#pruned);
    const expected = Math.max(0, this.head - since);
    const tooMany = expected > limit || rows.length !== expected;
    const changes: Change[] = rows.map(({ revision, nonce, scopes }) => ({ revision, nonce: nonce as string, scopes }));
    const known = since > this.#pruned ? this.#states[since] : undefined;
    const { nonce: headNonce } = this.newest;
    return { head: this.head, headNonce, sinceNonce: known?.nonce ?? null, changes: tooMany ? [] : changes, tooMany };
  }
}

/** Most subjects of questions exist from the beginning. */
function someRows(random: Random, names: Names): Rows {
  let rows = NO_ROWS;
  for (let left = 120; left > 0; left--) rows = applyTo(rows, randomOperation(random, rows, names));
  return rows;
}
