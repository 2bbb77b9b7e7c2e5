/**
 * A process that opens a database and writes to it, to be killed with -9: `node writer-process.ts JSON`. It says `open`, then
 * `acknowledged N` after each write, and ends itself at the named point of write `dieIn`, as the kernel's kill would.
 */
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { record } from '../../src/persistence/audit.ts';
import type { Database } from '../../src/persistence/database.ts';
import { type Failpoint, openDatabase } from '../../src/persistence/open.ts';
import { opening } from './postgres.ts';
import { insertApplication } from './rows.ts';

export interface WriterOrders {
  url: string | null;
  dataDir: string;
  /** Names this run's applications. */
  prefix: string;
  writes: number;
  /** `inside` is between two statements of the write itself. */
  dieAt: Failpoint | 'inside' | null;
  /** Counted from 0. */
  dieIn: number;
  /** Default false. */
  migrateOnStart?: boolean;
}

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}

async function write(database: Database, code: string, inside: () => void): Promise<void> {
  await database.change(async (tx) => {
    await insertApplication(tx, code, { permissions: { view: {} } });
    inside();
    await record(tx, { actor: 'system', action: 'application.created', appCode: code });
    return { result: undefined, scopes: [`p:${code}`] };
  });
}

async function main({
  url,
  dataDir,
  prefix,
  writes,
  dieAt,
  dieIn,
  migrateOnStart = false,
}: WriterOrders): Promise<void> {
  let writing = -1;
  const dieHere = (point: string): void => {
    if (point === dieAt && writing === dieIn) die();
  };
  const database = await openDatabase({
    ...opening(url),
    dataDir,
    poolSize: 2,
    migrateOnStart,
    clock: systemClock,
    log: createLogger('silent'),
    failpoints: {
      hit: (name) => {
        // While it is committing: a server has been told by the end of this turn, the embedded database has not begun.
        if (name !== 'committing' || url === null) dieHere(name);
        else if (dieAt === name && writing === dieIn) setImmediate(die);
      },
    },
  });
  process.stdout.write('open\n');
  for (writing = 0; writing < writes; writing++) {
    await write(database, `${prefix}${writing}`, () => dieHere('inside'));
    process.stdout.write(`acknowledged ${writing}\n`);
  }
  // Alive until killed, also where nothing else keeps it so.
  setInterval(() => undefined, 1000);
}

await main(JSON.parse(process.argv[2] ?? '') as WriterOrders);
