/** A process that takes one turn of the timekeeper, to be killed with -9 at the named point: `node timekeeper-process.ts JSON`. */
import { systemClock } from '../../src/base/clock.ts';
import { createLogger, createRegistry } from '../../src/base/telemetry.ts';
import { type Failpoint, openDatabase } from '../../src/persistence/open.ts';
import { Timekeeper } from '../../src/timekeeper/timekeeper.ts';

export interface TimekeeperOrders {
  url: string | null;
  dataDir: string;
  dieAt: Failpoint;
}

async function main({ url, dataDir, dieAt }: TimekeeperOrders): Promise<void> {
  const options = { clock: systemClock, log: createLogger('silent') };
  const failpoints = {
    hit: (name: Failpoint) => {
      if (name === dieAt) process.kill(process.pid, 'SIGKILL');
    },
  };
  const database = await openDatabase({ url, dataDir, poolSize: 2, migrateOnStart: false, ...options, failpoints });
  await new Timekeeper({ ...options, database, registry: createRegistry(), tell: () => Promise.resolve(false) }).turn();
  await database.close();
}

await main(JSON.parse(process.argv[2] ?? '') as TimekeeperOrders);
