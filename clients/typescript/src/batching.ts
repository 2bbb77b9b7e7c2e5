/** Checks that are made in one turn of the event loop go to the service in one call. */

import { InvalidQuestionError } from './errors.ts';
import { type CheckFields, MOST } from './questions.ts';
import type { Decision } from './types.ts';

/** A question, with its message where that was written before. */
export interface Written {
  readonly question: CheckFields;
  readonly bytes: Uint8Array | null;
}

interface Waiting extends Written {
  readonly resolve: (decision: Decision) => void;
  readonly reject: (error: unknown) => void;
}

export interface Askers {
  one(written: Written): Promise<Decision>;
  many(written: readonly Written[]): Promise<readonly Decision[]>;
}

export class Batching {
  readonly #askers: Askers;
  #waiting: Waiting[] = [];

  constructor(askers: Askers) {
    this.#askers = askers;
  }

  check(question: CheckFields, bytes: Uint8Array | null = null): Promise<Decision> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ question, bytes, resolve, reject });
      if (this.#waiting.length === 1) setImmediate(() => this.#send());
      else if (this.#waiting.length === MOST) this.#send();
    });
  }

  #send(): void {
    const batch = this.#waiting;
    this.#waiting = [];
    if (batch.length > 1) void this.#sendMany(batch);
    else for (const waiting of batch) this.#sendOne(waiting);
  }

  #sendOne(waiting: Waiting): void {
    this.#askers.one(waiting).then(waiting.resolve, waiting.reject);
  }

  async #sendMany(batch: readonly Waiting[]): Promise<void> {
    try {
      const decisions = await this.#askers.many(batch);
      batch.forEach(({ resolve, reject }, index) => {
        const decision = decisions[index];
        if (decision === undefined) reject(new Error('an answer is missing'));
        else resolve(decision);
      });
    } catch (error) {
      // One malformed question refuses the whole call: the others are not to suffer from it.
      if (error instanceof InvalidQuestionError) for (const waiting of batch) this.#sendOne(waiting);
      else for (const { reject } of batch) reject(error);
    }
  }
}
