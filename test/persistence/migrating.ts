import pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { migrate } from '../../src/persistence/open.ts';
import { createDatabase } from '../support/postgres.ts';

/** A migrated database, which a test makes one of an earlier version. */
export interface MigratingDatabase {
  readonly url: string;
  readonly client: pg.Client;
  /** Another session, for the caller to end. */
  connect(): Promise<pg.Client>;
  /** Returns the names of the migrations that were applied. */
  migrate(): Promise<string[]>;
  remove(): Promise<void>;
}

export async function createMigratingDatabase(): Promise<MigratingDatabase> {
  const database = await createDatabase();
  const { url } = database;
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return client;
  };
  const client = await connect();
  return {
    url,
    client,
    connect,
    migrate: () => migrate({ url, clock: systemClock, log: createLogger('silent'), dataDir: '' }),
    async remove() {
      await client.end();
      await database.drop();
    },
  };
}
