/** Before the first answer of a client: connecting takes longer than answering, and what fails is most often the configuration. */

import { UnavailableError, type UsherError } from './errors.ts';

/** For connecting and answering together, until something has answered. */
export const FIRST_MS = 5000;

export class Beginning {
  readonly #hint: string;
  #isOver = false;

  /** `asks`: what may be the matter with it. */
  constructor(where: string, asks: string) {
    this.#hint = `Nothing at ${where} has answered this client yet: ${asks}`;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  answered(): void {
    this.#isOver = true;
  }

  /** Says, where nothing has ever answered, what may be the matter. A refusal is an answer. */
  failure(error: UsherError): UsherError {
    if (!(error instanceof UnavailableError)) this.#isOver = true;
    if (this.#isOver) return error;
    const { code, reason, violations, details, requestId } = error;
    const parts = { code, reason, violations, details, requestId, cause: error.cause };
    return new UnavailableError(`${error.message.replace(/[.\s]*$/, '')}. ${this.#hint}`, parts);
  }
}
