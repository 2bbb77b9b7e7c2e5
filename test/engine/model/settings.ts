/** What the simulation of the engine (simulation.ts) runs with: times, sizes, and parts that a mutant replaces. */
import type { Engine, EngineParts } from '../../../src/engine/engine.ts';
import type { FactServer } from '../../../src/engine/fact-server.ts';
import { Facts } from '../../../src/engine/facts.ts';
import { Follower } from '../../../src/engine/follower.ts';
import { Replica, type ReplicaOptions } from '../../../src/engine/replica.ts';
import type { DurableCommit } from '../../../src/persistence/barrier.ts';
import type { SimulatedDatabase } from './simulated-database.ts';
import type { Served } from './wire.ts';

export const TTL = 900;
/** The time of the schedule that runs, for parts that are told none. */
export const simulated = { now: 0 };
/** The longest one-way delay of a statement. */
export const LEG = 60;
export const STEP = 16;
/** From a snapshot to the end of the next poll: 300 ms, two round trips, and what a step rounds up. */
export const BEHIND = 300 + 4 * LEG + 6 * STEP;

/** What a mutant replaces: parts of the engine, the engine, the database, or how a writer acknowledges. */
export interface Make {
  parts?: Partial<EngineParts>;
  Engine?: typeof Engine;
  Database?: typeof SimulatedDatabase;
  acknowledge?: 'before-reach';
  /** Which writes are acknowledged without the barrier: own ones, those that change nothing, or those over what another released early. */
  unproven?: 'written' | 'nothing' | 'foreign';
  /** What the barrier takes for a durable commit. */
  durable?: (commit: DurableCommit, database: SimulatedDatabase) => DurableCommit;
  /** What an edge is served in place of what its upstream's server says. */
  serve?: (served: FactServer, upstream: Engine) => Served;
}

/** Small enough that facts are driven out now and then; half of the schedules make them so small that it happens all the time. */
export class SmallFacts extends Facts {
  static small = false;

  constructor(options: ConstructorParameters<typeof Facts>[0]) {
    const sizes = SmallFacts.small ? { policies: 2, persons: 2, members: 4 } : { policies: 9, persons: 9, members: 9 };
    super({ ...options, ...sizes });
  }
}

/** Remembers few changes. */
export class SmallFollower extends Follower {
  static recent = 2;

  constructor(options: ConstructorParameters<typeof Follower>[0]) {
    super({ ...options, recent: SmallFollower.recent });
  }
}

/** Is tried again soon. */
export class SmallReplica extends Replica {
  /** For mutants. */
  protected readonly parts: ReplicaOptions;

  constructor(options: ReplicaOptions) {
    super({ ...options, patience: { threshold: 1, firstMs: 60, longestMs: 120 } });
    this.parts = options;
  }
}
