/** From the spawn of the process to the first good answer over gRPC. Not pinned: a start uses the cores that there are. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Lab } from '../lab.ts';
import { memory } from '../processes.ts';
import { type Measure, type Row, rowsOf } from '../report.ts';
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
  const ready = (what: string, atMost: number): Measure<Start>[] => [
    [`ready, ${what}`, 'ms', ({ ms }) => ms, { atMost }],
  ];
  const cpu = (what: string): Measure<Start>[] => [[`CPU until ready, ${what}`, 'ms', (one) => one.cpu]];
  const rss = (what: string): Measure<Start>[] => [[`RSS when ready, ${what}`, 'MB', (one) => one.rss]];
  return [
    ...rowsOf('start', postgres, ready('existing PostgreSQL', 1000)),
    ...rowsOf('start', existing, ready('existing embedded database', 1000)),
    ...rowsOf('start', created, ready('new embedded database', 4000)),
    ...rowsOf('start', postgres, cpu('existing PostgreSQL')),
    ...rowsOf('start', existing, cpu('existing embedded')),
    ...rowsOf('start', created, cpu('new embedded')),
    ...rowsOf('start', postgres, rss('PostgreSQL')),
    ...rowsOf('start', existing, rss('embedded')),
  ];
}
