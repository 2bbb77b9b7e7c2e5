/** SuperAdmins in the database itself; loaded by the commands that need a database. */

import { record } from '../persistence/audit.ts';
import type { Outcome, Tx } from '../persistence/database.ts';
import { addSuperadmin, listSuperadmins, removeSuperadmin } from '../persistence/superadmins.ts';
import type { GlobalOptions, Io } from './io.ts';
import { withDatabase } from './with-database.ts';

/** Whether the person was not a SuperAdmin before. */
export function add(io: Io, options: GlobalOptions, email: string): Promise<boolean> {
  return change(io, options, (tx) => addSuperadmin(tx, email), 'superadmin.added', email);
}

/** Whether the person was a SuperAdmin before. */
export function remove(io: Io, options: GlobalOptions, email: string): Promise<boolean> {
  return change(io, options, (tx) => removeSuperadmin(tx, email), 'superadmin.removed', email);
}

/** All of them, by address. */
export function list(io: Io, options: GlobalOptions): ReturnType<typeof listSuperadmins> {
  return withDatabase(io, options, (database) => database.read(listSuperadmins));
}

/** Whether anything changed; then with an audit record in the same transaction. */
async function change(
  io: Io,
  options: GlobalOptions,
  write: (tx: Tx) => Promise<Outcome<boolean>>,
  action: string,
  email: string,
): Promise<boolean> {
  return await withDatabase(io, options, async (database) => {
    const { result } = await database.change(async (tx) => {
      const outcome = await write(tx);
      if (outcome.result) await record(tx, { actor: 'cli', action, subject: email });
      return outcome;
    });
    return result;
  });
}
