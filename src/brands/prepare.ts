/** What brands need before the listeners open: a default brand, and the keys of all stored secrets. */

import { ConfigError } from '../config/config.ts';
import {
  type BrandChange,
  ensureDefaultBrand,
  keepRenewed,
  listSealed,
  lockBrands,
  type SealedSecrets,
  updateBrand,
} from '../persistence/brands/brands.ts';
import type { Outcome, Tx } from '../persistence/database.ts';
import {
  clientSecretContext,
  passwordContext,
  refreshTokenContext,
  renewedTokenContext,
  type Sealing,
} from './sealing.ts';

/** Every installation has this brand; administrators rename it, or make another one the default. */
const DEFAULT_BRAND = { slug: 'default', name: 'Default' };

/** Idempotent. An existing brand is never changed. */
export async function seedBrands(tx: Tx): Promise<Outcome<null>> {
  await ensureDefaultBrand(tx, DEFAULT_BRAND);
  return { result: null, scopes: [] };
}

/**
 * Throws ConfigError when a stored secret was sealed with a key that is not configured (docs/reference/brands.md#secrets-at-rest: brandSmtpKey is required
 * once a brand has a secret). Secrets sealed with an older key are sealed again with the first, so that the old key can be removed.
 */
export async function checkSealing(tx: Tx, sealing: Sealing): Promise<Outcome<number>> {
  let sealed = await listSealed(tx);
  refuseLostKeys(sealed, sealing);
  if (sealed.every((brand) => keysOf(brand).every((key) => key === sealing.current))) return { result: 0, scopes: [] };
  // Read again under the lock: a secret that changed meanwhile must not be put back.
  await lockBrands(tx);
  sealed = await listSealed(tx);
  let renewed = 0;
  for (const brand of sealed) {
    const change = sealedAgain(brand, sealing);
    const token = renewedAgain(brand, sealing);
    if (Object.keys(change).length > 0) await updateBrand(tx, brand.id, change);
    if (token !== undefined) await keepRenewed(tx, brand.id, token);
    if (Object.keys(change).length > 0 || token !== undefined) renewed++;
  }
  return { result: renewed, scopes: [] };
}

/** A secret that its own key does not open was tampered with: it stays as it is, and sending through that brand reports it. */
function sealedAgain({ id, key, password, clientSecret, refreshToken }: SealedSecrets, sealing: Sealing): BrandChange {
  const change: BrandChange = {};
  if (password !== null && key !== null && key !== sealing.current) {
    const opened = sealing.open(passwordContext(id), { key, text: password });
    if (opened !== null) {
      const made = sealing.seal(passwordContext(id), opened);
      Object.assign(change, { smtpPassword: made.text, smtpKey: made.key });
    }
  }
  const secret = clientSecret === null ? null : sealing.renewText(clientSecretContext(id), clientSecret);
  if (secret !== null) change.smtpClientSecret = secret;
  const token = refreshToken === null ? null : sealing.renewText(refreshTokenContext(id), refreshToken);
  if (token !== null) change.smtpRefreshToken = token;
  return change;
}

/** What to keep of the token that was given in place of the refresh token; null for one of another refresh token, undefined for no change. */
function renewedAgain(brand: SealedSecrets, sealing: Sealing): string | null | undefined {
  const { id, tokenUrl, clientId, refreshToken: sealed, renewedToken } = brand;
  if (renewedToken === null || renewedToken.startsWith(`${sealing.current}.`)) return undefined;
  const refreshToken = sealed === null ? null : sealing.openText(refreshTokenContext(id), sealed);
  if (refreshToken === null) return null;
  return sealing.renewText(renewedTokenContext(id, { tokenUrl, clientId, refreshToken }), renewedToken);
}

/** The names of the keys that sealed a brand's secrets. */
function keysOf({ key, password, clientSecret, refreshToken, renewedToken }: SealedSecrets): string[] {
  const texts = [clientSecret, refreshToken, renewedToken].filter((text) => text !== null);
  return [...(password === null ? [] : [key ?? '']), ...texts.map((text) => text.split('.')[0] ?? '')];
}

function refuseLostKeys(sealed: readonly SealedSecrets[], sealing: Sealing): void {
  const lost = sealed.filter((brand) => !keysOf(brand).every((key) => sealing.knows(key))).map(({ slug }) => slug);
  if (lost.length === 0) return;
  const problem = `must hold the key that sealed the SMTP secrets of ${lost.join(', ')}; list old keys after the new one, separated by commas`;
  throw new ConfigError([{ key: 'brandSmtpKey', variable: 'BRAND_SMTP_KEY', problem }]);
}

/** The same check without a change, on a database that takes none. */
export async function checkKeys(tx: Tx, sealing: Sealing): Promise<void> {
  refuseLostKeys(await listSealed(tx), sealing);
}
