/**
 * A process that looks after partitions, to be killed with -9: `node retention-process.ts JSON`. It ends itself at the named point of write
 * `dieIn`, counted from 0, as the kernel's kill would.
 */
import { systemClock } from '../../src/base/clock.ts';
import { createLogger, createRegistry } from '../../src/base/telemetry.ts';
import { type Failpoint, openDatabase } from '../../src/persistence/open.ts';
import type { Keep } from '../../src/persistence/operations/partitions.ts';
import { Retention } from '../../src/retention/retention.ts';

export interface RetentionOrders {
  url: string | null;
  dataDir: string;
  keep: Keep;
  dieAt: Failpoint;
  dieIn: number;
}

async function main({ url, dataDir, keep, dieAt, dieIn }: RetentionOrders): Promise<void> {
  let passed = 0;
  const options = { clock: systemClock, log: createLogger('silent') };
  const failpoints = {
    hit: (name: Failpoint) => {
      if (name === dieAt && passed++ === dieIn) process.kill(process.pid, 'SIGKILL');
    },
  };
  const database = await openDatabase({ url, dataDir, poolSize: 2, migrateOnStart: false, ...options, failpoints });
  await new Retention({ ...options, database, keep, registry: createRegistry() }).look();
  await database.close();
}

await main(JSON.parse(process.argv[2] ?? '') as RetentionOrders);
