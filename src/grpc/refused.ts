/** What the gRPC port refuses: counted, and logged once a minute. */

import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/telemetry.ts';

/** Why something is refused. */
export const REFUSED = {
  /** A call without a key, or with a wrong one. */
  KEY: 'key',
  /** A call on a connection, or from an address, that has guessed too many keys. */
  GUESSES: 'guesses',
  /** A call whose message, or whose unfinished bytes with others', are too many. */
  BYTES: 'bytes',
  /** A call whose message did not come in time. */
  LATE: 'late',
  /** A connection for which there is no room. */
  CONNECTIONS: 'connections',
  /** A connection on which no right key was shown, for what it made the service keep. */
  KEPT: 'kept',
  /** The same, for it did nothing. */
  IDLE: 'idle',
} as const;
export type Refused = (typeof REFUSED)[keyof typeof REFUSED];

const KINDS = Object.values(REFUSED);
const LOG_MS = 60_000;

export class RefusedCounts {
  readonly #log: Logger;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #counts = new Map<Refused, number>(KINDS.map((kind) => [kind, 0]));
  /** Since the last line. */
  #news = new Map<Refused, number>();
  #isQuiet = false;

  constructor(log: Logger, clock: Pick<Clock, 'after'>) {
    this.#log = log;
    this.#clock = clock;
  }

  count(kind: Refused): void {
    this.#counts.set(kind, (this.#counts.get(kind) as number) + 1);
    this.#news.set(kind, (this.#news.get(kind) ?? 0) + 1);
    if (!this.#isQuiet) this.#tell();
  }

  /** Since the start, by kind. */
  counts(): ReadonlyMap<Refused, number> {
    return this.#counts;
  }

  #tell(): void {
    this.#log.warn({ refused: Object.fromEntries(this.#news) }, 'gRPC port: refused');
    this.#news = new Map();
    this.#isQuiet = true;
    this.#clock.after(LOG_MS, () => {
      this.#isQuiet = false;
      if (this.#news.size > 0) this.#tell();
    });
  }
}
