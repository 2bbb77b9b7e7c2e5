/** The metrics of retention (docs/operations/retention.md). */

import { Counter, Gauge } from 'prom-client';
import type { Registry } from '../base/telemetry.ts';
import type { Partition } from '../persistence/operations/partitions.ts';

const HELD = ['waiting', 'unread'] as const;

export class RetentionMetrics {
  readonly #partitions: Gauge<'table'>;
  readonly #oldest: Gauge<'table'>;
  readonly #held: Gauge<'table' | 'reason'>;
  readonly #dropped: Counter<'table'>;
  readonly #failed: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#partitions = new Gauge({
      name: 'usher_retention_partitions',
      help: 'Partitions of a table, by the last look of this process.',
      labelNames: ['table'],
      registers,
    });
    this.#oldest = new Gauge({
      name: 'usher_retention_oldest_timestamp_seconds',
      help: 'When the oldest row of a table was written; 0 for an empty table.',
      labelNames: ['table'],
      registers,
    });
    this.#held = new Gauge({
      name: 'usher_retention_held_partitions',
      help: 'Expired partitions that stay, because deliveries in them wait or notifications are unread.',
      labelNames: ['table', 'reason'],
      registers,
    });
    this.#dropped = new Counter({
      name: 'usher_retention_dropped_total',
      help: 'Partitions that this process dropped.',
      labelNames: ['table'],
      registers,
    });
    this.#failed = new Counter({
      name: 'usher_retention_failures_total',
      help: 'Looks of this process that did not come to their end.',
      registers,
    });
  }

  failed(): void {
    this.#failed.inc();
  }

  dropped(table: string): void {
    this.#dropped.inc({ table });
  }

  seen(
    partitions: readonly Partition[],
    oldest: ReadonlyMap<string, Date | null>,
    held: readonly { table: string; reason: string }[],
  ): void {
    for (const [table, at] of oldest) {
      this.#partitions.set({ table }, partitions.filter((partition) => partition.table === table).length);
      this.#oldest.set({ table }, (at?.getTime() ?? 0) / 1000);
      for (const reason of HELD) {
        const count = held.filter((one) => one.table === table && one.reason === reason).length;
        this.#held.set({ table, reason }, count);
      }
    }
  }
}
