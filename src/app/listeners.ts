/** The listeners and the worker of a service: opened after and closed before everything that they depend on. */

import type { Clock } from '../base/clock.ts';
import { reachableText } from '../base/listening.ts';
import type { Logger } from '../base/telemetry.ts';
import type { Config } from '../config/config.ts';
import type { Engine } from '../engine/engine.ts';
import type { Gateway } from '../gateway/app.ts';
import type { GrpcServer } from '../grpc/server.ts';
import { passNotice } from './closing.ts';
import type { Deliverer } from './delivery.ts';
import { type OpenDoor, openDoors } from './doors.ts';
import { followHealth, type Readiness } from './readiness.ts';

/** The addresses of the service; null for a listener that this process does not have. */
export interface Addresses {
  rest: string | null;
  grpc: string | null;
  ops: string | null;
  /** Those of `listeners` that this process opened. */
  listeners: readonly OpenDoor[];
}

/** The base URL of the links that this service makes. Unless configured, it is the address at which the gateway listens. */
export class Reached {
  url: string;

  constructor(publicUrl: string | null) {
    this.url = publicUrl ?? 'http://localhost';
  }
}

interface ListenersParts {
  config: Config;
  clock: Clock;
  log: Logger;
  engine: Engine;
  readiness: Readiness;
  gateway: Gateway | null;
  grpc: GrpcServer | null;
  worker: Deliverer | null;
  reached: Reached;
  /** Prepares the database, before the first call. */
  prepare: () => Promise<void>;
}

export class Listeners {
  readonly #parts: ListenersParts;
  #endHealth: () => void = () => undefined;
  /** Whether anybody may have been told of this process. */
  #opened = false;
  #ending = false;

  constructor(parts: ListenersParts) {
    this.#parts = parts;
  }

  async start(first?: () => Promise<void>): Promise<Addresses> {
    const { config, clock, log, engine, gateway, grpc, worker, reached, prepare } = this.#parts;
    const scheme = config.http.tls === null ? 'http' : 'https';
    await engine.start();
    await prepare();
    await first?.();
    const http = await gateway?.start();
    if (http?.port && config.publicUrl === null) reached.url = `${scheme}://localhost:${http.port}`;
    const rpc = await grpc?.start();
    if (grpc !== null && !this.#ending) this.#endHealth = followHealth({ engine, grpc, clock, log });
    await worker?.start();
    this.#opened = true;
    return {
      rest: http?.port ? `${scheme}://${reachableText({ ...config.http, port: http.port })}` : null,
      grpc: rpc ? reachableText({ ...config.grpc, port: rpc.port }) : null,
      ops: config.ops && http?.opsPort ? `http://${reachableText({ ...config.ops, port: http.opsPort })}` : null,
      listeners: openDoors(config, http?.further ?? [], rpc?.further ?? []),
    };
  }

  /** Says at every probe that this process ends, and goes on for `shutdown.noticeMs` if it answers calls. */
  async giveNotice(): Promise<void> {
    const { config, clock, log, readiness, gateway, grpc } = this.#parts;
    this.#ending = true;
    this.#endHealth();
    readiness.stop();
    grpc?.announceEnd();
    gateway?.announceEnd();
    const isCalled = grpc !== null || config.roles.includes('gateway');
    if (this.#opened && isCalled) await passNotice(config.shutdown.noticeMs, { clock, log });
  }

  async close(): Promise<void> {
    const { gateway, grpc, worker } = this.#parts;
    await Promise.all([grpc?.drain(), gateway?.close(), worker?.close()]);
  }
}
