/** What a port refuses: counted by kind, and logged once a minute. */

import type { Clock } from './clock.ts';
import type { Logger } from './telemetry.ts';

const LOG_MS = 60_000;

export class RefusedCounts<Kind extends string> {
  readonly #log: Logger;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #line: string;
  readonly #counts: Map<Kind, number>;
  /** Since the last line. */
  #news = new Map<Kind, number>();
  #isQuiet = false;

  /** @param line the words of the log */
  constructor(line: string, kinds: readonly Kind[], { log, clock }: { log: Logger; clock: Pick<Clock, 'after'> }) {
    this.#line = line;
    this.#log = log;
    this.#clock = clock;
    this.#counts = new Map(kinds.map((kind) => [kind, 0]));
  }

  count(kind: Kind): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
    this.#news.set(kind, (this.#news.get(kind) ?? 0) + 1);
    if (!this.#isQuiet) this.#tell();
  }

  /** Since the start, by kind. */
  counts(): ReadonlyMap<Kind, number> {
    return this.#counts;
  }

  /** At once, and then what came within a minute together. */
  #tell(): void {
    this.#log.warn({ refused: Object.fromEntries(this.#news) }, this.#line);
    this.#news = new Map();
    this.#isQuiet = true;
    this.#clock.after(LOG_MS, () => {
      this.#isQuiet = false;
      if (this.#news.size > 0) this.#tell();
    });
  }
}
