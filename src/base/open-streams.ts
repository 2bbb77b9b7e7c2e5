/** The open streams of an instance, by their readers. */

import type { Clock } from './clock.ts';
import type { EventStream } from './event-stream.ts';

/** The most streams of one user at this instance; one more ends the oldest. */
const MAX_STREAMS = 10;
const HEARTBEAT_MS = 15_000;

type Stream = Pick<EventStream<never>, 'email' | 'expiresAt' | 'beatAt' | 'beat' | 'end'>;

/** In the order in which they began. A set may lose members while it is walked: a stream can end at any write. */
export class OpenStreams<S extends Stream> {
  readonly #clock: Clock;
  readonly #byEmail = new Map<string, Set<S>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return [...this.all()].length;
  }

  get isEmpty(): boolean {
    return this.#byEmail.size === 0;
  }

  of(email: string): Iterable<S> {
    return this.#byEmail.get(email) ?? [];
  }

  *all(): Generator<S> {
    for (const streams of this.#byEmail.values()) yield* streams;
  }

  add(stream: S): void {
    const streams = this.#byEmail.get(stream.email) ?? new Set<S>();
    this.#byEmail.set(stream.email, streams);
    streams.add(stream);
    stream.beatAt = this.#clock.monotonic();
    const [oldest] = streams;
    if (streams.size > MAX_STREAMS) oldest?.end();
  }

  /** Returns whether it was the last one of its reader. */
  remove(stream: S): boolean {
    const streams = this.#byEmail.get(stream.email);
    streams?.delete(stream);
    return streams?.size === 0 && this.#byEmail.delete(stream.email);
  }

  /** Ends those whose token has expired, and tells those that were silent for long that the connection lives. */
  check(): void {
    const [now, time] = [this.#clock.monotonic(), this.#clock.now()];
    for (const stream of this.all()) {
      if (time >= stream.expiresAt) stream.end();
      if (now - stream.beatAt < HEARTBEAT_MS) continue;
      stream.beatAt = now;
      stream.beat();
    }
  }

  end(): void {
    for (const stream of this.all()) stream.end();
  }
}
