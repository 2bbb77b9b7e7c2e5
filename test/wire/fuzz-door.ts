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
import { fuzzInMemory, type MemoryFuzz, type MemoryFuzzResult } from './fuzz-memory.ts';
import { authorizeScripted, HalfWarmEngine, SCRIPTED_NAMES } from './half-warm-engine.ts';

export interface DoorFuzz {
  readonly seed: number;
  readonly inputs: number;
  readonly mostMs?: number;
  readonly server?: Partial<GrpcServerOptions>;
  readonly progress?: (so: FuzzResult) => void;
}

export type DoorFuzzResult = FuzzResult & Watched;

interface Watched {
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
  const common = {
    names: SCRIPTED_NAMES,
    canary: CANARY,
    connect: () => net.connect({ port: door.port, noDelay: true }),
  };
  try {
    return await watched(async (more) => {
      const result = await fuzz({ ...common, ...options, ...more });
      engine.asked = [];
      return result;
    }, options);
  } finally {
    await closeDoors();
  }
}

/** The front alone, without sockets. */
export async function fuzzFront(options: MemoryFuzz): Promise<MemoryFuzzResult & Watched> {
  return await watched((more) => fuzzInMemory({ ...options, ...more }), options);
}

/** Runs it once to warm up, with other inputs, then as it is. */
async function watched<Result>(
  run: (more: { seed?: number; inputs?: number; progress?: () => void }) => Promise<Result>,
  { seed, inputs }: { seed: number; inputs: number },
): Promise<Result & Watched> {
  const thrown: unknown[] = [];
  const note = (error: unknown): void => {
    thrown.push(error);
  };
  process.on('uncaughtException', note).on('unhandledRejection', note);
  try {
    await run({ seed: seed + 1, inputs: Math.min(WARM_UP, inputs), progress: () => undefined });
    const before = await heapInUse();
    const result = await run({});
    return { ...result, thrown, kept: (await heapInUse()) - before };
  } finally {
    process.off('uncaughtException', note).off('unhandledRejection', note);
  }
}

async function heapInUse(): Promise<number> {
  await pause(SETTLE_MS);
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}
