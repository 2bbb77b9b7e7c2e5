/**
 * How much a client may make the service do for nothing. Frames that no call needs (resets, pings, settings, empty data, unknown
 * frames) are answered or ignored cheaply, but at full speed they are an attack: Rapid Reset (CVE-2023-44487), MadeYouReset
 * (CVE-2025-8671), the floods of 2019 (CVE-2019-9512 to 9518).
 */

import { ConnectionFault, ErrorCode } from './frames.ts';

/** As nghttp2, and so node:http2, limits resets: 1,000 at once, and 33 a second. */
const RESETS = { burst: 1000, perSecond: 33 };
/** A client that measures its bandwidth sends a ping for each burst of answers; one of these is far more than that. */
const IDLE_FRAMES = { burst: 10_000, perSecond: 1000 };

export class Patience {
  readonly #resets: Bucket;
  readonly #idle: Bucket;

  /** `now` in monotonic milliseconds. */
  constructor(now: number) {
    this.#resets = new Bucket(RESETS, now);
    this.#idle = new Bucket(IDLE_FRAMES, now);
  }

  /** A stream that either side has reset before its end. Throws ConnectionFault ENHANCE_YOUR_CALM, as the other one does. */
  reset(now: number): void {
    if (!this.#resets.take(now)) throw new ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, 'too many streams were reset');
  }

  /** A frame that serves no call. */
  idleFrame(now: number): void {
    if (!this.#idle.take(now)) throw new ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, 'too many frames without a call');
  }
}

class Bucket {
  readonly #rate: { burst: number; perSecond: number };
  #left: number;
  #at: number;

  constructor(rate: { burst: number; perSecond: number }, now: number) {
    this.#rate = rate;
    this.#left = rate.burst;
    this.#at = now;
  }

  take(now: number): boolean {
    if (this.#left < 1) {
      const { burst, perSecond } = this.#rate;
      this.#left = Math.min(burst, this.#left + ((now - this.#at) / 1000) * perSecond);
      this.#at = now;
    }
    this.#left--;
    return this.#left >= 0;
  }
}
