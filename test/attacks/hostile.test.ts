import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { CheckResult } from '../../src/gen/api.ts';
import { type RunningService, startService } from '../cli/harness.ts';
import { call } from '../grpc/support.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { databaseEnv } from '../support/postgres.ts';

/**
 * A good client beside each kind of hostile one: of its questions at least 99.9 % are answered, and rightly. How many are answered
 * is for the long run: the machine of a merge has other things to do, and there it is that none is answered wrongly and that the
 * service lives on.
 */
const LONG = process.env.USHER_LONG !== undefined;
const ATTACK_MS = Number(process.env.USHER_ATTACK_MS ?? (LONG ? 20_000 : 600));
const KEY = 'the-internal-key-of-a-backend';
const LANES = 4;
/** Of the attack that only connects. */
const CONNECTIONS = LONG ? 10_000 : 500;
/** What the service may hold more than before, when an attack is over and its answers were collected. */
const MOST_GROWTH_MB = 200;
/** A later answer is useless to a good client. */
const PATIENCE_MS = 5000;

const run = promisify(execFile);
const attacker = join(import.meta.dirname, '../support/attacker-process.ts');

let storage: TestStorage;
let service: RunningService;
let grpc: Client;
let over: number | null = null;

beforeAll(async () => {
  storage = await createStorage('postgresql');
  service = await startService({
    DATA_DIR: storage.dataDir,
    ...databaseEnv(storage.url),
    INTERNAL_API_KEY: KEY,
    SUPERADMINS: 'root@example.com',
    LOG_LEVEL: 'info',
    ...(process.env.GRPC_FRONT === undefined ? {} : { GRPC_FRONT: process.env.GRPC_FRONT }),
  });
  void service.exited.then((code) => {
    over = code;
  });
  grpc = new Client(service.grpc, credentials.createInsecure());
});
afterAll(async () => {
  grpc?.close();
  await service?.remove();
  await storage?.remove();
});

interface Asked {
  answered: number;
  /** Why not, for each that was not. */
  failed: string[];
  times: number[];
}

const QUESTION = { app: 'shop', permission: 'read' };

async function byRest(email: string): Promise<boolean> {
  const answer = await fetch(`${service.url}/api/check`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-internal-api-key': KEY },
    body: JSON.stringify({ ...QUESTION, email }),
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  if (answer.status !== 200) throw new Error(`REST ${answer.status}`);
  return ((await answer.json()) as { data: CheckResult }).data.allowed;
}

async function byGrpc(email: string): Promise<boolean> {
  const options = { metadata: { 'x-internal-api-key': KEY }, deadline: Date.now() + PATIENCE_MS };
  return (await call(grpc, 'Check', { ...QUESTION, email }, options)).message.allowed;
}

/** Asks at both doors, one question after the other, until told to stop. */
async function askOn(asked: Asked, isOver: () => boolean, lane: number): Promise<void> {
  for (let n = 0; !isOver(); n++) {
    const right = (n + lane) % 3 !== 0;
    const began = performance.now();
    try {
      const allowed = await (n % 2 === 0 ? byRest : byGrpc)(
        right ? 'root@example.com' : `stranger${n % 50}@example.com`,
      );
      if (allowed !== right) throw new Error(`wrong: ${allowed}`);
      asked.answered++;
    } catch (error) {
      asked.failed.push(String(error));
    }
    asked.times.push(performance.now() - began);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

const { stdout } = await run(process.execPath, [attacker]);
const ATTACKS = JSON.parse(stdout) as string[];

/** Resident memory of the service in MB; null where the system has no /proc. */
function memory(): number | null {
  const path = `/proc/${service.pid}/status`;
  if (!existsSync(path)) return null;
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(path, 'utf8'))?.[1]) / 1024;
}

/** What one attack leaves behind is not the next one's. */
async function settled(): Promise<void> {
  for (let quick = 0; quick < 3; ) {
    const began = performance.now();
    await byRest('root@example.com').catch(() => false);
    quick = performance.now() - began < 250 ? quick + 1 : 0;
  }
}

describe('a good client beside hostile ones', () => {
  test.each(ATTACKS)(
    'a good client stays served beside hostile ones: %s',
    async (attack) => {
      await settled();
      const before = memory();
      const asked: Asked = { answered: 0, failed: [], times: [] };
      let ended = false;
      const good = Promise.all(Array.from({ length: LANES }, (_, lane) => askOn(asked, () => ended, lane)));
      const ports = [new URL(service.url).port, service.grpc.split(':').at(-1) ?? ''];
      const { stdout: told } = await run(process.execPath, [
        attacker,
        attack,
        ...ports,
        String(ATTACK_MS),
        KEY,
        String(CONNECTIONS),
      ]);
      ended = true;
      await good;
      const sorted = asked.times.toSorted((a, b) => a - b);
      const at = (share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0);
      if (LONG || process.env.USHER_ATTACK_MS !== undefined) {
        const { done } = JSON.parse(told) as { done: number };
        const figures = `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${Math.round(sorted.at(-1) ?? 0)} ms`;
        process.stderr.write(
          `${attack} (${done}): ${Math.round(before ?? 0)} MB, then ${Math.round(memory() ?? 0)}; ${asked.answered} answered, ${asked.failed.length} not (${[...new Set(asked.failed)].slice(0, 3).join('; ')}), ${figures}\n`,
        );
      }
      expect(asked.failed.filter((why) => why.includes('wrong:'))).toEqual([]);
      if (LONG) expect(asked.failed.length / (asked.answered + asked.failed.length)).toBeLessThanOrEqual(0.001);
      expect(over).toBeNull();
      await settled();
      expect((memory() ?? 0) - (before ?? 0)).toBeLessThan(MOST_GROWTH_MB);
    },
    ATTACK_MS + 60_000,
  );
});
