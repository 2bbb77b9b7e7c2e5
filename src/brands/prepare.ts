/** What brands need before the doors open: a default one, and keys for every password that is stored. */

import { ConfigError } from '../config/config.ts';
import { ensureDefaultBrand, listSealed, lockBrands, updateBrand } from '../persistence/brands/brands.ts';
import type { Outcome, Tx } from '../persistence/database.ts';
import { passwordContext, type Sealing } from './sealing.ts';

/** The one that every installation has; administrators rename it, or make another one the default. */
const DEFAULT_BRAND = { slug: 'default', name: 'Default' };

/** Idempotent. A brand that is there is never changed. */
export async function seedBrands(tx: Tx): Promise<Outcome<null>> {
  await ensureDefaultBrand(tx, DEFAULT_BRAND);
  return { result: null, scopes: [] };
}

/**
 * Throws ConfigError when a stored password was sealed with a key that is not configured (docs/reference/brands.md#secrets-at-rest: brandSmtpKey is required
 * once a brand has an SMTP password). What an older key sealed is sealed anew with the first one, so that the older key can go.
 */
export async function checkSealing(tx: Tx, sealing: Sealing): Promise<Outcome<number>> {
  let sealed = await listSealed(tx);
  const lost = sealed.filter(({ key }) => !sealing.knows(key)).map(({ slug }) => slug);
  if (lost.length > 0) {
    const problem = `must hold the key that sealed the SMTP password of ${lost.join(', ')}; keep old keys behind the new one, separated by commas`;
    throw new ConfigError([{ key: 'brandSmtpKey', variable: 'BRAND_SMTP_KEY', problem }]);
  }
  if (sealed.every(({ key }) => key === sealing.current)) return { result: 0, scopes: [] };
  // Read again behind the lock: a password that is changed meanwhile must not be put back.
  await lockBrands(tx);
  sealed = await listSealed(tx);
  let renewed = 0;
  for (const { id, key, text } of sealed) {
    if (key === sealing.current) continue;
    const password = sealing.open(passwordContext(id), { key, text });
    // A row that its own key does not open was tampered with: whoever sends by it is told.
    if (password === null) continue;
    const made = sealing.seal(passwordContext(id), password);
    await updateBrand(tx, id, { smtpPassword: made.text, smtpKey: made.key });
    renewed++;
  }
  return { result: renewed, scopes: [] };
}
