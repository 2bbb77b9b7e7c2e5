import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SHOP } from '../faults/shop.ts';
import { carryOut } from '../support/carry-out.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const KEY = 'the-key-of-a-process-that-is-stopped';
const HOLDER = 'holder@example.com';
const STALE_MS = 1500;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

let storage: TestStorage;
let usher: RunningUsher;
let child: ChildProcess | undefined;

beforeAll(async () => {
  storage = await createStorage('postgresql');
  usher = await startUsher(storage, { env: { INTERNAL_API_KEY: `frozen:facts:${KEY}`, USHER_ROLES: 'rpc' } });
  for (const operation of SHOP) await usher.app.database.change((tx) => carryOut(tx, operation));
});

afterAll(async () => {
  child?.kill('SIGKILL');
  await usher?.close();
  await storage?.remove();
});

const give = (roles: string[]) =>
  usher.app.database.change((tx) => carryOut(tx, { kind: 'roles-of-user', app: 'shop', email: HOLDER, roles }));

test('a process that was stopped never answers what is older than its bound', async () => {
  const answers: string[] = [];
  await give(['reader']);
  const file = join(import.meta.dirname, 'frozen-process.ts');
  child = spawn(process.execPath, [file, usher.grpc, KEY, HOLDER, `${STALE_MS}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => answers.push(line));
  const until = async (holds: () => boolean) => {
    for (const late = performance.now() + 30_000; !holds(); await pause(5)) {
      if (performance.now() > late) throw new Error(`answers: ${answers.slice(-20).join(' ')}`);
    }
  };
  for (let round = 0; round < 3; round++) {
    await until(() => answers.at(-1) === 'allowed');
    child.kill('SIGSTOP');
    await pause(100);
    answers.length = 0;
    await give([]);
    await pause(STALE_MS + 1000);
    child.kill('SIGCONT');
    await until(() => answers.includes('not'));
    expect(answers).not.toContain('allowed');
    answers.length = 0;
    await give(['reader']);
  }
}, 60_000);
