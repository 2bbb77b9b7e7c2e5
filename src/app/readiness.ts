/** Whether this process can do what it is for: the answers of /readyz and gRPC health (docs/reference/service.md#health-and-metrics). */

import type { Clock } from '../base/clock.ts';
import { unavailable } from '../base/errors.ts';
import type { Logger } from '../base/telemetry.ts';
import type { Engine } from '../engine/engine.ts';
import type { GrpcServer } from '../grpc/server.ts';

interface ReadinessParts {
  readonly engine: Pick<Engine, 'status'>;
  /** Rejects unless the database answers and is migrated. */
  readonly database: () => Promise<void>;
  /** Of the gRPC port. Rejects unless each of them answers and can answer checks. */
  readonly processes?: (() => Promise<void>) | undefined;
  /** How long ago the worker last looked for deliveries, in ms; where that is all that this process does. */
  readonly workerAgeMs?: (() => number) | undefined;
}

/** A worker looks every second; one statement of it may take ten. */
const WORKER_MS = 15_000;

export class Readiness {
  readonly #parts: ReadinessParts;
  #stopping = false;

  constructor(parts: ReadinessParts) {
    this.#parts = parts;
  }

  /** From now on nothing is ready. */
  stop(): void {
    this.#stopping = true;
  }

  /** Rejects with UsherError UNAVAILABLE and the reason unless all of this process works. */
  async everything(): Promise<void> {
    const { database, workerAgeMs } = this.#parts;
    await this.checks();
    await database();
    if (workerAgeMs !== undefined && workerAgeMs() > WORKER_MS)
      throw unavailable('The worker does not look for deliveries.');
  }

  /**
   * The same for permission checks alone: while the database is away they are answered from what is cached, for as long as that is
   * proven to be fresh.
   */
  async checks(): Promise<void> {
    if (this.#stopping) throw unavailable('The service is shutting down.');
    const { engine, processes } = this.#parts;
    if (!engine.status().ready) throw unavailable('The permission engine is behind the database.');
    await processes?.();
  }
}

/** How often gRPC health looks at the engine, in ms. */
const LOOK_MS = 500;

interface ServingParts {
  readonly engine: Pick<Engine, 'status'>;
  readonly grpc: Pick<GrpcServer, 'setServing'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** gRPC health is SERVING as long as answers are fresh enough to be given, until the returned function is called. */
export function followHealth({ engine, grpc, clock, log }: ServingParts): () => void {
  let wasReady = true;
  let cancel: () => void;
  const look = (): void => {
    const { ready, lastSyncAgeMs } = engine.status();
    grpc.setServing(ready);
    if (ready !== wasReady) {
      if (ready) log.info('permission checks are answered again: health is SERVING');
      else log.warn({ lastSyncAgeMs }, 'permission checks are not answered: health is NOT_SERVING');
    }
    wasReady = ready;
    cancel = clock.after(LOOK_MS, look);
  };
  look();
  return () => cancel();
}
