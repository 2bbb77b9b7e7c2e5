/**
 * A process that erases a person, to be killed with -9: `node eraser-process.ts JSON`. It ends itself at the named point of write
 * `dieIn`, counted from 0, as the kernel's kill would.
 */
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { Erasures } from '../../src/directory/erasures.ts';
import { type Failpoint, openDatabase } from '../../src/persistence/open.ts';
import { opening } from './postgres.ts';

export interface EraserOrders {
  url: string | null;
  dataDir: string;
  email: string;
  by: string;
  dieAt: Failpoint;
  dieIn: number;
}

async function main({ url, dataDir, email, by, dieAt, dieIn }: EraserOrders): Promise<void> {
  let passed = 0;
  const log = createLogger('silent');
  const database = await openDatabase({
    ...opening(url),
    dataDir,
    poolSize: 2,
    migrateOnStart: false,
    clock: systemClock,
    log,
    failpoints: {
      hit: (name) => {
        if (name === dieAt && passed++ === dieIn) process.kill(process.pid, 'SIGKILL');
      },
    },
  });
  const secret = { derive: () => Promise.resolve(Buffer.alloc(32, 1)) };
  await new Erasures({ database, secret, clock: systemClock, log }).erase(email, {
    caller: { email: by },
    requestId: 'killed-1',
  });
  await database.close();
}

await main(JSON.parse(process.argv[2] ?? '') as EraserOrders);
