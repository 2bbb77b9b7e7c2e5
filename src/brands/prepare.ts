/** What brands need before the listeners open: a default brand, and the keys of all stored passwords. */

import { ConfigError } from '../config/config.ts';
import { ensureDefaultBrand, listSealed, lockBrands, updateBrand } from '../persistence/brands/brands.ts';
import type { Outcome, Tx } from '../persistence/database.ts';
import { passwordContext, type Sealing } from './sealing.ts';

/** Every installation has this brand; administrators rename it, or make another one the default. */
const DEFAULT_BRAND = { slug: 'default', name: 'Default' };

/** Idempotent. An existing brand is never changed. */
export async function seedBrands(tx: Tx): Promise<Outcome<null>> {
  await ensureDefaultBrand(tx, DEFAULT_BRAND);
  return { result: null, scopes: [] };
}

/**
 * Throws ConfigError when a stored password was sealed with a key that is not configured (docs/reference/brands.md#secrets-at-rest: brandSmtpKey is required
 * once a brand has an SMTP password). Passwords sealed with an older key are sealed again with the first, so that the old key can be removed.
 */
export async function checkSealing(tx: Tx, sealing: Sealing): Promise<Outcome<number>> {
  let sealed = await listSealed(tx);
  refuseLostKeys(sealed, sealing);
  if (sealed.every(({ key }) => key === sealing.current)) return { result: 0, scopes: [] };
  // Read again under the lock: a password that changed meanwhile must not be put back.
  await lockBrands(tx);
  sealed = await listSealed(tx);
  let renewed = 0;
  for (const { id, key, text } of sealed) {
    if (key === sealing.current) continue;
    const password = sealing.open(passwordContext(id), { key, text });
    // A row that its own key does not open was tampered with; sending through that brand reports it.
    if (password === null) continue;
    const made = sealing.seal(passwordContext(id), password);
    await updateBrand(tx, id, { smtpPassword: made.text, smtpKey: made.key });
    renewed++;
  }
  return { result: renewed, scopes: [] };
}

function refuseLostKeys(sealed: Awaited<ReturnType<typeof listSealed>>, sealing: Sealing): void {
  const lost = sealed.filter(({ key }) => !sealing.knows(key)).map(({ slug }) => slug);
  if (lost.length === 0) return;
  const problem = `must hold the key that sealed the SMTP password of ${lost.join(', ')}; list old keys after the new one, separated by commas`;
  throw new ConfigError([{ key: 'brandSmtpKey', variable: 'BRAND_SMTP_KEY', problem }]);
}

/** The same check without a change, on a database that takes none. */
export async function checkKeys(tx: Tx, sealing: Sealing): Promise<void> {
  refuseLostKeys(await listSealed(tx), sealing);
}
