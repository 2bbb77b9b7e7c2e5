/** Signing keys that the provider made in a set-up, stored sealed under a setting (`{signingKey}` among its members). */

import { UsherError } from '../base/errors.ts';
import { membersOf } from '../base/members.ts';
import type { Logger } from '../base/telemetry.ts';
import type { Sealing } from '../brands/sealing.ts';
import type { Database } from '../persistence/database.ts';
import { getSetting } from '../persistence/settings.ts';

/** Throws IDP_NOT_CONFIGURED where no key could seal what a set-up is about to get. */
export function refuseUnsealable({ current }: Pick<Sealing, 'current'>): void {
  if (current !== null) return;
  throw new UsherError(
    'IDP_NOT_CONFIGURED',
    'The signing key is stored encrypted with the key for brands: configure brandSmtpKey (BRAND_SMTP_KEY) first.',
    { retryAfter: 60 },
  );
}

interface StoredKey {
  readonly setting: string;
  /** What it was sealed for. */
  readonly context: string;
  /** The key in the log, where it cannot be opened. */
  readonly name: string;
}

/** The stored key; null without one, and where none of today's keys opens it, which is logged. */
export async function storedSigningKey(
  parts: { readonly database: Database; readonly sealing: Sealing; readonly log: Pick<Logger, 'warn'> },
  { setting, context, name }: StoredKey,
): Promise<string | null> {
  const kept = await parts.database.read((tx) => getSetting(tx, setting));
  const sealed = membersOf(kept).signingKey;
  if (typeof sealed !== 'string') return null;
  const key = parts.sealing.openText(context, sealed);
  if (key === null) parts.log.warn(`stored ${name} not readable; brandSmtpKey lacks the key that sealed it`);
  return key;
}
