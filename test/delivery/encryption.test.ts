import { createECDH, type ECDH, randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createLogger } from '../../src/base/telemetry.ts';
import { PushEncryption } from '../../src/delivery/encryption.ts';
import { ManualClock } from '../identity/manual-clock.ts';

/** The package has no types. */
const { decrypt } = createRequire(import.meta.url)('http_ece') as {
  decrypt: (body: Buffer, params: { version: 'aes128gcm'; privateKey: ECDH; authSecret: string }) => Buffer;
};

const CROWD = 40;
const MINUTE = 60_000;

interface Browser {
  readonly recipient: { endpoint: string; p256dh: string; auth: string };
  read(body: Uint8Array): string;
}

function browser(): Browser {
  const pair = createECDH('prime256v1');
  const p256dh = pair.generateKeys('base64url');
  const auth = randomBytes(16).toString('base64url');
  return {
    recipient: { endpoint: 'https://push.example.com/1', p256dh, auth },
    read: (body) => decrypt(Buffer.from(body), { version: 'aes128gcm', privateKey: pair, authSecret: auth }).toString(),
  };
}

describe('the encryption of pushes', () => {
  // A minute's timer comes every 60 ms, and looks at the time that is told here.
  const clock = new ManualClock({ speed: 1000 });
  const log = createLogger('silent');
  let encryption = new PushEncryption({ clock, log });
  afterEach(async () => {
    await encryption.close();
    encryption = new PushEncryption({ clock, log });
  });

  const crowd = async (size = CROWD): Promise<void> => {
    const all = Array.from({ length: size }, (_, at) => ({ ...browser(), text: `Number ${at} is due: žluťoučký kůň` }));
    const encrypted = await Promise.all(all.map(({ recipient, text }) => encryption.encrypt(recipient, text)));
    for (const [at, one] of all.entries()) {
      const { headers, body } = encrypted[at] as (typeof encrypted)[number];
      expect(one.read(body)).toBe(one.text);
      expect(headers).toMatchObject({
        TTL: '86400',
        Urgency: 'normal',
        'Content-Encoding': 'aes128gcm',
        'Content-Length': String(body.length),
      });
    }
  };
  const threaded = async (): Promise<void> => {
    // The one that says that it is ready may come after all have been encrypted here.
    while (!encryption.ready) await crowd();
  };

  test('a few need no thread, and each can be read by its browser only', async () => {
    await crowd(10);
    expect(encryption.threaded).toBe(false);
    const [one, other] = [browser(), browser()];
    const { body } = await encryption.encrypt(one.recipient, 'for one');
    expect(() => other.read(body)).toThrow();
  });

  test('a crowd gets a thread; a minute after the last it has ended, and the next gets another', async () => {
    await threaded();
    await crowd();
    expect(encryption.threaded).toBe(true);
    clock.advance(MINUTE - 1);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(encryption.threaded).toBe(true);
    clock.advance(1);
    while (encryption.threaded) await new Promise((resolve) => setTimeout(resolve, 10));
    await threaded();
    await crowd();
  });

  test('what a thread was at when it ended is encrypted without it', async () => {
    await threaded();
    const going = crowd();
    // Sent to the thread by the end of this turn.
    await Promise.resolve();
    await encryption.close();
    expect(encryption.threaded).toBe(false);
    await going;
    await crowd();
    expect(encryption.threaded).toBe(false);
  });

  test('keys that are none fail by themselves, with and without a thread; stacks are as long as before', async () => {
    const { stackTraceLimit } = Error;
    const bad = { ...browser().recipient, p256dh: Buffer.alloc(65, 4).toString('base64url') };
    await expect(encryption.encrypt(bad, 'x')).rejects.toThrow('A push cannot be encrypted: ');
    await threaded();
    const [outcome] = await Promise.all([encryption.encrypt(bad, 'x').catch((error: Error) => error.message), crowd()]);
    expect(outcome).toMatch(/^A push cannot be encrypted: ./);
    expect(Error.stackTraceLimit).toBe(stackTraceLimit);
  });
});
