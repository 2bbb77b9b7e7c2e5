/** One push as it travels (RFC 8291): web-push encrypts, and says the headers that go with it. */

import type { PushTarget } from '../persistence/delivery/push-subscriptions.ts';
import { loadWebPush } from './packages.ts';

/** How long a push service keeps what it cannot deliver at once; as long as we ourselves try. */
const TTL_SECONDS = 24 * 3600;

export type Recipient = Pick<PushTarget, 'endpoint' | 'p256dh' | 'auth'>;

export interface Encrypted {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Throws when the browser's keys are not valid. Takes a good third of a millisecond. */
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
 * Node finds out by two caught errors that a key made of bytes is no object of a key, and there are six in a push: writing down
 * where each of them was thrown took a third of the time of all. `work` comes to its end in this turn, so that nothing else goes
 * without.
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
