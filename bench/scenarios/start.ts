/** From the spawn of the process to the first good answer over gRPC. Not pinned: a start uses the cores that there are. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Lab } from '../lab.ts';
import { memory } from '../processes.ts';
import { type Row, row } from '../report.ts';
import { Service, type ServiceOptions } from '../service.ts';

async function readyIn(options: Omit<ServiceOptions, 'core'>): Promise<{ ms: number; rss: number }> {
  const service = await Service.start({ ...options, core: null });
  const { rss } = memory(service.pid);
  await service.stop();
  return { ms: service.readyMs, rss };
}

export async function start(lab: Lab): Promise<Row[]> {
  const databaseUrl = await lab.data();
  const postgres: { ms: number; rss: number }[] = [];
  const created: typeof postgres = [];
  const existing: typeof postgres = [];
  // A start is short and its time varies: twice as many as of the longer runs.
  for (let run = 1; run <= lab.settings.runs * 2; run++) {
    postgres.push(await readyIn({ databaseUrl }));
    const dataDir = mkdtempSync(join(tmpdir(), 'usher-bench-'));
    try {
      created.push(await readyIn({ dataDir }));
      existing.push(await readyIn({ dataDir }));
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
    const ms = [postgres, created, existing].map((list) => Math.round(list.at(-1)?.ms ?? 0)).join(', ');
    lab.say(`start ${run}/${lab.settings.runs * 2}: PostgreSQL, new embedded, existing embedded: ${ms} ms`);
  }
  return [
    row(
      'start',
      'ready, existing PostgreSQL',
      'ms',
      postgres.map((s) => s.ms),
      { atMost: 1000 },
    ),
    row(
      'start',
      'ready, existing embedded database',
      'ms',
      existing.map((s) => s.ms),
      { atMost: 1000 },
    ),
    row(
      'start',
      'ready, new embedded database',
      'ms',
      created.map((s) => s.ms),
      { atMost: 4000 },
    ),
    row(
      'start',
      'RSS when ready, PostgreSQL',
      'MB',
      postgres.map((s) => s.rss),
    ),
    row(
      'start',
      'RSS when ready, embedded',
      'MB',
      existing.map((s) => s.rss),
    ),
  ];
}
