/** A grant and a revoke acknowledged by an instance, seen at its edge, at an edge of that edge, and by an engine in the caller. */
import { type ClientHttp2Session, connect } from 'node:http2';
import { createLocalUsher } from '../../clients/typescript/src/local.ts';
import type { Lab } from '../lab.ts';
import { percentile, type Row } from '../report.ts';
import { KEY, Service } from '../service.ts';
import { ASKED, ask, write } from './propagation.ts';

const NAME = 'revokes';
const KEYS = { INTERNAL_API_KEY: `bench:check+facts:${KEY}` };
/** What is not seen for so long is an error of its own. */
const LOST_MS = 10_000;
const TOLD_EVERY = 1000;

interface Place {
  readonly name: string;
  /** The goal for its p99, in ms. */
  readonly p99: number;
  readonly allows: () => Promise<boolean>;
  readonly delays: number[];
}

function at(service: Service, name: string, p99: number): Place & { readonly close: () => void } {
  const open = (): ClientHttp2Session => {
    const opened = connect(`http://127.0.0.1:${service.grpcPort}`);
    return opened.on('error', () => opened.destroy());
  };
  let session = open();
  const allows = (): Promise<boolean> => {
    // A connection ends when it is some minutes old; what it carries is answered.
    if (session.closed || session.destroyed) session = open();
    return ask(session);
  };
  return { name, p99, allows, delays: [], close: () => session.destroy() };
}

/** Asks until the answer is the new one, then once more: what was seen stays seen. */
async function seen({ name, allows, delays }: Place, granted: boolean, acknowledgedAt: number): Promise<void> {
  for (;;) {
    const answer = await allows();
    const took = performance.now() - acknowledgedAt;
    if (answer === granted) {
      delays.push(Math.max(0, took));
      break;
    }
    if (took > LOST_MS) throw new Error(`${name}: not seen in ${LOST_MS / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  if ((await allows()) !== granted) throw new Error(`${name}: the older answer came after the newer one`);
}

export async function revokes(lab: Lab): Promise<Row[]> {
  const instance = await Service.start({ databaseUrl: await lab.emptyDatabase(), core: null, env: KEYS });
  const started = [instance];
  const edgeOf = async (upstream: Service): Promise<Service> => {
    const env = { ...KEYS, UPSTREAM_ADDRESS: `127.0.0.1:${upstream.grpcPort}`, UPSTREAM_KEY: KEY };
    const edge = await Service.start({ core: null, env });
    started.push(edge);
    return edge;
  };
  try {
    const token = await instance.adminToken();
    await write(instance, token, false);
    const edge = await edgeOf(instance);
    const behind = await edgeOf(edge);
    const local = createLocalUsher({ address: `127.0.0.1:${instance.grpcPort}`, key: KEY, deadlineMs: 10_000 });
    const away = [at(edge, 'edge', 500), at(behind, 'edge behind an edge', 700)];
    try {
      await local.ready();
      const allows = async () => (await local.check(ASKED)).allowed;
      const places: Place[] = [...away, { name: 'local', p99: 500, allows, delays: [] }];
      for (let i = 0; i < lab.settings.trials; i++) {
        const granted = i % 2 === 0;
        const acknowledgedAt = await write(instance, token, granted);
        await Promise.all(places.map((place) => seen(place, granted, acknowledgedAt)));
        // Spread over the period of the polls.
        await new Promise((resolve) => setTimeout(resolve, (i * 37) % 50));
        if ((i + 1) % TOLD_EVERY === 0) lab.say(`revokes: ${i + 1} of ${lab.settings.trials}`);
      }
      return places.flatMap(rows);
    } finally {
      for (const { close } of away) close();
      local.close();
    }
  } finally {
    for (const service of started.reverse()) await service.stop();
  }
}

function rows({ name, p99, delays }: Place): Row[] {
  const all = { scenario: NAME, unit: 'ms' };
  const [slow, longest] = [percentile(delays, 0.99), Math.max(...delays)];
  return [
    { ...all, measure: `${name}: p50 of ${delays.length}`, value: percentile(delays, 0.5) },
    { ...all, measure: `${name}: p99`, value: slow, goal: `≤ ${p99}`, pass: slow <= p99 },
    { ...all, measure: `${name}: longest`, value: longest, goal: '≤ 1000', pass: longest <= 1000 },
  ];
}
