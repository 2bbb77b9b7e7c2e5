/**
 * Tidies up after the ends and beginnings of grants (docs/reference/time.md#the-timekeeper): rows that have ended go, and a revision tells
 * everybody who follows. Any number of processes may do this; one works at a time. No decision waits for it.
 */

import type { Clock } from '../base/clock.ts';
import { FailureLog, type Logger, type Registry } from '../base/telemetry.ts';
import { sleep } from '../base/wait.ts';
import type { Database } from '../persistence/database.ts';
import { readBoundaries, takeTurn } from '../persistence/timekeeper/turn.ts';
import { TimekeeperMetrics } from './metrics.ts';

/** Grants of one transaction. */
const MOST = 1000;
/** How often it looks; a boundary that it knows of wakes it sooner. */
const LOOK_MS = 1000;
/** Between two pieces of much work: everybody else has the database, and the process, then. */
const PAUSE_MS = 250;
/** A row that somebody is changing is looked at again after this. */
const LEAST_MS = 50;

interface TimekeeperOptions {
  readonly database: Pick<Database, 'read' | 'change'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
  /** Tells people of grants that end soon: some of those who are due. True where others are left. */
  readonly tell: () => Promise<boolean>;
}

export class Timekeeper {
  readonly #options: TimekeeperOptions;
  readonly #metrics: TimekeeperMetrics;
  readonly #failures: FailureLog;
  readonly #tellings: FailureLog;
  readonly #ending = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(options: TimekeeperOptions) {
    const { clock, log, registry } = options;
    this.#options = options;
    this.#metrics = new TimekeeperMetrics(registry, clock);
    const logOf = (failing: string, working: string) => new FailureLog({ log, clock, failing, working });
    this.#failures = logOf('ends of grants not tidied up; retrying', 'ends of grants are tidied up again');
    this.#tellings = logOf('people not told of grants that end soon; retrying', 'people are told of ends again');
  }

  start(): void {
    this.#metrics.started();
    this.#running = this.#run();
  }

  /** Resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) await sleep(this.#options.clock, await this.turn(), signal);
  }

  /** One turn. Returns after how many milliseconds the next one is due; never rejects. */
  async turn(): Promise<number> {
    try {
      const { nextMs, isTellingDue } = await this.#options.database.read(readBoundaries);
      this.#metrics.looked(Math.max(0, -(nextMs ?? 0)));
      const waitMs = nextMs === null || nextMs > 0 ? (nextMs ?? LOOK_MS) : await this.#work();
      this.#failures.succeeded();
      return Math.min(LOOK_MS, Math.ceil(waitMs), isTellingDue ? await this.#tell() : LOOK_MS);
    } catch (error) {
      this.#metrics.failed();
      this.#failures.failed(error);
      return LOOK_MS;
    }
  }

  async #work(): Promise<number> {
    const { result } = await this.#options.database.change(async (tx) => {
      const turned = await takeTurn(tx, MOST);
      return { result: turned, scopes: turned?.scopes ?? [] };
    });
    // Another process is at it.
    if (result === null) return LOOK_MS;
    const { ended, began } = result;
    this.#metrics.turned(ended, began);
    return ended + began < MOST ? LEAST_MS : PAUSE_MS;
  }

  /** Telling people must not hold up what ends. */
  async #tell(): Promise<number> {
    try {
      const isMore = await this.#options.tell();
      this.#tellings.succeeded();
      return isMore ? PAUSE_MS : LOOK_MS;
    } catch (error) {
      this.#tellings.failed(error);
      return LOOK_MS;
    }
  }
}
