/** Connections of the front alone, over pairs in memory: what one turn of the event loop does to them can be told. */
import { Duplex } from 'node:stream';
import { type FrontService, frontService as shared } from '#http2-front/shared';
import type { Clock } from '../../src/base/clock.ts';
import { ConnectionSlots, slotLimits } from '../../src/base/connection-slots.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { createHandles } from '../../src/grpc/answering.ts';
import type { Handle } from '../../src/grpc/bridge.ts';
import { frontHost } from '../../src/grpc/front-host.ts';
import { GrpcMetrics, METHODS } from '../../src/grpc/metrics.ts';
import { countRefused, type GrpcRefused } from '../../src/grpc/refused.ts';
import { CheckCache } from '../../src/grpc/request-cache.ts';
import type { Entrance } from '../../src/grpc/served-methods.ts';
import { WaitingCalls } from '../../src/grpc/waiting.ts';
import type { ScriptedEngine } from '../grpc/scripted-engine.ts';
import { SERVICE } from '../grpc/support.ts';
import { authorizeScripted } from './half-warm-engine.ts';

const ANSWERED = ['Check', 'BulkCheck', 'BatchCheck', 'Effective'];
const HEALTH = '/grpc.health.v1.Health/Check';

/** The client's side, and what it received. */
export class MemorySocket extends Duplex {
  readonly received: Buffer[] = [];
  /** Whether it leaves unread what it is sent, until `readOn`. */
  stalls = false;
  #written: (() => void) | undefined;

  override _read(): void {
    // Everything is pushed when it comes.
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.received.push(chunk);
    if (this.stalls) this.#written = done;
    else done();
  }

  readOn(): void {
    this.stalls = false;
    this.#written?.();
  }
}

export interface FrontParts {
  readonly engine: ScriptedEngine;
  readonly clock: Clock;
  /** A connection needs grpc-js behind it, which is not there. */
  readonly passed?: () => void;
}

/** A service that knows the keys and names of half-warm-engine.ts. */
export function frontService({ engine, clock, passed }: FrontParts): FrontService & { refused: GrpcRefused } {
  const handles = createHandles(engine, new CheckCache(1_000_000));
  const methods = ANSWERED.map((name) => {
    return [
      `/${SERVICE}/${name}`,
      { index: METHODS.indexOf(name), handle: handles.get(name) as Handle, authorize: authorizeScripted, many: false },
    ] as const;
  });
  const log = createLogger('silent');
  const refused = countRefused(log, clock);
  const metrics = new GrpcMetrics();
  const service = shared({
    ...frontHost(new WaitingCalls({ log, metrics, traces: null, clock, deadlineMs: 10_000 })),
    methods: new Map(methods),
    served: new Map<string, Entrance>([
      ...methods,
      [HEALTH, { index: -1, authorize: null, many: false }],
      [`/${SERVICE}/Explain`, { index: METHODS.indexOf('Explain'), authorize: () => undefined, many: false }],
    ]),
    refused,
    guesses: null,
    slots: new ConnectionSlots(slotLimits(1000), () => undefined),
    inject: (behind) => {
      passed?.();
      behind.on('error', () => undefined).resume();
    },
  });
  return { ...service, refused };
}
