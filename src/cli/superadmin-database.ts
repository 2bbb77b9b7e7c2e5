/** SuperAdmins in the database itself; loaded by the commands that need a database. */

import { createLogger } from '../base/telemetry.ts';
import { record } from '../persistence/audit.ts';
import type { Database, Outcome, Tx } from '../persistence/database.ts';
import { openDatabase } from '../persistence/open.ts';
import { addSuperadmin, listSuperadmins, removeSuperadmin } from '../persistence/superadmins.ts';
import type { GlobalOptions, Io } from './io.ts';
import { dataDirOf, loadConfig } from './load-config.ts';

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

async function withDatabase<T>(io: Io, options: GlobalOptions, use: (database: Database) => Promise<T>): Promise<T> {
  const config = await loadConfig(io, options);
  const database = await openDatabase({
    url: config.database.url,
    directUrl: config.database.directUrl,
    dataDir: dataDirOf(io, config),
    poolSize: 2,
    earlyRelease: config.database.earlyRelease,
    migrateOnStart: config.database.migrateOnStart,
    clock: io.clock,
    log: createLogger('silent'),
  });
  try {
    return await use(database);
  } finally {
    await database.close();
  }
}
