import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PgBouncer, WORKING_LINES } from './pgbouncer.ts';
import { POOLER_VARIABLE, prepareTemplate, SERVER_VARIABLE, startPostgres, TEMPLATES_VARIABLE } from './postgres.ts';
import { running } from './running.ts';

/**
 * One PostgreSQL for all test files of a run; workers inherit the variables. Where there is one already, as for mutants, that.
 * With USHER_POOLED=true services reach it through a PgBouncer, with a direct line beside it.
 */
export default async function setup(): Promise<void> {
  if (process.env[SERVER_VARIABLE] !== undefined) return;
  const templates = mkdtempSync(join(tmpdir(), 'usher-test-'));
  const server = await startPostgres();
  const lines = { ...WORKING_LINES, max_client_conn: 2000, server_idle_timeout: 5 };
  const pooler = process.env.USHER_POOLED === 'true' ? await PgBouncer.start(server.url, lines) : undefined;
  running.current = { server, templates, pooler };
  process.env[SERVER_VARIABLE] = server.url;
  process.env[TEMPLATES_VARIABLE] = templates;
  if (pooler !== undefined) process.env[POOLER_VARIABLE] = pooler.url(server.url);
  await prepareTemplate(server);
}
