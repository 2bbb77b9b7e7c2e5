/**
 * Many engines in the callers' place, in a process of their own: each follows one service, and asks one question a second. A
 * message `{revision, at}` is a write that was acknowledged; the answer says how long the last of them took to know of it.
 */
import { createLocalUsher, type LocalUsher } from '../clients/typescript/src/local.ts';
import { ASKED } from './scenarios/propagation.ts';
import { KEY } from './service.ts';

export interface Written {
  readonly revision: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** How often revisions are looked at, in ms. */
const LOOK_MS = 10;
const ASK_MS = 1000;
/** So that the service is not asked by all at once when they begin. */
const AT_ONCE = 50;

const [port, count] = process.argv.slice(2).map(Number) as [number, number];
const followers: LocalUsher[] = [];
const written: Written[] = [];
let wrong = 0;

const now = (): number => performance.timeOrigin + performance.now();
const numberOf = (revision: string): number => Number.parseInt(revision, 10);
const tell = (message: object): void => void process.send?.(message);

async function open(): Promise<void> {
  const usher = createLocalUsher({ address: `127.0.0.1:${port}`, key: KEY, deadlineMs: 20_000, megabytes: 1 });
  followers.push(usher);
  await usher.ready();
  await usher.check(ASKED);
}

/** The revision that every follower has reached. */
function reached(): number {
  let least = Number.POSITIVE_INFINITY;
  for (const { revision } of followers) least = Math.min(least, numberOf(revision));
  return least;
}

function look(): void {
  if (written.length === 0) return;
  const least = reached();
  while (written[0] !== undefined && written[0].revision <= least) {
    const { at } = written.shift() as Written;
    tell({ took: now() - at });
  }
}

function askAll(): void {
  for (const [index, usher] of followers.entries()) {
    const again = () => {
      usher.check(ASKED).catch(() => wrong++);
      setTimeout(again, ASK_MS);
    };
    setTimeout(again, (index / followers.length) * ASK_MS);
  }
}

process.on('message', (message: Written | 'end') => {
  if (message !== 'end') written.push(message);
  else {
    tell({ failed: wrong });
    process.disconnect();
    for (const usher of followers) usher.close();
    process.exit(0);
  }
});

while (followers.length < count) {
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - followers.length) }, open));
}
askAll();
setInterval(look, LOOK_MS);
tell({ ready: count });
