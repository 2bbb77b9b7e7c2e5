/** What auth mails need from the first start (specification, "Default seed"): their type, and a template for each kind of mail. */

import type { Outcome, Tx } from '../../persistence/database.ts';
import { ensureAuthType, ensureTemplates } from '../../persistence/provider/auth-mails.ts';
import { AUTH_TYPE } from './auth-type.ts';
import { AUTH_TEMPLATES } from './templates.ts';

/** Idempotent: what is there, whatever administrators made of it, stays as it is. */
export async function seedAuthMails(tx: Tx): Promise<Outcome<null>> {
  await ensureAuthType(tx, AUTH_TYPE);
  await ensureTemplates(tx, AUTH_TYPE, AUTH_TEMPLATES);
  return { result: null, scopes: [] };
}
