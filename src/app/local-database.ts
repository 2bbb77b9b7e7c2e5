/** Work of commands in the configured database itself: SuperAdmins, and a new history. */

import { createLogger } from '../base/telemetry.ts';
import type { Place } from '../cli/io.ts';
import { LOCAL_ISSUER } from '../identity/local-issuer.ts';
import { record } from '../persistence/audit.ts';
import type { Database, Outcome, Tx } from '../persistence/database.ts';
import { EARLIER_SESSION_NAMES } from '../persistence/driver/session-settings.ts';
import { openDatabase, Refused } from '../persistence/open.ts';
import { beginNewHistory } from '../persistence/operations/history.ts';
import { nameAccount, type Subject } from '../persistence/people/accounts.ts';
import { personIdOf } from '../persistence/people/people.ts';
import { addSuperadmin, listSuperadmins, removeSuperadmin } from '../persistence/people/superadmins.ts';
import { countEarlierSessions, finishUpgrade } from '../persistence/rules.ts';

/** Opens the configured database for `use`, and closes it. */
async function withDatabase<T>({ config, dataDir, clock }: Place, use: (database: Database) => Promise<T>): Promise<T> {
  const database = await openDatabase({
    url: config.database.url,
    directUrl: config.database.directUrl,
    dataDir,
    poolSize: 2,
    earlyRelease: config.database.earlyRelease,
    migrateOnStart: config.database.migrateOnStart,
    clock,
    log: createLogger('silent'),
  });
  try {
    return await use(database);
  } finally {
    await database.close();
  }
}

/** Whether the upgrade was still to be ended. Rejects with Refused while sessions of the version before are there, unless forced. */
export async function finish(place: Place, force: boolean): Promise<boolean> {
  return await withDatabase(place, async (database) => {
    const { result } = await database.change(async ({ kysely }) => {
      const sessions = force ? 0 : await countEarlierSessions(kysely);
      if (sessions > 0) throw stillThere(sessions);
      return { result: await finishUpgrade(kysely), scopes: [] };
    });
    return result;
  });
}

function stillThere(sessions: number): Refused {
  const count = sessions === 1 ? '1 session' : `${sessions} sessions`;
  return new Refused(
    `Processes of the version before are still there (${count} of this database is named ${EARLIER_SESSION_NAMES.join(' or ')}), so nothing was changed. ` +
      `Stop them, and run this again. With --force it is done all the same: for names that a pooler has kept.`,
  );
}

export async function reincarnate(
  place: Place,
  reason: string | undefined,
): Promise<{ revisions: number; revision: string }> {
  return await withDatabase(place, async (database) => {
    const { result: revisions, revision } = await beginNewHistory(database, { reason });
    return { revisions, revision };
  });
}

/**
 * Whether the person was not a SuperAdmin before. `subject`: the account at the configured issuer that their address belongs to from now on;
 * null leaves it as it is.
 */
export function add(place: Place, email: string, subject: string | null, reason: string | undefined): Promise<boolean> {
  const write = async (tx: Tx) => {
    const outcome = await addSuperadmin(tx, email);
    const issuer = place.config.auth.issuer ?? LOCAL_ISSUER;
    if (subject !== null) await name(tx, email, { issuer, subject }, reason);
    return outcome;
  };
  return change(place, write, { action: 'superadmin.added', email, reason });
}

async function name(tx: Tx, email: string, after: Subject, reason: string | undefined): Promise<void> {
  const person = await personIdOf(tx, email);
  if (person === null) throw new Error('a SuperAdmin without a row');
  const { before, changed } = await nameAccount(tx, person, after);
  if (!changed) return;
  const action = 'user.subject_named';
  await record(tx, { actor: 'cli', action, subject: email, before, after: { ...after }, reason });
}

/** Whether the person was a SuperAdmin before. */
export function remove(place: Place, email: string, reason: string | undefined): Promise<boolean> {
  return change(place, (tx) => removeSuperadmin(tx, email), { action: 'superadmin.removed', email, reason });
}

/** All of them, by address. */
export function list(place: Place): ReturnType<typeof listSuperadmins> {
  return withDatabase(place, (database) => database.read(listSuperadmins));
}

interface Recorded {
  readonly action: string;
  readonly email: string;
  readonly reason: string | undefined;
}

/** Whether anything changed; then with an audit record in the same transaction. */
async function change(
  place: Place,
  write: (tx: Tx) => Promise<Outcome<boolean>>,
  { action, email, reason }: Recorded,
): Promise<boolean> {
  return await withDatabase(place, async (database) => {
    const { result } = await database.change(async (tx) => {
      const outcome = await write(tx);
      if (outcome.result) await record(tx, { actor: 'cli', action, subject: email, reason });
      return outcome;
    });
    return result;
  });
}
