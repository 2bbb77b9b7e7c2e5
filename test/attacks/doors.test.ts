import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { call } from '../grpc/support.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { databaseEnv } from '../support/postgres.ts';

/**
 * Strangers at the gRPC port of a service that may have 400 descriptors and a heap of 384 MB. Beside each attack callers come anew, show
 * their key, and ask what has to be read from the database.
 */
const ATTACK_MS = Number(process.env.USHER_ATTACK_MS ?? 3000);
const KEY = 'the-internal-key-of-a-backend';
/**
 * What all strangers together may make the process keep (docs/operations/secure.md#limits-of-connections), and what else moves: once in a
 * process, beside any of the attacks, the heap itself grows by 35 to 50 MB. What they send to be kept is several times this.
 */
const MOST_MB = 64;
const FRONT = process.env.GRPC_FRONT !== 'false';

const run = promisify(execFile);
const folder = join(import.meta.dirname, '../support');
const attacker = join(folder, 'attacker-process.ts');

let storage: TestStorage;
let service: ChildProcessByStdio<Writable, Readable, null>;
let at: { rest: string; grpc: string };

beforeAll(async () => {
  storage = await createStorage('postgresql');
  const env = {
    DATA_DIR: storage.dataDir,
    ...databaseEnv(storage.url),
    HTTP_PORT: '0',
    GRPC_PORT: '0',
    INTERNAL_API_KEY: KEY,
    SUPERADMINS: 'root@example.com',
    GRPC_FRONT: String(FRONT),
  };
  // As `npm start` has it: garbage of its own would count as kept.
  const program = [
    '--max-old-space-size=384',
    '--max-semi-space-size=4',
    join(folder, 'hostile-process.ts'),
    JSON.stringify({ env }),
  ];
  service = spawn('sh', ['-c', 'ulimit -n 400; exec "$0" "$@"', process.execPath, ...program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: service.stdout }), 'line')) as [string];
  at = JSON.parse(line) as typeof at;
}, 60_000);

afterAll(async () => {
  if (service?.exitCode === null) {
    service.kill();
    await once(service, 'exit');
  }
  await storage?.remove();
}, 60_000);

/** MB that are resident; null where the system has no /proc. */
function resident(): number | null {
  const path = `/proc/${service.pid}/status`;
  if (!existsSync(path)) return null;
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(path, 'utf8'))?.[1]) / 1024;
}

let asked = 0;

/** A caller that comes anew, with a question that nobody has asked. */
async function ask(): Promise<void> {
  const client = new Client(at.grpc, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  try {
    const question = { email: `person-${asked++}@example.com`, app: 'shop', permission: 'read' };
    const options = { metadata: { 'x-internal-api-key': KEY }, deadline: Date.now() + 20_000 };
    expect((await call(client, 'Check', question, options)).message.allowed).toBe(false);
  } finally {
    client.close();
  }
}

const { stdout } = await run(process.execPath, [attacker]);
const ATTACKS = (JSON.parse(stdout) as string[]).filter((name) => name.startsWith('strangers: '));

/** Callers beside an attack: what is resident before it, and the most while it lasts. */
async function beside(attack: string): Promise<{ before: number | null; most: number }> {
  for (let n = 0; n < 20; n++) await ask();
  const before = resident();
  let most = before ?? 0;
  let isOver = false;
  const watching = (async () => {
    for (; !isOver; await new Promise((resolve) => setTimeout(resolve, 20))) most = Math.max(most, resident() ?? 0);
  })();
  const port = at.grpc.split(':').at(-1) ?? '';
  const attacking = run(process.execPath, [attacker, attack, '0', port, String(ATTACK_MS), '', '0']);
  let served = 0;
  void attacking.finally(() => {
    isOver = true;
  });
  // At least once, however busy the machine is.
  do {
    await ask();
    served++;
  } while (!isOver);
  await attacking;
  await watching;
  expect(served).toBeGreaterThan(0);
  expect(service.exitCode).toBeNull();
  return { before, most };
}

describe('strangers at the gRPC port', () => {
  test('there are attacks', () => {
    expect(ATTACKS.length).toBeGreaterThan(10);
  });

  // What is compiled, and what the first hundreds of callers take, is not kept of strangers.
  test('the service is in use', async () => {
    await beside(ATTACKS[0] ?? '');
  }, 60_000);

  test.each(ATTACKS)(
    'callers are served beside them, and little is kept: %s',
    async (attack) => {
      const { before, most } = await beside(attack);
      // Where grpc-js has the port it keeps more of what it is sent.
      if (before !== null && FRONT) expect(most - before).toBeLessThan(MOST_MB);
    },
    ATTACK_MS + 60_000,
  );

  test('the gateway answers all the while, from the database', async () => {
    const answer = await fetch(`${at.rest}/api/check`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-internal-api-key': KEY },
      body: JSON.stringify({ email: 'somebody@example.com', app: 'shop', permission: 'read' }),
    });
    expect(answer.status).toBe(200);
  });
});
