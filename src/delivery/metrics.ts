/** The metrics of deliveries (docs/operations/README.md). */

import { Counter, Gauge } from 'prom-client';
import { CHANNEL_NAMES, type ChannelName, perChannel } from '../base/channels.ts';
import { exposeHistogram, FlatHistogram } from '../base/flat-histogram.ts';
import type { Registry } from '../base/telemetry.ts';
import type { Database } from '../persistence/database.ts';
import { readBacklog } from '../persistence/delivery/claims.ts';

/** Upper bounds of the histogram's buckets, in seconds. */
const BOUNDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60];

export type DeliveryOutcome = 'sent' | 'failed' | 'retried' | 'postponed';

export class DeliveryMetrics {
  readonly #outcomes: Counter<'channel' | 'outcome'>;
  readonly #seconds = perChannel(() => new FlatHistogram(BOUNDS));

  /** The backlog is read at each scrape; while the database is unavailable, the gauges keep their last values. */
  constructor(registry: Registry, database: Pick<Database, 'read'>) {
    this.#outcomes = new Counter({
      name: 'usher_deliveries_total',
      help: 'Attempts at deliveries by what came of them.',
      labelNames: ['channel', 'outcome'],
      registers: [registry],
    });
    const seconds = { name: 'usher_delivery_seconds', help: 'How long attempts take, the other side included.' };
    exposeHistogram(registry, seconds, () => CHANNEL_NAMES.map((channel) => this.#seconds[channel].read({ channel })));
    // One read serves both gauges of a scrape.
    let reading: ReturnType<typeof readBacklog> | undefined;
    const backlog = () => {
      reading ??= database
        .read(readBacklog)
        .catch(() => [])
        .finally(() => {
          reading = undefined;
        });
      return reading;
    };
    const gauge = (name: string, help: string, value: 'waiting' | 'overdue') =>
      new Gauge({
        name,
        help,
        labelNames: ['channel'],
        registers: [registry],
        async collect() {
          for (const row of await backlog()) this.set({ channel: row.channel }, row[value]);
        },
      });
    gauge(
      'usher_deliveries_waiting',
      'Deliveries still to be sent, those between two attempts included. Counts to 10,000.',
      'waiting',
    );
    gauge('usher_deliveries_overdue_seconds', 'How long the most overdue delivery has been due.', 'overdue');
  }

  /** `trace` is that of the send, where it is sampled. */
  count(channel: ChannelName, outcome: DeliveryOutcome, seconds: number, trace?: string): void {
    this.#outcomes.inc({ channel, outcome });
    this.#seconds[channel].observe(seconds, trace);
  }
}
