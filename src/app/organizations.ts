/** Whether the organizations of the provider are kept apart (docs/reference/callers.md#several-organizations). */

import type { Logger } from '../base/telemetry.ts';
import type { Config } from '../config/config.ts';
import type { Database } from '../persistence/database.ts';
import { knownOrganizations } from '../persistence/people/token-organizations.ts';

/** More are not counted. */
export const COUNTED = 10;

/**
 * What is to be said of a service that knows several organizations of its provider, and was not told which of them may bind addresses with
 * administrative rights; null where there is nothing to say.
 */
export function warningOf({ auth }: Config, known: readonly string[]): { found: string; advice: string } | null {
  if (auth.issuer === null || known.length < 2) return null;
  if (auth.adminOrganizations.length > 0 || auth.organizations.length > 0) return null;
  if (auth.bindSubject && auth.bindFirst === false) return null;
  const count = known.length >= COUNTED ? `${COUNTED} or more` : String(known.length);
  return {
    found: `${count} organizations of the provider are known, and any of them may make a user with an administrator's address`,
    advice: 'Set auth.adminOrganizations (AUTH_ADMIN_ORGANIZATIONS), or auth.organizations: docs/operations/secure.md.',
  };
}

/** Says so in the log of a start. */
export async function warnOfOrganizations(
  config: Config,
  database: Database,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  if (config.auth.issuer === null) return;
  const known = await database.read((tx) => knownOrganizations(tx, [...config.idp.orgToApp.keys()], COUNTED));
  const warning = warningOf(config, known);
  if (warning !== null) log.warn(`${warning.found}. ${warning.advice}`);
}
