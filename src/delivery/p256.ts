/** Keys on the curve P-256 as Web Push has them: the VAPID pair of the configuration, and the keys of a browser. */

import { createECDH, createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { Config, Fault } from '../config/config.ts';

/** What is wrong with configured keys. */
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

/** A new public key and its private key, in their normal spelling. */
export function generatePair(): [publicKey: string, privateKey: string] {
  const {
    x = '',
    y = '',
    d = '',
  } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
  const point = [Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')];
  return [Buffer.concat(point).toString('base64url'), d];
}

/** Whether these are a public and its private key, both in their normal spelling. */
export function isPair(publicKey: string, privateKey: string): boolean {
  if (readP256Point(publicKey) !== publicKey || readBytes(privateKey, 32) !== privateKey) return false;
  const ecdh = createECDH('prime256v1');
  try {
    ecdh.setPrivateKey(privateKey, 'base64url');
  } catch {
    // Zero, or beyond the group's order.
    return false;
  }
  return ecdh.getPublicKey('base64url') === publicKey;
}

/** A point on the curve P-256 in its normal spelling, base64url of 65 bytes; null for anything else. */
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
    // Not on the curve: whoever encrypts for such a point gives his own key away.
    return null;
  }
}

/** Exactly so many bytes in base64 or base64url, in the normal spelling: base64url without padding; null for anything else. */
export function readBytes(text: string, length: number): string | null {
  if (text.length > 2 * length || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  const normal = bytes.toString('base64url');
  const given = text.replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_');
  return bytes.length === length && given === normal ? normal : null;
}
