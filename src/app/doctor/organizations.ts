import type { Config } from '../../config/config.ts';
import { organizationsOf } from '../../persistence/operations/inspect.ts';
import { COUNTED, warningOf } from '../organizations.ts';
import type { Findings } from './finding.ts';

/** Who may sign in to the addresses of administrators. */
export async function checkOrganizations(config: Config, to: Findings): Promise<void> {
  const { auth, database, idp } = config;
  if (auth.issuer === null) return;
  if (!auth.bindSubject) {
    to.warn(
      'auth.bindSubject is off: every account with an address is its owner',
      'Take auth.bindSubject (AUTH_BIND_SUBJECT) away: it is on by default.',
    );
  }
  if (database.url === null) return;
  // That it cannot be reached is told once, by its own check.
  const known = await organizationsOf(database.url, [...idp.orgToApp.keys()], COUNTED).catch(() => []);
  const warning = warningOf(config, known);
  if (warning !== null) to.warn(warning.found, warning.advice);
}
