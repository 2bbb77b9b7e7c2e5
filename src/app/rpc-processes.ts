/**
 * Several processes on one gRPC port (docs/adr/0020): each has an engine, caches and a follower of the change log. This process
 * accepts connections and hands them out in turns; it answers no gRPC itself.
 */

import cluster from 'node:cluster';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Counter, Gauge } from 'prom-client';
import type { Clock } from '../base/clock.ts';
import { unavailable } from '../base/errors.ts';
import type { ListenAddress } from '../base/listening.ts';
import type { Logger, Registry } from '../base/telemetry.ts';
import { workerUrl } from '../base/worker-url.ts';
import type { Config } from '../config/config.ts';
import { doorsOf, type FurtherListener } from '../config/listeners.ts';
import type { GrpcServer } from '../grpc/server.ts';
import { type Metric, RpcProcess } from './rpc-process.ts';
import type { TlsFiles, ToReload } from './tls-files.ts';

export interface RpcProcessesParts {
  readonly config: Config;
  readonly files: TlsFiles;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
}

/** The first delay before a process that ended is replaced; it doubles while they end soon after their start. */
const AGAIN_MS = 200;
const MOST_AGAIN_MS = 30_000;
/** A process that lived longer is replaced after the first delay. */
const LIVED_MS = 60_000;
/** Time limit for closing, after the notice: longer than the drain of a process, and than the limits of its parts. */
const CLOSE_MS = 20_000;

/** The place of a process; it keeps its number when the process is replaced. */
interface Place {
  readonly number: number;
  process: RpcProcess | undefined;
  startedAt: number;
  failures: number;
  cancelAgain: () => void;
}

export class RpcProcesses implements GrpcServer {
  readonly #parts: RpcProcessesParts;
  readonly #places: readonly Place[];
  #config: Config;
  #files: TlsFiles;
  #exits = 0;
  #draining: Promise<void> | undefined;

  constructor(parts: RpcProcessesParts) {
    this.#parts = parts;
    this.#config = parts.config;
    this.#files = parts.files;
    this.#places = Array.from({ length: parts.config.grpc.processes }, (_, at) => ({
      number: at + 1,
      process: undefined,
      startedAt: 0,
      failures: 0,
      cancelAgain: () => undefined,
    }));
    this.#expose(parts.registry);
  }

  /** Resolves when every process listens. Rejects with the reason of the first that cannot. */
  async start(): Promise<{ port: number; further: readonly ListenAddress[] }> {
    const { config } = this.#parts;
    const { port } = await fixed(config.grpc);
    const listeners = await Promise.all(config.listeners.map(fixedListener));
    this.#config = { ...config, grpc: { ...config.grpc, port }, listeners };
    // Not the kernel's choice: it takes a connection's addresses for its choice, and few clients would leave processes without any.
    cluster.schedulingPolicy = cluster.SCHED_RR;
    // Advanced: the configuration holds a Map.
    cluster.setupPrimary({
      exec: fileURLToPath(workerUrl(import.meta.url, 'rpc-process.main')),
      args: [],
      serialization: 'advanced',
    });
    await Promise.all(this.#places.map((place) => this.#fill(place).listening));
    return { port, further: doorsOf(listeners, 'grpc').map(({ at }) => at) };
  }

  /** Each process says it of itself. */
  setServing(): void {}

  /** Each process gives notice by itself, and then closes. */
  announceEnd(): void {
    this.#draining ??= this.#close();
  }

  /** Every process finishes its calls in flight, for a bounded time, and ends. */
  drain(): Promise<void> {
    this.announceEnd();
    return this.#draining ?? Promise.resolve();
  }

  /** Rejects with UsherError UNAVAILABLE unless every process answers and follows the database. */
  async check(): Promise<void> {
    const statuses = await Promise.all(this.#places.map(({ process }) => listeningOf(process).status()));
    if (statuses.some(({ ready }) => !ready)) throw unavailable('A gRPC process is behind the database.');
  }

  /** The metrics of each process that answers, with the label `process`. */
  async metrics(): Promise<Metric[][]> {
    return await Promise.all(
      this.#places.map(async ({ number, process }) => {
        if (process?.isListening !== true) return [];
        const metrics = await process.metrics().catch((error: unknown) => {
          this.#parts.log.warn({ err: error, process: number }, 'no metrics of a gRPC process');
          return [];
        });
        return metrics.map((metric) => labelled(metric, String(number)));
      }),
    );
  }

  /**
   * Resolves when every process has taken this. One that does not say so in time is ended and replaced: it might admit callers by a
   * key that is gone.
   */
  async reload({ config, files }: ToReload): Promise<void> {
    const { grpc, listeners } = this.#config;
    this.#config = { ...config, grpc: { ...config.grpc, port: grpc.port }, listeners };
    this.#files = files;
    const next = { config: this.#config, files };
    await Promise.all(
      this.#places.map(async ({ number, process }) => {
        if (process === undefined) return;
        await process.reload(next).catch((error: unknown) => {
          this.#parts.log.error({ err: error, process: number }, 'gRPC process did not take the configuration; ended');
          process.kill();
        });
      }),
    );
  }

  async #close(): Promise<void> {
    const { noticeMs } = this.#parts.config.shutdown;
    for (const { cancelAgain } of this.#places) cancelAgain();
    const processes = this.#places.flatMap(({ process }) => process ?? []);
    await Promise.all(processes.map((process) => process.close(noticeMs + CLOSE_MS)));
  }

  #fill(place: Place): RpcProcess {
    const { clock, log } = this.#parts;
    const started = new RpcProcess({ config: this.#config, files: this.#files }, place.number);
    place.process = started;
    place.startedAt = clock.monotonic();
    started.onExit((how) => {
      place.process = undefined;
      if (this.#draining !== undefined) return;
      this.#exits++;
      if (clock.monotonic() - place.startedAt > LIVED_MS) place.failures = 0;
      const againMs = Math.min(MOST_AGAIN_MS, AGAIN_MS * 2 ** place.failures++);
      log.error({ process: place.number, exit: how, againMs }, 'gRPC process exited; restarting');
      place.cancelAgain = clock.after(againMs, () => this.#replace(place));
    });
    return started;
  }

  #replace(place: Place): void {
    const { log } = this.#parts;
    this.#fill(place).listening.then(
      () => log.info({ process: place.number }, 'gRPC process restarted'),
      // Its exit follows, and with it the next try.
      (error: unknown) => log.error({ err: error, process: place.number }, 'gRPC process did not start'),
    );
  }

  #expose(registry: Registry): void {
    const read = (): number => this.#places.filter(({ process }) => process?.isListening).length;
    new Gauge({
      name: 'usher_grpc_processes',
      help: 'Processes that answer gRPC.',
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
    const exits = (): number => this.#exits;
    new Counter({
      name: 'usher_grpc_process_exits_total',
      help: 'Processes that ended while they should have answered gRPC.',
      registers: [registry],
      collect() {
        this.reset();
        this.inc(exits());
      },
    });
  }
}

function listeningOf(process: RpcProcess | undefined): RpcProcess {
  if (process?.isListening !== true) throw unavailable('A gRPC process is not ready.');
  return process;
}

function labelled(metric: Metric, number: string): Metric {
  return {
    ...metric,
    values: metric.values.map((value) => ({ ...value, labels: { ...value.labels, process: number } })),
  };
}

/** With a port that every process can be given. */
async function fixed<At extends { readonly host: string; readonly port: number }>(at: At): Promise<At> {
  return at.port === 0 ? { ...at, port: await freePort(at.host) } : at;
}

async function fixedListener(listener: FurtherListener): Promise<FurtherListener> {
  if (listener.for !== 'grpc') return listener;
  const addresses = listener.addresses.map(async (at) => ('port' in at ? await fixed(at) : at));
  return { ...listener, addresses: await Promise.all(addresses) };
}

/** A port that every process can be given: port 0 would give a replaced process another one. */
async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const at = server.address();
  server.close();
  await once(server, 'close');
  return typeof at === 'object' && at !== null ? at.port : 0;
}
