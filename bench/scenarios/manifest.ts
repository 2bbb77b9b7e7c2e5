/** A manifest of 10,000 assignments and 10,000 overrides, applied twice through the endpoint, and its answers checked. */
import { makeManifestDataset } from '../dataset.ts';
import { Generator } from '../generator-client.ts';
import type { Lab } from '../lab.ts';
import { manifestYaml } from '../manifest-file.ts';
import { memory } from '../processes.ts';
import { type Measure, type Row, row, rowsOf } from '../report.ts';
import { KEY, Service, type ServiceOptions } from '../service.ts';

interface Summary {
  create: number;
  change: number;
  remove: number;
  keep: number;
}

interface Applied {
  firstMs: number;
  secondMs: number;
  largest: number;
}

async function apply(service: Service, token: string, yaml: string): Promise<{ ms: number; summary: Summary }> {
  const startedAt = performance.now();
  const response = await fetch(`${service.url}/api/manifests/apply`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/yaml', accept: 'application/json' },
    body: yaml,
  });
  const text = await response.text();
  const ms = performance.now() - startedAt;
  if (!response.ok) throw new Error(`apply answered ${response.status}: ${text.slice(0, 1000)}`);
  const body = JSON.parse(text) as { summary?: Summary; data?: { summary?: Summary } };
  const summary = body.summary ?? body.data?.summary;
  if (!summary) throw new Error(`apply answered no summary: ${text.slice(0, 300)}`);
  return { ms, summary };
}

async function once(options: Omit<ServiceOptions, 'core'>, yaml: string): Promise<Applied> {
  // Not pinned, as in life: an embedded database shares the service's core anyhow.
  const service = await Service.start({ ...options, core: null });
  const generator = new Generator();
  try {
    const token = await service.adminToken();
    const first = await apply(service, token, yaml);
    if (first.summary.create < 20_000) throw new Error(`the first apply created only ${first.summary.create}`);
    const second = await apply(service, token, yaml);
    const { create, change, remove } = second.summary;
    if (create + change + remove !== 0) throw new Error(`the second apply changed ${create + change + remove}`);
    const open = { protocol: 'grpc', port: service.grpcPort, answers: 'known', key: KEY } as const;
    await generator.open({ target: 'service', workload: 'manifest', connections: 4, ...open });
    await generator.slice('service', { inFlight: 64, order: 'once', from: 0, to: 10_000 });
    return { firstMs: first.ms, secondMs: second.ms, largest: memory(service.pid).largest };
  } finally {
    await service.stop();
    await generator.end();
  }
}

export async function manifest(lab: Lab): Promise<Row[]> {
  const yaml = manifestYaml(makeManifestDataset());
  const postgres: Applied[] = [];
  const embedded: Applied[] = [];
  for (let run = 1; run <= lab.settings.runs; run++) {
    postgres.push(await once({ databaseUrl: await lab.emptyDatabase() }, yaml));
    embedded.push(await once({}, yaml));
    const [p, e] = [postgres.at(-1) as Applied, embedded.at(-1) as Applied];
    lab.say(
      `manifest ${run}/${lab.settings.runs}: PostgreSQL ${Math.round(p.firstMs)} and ${Math.round(p.secondMs)} ms, ` +
        `embedded ${Math.round(e.firstMs)} and ${Math.round(e.secondMs)} ms`,
    );
  }
  const applied = (where: string, firstMost: number): Measure<Applied>[] => [
    [`first apply, ${where}`, 's', ({ firstMs }) => firstMs / 1000, { atMost: firstMost }],
    [`second apply, ${where}`, 's', ({ secondMs }) => secondMs / 1000, { atMost: 3 }],
  ];
  const largest = (where: string): Measure<Applied>[] => [[`largest RSS, ${where}`, 'MB', (one) => one.largest]];
  return [
    ...rowsOf('manifest', postgres, applied('PostgreSQL', 10)),
    ...rowsOf('manifest', embedded, applied('embedded', 40)),
    row('manifest', 'size of the manifest', 'MB', [Buffer.byteLength(yaml) / 2 ** 20]),
    ...rowsOf('manifest', postgres, largest('PostgreSQL')),
    ...rowsOf('manifest', embedded, largest('embedded')),
  ];
}
