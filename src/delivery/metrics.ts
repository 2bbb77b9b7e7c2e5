/** What an operator sees of deliveries (docs/operations.md). */

import { Counter, Gauge, Histogram } from 'prom-client';
import type { Database } from '../persistence/database.ts';
import { readBacklog } from '../persistence/delivery/claims.ts';
import type { Registry } from '../telemetry.ts';

export type DeliveryOutcome = 'sent' | 'failed' | 'retried' | 'postponed';

export class DeliveryMetrics {
  readonly #outcomes: Counter<'channel' | 'outcome'>;
  readonly #seconds: Histogram<'channel'>;

  /** The backlog is read when it is scraped; while the database is away the last numbers stand. */
  constructor(registry: Registry, database: Pick<Database, 'read'>) {
    this.#outcomes = new Counter({
      name: 'usher_deliveries_total',
      help: 'Attempts at deliveries by what came of them.',
      labelNames: ['channel', 'outcome'],
      registers: [registry],
    });
    this.#seconds = new Histogram({
      name: 'usher_delivery_seconds',
      help: 'How long attempts take, the other side included.',
      labelNames: ['channel'],
      buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60],
      registers: [registry],
    });
    const overdue = new Gauge({
      name: 'usher_deliveries_overdue_seconds',
      help: 'How long the most overdue delivery has been due.',
      labelNames: ['channel'],
      registers: [registry],
    });
    new Gauge({
      name: 'usher_deliveries_waiting',
      help: 'Deliveries still to be sent, those between two attempts included. Counts to 10,000.',
      labelNames: ['channel'],
      registers: [registry],
      async collect() {
        const backlog = await database.read(readBacklog).catch(() => []);
        for (const { channel, waiting, overdue: seconds } of backlog) {
          this.set({ channel }, waiting);
          overdue.set({ channel }, seconds);
        }
      },
    });
  }

  count(channel: 'email' | 'push', outcome: DeliveryOutcome, seconds: number): void {
    this.#outcomes.inc({ channel, outcome });
    this.#seconds.observe({ channel }, seconds);
  }
}
