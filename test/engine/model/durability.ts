/**
 * How an instance of the simulation knows that a write outlives the server (docs/adr/0024-early-release.md): by the real barrier, over
 * statements that take their time, get lost, and meet another server after a failover.
 */
import { unavailable } from '../../../src/base/errors.ts';
import { createLogger } from '../../../src/base/telemetry.ts';
import type { RevisionToken } from '../../../src/engine/types.ts';
import { Barrier, type DurableCommit } from '../../../src/persistence/barrier.ts';
import { isEarly } from '../../../src/persistence/change-log.ts';
import { LEG, type Make } from './settings.ts';
import type { Simulation } from './simulation.ts';

const log = createLogger('silent');

export class Durability {
  /** Whether this instance releases its writes early. */
  readonly early: boolean;
  readonly #make: Make;
  readonly #barrier: Barrier;

  constructor(world: Simulation, make: Make, early: boolean, isCut: () => boolean) {
    this.early = early;
    this.#make = make;
    const commit = durableCommit(world, isCut);
    const made = make.durable?.(commit, world.database) ?? commit;
    this.#barrier = new Barrier({ commit: made, clock: world.clock, log });
  }

  /** As `Transactions`: whether a write that made `mark`, or changed nothing over it, may be told. */
  async lasts(mark: RevisionToken, what: 'written' | 'nothing'): Promise<boolean> {
    // What is not released early lasts before it is seen.
    if (!this.early && (what === 'written' || !isEarly(mark))) return true;
    if (this.#make.unproven === (this.early ? what : 'foreign')) return true;
    return await this.#barrier.pass(mark).then(
      () => true,
      () => false,
    );
  }
}

/** There, on the disk and the standby, and back: each takes a while, and a server that another has replaced answers nothing. */
function durableCommit({ job, database }: Simulation, isCut: () => boolean): DurableCommit {
  return (marks) =>
    new Promise((resolve, reject) => {
      const lost = () => reject(unavailable('cut off'));
      job(() => {
        if (isCut()) return job(lost);
        const { server, head } = database;
        const found = new Set(marks.flatMap((mark, at) => (database.has(mark) ? [at] : [])));
        job(() => {
          if (database.server !== server) return job(lost);
          database.flush(head);
          job(() => (isCut() || database.server !== server ? lost() : resolve(found)));
        }, 2 * LEG);
      });
    });
}
