import { createECDH, type ECDH } from 'node:crypto';
import { createRequire } from 'node:module';
import type { Readable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import MailComposer from 'nodemailer/lib/mail-composer';
import { readWhole } from '../../src/delivery/mime.ts';
import { encryptPush } from '../../src/delivery/push-encryption.ts';

const { decrypt } = createRequire(import.meta.url)('http_ece') as {
  decrypt: (body: Buffer, keys: { version: string; privateKey: ECDH; authSecret: string }) => Buffer;
};

async function textOf(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

describe('a mail in one piece', () => {
  const compiled = (subject: string, text: string, html: string) =>
    new MailComposer({
      from: { address: 'a@example.com', name: 'Žofie "Q"' },
      to: { name: '', address: 'b@example.com' },
      subject,
      text,
      html,
      messageId: '<a@b>',
      date: new Date(0),
      baseBoundary: 'b',
      headers: { 'List-Unsubscribe': `<https://example.com/${'y'.repeat(100)}>` },
    }).compile();

  test('is what the library makes of it, byte for byte', async () => {
    const unit = fc.oneof(
      fc.constantFrom('\n', '\r\n', '.', '\n.\n', ' \n', '=', '\t', 'ž', '日本語', '😀', '--b', 'a'.repeat(90)),
      fc.string({ unit: 'binary' }),
    );
    const words = fc.array(unit, { maxLength: 60 }).map((parts) => parts.join('').toWellFormed());
    await fc.assert(
      fc.asyncProperty(words, words, words, async (subject, text, html) => {
        const [theirs, ours] = await Promise.all([
          textOf(compiled(subject, text, html).createReadStream()),
          textOf(readWhole(compiled(subject, text, html))),
        ]);
        expect(ours).toBe(theirs);
      }),
      { numRuns: 100 },
    );
  });
});

describe('the encryption of a push', () => {
  const bytes = (text: string) => Buffer.from(text, 'base64url');

  test('is that of the example in RFC 8291, appendix A', () => {
    const pair = createECDH('prime256v1');
    pair.setPrivateKey(bytes('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw'));
    const body = encryptPush(
      'When I grow up, I want to be a watermelon',
      {
        p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
        auth: 'BTBZMqHH6r4Tts7J_aSIgg',
      },
      { salt: bytes('DGv6ra1nlYgDCS1FRnbzlw'), pair },
    );
    expect(body.toString('base64url')).toBe(
      'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
    );
  });

  test('is read by the browser it is for, and another one each time; a point off the curve is refused', () => {
    const browser = createECDH('prime256v1');
    const p256dh = browser.generateKeys('base64url');
    const auth = 'BTBZMqHH6r4Tts7J_aSIgg';
    for (const text of ['', 'ž', 'x'.repeat(3993)]) {
      const [one, other] = [encryptPush(text, { p256dh, auth }), encryptPush(text, { p256dh, auth })];
      for (const body of [one, other]) {
        expect(body.length).toBeLessThanOrEqual(4096);
        const read = decrypt(body, { version: 'aes128gcm', privateKey: browser, authSecret: auth });
        expect(read.toString()).toBe(text);
      }
      // Salt and key pair are new ones.
      expect([one.subarray(0, 16), one.subarray(21, 86)]).not.toEqual([other.subarray(0, 16), other.subarray(21, 86)]);
    }
    const off = Buffer.alloc(65, 1);
    off[0] = 4;
    expect(() => encryptPush('x', { p256dh: off.toString('base64url'), auth })).toThrow();
  });
});
