/** The VAPID pair that pushes are signed with (RFC 8292). */

import type { Config } from '../config/config.ts';
import { generatePair, isPair } from './p256.ts';

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
  const [keptPublic = '', keptPrivate = ''] = keep(() => generatePair().join(' ')).split(' ');
  if (!isPair(keptPublic, keptPrivate)) throw new Error('The VAPID pair kept in dataDir is damaged: delete its file.');
  return { publicKey: keptPublic, privateKey: keptPrivate, subject: DEVELOPMENT_SUBJECT };
}
