import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { LIMITS_OF_ROLE, PgBouncer, WORKING_LINES } from './pgbouncer.ts';
import {
  POOLER_VARIABLE,
  type PostgresServer,
  prepareTemplate,
  SERVER_VARIABLE,
  startPostgres,
  TEMPLATES_VARIABLE,
} from './postgres.ts';
import { running } from './running.ts';
import { scratchDirectory } from './scratch.ts';

/**
 * One PostgreSQL for all test files of a run; workers inherit the variables. Where there is one already, as for mutants, that.
 * With USHER_POOLED=true services reach it through a PgBouncer, with a direct line beside it.
 */
export default async function setup(): Promise<void> {
  if (process.env[SERVER_VARIABLE] !== undefined) return;
  const scratch = scratchDirectory();
  const templates = join(scratch, 'embedded');
  const dir = join(scratch, 'postgresql');
  // For servers and data directories that tests make themselves.
  process.env.TMPDIR = join(scratch, 'tmp');
  for (const path of [templates, dir, process.env.TMPDIR]) mkdirSync(path);
  const server = await startPostgres({ dir });
  const lines = { ...WORKING_LINES, max_client_conn: 2000, server_idle_timeout: 5 };
  const pooler = process.env.USHER_POOLED === 'true' ? await PgBouncer.start(server.url, lines) : undefined;
  running.current = { server, scratch, pooler };
  process.env[SERVER_VARIABLE] = server.url;
  process.env[TEMPLATES_VARIABLE] = templates;
  if (pooler !== undefined) process.env[POOLER_VARIABLE] = pooler.url(await roleWithLimits(server));
  await prepareTemplate(server);
}

/** The role of services behind the pooler, with the limits that docs/guides/postgresql.md gives it: those of a session do not get through. */
async function roleWithLimits(server: PostgresServer): Promise<string> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    await client.query('create role pooled superuser login');
    for (const [name, value] of Object.entries(LIMITS_OF_ROLE)) {
      await client.query(`alter role pooled set ${name} = '${value}'`);
    }
  } finally {
    await client.end();
  }
  const url = new URL(server.url);
  url.username = 'pooled';
  return url.href;
}
