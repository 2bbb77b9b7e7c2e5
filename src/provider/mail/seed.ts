/** Seeds what auth mails need from the first start (docs/reference/administration.md#the-systems-own-records): a template for each kind of mail. The catalog seeds their type. */

import { AUTH_TYPE, PANEL_APP } from '../../administration/panel.ts';
import { membersOf } from '../../base/members.ts';
import { EVENT_KEY_CONTEXT, type Sealing, SIGNING_KEY_CONTEXT } from '../../brands/sealing.ts';
import type { Outcome, Tx } from '../../persistence/database.ts';
import { ensureTemplates } from '../../persistence/provider/auth-mails.ts';
import { getSetting, putSetting } from '../../persistence/settings.ts';
import { EVENT_TARGET_SETTING } from '../native-events.ts';
import { PROVIDER_SETTING } from './provider-setting.ts';
import { AUTH_TEMPLATES } from './templates.ts';

/** Lists the templates that were seeded once, as `key/locale`: one that was deleted later stays deleted. */
const TEMPLATES_SEEDED = 'auth-templates.seeded';

/**
 * Idempotent: existing templates stay as administrators left them, and deleted ones stay deleted. A signing key sealed with an
 * older key is sealed again with the first, so that the older key can be removed.
 */
export async function seedAuthMails(tx: Tx, sealing: Sealing): Promise<Outcome<null>> {
  await seedTemplates(tx);
  await renewKey(tx, sealing, PROVIDER_SETTING, SIGNING_KEY_CONTEXT);
  await renewKey(tx, sealing, EVENT_TARGET_SETTING, EVENT_KEY_CONTEXT);
  return { result: null, scopes: [] };
}

async function renewKey(tx: Tx, sealing: Sealing, setting: string, context: string): Promise<void> {
  const kept = membersOf(await getSetting(tx, setting));
  const { signingKey } = kept;
  const renewed = typeof signingKey === 'string' ? sealing.renewText(context, signingKey) : null;
  if (renewed !== null) await putSetting(tx, setting, { ...kept, signingKey: renewed });
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
