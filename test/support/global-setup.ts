import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareTemplate, SERVER_VARIABLE, startPostgres, TEMPLATES_VARIABLE } from './postgres.ts';
import { running } from './running.ts';

/** One PostgreSQL for all test files of a run; workers inherit the variables. Where there is one already, as for mutants, that. */
export default async function setup(): Promise<void> {
  if (process.env[SERVER_VARIABLE] !== undefined) return;
  const templates = mkdtempSync(join(tmpdir(), 'usher-test-'));
  const server = await startPostgres();
  running.current = { server, templates };
  process.env[SERVER_VARIABLE] = server.url;
  process.env[TEMPLATES_VARIABLE] = templates;
  await prepareTemplate(server);
}
