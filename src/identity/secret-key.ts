/**
 * The secret that this service signs and seals with (docs/reference/service.md#configuration, `secretKey`): configured, or made by the first start and kept
 * in the database, so that all instances share it. Each use derives a key of its own from it.
 */

import { hkdfSync } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { onDemand } from '../base/lazy.ts';

/** Keeps the first value that any instance proposes, and answers it. */
export type KeepFirst = (proposed: string) => Promise<string>;

export class SecretKey {
  readonly #secret: () => Promise<string>;

  /** Nothing is asked of the database before the first use. */
  constructor(configured: string | null, clock: Pick<Clock, 'bytes'>, keep: KeepFirst) {
    this.#secret = onDemand(async () => configured ?? (await keep(clock.bytes(32).toString('base64'))));
  }

  /** 32 bytes for one purpose (`unsubscribe`, `login-cookie`): those of another say nothing about them. Rejects with UNAVAILABLE. */
  async derive(purpose: string): Promise<Buffer> {
    return Buffer.from(hkdfSync('sha256', await this.#secret(), 'usher', purpose, 32));
  }
}
