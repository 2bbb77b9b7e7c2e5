/** What an engine keeps its facts with. */

import { Ahead } from './ahead.ts';
import { type EngineCounters, ReplicaCounters } from './counters.ts';
import { FactServer } from './fact-server.ts';
import { Facts } from './facts.ts';
import { Follower } from './follower.ts';
import { GroundsFinder } from './grounds.ts';
import { Loader } from './loader.ts';
import { boundsOf, type EngineOptions } from './options.ts';
import { Replica } from './replica.ts';
import type { ReplicaSource } from './types.ts';

/** What the parts need of the engine. */
interface Host {
  readonly counters: EngineCounters;
  readonly tickMs: number;
  /** Every fact has ended. */
  readonly dropped: () => void;
  readonly isOpen: () => boolean;
}

export function makeParts(
  { source, replica, clock, cache, log, defer = (fn) => void setImmediate(fn), traces, parts }: EngineOptions,
  { counters, tickMs, dropped, isOpen }: Host,
) {
  const facts = new (parts?.Facts ?? Facts)({ clock, ttlMs: cache.ttlMs, tickMs, ...boundsOf(cache) });
  const follower: Follower = new (parts?.Follower ?? Follower)({
    source,
    clock,
    facts,
    log,
    counters,
    dropped: () => {
      dropped();
      loader.forget();
    },
  });
  const readingFrom = (from: ReplicaSource): Replica => {
    counters.replica = new ReplicaCounters();
    const maxAgeMs = cache.ttlMs / 2;
    const options = { source: from, clock, facts, follower, counters: counters.replica, log, maxAgeMs };
    return new (parts?.Replica ?? Replica)(options);
  };
  const loader = new (parts?.Loader ?? Loader)({
    source,
    replica: replica == null ? undefined : readingFrom(replica),
    clock,
    facts,
    follower,
    counters,
    defer,
    traces,
  });
  const ahead = new (parts?.Ahead ?? Ahead)({
    clock,
    loader,
    counters: counters.ahead,
    paceMs: tickMs,
    againMs: cache.ttlMs / 20,
    isOpen,
  });
  const grounds = new (parts?.GroundsFinder ?? GroundsFinder)({ facts, loader, ahead, counters, clock });
  const served = new FactServer({ source, clock, facts, loader, follower, grounds, counters, isOpen });
  return { facts, follower, loader, grounds, served };
}
