/** From the spawn of the process to the first good answer over gRPC. Not pinned: a start uses the cores that there are. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Lab } from '../lab.ts';
import { memory } from '../processes.ts';
import { type Row, row } from '../report.ts';
import { Service, type ServiceOptions } from '../service.ts';

interface Start {
  ms: number;
  cpu: number;
  rss: number;
}

async function readyIn(options: Omit<ServiceOptions, 'core'>): Promise<Start> {
  const service = await Service.start({ ...options, core: null });
  const { rss } = memory(service.pid);
  await service.stop();
  return { ms: service.readyMs, cpu: service.readyCpuMs, rss };
}

export async function start(lab: Lab): Promise<Row[]> {
  const databaseUrl = await lab.data();
  const postgres: Start[] = [];
  const created: Start[] = [];
  const existing: Start[] = [];
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
      'CPU until ready, existing PostgreSQL',
      'ms',
      postgres.map((s) => s.cpu),
    ),
    row(
      'start',
      'CPU until ready, existing embedded',
      'ms',
      existing.map((s) => s.cpu),
    ),
    row(
      'start',
      'CPU until ready, new embedded',
      'ms',
      created.map((s) => s.cpu),
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
