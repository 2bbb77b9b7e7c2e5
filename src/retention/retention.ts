/**
 * The partitions of large tables over time (docs/adr/0027-partitions.md): new ones in advance, and the end of those whose rows are
 * older than they are kept (docs/operations/retention.md). Any number of processes may do this.
 */

import type { Clock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import { keysOf } from '../base/own-keys.ts';
import type { Logger, Registry } from '../base/telemetry.ts';
import { sleep } from '../base/wait.ts';
import type { Database, Tx } from '../persistence/database.ts';
import {
  analyzePartitioned,
  detachExpired,
  dropDetached,
  endReferences,
  findExpired,
  type Held,
  type Keep,
  listDetached,
  listLacking,
  listPartitions,
  makePartitions,
  moveOn,
  oldestRows,
  type Period,
  SERIES,
  type SeriesName,
} from '../persistence/operations/partitions.ts';
import { RetentionMetrics } from './metrics.ts';

/** The start of a process has better things to do. */
const FIRST_LOOK_MS = 10_000;
const LOOK_MS = 3_600_000;
/** How often a step is tried whose tables somebody holds, and the pause after it: everybody else has the table then. */
const TRIES = 5;
const PAUSE_MS = 1000;
/** How many partitions are dropped at once: each holds a connection for as long as its files take to be removed. */
const AT_ONCE = 2;

interface RetentionOptions {
  readonly database: Database;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly registry: Registry;
  readonly keep: Keep;
}

export class Retention {
  readonly #options: RetentionOptions;
  readonly #metrics: RetentionMetrics;
  readonly #ending = new AbortController();
  #cancel: () => void = () => undefined;
  #looking: Promise<unknown> = Promise.resolve();

  constructor(options: RetentionOptions) {
    this.#options = options;
    this.#metrics = new RetentionMetrics(options.registry);
  }

  /** Makes what new rows lack at once, looks soon, and every hour from then on, until `stop`. */
  start(): void {
    this.#looking = this.#makeMissing().then(() => this.#wait(FIRST_LOOK_MS));
  }

  /** Resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    this.#ending.abort();
    this.#cancel();
    await this.#looking;
  }

  #wait(ms: number): void {
    if (this.#ending.signal.aborted) return;
    this.#cancel = this.#options.clock.after(ms, () => {
      this.#looking = this.look().then(() => this.#wait(LOOK_MS));
    });
  }

  /**
   * A dump may have a sequence from after a step, and the tables from before the partition was made that it leads to. Nothing could be
   * inserted until a look.
   */
  async #makeMissing(): Promise<void> {
    try {
      for (const series of await this.#options.database.read(listLacking)) await this.#make(series);
    } catch (error) {
      this.#options.log.info({ err: error }, 'partitions not made at the start; the first look makes them');
    }
  }

  /** Does what is due. Never rejects: what is not done now is done an hour later, or by another process. */
  async look(): Promise<void> {
    const { database, log } = this.#options;
    try {
      for (const series of keysOf(SERIES)) await this.#extend(series);
      const held = await this.#shorten();
      await this.#step(analyzePartitioned);
      const [partitions, oldest] = await database.read(async (tx) => [await listPartitions(tx), await oldestRows(tx)]);
      this.#metrics.seen(partitions, oldest, held);
    } catch (error) {
      this.#metrics.failed();
      log.warn({ err: error }, 'partitions not looked after; retrying in an hour');
    }
  }

  /** One step, again where its tables were locked for long, or while another process makes one: undefined if it still does. */
  async #step<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const { database, clock } = this.#options;
    for (let tries = 1; ; tries++) {
      try {
        const { result } = await database.change(async (tx) => ({ result: await work(tx), scopes: [] }));
        if (result !== undefined || tries >= TRIES || this.#ending.signal.aborted) return result;
      } catch (error) {
        const isBusy = error instanceof UsherError && error.code === 'UNAVAILABLE';
        if (!isBusy || tries >= TRIES || this.#ending.signal.aborted) throw error;
      }
      await sleep(clock, PAUSE_MS, this.#ending.signal);
    }
  }

  async #extend(series: SeriesName): Promise<void> {
    const { keep, log } = this.#options;
    await this.#make(series);
    if (await this.#step((tx) => moveOn(tx, series, periodOf(series, keep)))) {
      log.info({ series }, 'new rows go to the next partition');
      await this.#make(series);
    }
  }

  async #make(series: SeriesName): Promise<void> {
    const made = await this.#step((tx) => makePartitions(tx, series));
    if (made !== undefined && made.length > 0) this.#options.log.info({ partitions: made }, 'partitions made');
  }

  /** Ends what has expired; returns what has and stays. */
  async #shorten(): Promise<{ table: string; reason: Held }[]> {
    const { keep, log } = this.#options;
    await this.#dropDetached();
    const stays: { table: string; reason: Held }[] = [];
    for (const partition of (await this.#step((tx) => findExpired(tx, keep))) ?? []) {
      if (this.#ending.signal.aborted) break;
      // Asked again: somebody may have marked a notification as unread, or the partition is gone with another one.
      const found = partition.held === null ? await this.#step((tx) => detachExpired(tx, partition, keep)) : NOTHING;
      if (found === undefined) break;
      const held = partition.held ?? found.held;
      if (held !== null) {
        stays.push({ table: partition.table, reason: held });
        log.warn({ partition: partition.name, reason: WHY[held] }, 'expired partition kept');
      }
      if (found.detached.length > 0) await this.#dropDetached();
    }
    return stays;
  }

  /** Those of a period end together: what the removal of their files waits for overlaps. */
  async #dropDetached(): Promise<void> {
    const names = await this.#options.database.read(listDetached);
    for (let at = 0; at < names.length; at += AT_ONCE) {
      const some = names.slice(at, at + AT_ONCE);
      for (const name of some) if (!(await this.#step((tx) => endReferences(tx, name)))) return;
      const dropped = await Promise.all(some.map((name) => this.#drop(name)));
      if (dropped.includes(undefined)) return;
    }
  }

  async #drop(name: string): Promise<boolean | undefined> {
    const dropped = await this.#step((tx) => dropDetached(tx, name));
    if (dropped) {
      const partition = name.replace(/_gone$/, '');
      this.#options.log.info({ partition }, 'expired partition dropped');
      this.#metrics.dropped(tableOf(partition));
    }
    return dropped;
  }
}

/** Nothing was to be detached. */
const NOTHING: { readonly detached: readonly string[]; readonly held: Held | null } = { detached: [], held: null };

const WHY: Record<Held, string> = { waiting: 'deliveries wait', unread: 'notifications are unread (retention.unread)' };

function tableOf(partition: string): string {
  return partition.replace(/_p\d+$/, '');
}

/** How long rows of each series may be kept, and what else ends with them. */
const LIMITS: Record<SeriesName, { whole: readonly (keyof Keep)[]; parts: readonly (keyof Keep)[] }> = {
  audit: { whole: ['audit'], parts: [] },
  events: { whole: ['events'], parts: [] },
  notifications: { whole: ['notifications', 'unread'], parts: ['deliveries'] },
};

/**
 * The period of a partition: there are some two dozen at most, or a few a year where something is kept for ever, because a statement that
 * cannot tell where its rows are locks every partition with its indexes.
 */
export function periodOf(series: SeriesName, keep: Keep): Period {
  const { whole, parts } = LIMITS[series];
  const isLimited = [...whole, ...parts].some((name) => keep[name] !== null);
  const longest = Math.max(...whole.map((name) => keep[name] ?? Number.POSITIVE_INFINITY));
  if (longest <= 2 * 366) return 'month';
  if (longest <= 6 * 366) return 'quarter';
  return isLimited && longest === Number.POSITIVE_INFINITY ? 'quarter' : 'year';
}
