/** P-256 keys in the encoding of Web Push: the configured VAPID pair and the keys of browsers. */

import { createECDH, createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { Config, Fault } from '../config/config.ts';

/** Faults of the configured keys. */
export function pushKeyFaults({ push: { publicKey, privateKey } }: Config): Fault[] {
  if (publicKey === null || privateKey === null || isPair(publicKey, privateKey)) return [];
  return [
    {
      key: 'push.publicKey',
      variable: 'PUSH_PUBLIC_KEY',
      problem:
        'push.publicKey and push.privateKey must be a VAPID pair (P-256, base64url); for example the output of `npx web-push generate-vapid-keys`',
    },
  ];
}

/** A new key pair in its canonical encoding. */
export function generatePair(): [publicKey: string, privateKey: string] {
  const {
    x = '',
    y = '',
    d = '',
  } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
  const point = [Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')];
  return [Buffer.concat(point).toString('base64url'), d];
}

/** Whether the keys belong together and are in their canonical encoding. */
export function isPair(publicKey: string, privateKey: string): boolean {
  if (readP256Point(publicKey) !== publicKey || readBytes(privateKey, 32) !== privateKey) return false;
  const ecdh = createECDH('prime256v1');
  try {
    ecdh.setPrivateKey(privateKey, 'base64url');
  } catch {
    // Zero, or not below the order of the group.
    return false;
  }
  return ecdh.getPublicKey('base64url') === publicKey;
}

/** The canonical encoding (base64url of 65 bytes) of a point on P-256; null for any other text. */
export function readP256Point(text: string): string | null {
  const normal = readBytes(text, 65);
  if (normal === null) return null;
  const bytes = Buffer.from(normal, 'base64url');
  if (bytes[0] !== 4) return null;
  const x = bytes.subarray(1, 33).toString('base64url');
  const y = bytes.subarray(33).toString('base64url');
  try {
    createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
    return normal;
  } catch {
    // Not on the curve: encrypting for such a point would reveal the sender's private key.
    return null;
  }
}

/** Reads exactly `length` bytes of base64 or base64url; returns base64url without padding, or null for any other text. */
export function readBytes(text: string, length: number): string | null {
  if (text.length > 2 * length || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  const normal = bytes.toString('base64url');
  const given = text.replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_');
  return bytes.length === length && given === normal ? normal : null;
}
