/** Check with every fact cold, on PostgreSQL. */
import { Generator } from '../generator-client.ts';
import type { Lab } from '../lab.ts';
import { CORES, cpuSeconds, memory } from '../processes.ts';
import { type Row, rowsOf } from '../report.ts';
import { KEY, Service } from '../service.ts';
import type { SliceResult } from '../slice.ts';

export interface ColdOptions {
  inFlight: number;
  connections: number;
  /** How many of the 50,000 are asked, each once, in their order. */
  questions: number;
}

export interface Cold {
  result: SliceResult;
  /** µs of the service's CPU a request. */
  cpu: number;
  rss: number;
}

/**
 * Fresh processes whose code is warm and whose facts are not: all 50,000 questions are asked once, then the caches are
 * cleared, then `questions` are asked once each. A user is asked about another application each time, so that every
 * question lacks its member facts; the first 10,000 lack the person's too.
 */
export async function coldCheck(lab: Lab, name: string, options: ColdOptions): Promise<Cold[]> {
  const databaseUrl = await lab.data();
  const results: Cold[] = [];
  for (let run = 1; run <= lab.settings.runs; run++) {
    const generator = new Generator();
    const service = await Service.start({ databaseUrl, core: CORES.server });
    try {
      const { inFlight, connections, questions } = options;
      const open = { protocol: 'grpc', port: service.grpcPort, workload: 'all', answers: 'known', key: KEY } as const;
      await generator.open({ target: 'warm', connections: lab.settings.connections, ...open });
      await generator.open({ target: 'cold', connections, ...open });
      await generator.slice('warm', { inFlight: lab.settings.inFlight, order: 'once', from: 0, to: 50_000 });
      await service.clearCaches();
      const before = cpuSeconds(service.pid);
      const result = await generator.slice('cold', { inFlight, order: 'once', from: 0, to: questions });
      const cpu = ((cpuSeconds(service.pid) - before) / result.answers) * 1e6;
      results.push({ result, cpu, rss: memory(service.pid).rss });
      lab.say(
        `${name} cold ${run}/${lab.settings.runs}: ${Math.round(result.perSecond)}/s, p50 ${result.p50.toFixed(3)} ms`,
      );
    } finally {
      await service.stop();
      await generator.end();
    }
  }
  return results;
}

export async function checkCold(lab: Lab): Promise<Row[]> {
  const name = 'check-cold';
  const { inFlight, connections } = lab.settings;
  const all = await coldCheck(lab, name, { inFlight, connections, questions: 50_000 });
  const persons = await coldCheck(lab, `${name}, new persons only,`, { inFlight, connections, questions: 10_000 });
  return [
    ...rowsOf(name, all, [
      ['50,000 questions, each once, PostgreSQL', '/s', (cold) => cold.result.perSecond, { atLeast: 8000 }],
    ]),
    ...rowsOf(name, persons, [
      ['the first 10,000: every person new', '/s', (cold) => cold.result.perSecond, { atLeast: 8000 }],
    ]),
    ...rowsOf(name, all, [
      ['p50', 'ms', (cold) => cold.result.p50],
      ['p99', 'ms', (cold) => cold.result.p99],
      ['p99.9', 'ms', (cold) => cold.result.p999],
      ['CPU a request, service', 'µs', (cold) => cold.cpu],
      ['RSS after', 'MB', (cold) => cold.rss, { atMost: 320 }],
    ]),
  ];
}
