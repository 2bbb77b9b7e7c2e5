/** The encryption of a push for one browser (RFC 8291 over RFC 8188, `aes128gcm`): one record, with a key pair of its own. */

import { createCipheriv, createECDH, type ECDH, hkdfSync, randomBytes } from 'node:crypto';

/** What the sender chooses anew for each push. Handed in by the test of the RFC's own example alone. */
interface Ephemeral {
  readonly salt: Buffer;
  /** With a key pair in it. */
  readonly pair: ECDH;
}

/** Of a record: more than any push has. */
const RECORD_SIZE = 4096;
const POINT_BYTES = 65;
/** Behind the plaintext of the last record. */
const LAST = Buffer.of(2);
const KEY_INFO = Buffer.from('Content-Encoding: aes128gcm\0');
const NONCE_INFO = Buffer.from('Content-Encoding: nonce\0');

/**
 * The body of the request. `p256dh` is an uncompressed point, `auth` 16 bytes, both base64url; throws for a point that is not on
 * the curve. The text may have 3,993 bytes.
 */
export function encryptPush(
  text: string,
  { p256dh, auth }: { readonly p256dh: string; readonly auth: string },
  { salt, pair }: Ephemeral = newEphemeral(),
): Buffer {
  const browser = Buffer.from(p256dh, 'base64url');
  const own = pair.getPublicKey();
  const keyInfo = Buffer.concat([Buffer.from('WebPush: info\0'), browser, own]);
  const secret = derived(pair.computeSecret(browser), Buffer.from(auth, 'base64url'), keyInfo, 32);
  const cipher = createCipheriv(
    'aes-128-gcm',
    derived(secret, salt, KEY_INFO, 16),
    derived(secret, salt, NONCE_INFO, 12),
  );
  const header = Buffer.alloc(21);
  salt.copy(header);
  header.writeUInt32BE(RECORD_SIZE, 16);
  header.writeUInt8(POINT_BYTES, 20);
  const encrypted = cipher.update(Buffer.concat([Buffer.from(text), LAST]));
  return Buffer.concat([header, own, encrypted, cipher.final(), cipher.getAuthTag()]);
}

function newEphemeral(): Ephemeral {
  const pair = createECDH('prime256v1');
  pair.generateKeys();
  return { salt: randomBytes(16), pair };
}

function derived(secret: Buffer, salt: Buffer, info: Buffer, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, info, length));
}
