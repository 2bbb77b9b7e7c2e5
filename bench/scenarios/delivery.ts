/** What leaves: mails and pushes of a queue that is there already into sinks of loopback. (Check meanwhile: isolation.ts.) */
import type { Lab } from '../lab.ts';
import { Newsroom } from '../newsroom.ts';
import { cpuSeconds } from '../processes.ts';
import { type Row, row } from '../report.ts';
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

export async function delivery(lab: Lab): Promise<Row[]> {
  const { quick } = lab.settings;
  const readers = 5000;
  const room = await Newsroom.open(lab, { readers, subscribed: readers });
  try {
    const mails = await drain(room, 'email', quick ? 3000 : 15_000, readers);
    lab.say(`delivery: ${Math.round(mails.perSecond)} mails/s`);
    const pushes = await drain(room, 'push', quick ? 3000 : 20_000, readers);
    lab.say(`delivery: ${Math.round(pushes.perSecond)} pushes/s`);
    const { rows } = await room.sql.query<{ left: number }>(
      `select count(*)::int as left from delivery where status = 'failed' or attempts > 1`,
    );
    if (rows[0]?.left !== 0) throw new Error(`${rows[0]?.left} deliveries failed, or were tried again`);
    return [
      row('delivery', 'mails', '/s', [mails.perSecond], { atLeast: 500 }),
      row('delivery', 'pushes', '/s', [pushes.perSecond], { atLeast: 1000 }),
      row('delivery', 'CPU of a mail', 'ms', [mails.cpuEach]),
      row('delivery', 'CPU of a push', 'ms', [pushes.cpuEach]),
    ];
  } finally {
    await room.close();
  }
}
