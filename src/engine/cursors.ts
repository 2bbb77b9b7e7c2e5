/**
 * Cursors of the lists: sealed with the service's own key, so that they are opaque, cannot be forged or altered,
 * and open only with the question that they were made for (docs/reference/lists.md#cursors).
 */

import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Clock } from '../base/clock.ts';

/** Maximum characters, as documented in permission.proto. */
export const MAX_CURSOR = 512;

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

export class Cursors {
  readonly #key: () => Promise<Uint8Array>;
  readonly #clock: Pick<Clock, 'bytes'>;

  /** @param key 32 bytes, the same in every instance */
  constructor(key: () => Promise<Uint8Array>, clock: Pick<Clock, 'bytes'>) {
    this.#key = key;
    this.#clock = clock;
  }

  /** @param question what the cursor is of: all that must be the same when it comes back */
  async seal(place: unknown, question: readonly unknown[]): Promise<string> {
    const iv = this.#clock.bytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, await this.#key(), iv).setAAD(bound(question));
    const sealed = Buffer.concat([
      iv,
      cipher.update(JSON.stringify(place), 'utf8'),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
    const text = sealed.toString('base64url');
    if (text.length > MAX_CURSOR) throw new Error('a cursor exceeds the documented length');
    return text;
  }

  /** The place; null unless this service sealed the cursor for this question. */
  async open(text: string, question: readonly unknown[]): Promise<unknown> {
    if (text.length > MAX_CURSOR) return null;
    const sealed = Buffer.from(text, 'base64url');
    // One spelling only: a decoder that skips unknown characters would accept a damaged cursor.
    if (sealed.length <= IV_BYTES + TAG_BYTES || sealed.toString('base64url') !== text) return null;
    const key = await this.#key();
    try {
      const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, IV_BYTES))
        .setAAD(bound(question))
        .setAuthTag(sealed.subarray(-TAG_BYTES));
      const opened = [decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()];
      return JSON.parse(Buffer.concat(opened).toString('utf8'));
    } catch {
      // The caller gets the same error for every fault of a cursor.
      return null;
    }
  }
}

function bound(question: readonly unknown[]): Buffer {
  return Buffer.from(JSON.stringify(question), 'utf8');
}
