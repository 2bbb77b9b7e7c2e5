import { createECDH, type ECDH, randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { describe, expect, test } from '@jest/globals';
import { encryptPush } from '../../src/delivery/encrypt.ts';

/** The package has no types. */
const { decrypt } = createRequire(import.meta.url)('http_ece') as {
  decrypt: (body: Buffer, params: { version: 'aes128gcm'; privateKey: ECDH; authSecret: string }) => Buffer;
};

interface Browser {
  readonly recipient: { endpoint: string; p256dh: string; auth: string };
  readonly read: (body: Uint8Array) => string;
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
  test('each push of a crowd can be read by its own browser, and has the headers of RFC 8030', () => {
    const crowd = Array.from({ length: 40 }, (_, at) => ({ ...browser(), text: `Number ${at} is due: žluťoučký kůň` }));
    const encrypted = crowd.map((one) => ({ ...one, ...encryptPush(one.recipient, one.text) }));
    for (const { read, text, headers, body } of encrypted) {
      expect(read(body)).toBe(text);
      expect(headers).toMatchObject({
        TTL: '86400',
        Urgency: 'normal',
        'Content-Encoding': 'aes128gcm',
        'Content-Length': String(body.length),
      });
    }
  });

  test('a push can be read by no other browser', () => {
    const { body } = encryptPush(browser().recipient, 'for one');
    expect(() => browser().read(body)).toThrow();
  });

  test('invalid keys are refused, and the stack trace limit is restored', () => {
    const { stackTraceLimit } = Error;
    const bad = { ...browser().recipient, p256dh: Buffer.alloc(65, 4).toString('base64url') };
    expect(() => encryptPush(bad, 'x')).toThrow(/^A push cannot be encrypted: ./);
    expect(Error.stackTraceLimit).toBe(stackTraceLimit);
  });
});
