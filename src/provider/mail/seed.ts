/** What auth mails need from the first start (docs/reference/administration.md#the-systems-own-records): a template for each kind of mail. Their type is the catalog's. */

import { AUTH_TYPE, PANEL_APP } from '../../administration/panel.ts';
import { type Sealing, SIGNING_KEY_CONTEXT } from '../../brands/sealing.ts';
import type { Outcome, Tx } from '../../persistence/database.ts';
import { ensureTemplates } from '../../persistence/provider/auth-mails.ts';
import { getSetting, putSetting } from '../../persistence/settings.ts';
import { PROVIDER_SETTING } from './provider-setting.ts';
import { AUTH_TEMPLATES } from './templates.ts';

/** Which templates were made once, `key/locale` each: one that was deleted later stays deleted. */
const TEMPLATES_SEEDED = 'auth-templates.seeded';

/**
 * Idempotent: what is there, whatever administrators made of it, stays as it is, and what they deleted stays away. The stored signing key is sealed anew where an
 * older key sealed it, so that the older key can go.
 */
export async function seedAuthMails(tx: Tx, sealing: Sealing): Promise<Outcome<null>> {
  await seedTemplates(tx);
  const kept = (await getSetting(tx, PROVIDER_SETTING)) as { signingKey?: unknown } | null | undefined;
  const renewed = typeof kept?.signingKey === 'string' ? sealing.renewText(SIGNING_KEY_CONTEXT, kept.signingKey) : null;
  if (renewed !== null) await putSetting(tx, PROVIDER_SETTING, { ...kept, signingKey: renewed });
  return { result: null, scopes: [] };
}

async function seedTemplates(tx: Tx): Promise<void> {
  const kept = await getSetting(tx, TEMPLATES_SEEDED);
  const seeded = new Set<unknown>(Array.isArray(kept) ? kept : []);
  const missing = AUTH_TEMPLATES.filter((template) => !seeded.has(nameOf(template)));
  if (missing.length === 0) return;
  await ensureTemplates(tx, { app: PANEL_APP, code: AUTH_TYPE }, missing);
  await putSetting(tx, TEMPLATES_SEEDED, [...seeded, ...missing.map(nameOf)]);
}

function nameOf({ key, locale }: { key: string; locale: string }): string {
  return `${key}/${locale}`;
}
