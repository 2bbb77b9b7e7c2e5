/** The configured database, for commands that work in it. */

import { createLogger } from '../base/telemetry.ts';
import type { Config } from '../config/config.ts';
import type { Database } from '../persistence/database.ts';
import { openDatabase } from '../persistence/open.ts';
import type { GlobalOptions, Io } from './io.ts';
import { dataDirOf, loadConfig } from './load-config.ts';

/** Opens the configured database for `use`, and closes it. */
export async function withDatabase<T>(
  io: Io,
  options: GlobalOptions,
  use: (database: Database, config: Config) => Promise<T>,
): Promise<T> {
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
    return await use(database, config);
  } finally {
    await database.close();
  }
}
