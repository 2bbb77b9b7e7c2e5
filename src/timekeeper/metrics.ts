/** The metrics of the timekeeper (docs/reference/time.md#the-timekeeper). */

import { Counter, Gauge } from 'prom-client';
import type { Clock } from '../base/clock.ts';
import type { Registry } from '../base/telemetry.ts';

export class TimekeeperMetrics {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #turned: Counter<'event'>;
  readonly #failed: Counter;
  /** Monotonic milliseconds of the last look, and how overdue the earliest boundary was then; null before the start. */
  #looked: { readonly at: number; readonly overdueMs: number } | null = null;

  constructor(registry: Registry, clock: Pick<Clock, 'monotonic'>) {
    const registers = [registry];
    this.#clock = clock;
    const late = () => this.#lateMs() / 1000;
    new Gauge({
      name: 'usher_timekeeper_late_seconds',
      help: 'For how long ends and beginnings of grants wait to be tidied up, or nobody has looked. No decision waits for it.',
      registers,
      collect() {
        this.set(late());
      },
    });
    this.#turned = new Counter({
      name: 'usher_timekeeper_grants_total',
      help: 'Grants whose end or beginning this process has tidied up.',
      labelNames: ['event'],
      registers,
    });
    for (const event of ['ended', 'began']) this.#turned.inc({ event }, 0);
    this.#failed = new Counter({
      name: 'usher_timekeeper_failures_total',
      help: 'Turns of this process that did not come to their end.',
      registers,
    });
  }

  started(): void {
    this.looked(0);
  }

  looked(overdueMs: number): void {
    this.#looked = { at: this.#clock.monotonic(), overdueMs };
  }

  turned(ended: number, began: number): void {
    this.#turned.inc({ event: 'ended' }, ended);
    this.#turned.inc({ event: 'began' }, began);
  }

  failed(): void {
    this.#failed.inc();
  }

  #lateMs(): number {
    if (this.#looked === null) return 0;
    const { at, overdueMs } = this.#looked;
    return overdueMs + this.#clock.monotonic() - at;
  }
}
