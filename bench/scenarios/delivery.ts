/** What leaves: mails and pushes of a queue that is there already, into sinks of loopback, and Check meanwhile. */
import type { Lab } from '../lab.ts';
import { APP, Newsroom, reader } from '../newsroom.ts';
import { cpuSeconds } from '../processes.ts';
import { percentile, type Row, row } from '../report.ts';
import { KEY } from '../service.ts';
import { load } from './backlog.ts';

interface Drained {
  perSecond: number;
  /** Milliseconds of the service's CPU. */
  cpuEach: number;
}

/** Queues `count` of one channel and waits until all have left. The first tenth is not measured: pools open, code compiles. */
async function drain(room: Newsroom, channel: 'email' | 'push', count: number, readers: number): Promise<Drained> {
  const arrived = async (): Promise<number> => {
    const { mails, pushes } = await room.counts();
    return channel === 'email' ? mails : pushes;
  };
  const before = await arrived();
  await load(room, { channel, count, readers });
  const at = async (wanted: number): Promise<{ ms: number; cpu: number; arrived: number }> => {
    for (const late = performance.now() + 120_000; ; ) {
      const now = (await arrived()) - before;
      if (now >= wanted) return { ms: performance.now(), cpu: cpuSeconds(room.service.pid), arrived: now };
      if (performance.now() > late) throw new Error(`only ${now} of ${count} by ${channel} arrived in two minutes`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const first = await at(count / 10);
  const last = await at(count);
  const measured = last.arrived - first.arrived;
  return {
    perSecond: (measured / (last.ms - first.ms)) * 1000,
    cpuEach: ((last.cpu - first.cpu) / measured) * 1000,
  };
}

/** Milliseconds between the beginnings of two checks. */
const PACE_MS = 10;

/** Checks over REST at a steady pace, each measured from when it was to begin, until `until` says so. */
async function checks(room: Newsroom, until: () => boolean): Promise<number[]> {
  const times: number[] = [];
  const under: Promise<void>[] = [];
  const body = JSON.stringify({ email: reader(1), app: APP, permission: 'read' });
  const headers = { 'x-internal-api-key': KEY, 'content-type': 'application/json' };
  const one = async (at: number): Promise<void> => {
    const response = await fetch(`${room.service.url}/api/check`, { method: 'POST', headers, body });
    await response.text();
    if (!response.ok) throw new Error(`a check was answered ${response.status}`);
    times.push(performance.now() - at);
  };
  for (let at = performance.now(); !until(); at += PACE_MS) {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, at - performance.now())));
    under.push(one(at));
  }
  await Promise.all(under);
  return times;
}

/** The same while `work` is done. */
async function checksDuring<T>(room: Newsroom, work: Promise<T>): Promise<{ times: number[]; result: T }> {
  let done = false;
  const [times, result] = await Promise.all([checks(room, () => done), work.finally(() => (done = true))]);
  return { times, result };
}

function worse(idle: readonly number[], busy: readonly number[]): number {
  return percentile([...busy], 0.99) / percentile([...idle], 0.99);
}

export async function delivery(lab: Lab): Promise<Row[]> {
  const { quick } = lab.settings;
  const readers = 5000;
  const room = await Newsroom.open(lab, { readers, subscribed: readers });
  try {
    const settled = performance.now() + (quick ? 3000 : 8000);
    await checks(room, () => performance.now() > settled - 2000);
    const idle = await checks(room, () => performance.now() > settled + 3000);
    const mails = await drain(room, 'email', quick ? 3000 : 15_000, readers);
    lab.say(`delivery: ${Math.round(mails.perSecond)} mails/s`);
    const pushes = await drain(room, 'push', quick ? 3000 : 20_000, readers);
    lab.say(`delivery: ${Math.round(pushes.perSecond)} pushes/s`);
    const mailing = await checksDuring(room, drain(room, 'email', quick ? 1500 : 5000, readers));
    const pushing = await checksDuring(room, drain(room, 'push', quick ? 1500 : 8000, readers));
    const { rows } = await room.sql.query<{ left: number }>(
      `select count(*)::int as left from delivery where status = 'failed' or attempts > 1`,
    );
    if (rows[0]?.left !== 0) throw new Error(`${rows[0]?.left} deliveries failed, or were tried again`);
    return [
      row('delivery', 'mails', '/s', [mails.perSecond], { atLeast: 500 }),
      row('delivery', 'pushes', '/s', [pushes.perSecond], { atLeast: 1000 }),
      row('delivery', 'CPU of a mail', 'ms', [mails.cpuEach]),
      row('delivery', 'CPU of a push', 'ms', [pushes.cpuEach]),
      row('delivery', 'check over REST while nothing leaves, p99', 'ms', [percentile(idle, 0.99)]),
      row('delivery', 'check while mails leave, p99', 'ms', [percentile(mailing.times, 0.99)]),
      row('delivery', 'check while pushes leave, p99', 'ms', [percentile(pushing.times, 0.99)]),
      row('delivery', 'of them, to nothing leaving', 'times', [worse(idle, [...mailing.times, ...pushing.times])], {
        atMost: 2,
      }),
    ];
  } finally {
    await room.close();
  }
}
