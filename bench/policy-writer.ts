/**
 * An instance with sixteen writers in it, in a process of its own: a message `{ms}` lets them write for so long, each the next as
 * soon as the last is acknowledged. Beside them nothing is asked: what is measured is `Database.change`, with the engine that follows.
 */
import { carryOut } from '../test/support/carry-out.ts';
import { startUsher } from '../test/support/usher.ts';

export interface WriterOrders {
  url: string;
  dataDir: string;
  earlyRelease: boolean;
}

export interface Round {
  seconds: number;
  /** `NUMBER.NONCE` of each acknowledged write. */
  revisions: string[];
  refused: number;
  latencies: number[];
}

const WRITERS = 16;

const { url, dataDir, earlyRelease } = JSON.parse(process.argv[2] ?? '') as WriterOrders;
const env = { DATABASE_EARLY_RELEASE: String(earlyRelease), DATABASE_POOL_SIZE: '20', LOG_LEVEL: 'error' };
const { app } = await startUsher({ url, dataDir }, { env });
let turn = 0;

async function round(ms: number): Promise<Round> {
  const revisions: string[] = [];
  const latencies: number[] = [];
  let refused = 0;
  const began = performance.now();
  const writer = async (which: number): Promise<void> => {
    for (; performance.now() - began < ms; turn++) {
      const email = `writer${which}.${turn % 50}@example.com`;
      const roles = turn % 2 === 0 ? ['reader'] : [];
      const at = performance.now();
      try {
        const write = { kind: 'roles-of-user', app: 'shop', email, roles } as const;
        revisions.push((await app.database.change((tx) => carryOut(tx, write))).revision);
        latencies.push(performance.now() - at);
      } catch {
        refused++; // the report says how many: none is right
      }
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, (_, which) => writer(which)));
  return { seconds: (performance.now() - began) / 1000, revisions, refused, latencies };
}

process.on('message', ({ ms }: { ms: number }) => {
  round(ms).then(
    (done) => process.send?.(done),
    (error: unknown) => {
      throw error;
    },
  );
});
process.on('disconnect', () => void app.close().then(() => process.exit(0)));
process.send?.('ready');
