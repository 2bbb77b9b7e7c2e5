import { afterEach, beforeEach, jest } from '@jest/globals';
import { SLICE_MS } from '../../src/base/time-slice.ts';

/** In the tests of a describe, the clock of slices advances only when it is read: a slice is over after a number of reads. */
export function useCountedPieces(looks: number): void {
  beforeEach(() => {
    let looked = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => (looked++ * SLICE_MS) / looks);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });
}

/** Counts how often something happens in one turn of the event loop: for tests of work that must be sliced. */
export class PerTurn {
  total = 0;
  /** In any one turn. */
  most = 0;
  #count = 0;
  #counting = true;

  private constructor() {
    this.#tick();
  }

  /** Counts while `work` goes on. */
  static async while(work: (happened: () => void) => Promise<unknown>): Promise<PerTurn> {
    const counted = new PerTurn();
    try {
      await work(() => counted.#happened());
    } finally {
      counted.#counting = false;
    }
    return counted;
  }

  #happened(): void {
    this.total++;
    this.most = Math.max(this.most, ++this.#count);
  }

  /** The first of each turn, since it was the first to be asked for in the turn before. */
  #tick(): void {
    this.#count = 0;
    if (this.#counting) setImmediate(() => this.#tick());
  }
}
