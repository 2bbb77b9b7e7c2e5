/** The open streams of a connection by their numbers. */

import type { Stream } from './stream.ts';

/**
 * Most calls are opened, read and answered before the next one is opened. The newest stream stands beside the map, so that these
 * never enter it.
 */
export class OpenStreams {
  readonly #older = new Map<number, Stream>();
  #newest: Stream | null = null;

  get size(): number {
    return this.#older.size + (this.#newest === null ? 0 : 1);
  }

  get(id: number): Stream | undefined {
    return this.#newest !== null && this.#newest.id === id ? this.#newest : this.#older.get(id);
  }

  /** Adds a stream that is not open yet. */
  add(stream: Stream): void {
    if (this.#newest !== null) this.#older.set(this.#newest.id, this.#newest);
    this.#newest = stream;
  }

  /** Whether the stream was open. */
  delete(stream: Stream): boolean {
    if (this.#newest !== stream) return this.#older.delete(stream.id);
    this.#newest = null;
    return true;
  }

  clear(): void {
    this.#older.clear();
    this.#newest = null;
  }

  /** In the order in which they were opened. Streams may be deleted meanwhile, but not added. */
  *values(): Generator<Stream> {
    const newest = this.#newest;
    yield* this.#older.values();
    if (newest !== null && newest === this.#newest) yield newest;
  }
}
