/** Whether a caller may make a call: asked with its headers, and once more where its message came later. */

import type { Caller } from './head.ts';
import type { Host } from './host.ts';
import { RefusedCall } from './refused-call.ts';
import type { Refusing } from './refusing.ts';
import type { Authorize } from './service.ts';
import type { Stream } from './stream.ts';

export class Admitting {
  readonly #host: Pick<Host, 'service' | 'guesses' | 'prove'>;
  readonly #refusing: Refusing;

  constructor(host: Pick<Host, 'service' | 'guesses' | 'prove'>, refusing: Refusing) {
    this.#host = host;
    this.#refusing = refusing;
  }

  /** Whether the caller may make the call; else it is refused. */
  admits(stream: Stream, authorize: Authorize, caller: Caller): boolean {
    if (caller.admission?.() === true) return true;
    const { guesses, service } = this.#host;
    try {
      guesses?.check(caller.forwardedFor);
      if (caller.several) throw new RefusedCall('several keys');
      caller.admission = authorize(caller.key);
    } catch (error) {
      if (caller.key !== undefined && service.errors.isWrongKey(error)) guesses?.guessed(caller.forwardedFor);
      service.refused.count(service.errors.isGuesser(error) ? 'guesses' : 'key');
      this.#refusing.refuse(stream, error, caller);
      return false;
    }
    this.#host.prove();
    return true;
  }
}
