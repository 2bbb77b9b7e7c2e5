/** The VAPID pair that pushes are signed with (RFC 8292), and the keys of a browser that they are encrypted for. */

import { createECDH, createPublicKey } from 'node:crypto';
import webPush from 'web-push';
import type { Config } from '../config.ts';
import type { Fault } from '../config-keys.ts';

export interface VapidKeys {
  /** An uncompressed P-256 point, base64url; what browsers subscribe with. */
  readonly publicKey: string;
  readonly privateKey: string;
  /** Whom a push service turns to: `mailto:` or `https:`. */
  readonly subject: string;
}

/** Of a pair that was made for development. */
const DEVELOPMENT_SUBJECT = 'mailto:usher@example.com';

/**
 * The configured pair; outside production else the one that `keep` has or makes; null in production without a configured one:
 * then nothing is pushed. `keep` answers the same text to every process of a data directory.
 */
export function openVapidKeys(
  { push, production }: Pick<Config, 'push' | 'production'>,
  keep: (make: () => string) => string,
): VapidKeys | null {
  const { publicKey, privateKey, subject } = push;
  if (publicKey !== null && privateKey !== null && subject !== null) return { publicKey, privateKey, subject };
  if (production) return null;
  const made = () => {
    const pair = webPush.generateVAPIDKeys();
    return `${pair.publicKey} ${pair.privateKey}`;
  };
  const [keptPublic = '', keptPrivate = ''] = keep(made).split(' ');
  if (!isPair(keptPublic, keptPrivate)) throw new Error('The VAPID pair kept in dataDir is damaged: delete its file.');
  return { publicKey: keptPublic, privateKey: keptPrivate, subject: DEVELOPMENT_SUBJECT };
}

/** What is wrong with configured keys. */
export function pushKeyFaults({ push: { publicKey, privateKey } }: Config): Fault[] {
  if (publicKey === null || privateKey === null || isPair(publicKey, privateKey)) return [];
  return [
    {
      key: 'push.publicKey',
      variable: 'PUSH_PUBLIC_KEY',
      problem:
        'push.publicKey and push.privateKey are no VAPID pair (P-256, base64url); for example what `npx web-push generate-vapid-keys` prints',
    },
  ];
}

function isPair(publicKey: string, privateKey: string): boolean {
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
