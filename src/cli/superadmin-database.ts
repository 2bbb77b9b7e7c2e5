/** SuperAdmins in the database itself; loaded by the commands that need a database. */

import { LOCAL_ISSUER } from '../identity/local-issuer.ts';
import { record } from '../persistence/audit.ts';
import type { Outcome, Tx } from '../persistence/database.ts';
import { nameAccount, type Subject } from '../persistence/people/accounts.ts';
import { personIdOf } from '../persistence/people/people.ts';
import { addSuperadmin, listSuperadmins, removeSuperadmin } from '../persistence/people/superadmins.ts';
import type { GlobalOptions, Io } from './io.ts';
import { withDatabase } from './with-database.ts';

interface WriteOptions extends GlobalOptions {
  /** Why, for the audit. */
  reason?: string;
}

/**
 * Whether the person was not a SuperAdmin before. `subject`: the account at the configured issuer that their address belongs to from now on;
 * null leaves it as it is.
 */
export function add(io: Io, options: WriteOptions, email: string, subject: string | null): Promise<boolean> {
  const write = async (tx: Tx, issuer: string) => {
    const outcome = await addSuperadmin(tx, email);
    if (subject !== null) await name(tx, email, { issuer, subject }, options.reason);
    return outcome;
  };
  return change(io, options, write, 'superadmin.added', email);
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
export function remove(io: Io, options: WriteOptions, email: string): Promise<boolean> {
  return change(io, options, (tx) => removeSuperadmin(tx, email), 'superadmin.removed', email);
}

/** All of them, by address. */
export function list(io: Io, options: GlobalOptions): ReturnType<typeof listSuperadmins> {
  return withDatabase(io, options, (database) => database.read(listSuperadmins));
}

/** Whether anything changed; then with an audit record in the same transaction. */
async function change(
  io: Io,
  options: WriteOptions,
  write: (tx: Tx, issuer: string) => Promise<Outcome<boolean>>,
  action: string,
  email: string,
): Promise<boolean> {
  return await withDatabase(io, options, async (database, { auth }) => {
    const { result } = await database.change(async (tx) => {
      const outcome = await write(tx, auth.issuer ?? LOCAL_ISSUER);
      if (outcome.result) await record(tx, { actor: 'cli', action, subject: email, reason: options.reason });
      return outcome;
    });
    return result;
  });
}
