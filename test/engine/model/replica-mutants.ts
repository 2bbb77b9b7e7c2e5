/** Facts from replicas with one guard taken away: the simulation with replicas must notice each. */
import { unavailable } from '../../../src/base/errors.ts';
import type { Ticket } from '../../../src/engine/follower.ts';
import type { Standing } from '../../../src/engine/replica.ts';
import type { LogHead, LogWindow, MemberNeed, Revision } from '../../../src/engine/types.ts';
import { type Make, SmallFollower, SmallReplica, simulated } from './settings.ts';

const replica = (Replica: typeof SmallReplica): Make => ({ parts: { Replica } });

/** Replies that are good for nothing are good for something. */
function using(standing: Standing): Make {
  return replica(
    class extends SmallReplica {
      protected override standing(ticket: Ticket, head: LogHead): Standing {
        const found = super.standing(ticket, head);
        return found === standing ? 'behind' : found;
      }
    },
  );
}

export const REPLICA_MUTANTS: Readonly<Record<string, Make>> = {
  'a replica that is ahead is used': using('ahead'),
  'a replica of another history is used': using('other-history'),
  'a replica older than what is remembered is used': using('too-old'),
  'what has changed since is used': replica(
    class extends SmallReplica {
      protected override scopesAfter(): ReadonlySet<string> {
        return new Set();
      }
    },
  ),
  'the log of a replica is believed': replica(
    class extends SmallReplica {
      protected override standing(ticket: Ticket, head: LogHead): Standing {
        if (super.standing(ticket, head) === 'ahead') this.parts.follower.apply(ticket, head as LogWindow);
        return super.standing(ticket, head);
      }
    },
  ),
  'a log from before everything was forgotten proves': {
    parts: {
      Follower: class extends SmallFollower {
        override get provenAt(): number {
          return this.syncedAt;
        }
      },
    },
  },
  'facts count as read when a replica was asked': replica(
    class extends SmallReplica {
      protected override isProven(): boolean {
        return this.parts.follower.provenAt > Number.NEGATIVE_INFINITY;
      }

      protected override provenAs(head: Revision) {
        return { ...super.provenAs(head), readAt: simulated.now };
      }
    },
  ),
  'what is left over is asked of nobody': replica(
    class extends SmallReplica {
      override async members(needs: readonly MemberNeed[]): Promise<readonly MemberNeed[]> {
        await super.members(needs);
        return [];
      }
    },
  ),
  'a replica that does not answer fails the load': replica(
    class extends SmallReplica {
      override async members(needs: readonly MemberNeed[]): Promise<readonly MemberNeed[]> {
        const { results } = this.parts.counters;
        const before = results.failed;
        const left = await super.members(needs);
        if (results.failed > before) throw unavailable('The replica does not answer.');
        return left;
      }
    },
  ),
};
