import type { Change, LogWindow, Revision, RevisionToken } from './types.ts';

/** The newest changes of the log, with which late replies and news are compared (docs/freshness.md). */
export class RecentChanges {
  readonly #most: number;
  /** Ascending and without gaps, from the revision after the floor. */
  #changes: Change[] = [];
  #floor: Revision = 0;
  #floorNonce: string | null = null;

  constructor(most: number) {
    this.#most = most;
  }

  /** The revision before the oldest that is remembered. */
  get floor(): Revision {
    return this.#floor;
  }

  /** The nonce of a revision's row; null where it is not remembered. */
  nonceAt(revision: Revision): string | null {
    if (revision === this.#floor) return this.#floorNonce;
    // Revisions have no gaps.
    return this.#changes[revision - this.#floor - 1]?.nonce ?? null;
  }

  /** Whether a revision that is known here has another row there; `changes` ascending. */
  contradicts(changes: readonly Change[]): boolean {
    const newest = this.#floor + this.#changes.length;
    for (const { revision, nonce } of changes) {
      if (revision > newest) break;
      const known = this.nonceAt(revision);
      if (known !== null && known !== nonce) return true;
    }
    return false;
  }

  /** For a floor of which only the number was known. */
  learnFloor(nonce: string | null): void {
    this.#floorNonce ??= nonce;
  }

  push(change: Change): void {
    this.#changes.push(change);
    if (this.#changes.length <= this.#most) return;
    const { revision, nonce } = this.#changes.shift() as Change;
    this.#floor = revision;
    this.#floorNonce = nonce;
  }

  /** Forgets all changes; those after `floor` will follow. */
  restart(floor: Revision, nonce: string | null): void {
    this.#changes = [];
    this.#floor = floor;
    this.#floorNonce = nonce;
  }

  /** Whether a change after `head` names the scope, or everything of the application. */
  names(head: Revision, scope: string, app: string | null): boolean {
    for (let i = this.#changes.length - 1; i >= 0; i--) {
      const { revision, scopes } = this.#changes[i] as Change;
      if (revision <= head) return false;
      for (const named of scopes) {
        if (named === scope || named === '*' || (app !== null && named === `a:${app}`)) return true;
      }
    }
    return false;
  }

  /** All scopes that changes after `head` name; that revision must be remembered. */
  scopesAfter(head: Revision): Set<string> {
    return new Set(this.#changes.slice(head - this.#floor).flatMap(({ scopes }) => scopes));
  }

  /** The changes after `mark`, ascending; null where they are not remembered, or where `mark` is of another history. */
  after({ number, nonce }: RevisionToken): readonly Change[] | null {
    const isOfThisHistory = number === 0 || (nonce !== null && this.nonceAt(number) === nonce);
    return isOfThisHistory && number >= this.#floor ? this.#changes.slice(number - this.#floor) : null;
  }

  /** What a read of the log after `since` would say, by a snapshot at `head`; null where not all of it is remembered. */
  window(since: Revision, head: RevisionToken): LogWindow | null {
    const log = { head: head.number, headNonce: head.nonce, sinceNonce: this.nonceAt(since), tooMany: false };
    // Nobody made that revision here.
    if (since > head.number) return { ...log, changes: [] };
    const changes = this.after({ number: since, nonce: log.sinceNonce });
    return changes === null ? null : { ...log, changes };
  }
}
