/**
 * The secret from which this service derives its signing and sealing keys (docs/reference/service.md#configuration, `secretKey`): configured, or made by the
 * first start and kept in the database, so that all instances share it. Each purpose has a key of its own.
 */

import { hkdfSync } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { lazy } from '../base/lazy.ts';

/** Stores the first value that any instance proposes, and returns the stored one. */
export type KeepFirst = (proposed: string) => Promise<string>;

export class SecretKey {
  readonly #secret: () => Promise<string>;

  /** Does not touch the database before the first use. */
  constructor(configured: string | null, clock: Pick<Clock, 'bytes'>, keep: KeepFirst) {
    this.#secret = lazy(async () => configured ?? (await keep(clock.bytes(32).toString('base64'))));
  }

  /** 32 bytes for one purpose (`unsubscribe`, `login-cookie`): the key of one purpose reveals nothing about another's. Rejects with UNAVAILABLE. */
  async derive(purpose: string): Promise<Buffer> {
    return Buffer.from(hkdfSync('sha256', await this.#secret(), 'usher', purpose, 32));
  }
}
