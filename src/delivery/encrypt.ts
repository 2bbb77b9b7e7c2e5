/** Encrypts a push (RFC 8291) with web-push, which also gives the request headers. */

import type { PushTarget } from '../persistence/delivery/push-subscriptions.ts';
import { loadWebPush } from './packages.ts';

/** How long a push service keeps an undelivered push: as long as this service retries. */
const TTL_SECONDS = 24 * 3600;

export type Recipient = Pick<PushTarget, 'endpoint' | 'p256dh' | 'auth'>;

export interface Encrypted {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Throws for invalid keys of the browser. Takes more than a third of a millisecond. */
export function encryptPush({ endpoint, p256dh, auth }: Recipient, payload: string): Encrypted {
  const options = { TTL: TTL_SECONDS, urgency: 'normal', contentEncoding: 'aes128gcm' } as const;
  try {
    const { headers, body } = withoutStacks(() =>
      loadWebPush().generateRequestDetails({ endpoint, keys: { p256dh, auth } }, payload, options),
    );
    return {
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
      body: body as Buffer,
    };
  } catch (error) {
    throw new Error(`A push cannot be encrypted: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Runs `work` without stack traces. Node throws and catches two errors for each key given as bytes, and a push has six keys: their
 * stack traces took a third of the whole time. `work` is synchronous, so that no other code loses its traces.
 */
function withoutStacks<T>(work: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return work();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
