/** Streams that are closed already, and of which frames may still be on their way. */

/** Older ones are forgotten. */
const MOST = 256;

export class RecentIds {
  readonly #ids = new Set<number>();

  has(id: number): boolean {
    return this.#ids.has(id);
  }

  add(id: number): void {
    if (this.#ids.size === MOST) {
      for (const oldest of this.#ids) {
        this.#ids.delete(oldest);
        break;
      }
    }
    this.#ids.add(id);
  }
}
