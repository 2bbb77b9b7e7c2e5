/** How an edge of the simulation reads facts: from the engine of another instance, by a wire that delays, loses, doubles and reorders. */
import { unavailable } from '../../../src/base/errors.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import type { FactServer } from '../../../src/engine/fact-server.ts';
import type { FactsSource, LogNews } from '../../../src/engine/types.ts';
import { LEG, TTL } from './settings.ts';
import type { Simulation } from './simulation.ts';

/** What of a fact server goes over the wire. */
export type Served = Pick<FactServer, 'members' | 'policy' | 'changes'>;

interface WireParts {
  readonly world: Simulation;
  readonly upstream: Engine;
  readonly served: Served;
  readonly isCut: () => boolean;
}

/** In a quiet world the wire is as usual: four calls at once, and a TTL that is many times what two of them take. */
export function wire({ world, upstream, served, isCut }: WireParts): FactsSource {
  const isSlow = () => world.random(8) === 0 && !world.isQuiet;
  const ask = <T>(answer: () => Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const lost = () => reject(unavailable('cut off'));
      world.job(() => {
        if (isCut()) world.job(lost);
        else {
          answer().then(
            // One reply in eight is slow, so that others overtake it.
            (reply) => world.job(() => (isCut() ? lost() : resolve(reply)), isSlow() ? 5 * world.leg : world.leg),
            () => world.job(lost),
          );
        }
      });
    });
  const maxAge = Math.floor(TTL / 2);
  const calls = 1 + world.random(4);
  return {
    parallelism: world.isQuiet ? 4 : calls,
    members: (since, needs, maxAgeMs = maxAge) => ask(() => served.members(since, needs, maxAgeMs)),
    policy: (since, app, maxAgeMs = maxAge) => ask(() => served.policy(since, app, maxAgeMs)),
    grounds: () => Promise.reject(unavailable('an edge explains nothing itself')),
    changes: (since, fresh = false) => ask(() => served.changes(since, fresh)),
    listen: (hear) => {
      let told = upstream.tail.head;
      world.whenMoved(upstream, () => {
        const news = newsAfter(upstream, told);
        told = upstream.tail.head;
        // Lost, told once, or told twice.
        for (let times = world.random(3); times > 0; times--) {
          world.job(() => (isCut() ? undefined : hear(news)), 4 * LEG);
        }
      });
      return Promise.resolve(() => Promise.resolve());
    },
  };
}

function newsAfter({ tail }: Engine, told: { number: number; nonce: string | null }): LogNews | undefined {
  const changes = tail.after(told);
  if (changes === null) return undefined;
  const { number: head, nonce: headNonce } = tail.head;
  return { since: told.number, sinceNonce: told.nonce, head, headNonce, changes, tooMany: false };
}
