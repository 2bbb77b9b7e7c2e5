import pg from 'pg';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { LineCutter } from '../support/proxy.ts';

/** A standby that every commit of a primary waits for, at the end of a line that takes its time. */
export interface SynchronousStandby {
  readonly server: PostgresServer;
  readonly line: LineCutter;
}

/**
 * Begins with a copy of the primary's data, on which nobody may write meanwhile. `roundTripMs` is what the line adds to the way
 * there and back. Resolves when commits wait for it.
 */
export async function startSynchronousStandby(
  primary: PostgresServer,
  { roundTripMs = 0, settings = {} }: { roundTripMs?: number; settings?: Readonly<Record<string, string>> } = {},
): Promise<SynchronousStandby> {
  const line = await LineCutter.start(primary.url);
  line.slow(roundTripMs / 2);
  const server = await startPostgres({ maxConnections: 100, standbyOf: primary, through: line.port, settings });
  await onServer(primary.url, async (client) => {
    await client.query(`alter system set synchronous_standby_names = '*'`);
    await client.query('select pg_reload_conf()');
    for (const end = performance.now() + 20_000; ; ) {
      const { rows } = await client.query(`select from pg_stat_replication where sync_state = 'sync'`);
      if (rows.length > 0) return;
      if (performance.now() > end) throw new Error('the standby did not connect');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
  return { server, line };
}

/** With a connection of its own. */
export async function onServer<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
