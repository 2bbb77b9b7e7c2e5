/** Sends to 1,000 recipients each, on PostgreSQL: one after the other, then ten at once. Nothing is delivered meanwhile. */
import type { Lab } from '../lab.ts';
import { Newsroom, reader } from '../newsroom.ts';
import { cpuSeconds } from '../processes.ts';
import { percentile, type Row, row } from '../report.ts';

const READERS = 10_000;
const RECIPIENTS = 1000;
const AT_ONCE = 10;

export async function send(lab: Lab): Promise<Row[]> {
  const { quick } = lab.settings;
  // Workers are processes of their own here: what is measured is to accept.
  const room = await Newsroom.open(lab, { readers: READERS, subscribed: READERS / 5, roles: 'rpc,gateway' });
  try {
    let sends = 0;
    const one = async (): Promise<number> => {
      // A thousand others each time, spread over all.
      const first = sends++;
      const recipients = Array.from({ length: RECIPIENTS }, (_, at) => reader(((at * 7 + first * 911) % READERS) + 1));
      const startedAt = performance.now();
      await room.send(recipients);
      return performance.now() - startedAt;
    };
    for (let warm = 0; warm < 5; warm++) await one();
    const cpuBefore = cpuSeconds(room.service.pid);
    const alone: number[] = [];
    for (let at = 0; at < (quick ? 8 : 30); at++) alone.push(await one());
    const cpu = ((cpuSeconds(room.service.pid) - cpuBefore) / alone.length) * 1000;
    const together: number[] = [];
    for (let left = quick ? 30 : 200; left > 0; ) {
      const hand = async (): Promise<void> => {
        while (left-- > 0) together.push(await one());
      };
      await Promise.all(Array.from({ length: AT_ONCE }, hand));
    }
    const { rows } = await room.sql.query<{ count: number }>('select count(*)::int as count from notification');
    if (rows[0]?.count !== sends * RECIPIENTS) throw new Error(`${rows[0]?.count} of ${sends * RECIPIENTS} are stored`);
    lab.say(`send: ${Math.round(percentile(alone, 0.5))} ms alone, ${Math.round(percentile(together, 0.99))} ms p99`);
    return [
      row('send', '1,000 recipients, p50', 'ms', [percentile(alone, 0.5)], { atMost: 300 }),
      row('send', '1,000 recipients, p99', 'ms', [percentile(alone, 0.99)]),
      row('send', 'ten such at once, p50', 'ms', [percentile(together, 0.5)]),
      row('send', 'ten such at once, p99', 'ms', [percentile(together, 0.99)], { atMost: 1000 }),
      row('send', "CPU of a send, the service's own process", 'ms', [cpu]),
    ];
  } finally {
    await room.close();
  }
}
