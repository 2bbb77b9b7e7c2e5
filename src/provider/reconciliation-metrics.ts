/** The metrics of comparisons with the identity provider (docs/operations/README.md). */

import { Counter, Gauge } from 'prom-client';
import type { Registry } from '../base/telemetry.ts';
import type { Found } from './reconciled.ts';

export class ReconciliationMetrics {
  readonly #runs: Counter<'outcome'>;
  readonly #drift: Gauge<'event'>;
  readonly #endedAt: Gauge;

  constructor(registry: Registry) {
    this.#runs = new Counter({
      name: 'usher_idp_reconciliations_total',
      help: 'Comparisons with the identity provider that this process made, by how they ended.',
      labelNames: ['outcome'],
      registers: [registry],
    });
    for (const outcome of ['done', 'braked', 'failed']) this.#runs.inc({ outcome }, 0);
    this.#drift = new Gauge({
      name: 'usher_idp_drift',
      help: 'Events of the provider that the last comparison of this process found missing here.',
      labelNames: ['event'],
      registers: [registry],
    });
    this.#endedAt = new Gauge({
      name: 'usher_idp_reconciled_timestamp_seconds',
      help: 'When this process last ended a comparison that read everything; 0 for never.',
      registers: [registry],
    });
  }

  ended(outcome: 'done' | 'braked', found: Found, at: Date): void {
    this.#runs.inc({ outcome });
    for (const [event, count] of Object.entries(found)) this.#drift.set({ event }, count);
    this.#endedAt.set(at.getTime() / 1000);
  }

  failed(): void {
    this.#runs.inc({ outcome: 'failed' });
  }
}
