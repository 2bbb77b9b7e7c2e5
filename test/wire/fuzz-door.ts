/** A port in this process that is fuzzed: what it throws and keeps is seen here. */
import net from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { create, toBinary } from '@bufbuild/protobuf';
import { CheckRequestSchema } from '../../src/gen/usher/permission/v1/permission_pb.ts';
import type { GrpcServerOptions } from '../../src/grpc/server.ts';
import { closeDoors, openDoor } from '../grpc/support.ts';
import { type FuzzResult, fuzz } from './fuzz.ts';
import { authorizeScripted, HalfWarmEngine, SCRIPTED_NAMES } from './half-warm-engine.ts';

export interface DoorFuzz {
  readonly seed: number;
  readonly inputs: number;
  readonly mostMs?: number;
  readonly server?: Partial<GrpcServerOptions>;
  readonly progress?: (so: FuzzResult) => void;
}

export interface DoorFuzzResult extends FuzzResult {
  /** What nobody caught. */
  readonly thrown: readonly unknown[];
  /** Bytes of the heap that are in use after the run and were not before. */
  readonly kept: number;
}

const CANARY = {
  question: Buffer.from(
    toBinary(
      CheckRequestSchema,
      create(CheckRequestSchema, { email: 'kim@example.com', app: 'shop', permission: 'edit' }),
    ),
  ),
  answer: '0000000009080110031801220137',
};
/** Enough for tables and code to be there that stay. */
const WARM_UP = 300;
/** Until sockets that were left are closed. */
const SETTLE_MS = 300;

export async function fuzzDoor({ server = {}, ...options }: DoorFuzz): Promise<DoorFuzzResult> {
  const engine = new HalfWarmEngine();
  const door = await openDoor({ engine, authorize: authorizeScripted, ...server });
  const thrown: unknown[] = [];
  const note = (error: unknown): void => {
    thrown.push(error);
  };
  process.on('uncaughtException', note).on('unhandledRejection', note);
  try {
    const common = {
      names: SCRIPTED_NAMES,
      canary: CANARY,
      connect: () => net.connect({ port: door.port, noDelay: true }),
    };
    await fuzz({ ...common, seed: options.seed + 1, inputs: Math.min(WARM_UP, options.inputs) });
    const before = await heapInUse(engine);
    const result = await fuzz({ ...common, ...options });
    return { ...result, thrown, kept: (await heapInUse(engine)) - before };
  } finally {
    process.off('uncaughtException', note).off('unhandledRejection', note);
    await closeDoors();
  }
}

async function heapInUse(engine: HalfWarmEngine): Promise<number> {
  await pause(SETTLE_MS);
  engine.asked = [];
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}
