/** Facts over the wire with one guard taken away: the simulation with edges must notice each. */
import type { Engine } from '../../../src/engine/engine.ts';
import { Loader } from '../../../src/engine/loader.ts';
import type { FactsReply, LogNews } from '../../../src/engine/types.ts';
import { type Make, SmallFollower } from './settings.ts';
import type { Served } from './wire.ts';

/** Edges are served otherwise. */
export function serving(change: (served: Served, upstream: Engine) => Partial<Served>): Make {
  return {
    serve: (served, upstream) => ({
      members: (...asked) => served.members(...asked),
      policy: (...asked) => served.policy(...asked),
      changes: (...asked) => served.changes(...asked),
      ...change(served, upstream),
    }),
  };
}

function young<R extends FactsReply>(reply: R): R {
  return { ...reply, ageMs: 0, window: { ...reply.window, ageMs: 0 } };
}

export const WIRE_MUTANTS: Readonly<Record<string, Make>> = {
  'facts count as read when they were asked for': {
    ...serving((served) => ({
      members: async (...asked) => young(await served.members(...asked)),
      policy: async (...asked) => young(await served.policy(...asked)),
    })),
    // Reading ahead leaves hardly a fact that is old when it is asked for.
    parts: {
      Loader: class extends Loader {
        override get everHasSpare(): boolean {
          return false;
        }
      },
    },
  },
  'facts come with the log of a later turn': serving((served, upstream) => ({
    members: async (since, ...asked) => {
      const reply = await served.members(since, ...asked);
      await upstream.tail.sync().catch(() => null);
      return { ...reply, window: await served.changes(since, false) };
    },
  })),
  'changes between two tellings are left out': {
    parts: {
      Follower: class extends SmallFollower {
        protected override advanceBy(news: LogNews): boolean {
          const changes = Array.from({ length: Math.max(0, news.head - this.cursor) }, (_, index) => {
            const revision = this.cursor + 1 + index;
            const told = news.changes.find((change) => change.revision === revision);
            return told ?? { revision, nonce: 'untold', scopes: [] };
          });
          return super.advanceBy({ ...news, since: this.cursor, sinceNonce: this.nonce, changes });
        }
      },
    },
  },
};
