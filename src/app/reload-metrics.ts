/** What operators see of reloads and certificates. */

import { Counter, Gauge } from 'prom-client';
import type { Registry } from '../base/telemetry.ts';
import { expiryOf } from '../base/tls.ts';
import type { TlsFiles } from './tls-files.ts';

export class ReloadMetrics {
  readonly #reloads: Counter;
  readonly #loadedAt: Gauge;
  readonly #expiry: Gauge;

  constructor(registry: Registry, files: TlsFiles) {
    this.#reloads = new Counter({
      name: 'usher_config_reloads_total',
      help: 'Reloads of the configuration, by result.',
      labelNames: ['result'],
      registers: [registry],
    });
    for (const result of ['ok', 'failed']) this.#reloads.inc({ result }, 0);
    this.#loadedAt = new Gauge({
      name: 'usher_config_loaded_timestamp_seconds',
      help: 'When the configuration in force was read: at the start, or by the last reload that succeeded.',
      registers: [registry],
    });
    this.#expiry = new Gauge({
      name: 'usher_tls_certificate_expiry_timestamp_seconds',
      help: 'When the certificate of a listener ends, since the epoch; of `upstream` that of its authority.',
      labelNames: ['listener'],
      registers: [registry],
    });
    this.#loadedAt.setToCurrentTime();
    this.serve(files);
  }

  reloaded(isTaken: boolean): void {
    this.#reloads.inc({ result: isTaken ? 'ok' : 'failed' });
    if (isTaken) this.#loadedAt.setToCurrentTime();
  }

  /** These certificates are in use from now on. */
  serve({ grpc, gateway, upstream, listeners = [] }: TlsFiles): void {
    const further = listeners.map((one, index) => [`listeners[${index}]`, one?.cert] as const);
    const first = Object.entries({ grpc: grpc?.cert, gateway: gateway?.cert, upstream });
    for (const [listener, pem] of [...first, ...further]) {
      if (pem !== undefined) this.#expiry.set({ listener }, expiryOf(pem));
    }
  }
}
