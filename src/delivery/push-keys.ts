/** The VAPID key pair that signs pushes (RFC 8292). */

import type { Config } from '../config/config.ts';
import { generatePair, isPair } from './p256.ts';

export interface VapidKeys {
  /** An uncompressed P-256 point, base64url; browsers subscribe with it. */
  readonly publicKey: string;
  readonly privateKey: string;
  /** The contact for push services, a `mailto:` or `https:` URL. */
  readonly subject: string;
}

/** The subject of a pair generated for development. */
const DEVELOPMENT_SUBJECT = 'mailto:usher@example.com';

/**
 * The configured pair. Without one: null in production, where nothing is pushed then; elsewhere the pair that `keep` stores or
 * generates. `keep` returns the same text to every process of a data directory.
 */
export function openVapidKeys(
  { push, production }: Pick<Config, 'push' | 'production'>,
  keep: (make: () => string) => string,
): VapidKeys | null {
  const { publicKey, privateKey, subject } = push;
  if (publicKey !== null && privateKey !== null && subject !== null) return { publicKey, privateKey, subject };
  if (production) return null;
  const [keptPublic = '', keptPrivate = ''] = keep(() => generatePair().join(' ')).split(' ');
  if (!isPair(keptPublic, keptPrivate)) throw new Error('The VAPID pair kept in dataDir is damaged: delete its file.');
  return { publicKey: keptPublic, privateKey: keptPrivate, subject: DEVELOPMENT_SUBJECT };
}
