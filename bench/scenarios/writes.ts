/**
 * What early release of the numbering is worth: an instance without it and one with it, in turns on one PostgreSQL that flushes to
 * the disk, without a standby, with a synchronous one beside it, and with one that is 2 ms away and back.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SHOP } from '../../test/faults/shop.ts';
import { onServer, type SynchronousStandby, startSynchronousStandby } from '../../test/scale/synchronous-pair.ts';
import { carryOut } from '../../test/support/carry-out.ts';
import { createDatabase, startPostgres } from '../../test/support/postgres.ts';
import { startUsher } from '../../test/support/usher.ts';
import type { Lab } from '../lab.ts';
import type { Round, WriterOrders } from '../policy-writer.ts';
import { unpinned } from '../processes.ts';
import { median, percentile, type Row, row } from '../report.ts';

/** As a real server is set; those of tests neither flush nor wait. */
const DURABLE = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' };

const PLACES: readonly { place: string; standbyMs: number | null; atLeast: number }[] = [
  { place: 'local disk', standbyMs: null, atLeast: 1.1 },
  { place: 'synchronous standby beside it', standbyMs: 0, atLeast: 1.4 },
  { place: 'synchronous standby 2 ms away', standbyMs: 2, atLeast: 2.8 },
];

class Writer {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(orders: WriterOrders): Promise<Writer> {
    const file = new URL('../policy-writer.ts', import.meta.url).pathname;
    const child = fork(file, [JSON.stringify(orders)], { execArgv: ['--disable-warning=ExperimentalWarning'] });
    await once(child, 'message');
    return new Writer(child);
  }

  async round(ms: number): Promise<Round> {
    this.#child.send({ ms });
    const [done] = (await once(this.#child, 'message')) as [Round];
    return done;
  }

  async end(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.disconnect();
    await exited;
  }
}

const perSecond = ({ revisions, seconds }: Round): number => revisions.length / seconds;

async function inOnePlace(lab: Lab, { place, standbyMs, atLeast }: (typeof PLACES)[number]): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'usher-bench-writes-'));
  const primary = await startPostgres({ maxConnections: 100, settings: DURABLE });
  let standby: SynchronousStandby | undefined;
  try {
    const { url } = await createDatabase({ server: primary, empty: true });
    const first = await startUsher({ url, dataDir: join(folder, 'first') });
    for (const operation of SHOP) await first.app.database.change((tx) => carryOut(tx, operation));
    await first.close();
    if (standbyMs !== null) {
      standby = await startSynchronousStandby(primary, { roundTripMs: standbyMs, settings: DURABLE });
    }
    const off = await Writer.start({ url, dataDir: join(folder, 'off'), earlyRelease: false });
    const on = await Writer.start({ url, dataDir: join(folder, 'on'), earlyRelease: true });
    const { quick } = lab.settings;
    const ms = quick ? 1500 : 3000;
    for (const writer of [off, on]) await writer.round(ms);
    const rounds: { off: Round; on: Round }[] = [];
    for (let i = 0; i < (quick ? 3 : 9); i++) {
      // The other way about each time: what one leaves behind must not always fall on the same other.
      const before = i % 2 === 0 ? await off.round(ms) : undefined;
      const early = await on.round(ms);
      rounds.push({ off: before ?? (await off.round(ms)), on: early });
    }
    await off.end();
    await on.end();
    const ratios = rounds.map((one) => perSecond(one.on) / perSecond(one.off));
    const all = rounds.flatMap((one) => [one.off, one.on]);
    const lost = await missing(
      url,
      all.flatMap(({ revisions }) => revisions),
    );
    lab.say(`writes, ${place}: ${ratios.map((ratio) => ratio.toFixed(2)).join(' ')}`);
    const p99 = (of: (one: { off: Round; on: Round }) => Round): number =>
      median(rounds.map((one) => percentile(of(one).latencies, 0.99)));
    return [
      row('writes', `${place}: early release to without`, 'times', ratios, { atLeast }),
      row(
        'writes',
        `${place}: without`,
        '/s',
        rounds.map((one) => perSecond(one.off)),
      ),
      row(
        'writes',
        `${place}: early release`,
        '/s',
        rounds.map((one) => perSecond(one.on)),
      ),
      row('writes', `${place}: p99 of a write, early release to without`, 'times', [
        p99((one) => one.on) / p99((one) => one.off),
      ]),
      row('writes', `${place}: refused`, '', [all.reduce((sum, { refused }) => sum + refused, 0)], { atMost: 0 }),
      row('writes', `${place}: acknowledged and not in the log`, '', [lost], { atMost: 0 }),
    ];
  } finally {
    await standby?.line.close();
    await standby?.server.close();
    await primary.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function missing(url: string, revisions: readonly string[]): Promise<number> {
  return await onServer(url, async (client) => {
    const { rows } = await client.query<{ name: string }>(`select revision || '.' || nonce as name from policy_change`);
    const kept = new Set(rows.map(({ name }) => name));
    return revisions.filter((revision) => !kept.has(revision)).length;
  });
}

export async function writes(lab: Lab): Promise<Row[]> {
  // A process of its own for each instance, for the standby's line and for each server: all share all cores.
  return await unpinned(async () => {
    const rows: Row[] = [];
    for (const place of PLACES) rows.push(...(await inOnePlace(lab, place)));
    return rows;
  });
}
