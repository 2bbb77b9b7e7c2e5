/**
 * The engine with one guard taken away: the simulation must notice each, or the guard is not needed, or the simulation is
 * blind. The first seven are those of the model that the design was proved with.
 */
import type { LRUCache } from 'lru-cache';
import { Batch, type BatchParts, type BatchQuestion } from '../../../src/engine/batch.ts';
import { type DecisionFacts, Decisions, type QuestionKey } from '../../../src/engine/decisions.ts';
import type { Lease } from '../../../src/engine/fact.ts';
import type { Ticket } from '../../../src/engine/follower.ts';
import { GroundsFinder, type HeldFacts } from '../../../src/engine/grounds.ts';
import type { Change, Decision, LogWindow, Revision, RevisionToken } from '../../../src/engine/types.ts';
import type { Rows } from '../../oracle/rows.ts';
import { type Make, SmallFacts, SmallFollower, simulated, TTL } from './settings.ts';
import { SimulatedDatabase } from './simulated-database.ts';

const follower = (Follower: typeof SmallFollower): Make => ({ parts: { Follower } });
const facts = (Facts: typeof SmallFacts): Make => ({ parts: { Facts } });
const decisions = (Made: typeof Decisions): Make => ({ parts: { Decisions: Made } });

/** A follower for which the log says other things than it does. */
function reading(read: (window: LogWindow, ticket: Ticket) => LogWindow): Make {
  return follower(
    class extends SmallFollower {
      override apply(ticket: Ticket, window: LogWindow): boolean {
        return super.apply(ticket, read(window, ticket));
      }
    },
  );
}

/** Changes of that kind of scope end nothing. */
function deafTo(kind: string): Make {
  return follower(
    class extends SmallFollower {
      protected override kill(change: Change): void {
        super.kill({ ...change, scopes: change.scopes.filter((scope) => !scope.startsWith(kind)) });
      }
    },
  );
}

/**
 * Decisions live on when one kind of fact that they were made from does not. (A person or its overrides never end without
 * the member's ending, too.)
 */
function withoutLease(kind: 'policy' | 'member'): Make {
  return decisions(
    class extends Decisions {
      override put(key: QuestionKey, decision: Decision, grounds: DecisionFacts): void {
        super.put(key, decision, { ...grounds, [kind]: { ...grounds[kind], lease: { live: true } } });
      }
    },
  );
}

function expiring(at: () => number): Make {
  return decisions(
    class extends Decisions {
      override put(key: QuestionKey, decision: Decision, grounds: DecisionFacts): void {
        const due = at();
        const { policy, person, member, overrides } = grounds;
        super.put(key, decision, {
          policy: { ...policy, due },
          person: { ...person, due },
          member: { ...member, due },
          overrides: overrides && { ...overrides, due },
        });
      }
    },
  );
}

/** Numbers are taken before the commit, as a sequence gives them: they can become visible out of order. */
class SequenceDatabase extends SimulatedDatabase {
  #held: { rows: Rows; scopes: readonly string[] } | undefined;

  protected override append(now: number, rows: Rows, scopes: readonly string[]): void {
    if (this.#held === undefined) {
      // Another commit overtakes this one: its row shows only after a later one has.
      this.#held = { rows, scopes };
      super.append(now, rows, []);
      return;
    }
    const late = [...this.#held.scopes, ...scopes];
    this.#held = undefined;
    super.append(now, rows, late);
  }
}

export const MODEL_MUTANTS: Readonly<Record<string, Make>> = {
  'facts are stored whatever has happened since they were read': follower(
    class extends SmallFollower {
      override touched(): boolean {
        return false;
      }
    },
  ),
  'what a load says of the log is not applied': follower(
    class extends SmallFollower {
      #syncing = false;

      override sync(): Promise<Revision | null> {
        this.#syncing = true;
        return super.sync().finally(() => {
          this.#syncing = false;
        });
      }

      override apply(ticket: Ticket, window: LogWindow): boolean {
        return this.#syncing ? super.apply(ticket, window) : !this.isStale(ticket);
      }
    },
  ),
  'a write is acknowledged before it is reached': { acknowledge: 'before-reach' },
  'eviction leaves the lease': facts(
    class extends SmallFacts {
      protected override left(lease: Lease, why: LRUCache.DisposeReason): void {
        if (why !== 'evict') super.left(lease, why);
      }
    },
  ),
  'incarnations of an application are not told apart': {
    parts: {
      GroundsFinder: class extends GroundsFinder {
        protected override isSameApp(): boolean {
          return true;
        }
      },
    },
  },
  'a kept question holds facts that have ended': {
    parts: {
      GroundsFinder: class extends GroundsFinder {
        override isValid({ policy, person, member, overrides }: HeldFacts, now: number): boolean {
          return [policy, person, member, overrides ?? member].every(({ due }) => due > now);
        }
      },
    },
  },
  'a batch keeps what a change has overtaken': {
    parts: {
      Batch: class extends Batch {
        protected override isOvertaken(): boolean {
          return false;
        }
      },
    },
  },
  'a batch keeps what was decided before everything was forgotten': {
    parts: {
      Batch: class extends Batch {
        constructor(questions: readonly BatchQuestion[], { follower, ...parts }: BatchParts) {
          super(questions, {
            ...parts,
            follower: {
              fence: 0,
              get cursor() {
                return follower.cursor;
              },
              touched: (head, scope, app) => follower.touched(head, scope, app),
            },
          });
        }
      },
    },
  },
  'a decision lives for a TTL from when it was made': expiring(() => simulated.now + TTL),
  'revisions are taken from a sequence': { Database: SequenceDatabase },

  'replies from before everything was forgotten count': follower(
    class extends SmallFollower {
      protected override isStale(): boolean {
        return false;
      }
    },
  ),
  'another history is not noticed': follower(
    class extends SmallFollower {
      protected override isOtherHistory(): boolean {
        return false;
      }
    },
  ),
  'a revision of another history will do': follower(
    class extends SmallFollower {
      override isReached({ number }: RevisionToken): boolean {
        return number <= this.cursor;
      }
    },
  ),
  'another history is noticed only by a head that went back': follower(
    class extends SmallFollower {
      protected override isOtherHistory(ticket: Ticket, window: LogWindow): boolean {
        return window.head < ticket.since;
      }
    },
  ),
  'facts older than what is remembered are stored': follower(
    class extends SmallFollower {
      protected override isTooOld(): boolean {
        return false;
      }
    },
  ),
  'more changes than fit are passed over': reading((window, { since }) => {
    const changes = Array.from({ length: Math.max(0, window.head - since) }, (_, index) => {
      return { revision: since + 1 + index, nonce: null as unknown as string, scopes: [] };
    });
    return window.tooMany ? { ...window, changes, tooMany: false } : window;
  }),
  'unknown scopes are passed over': reading((window) => {
    const changes = window.changes.map((change) => {
      return { ...change, scopes: change.scopes.filter((scope) => !scope.startsWith('x:')) };
    });
    return { ...window, changes };
  }),
  'deaf to changes of policies': deafTo('p:'),
  'deaf to changes of people': deafTo('u:'),
  'deaf to changes of members': deafTo('m:'),
  'deaf to changes of whole applications': deafTo('a:'),
  'deaf to changes of everything': deafTo('*'),
  'decisions outlive their policy': withoutLease('policy'),
  'decisions outlive their member': withoutLease('member'),
  'decisions never expire': expiring(() => Number.POSITIVE_INFINITY),
  'facts never expire': facts(
    class extends SmallFacts {
      protected override expiry(): number {
        return Number.POSITIVE_INFINITY;
      }
    },
  ),
  'replaced facts leave their lease': facts(
    class extends SmallFacts {
      protected override left(lease: Lease, why: LRUCache.DisposeReason): void {
        if (why === 'evict') super.left(lease, why);
      }
    },
  ),
};
