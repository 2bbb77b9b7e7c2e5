/** Early release with one guard taken away: the simulation must notice each by an acknowledged write that a failover takes away. */
import type { RevisionToken } from '../../../src/engine/types.ts';
import type { Make } from './settings.ts';
import { SimulatedDatabase } from './simulated-database.ts';

const everything = (marks: readonly RevisionToken[]): Set<number> => new Set(marks.keys());

export const DURABILITY_MUTANTS: Readonly<Record<string, Make>> = {
  'a write is acknowledged once it can be seen': { unproven: 'written' },
  'a write that changes nothing is acknowledged over a revision that may be lost': { unproven: 'nothing' },
  'an instance that does not release early trusts what another has released': { unproven: 'foreign' },
  'revisions do not say that they were released early': {
    Database: class extends SimulatedDatabase {
      protected override nonce(): string {
        return super.nonce(false);
      }
    },
  },
  'a durable commit on any server lets everything through': {
    durable: (commit) => async (marks) => {
      await commit(marks);
      return everything(marks);
    },
  },
  'a revision is proven by its number alone': {
    durable: (commit, database) => async (marks) => {
      await commit(marks);
      return new Set([...everything(marks)].filter((at) => (marks[at]?.number ?? 0) <= database.head));
    },
  },
  'a revision is proven by a statement before the commit': {
    durable: (commit, database) => async (marks) => {
      const found = new Set([...everything(marks)].filter((at) => database.has(marks[at] as RevisionToken)));
      await commit(marks);
      return found;
    },
  },
  'a commit that is made again counts for what the first one was made for': {
    durable: (commit) => async (marks) => {
      try {
        return await commit(marks);
      } catch {
        await commit([]);
        return everything(marks);
      }
    },
  },
  'the barrier makes nothing durable': {
    Database: class extends SimulatedDatabase {
      override flush(): void {}
    },
  },
};
