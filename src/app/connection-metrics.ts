/** Metrics of the connections of a port. */

import { Counter, Gauge } from 'prom-client';
import type { ConnectionSlots } from '../base/connection-slots.ts';
import type { RefusedCounts } from '../base/refused-counts.ts';
import type { Registry } from '../base/telemetry.ts';

interface Port {
  readonly slots: ConnectionSlots;
  readonly refused: RefusedCounts<string>;
}

export function exposeConnections(registry: Registry, port: 'grpc' | 'gateway', { slots, refused }: Port): void {
  new Gauge({
    name: `usher_${port}_connections`,
    help: 'Open connections, by whether a right key or token was shown on them.',
    labelNames: ['proven'],
    registers: [registry],
    collect() {
      this.set({ proven: 'no' }, slots.guests);
      this.set({ proven: 'yes' }, slots.count - slots.guests);
    },
  });
  new Gauge({
    name: `usher_${port}_connections_limit`,
    help: 'Connections that there may be.',
    registers: [registry],
    collect() {
      this.set(slots.limits.all);
    },
  });
  new Counter({
    name: `usher_${port}_refused_total`,
    help: 'Calls and connections that were refused before they were worked for, by the reason.',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [reason, count] of refused.counts()) this.inc({ reason }, count);
    },
  });
}
