/** What it costs an instance that many engines elsewhere follow it, and how soon each of them knows of a write. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Written } from '../followers.ts';
import type { Lab } from '../lab.ts';
import { CORES, cpuSeconds, memory, spawnPinned, stop } from '../processes.ts';
import { percentile, type Row, row } from '../report.ts';
import { send, sendRight } from '../rest-calls.ts';
import { KEY, Service } from '../service.ts';
import { ASKED, write } from './propagation.ts';

const NAME = 'followers';
const PER_SECOND = 100;
const WRITERS = 8;
const SETTLE_MS = 3000;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Followers {
  readonly child: ChildProcess;
  readonly took: number[];
  readonly failed: Promise<number>;
}

/** In processes of their own, on whatever core is free: elsewhere each of them has a machine. */
const PROCESSES = 2;

async function startFollowers(port: number, count: number): Promise<Followers> {
  const file = new URL('../followers.ts', import.meta.url).pathname;
  const child = spawnPinned(null, [file, String(port), String(count)], { ipc: true });
  const took: number[] = [];
  const ready = Promise.withResolvers<void>();
  const failed = Promise.withResolvers<number>();
  child.on('message', (message: { ready?: number; took?: number; failed?: number }) => {
    if (message.ready !== undefined) ready.resolve();
    if (message.took !== undefined) took.push(message.took);
    if (message.failed !== undefined) failed.resolve(message.failed);
  });
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('the followers ended')));
  ended.catch(() => undefined);
  await Promise.race([ready.promise, ended]);
  return { child, took, failed: failed.promise };
}

/** Gives and takes roles of people, a hundred times a second where the machine lets them. Resolves to how many a second it were. */
async function writeFor(
  service: Service,
  token: string,
  ms: number,
  told: (written: Written) => void,
): Promise<number> {
  const { body } = await sendRight(service.url, token, {
    method: 'POST',
    path: `/api/applications/${ASKED.app}/roles`,
    body: { code: `role-${Date.now()}`, description: null },
  });
  const role = (body.data as { id: number }).id;
  const end = performance.now() + ms;
  let count = 0;
  const writer = async (which: number): Promise<void> => {
    for (let turn = 0, due = performance.now(); due < end; turn++, due += (1000 / PER_SECOND) * WRITERS) {
      await pause(Math.max(0, due - performance.now()));
      if (performance.now() > end) return;
      const call = {
        method: 'PUT',
        path: `/api/users/follower${which}@example.com/apps/${ASKED.app}/roles`,
        body: { roleIds: turn % 2 === 0 ? [role] : [] },
      } as const;
      const { status, revision } = await send(service.url, token, call);
      if (status !== 200) throw new Error(`${call.path} answered ${status}`);
      told({ revision, at: performance.timeOrigin + performance.now() });
      count++;
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, (_, which) => writer(which)));
  return count / (ms / 1000);
}

export async function followers(lab: Lab): Promise<Row[]> {
  const count = lab.settings.followers;
  const env = { INTERNAL_API_KEY: `bench:check+facts:${KEY}` };
  const service = await Service.start({ databaseUrl: await lab.emptyDatabase(), core: CORES.server, env });
  const { pid } = service;
  const all: Followers[] = [];
  try {
    const token = await service.adminToken();
    await write(service, token, true);
    const ms = lab.settings.quick ? 5000 : 20_000;
    // The same writes without followers: what is left is theirs.
    await writeFor(service, token, ms / 2, () => undefined);
    const alone = await shareOf(pid, () => writeFor(service, token, ms / 2, () => undefined));
    const before = memory(pid).rss;
    for (let i = 0; i < PROCESSES; i++) all.push(await startFollowers(service.grpcPort, count / PROCESSES));
    const tell = (message: Written | 'end'): void => {
      for (const { child } of all) child.send(message);
    };
    await pause(SETTLE_MS);
    const idle = await shareOf(pid, () => pause(ms / 2));
    const busy = await shareOf(pid, () => writeFor(service, token, ms, tell));
    const grown = memory(pid).rss - before;
    await pause(SETTLE_MS);
    tell('end');
    const refused = (await Promise.all(all.map(({ failed }) => failed))).reduce((sum, one) => sum + one, 0);
    const [first, ...others] = all.map(({ took: each }) => each) as [number[], ...number[][]];
    const took = first.map((ms, index) =>
      Math.max(ms, ...others.map((each) => each[index] ?? Number.POSITIVE_INFINITY)),
    );
    if (refused > 0) throw new Error(`${refused} questions were not answered`);
    return [
      row(NAME, `${count} followers, nothing written: of a core`, '', [idle.share]),
      row(NAME, 'writes a second, without followers', '/s', [alone.result]),
      row(NAME, 'of a core, without followers', '', [alone.share]),
      row(NAME, 'writes a second, with followers', '/s', [busy.result]),
      row(NAME, 'of a core, with followers', '', [busy.share], { atMost: 1 }),
      row(NAME, 'memory that followers add', 'MB', [grown], { atMost: 200 }),
      row(NAME, `a write is known to all, p50 of ${took.length}`, 'ms', [percentile(took, 0.5)]),
      row(NAME, 'p99', 'ms', [percentile(took, 0.99)]),
      row(NAME, 'longest', 'ms', [Math.max(...took)], { atMost: 1000 }),
    ];
  } finally {
    for (const { child } of all) await stop(child);
    await service.stop();
  }
}

/** What a process takes of a core while something runs. */
async function shareOf<T>(pid: number, run: () => Promise<T>): Promise<{ share: number; result: T }> {
  const [cpu, began] = [cpuSeconds(pid), performance.now()];
  const result = await run();
  return { share: (cpuSeconds(pid) - cpu) / ((performance.now() - began) / 1000), result };
}
