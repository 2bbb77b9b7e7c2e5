/**
 * What those who ask Check notice of everything else that the service does, once where one process does it all and once where they
 * have a process of their own: 1,000 questions a second, paced, beside each of the disturbances.
 */
import { makeManifestDataset } from '../dataset.ts';
import { Generator } from '../generator-client.ts';
import type { Lab } from '../lab.ts';
import { manifestYaml } from '../manifest-file.ts';
import { APP, Newsroom, reader } from '../newsroom.ts';
import { type Row, row } from '../report.ts';
import { KEY, Service } from '../service.ts';
import type { SliceResult } from '../slice.ts';
import { load } from './backlog.ts';
import { type Listener, listen, until } from './streams.ts';

const PER_SECOND = 1000;
const SLICE_MS = 4000;
const READERS = 10_000;

/** Goes on until the signal is aborted, or is done before. */
type Disturbance = (stage: Stage, signal: AbortSignal) => Promise<void>;

interface Stage {
  room: Newsroom;
  /** Who is asked: the room's own service, or one beside it. */
  asked: Service;
  quick: boolean;
}

async function again(signal: AbortSignal, work: (round: number) => Promise<unknown>): Promise<void> {
  for (let round = 0; !signal.aborted; round++) await work(round);
}

const thousand = (round: number): string[] =>
  Array.from({ length: 1000 }, (_, at) => reader(((round * 1000) % READERS) + at + 1));

const DISTURBANCES: Record<string, Disturbance> = {
  'sends to 1,000 recipients, one after the other': ({ room }, signal) =>
    again(signal, (round) => room.send(thousand(round))),
  'a backlog of mails that leaves': async ({ room, quick }, signal) => {
    await load(room, { channel: 'email', count: quick ? 20_000 : 100_000, readers: READERS });
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    await room.sql.query('truncate delivery, notification cascade');
  },
  'a backlog of pushes that leaves': async ({ room, quick }, signal) => {
    await load(room, { channel: 'push', count: quick ? 20_000 : 100_000, readers: READERS });
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    await room.sql.query('truncate delivery, notification cascade');
  },
  'an event for 1,000 open streams': async ({ room }, signal) => {
    const listeners: Listener[] = [];
    try {
      for (const email of thousand(0)) {
        listeners.push(listen(room.service.httpPort, await room.issuer.sign(email), () => undefined));
      }
      await until(() => signal.aborted || listeners.every(({ opened }) => opened), 'all streams opened');
      await again(signal, () => room.send(thousand(0), { subject: 'News', payload: { number: 1 } }));
    } finally {
      for (const { socket } of listeners) socket.destroy();
    }
  },
  'administrators who write, four at once': async ({ room }, signal) => {
    const one = (writer: number): Promise<void> =>
      again(signal, (round) =>
        room
          .admin('PUT', `/api/users/${reader(writer * 1000 + (round % 1000) + 1)}/apps/${APP}/preferences`, {
            showHelp: round % 2 === 0,
          })
          .then(() =>
            room.admin('PUT', `/api/users/${reader(writer * 1000 + (round % 1000) + 1)}/active`, {
              active: round % 2 === 0,
            }),
          ),
      );
    await Promise.all([0, 1, 2, 3].map(one));
  },
  'a manifest of 10,000 assignments and 10,000 overrides': async ({ room }) => {
    await room.applyManifest(manifestYaml(makeManifestDataset()));
  },
  'its application deleted': async ({ room }) => {
    await room.admin('DELETE', '/api/applications/orders');
  },
  'caches cleared, twice a second': ({ asked }, signal) =>
    again(signal, async () => {
      await asked.clearCaches();
      await new Promise((resolve) => setTimeout(resolve, 500));
    }),
  'wrong keys over REST, 16 at once': async ({ room }, signal) => {
    const one = (): Promise<void> =>
      again(signal, async (round) => {
        const response = await fetch(`${room.service.url}/api/check`, {
          method: 'POST',
          headers: { 'x-internal-api-key': `wrong-${round}-${KEY}`, 'content-type': 'application/json' },
          body: '{}',
        });
        await response.arrayBuffer();
        if (response.status !== 401 && response.status !== 429)
          throw new Error(`a wrong key was answered ${response.status}`);
      });
    await Promise.all(Array.from({ length: 16 }, one));
  },
};

async function slice(generator: Generator): Promise<SliceResult> {
  return await generator.slice('service', { inFlight: 0, order: 'paced', perSecond: PER_SECOND, durationMs: SLICE_MS });
}

/** Check beside `disturb`, from its beginning on. */
async function beside(generator: Generator, stage: Stage, disturb: Disturbance): Promise<SliceResult> {
  const over = new AbortController();
  const disturbed = disturb(stage, over.signal);
  // Trouble of the disturbance counts when the slice is over.
  const settled = Promise.allSettled([disturbed]);
  try {
    return await slice(generator);
  } finally {
    over.abort();
    await settled;
    await disturbed;
  }
}

async function stageOf(lab: Lab, apart: boolean): Promise<Stage> {
  const databaseUrl = await lab.copyOf(await lab.data());
  // Sized to hold the facts of all who are asked about, as in check-all-warm.
  const env = { CACHE_PERSONS: '20000', CACHE_MEMBERS: '100000' };
  const room = await Newsroom.open(lab, {
    readers: READERS,
    subscribed: READERS,
    databaseUrl,
    env,
  });
  const asked = apart
    ? await Service.start({ databaseUrl, core: null, env: { ...env, USHER_ROLES: 'rpc,gateway' } })
    : room.service;
  return { room, asked, quick: lab.settings.quick };
}

export async function isolation(lab: Lab): Promise<Row[]> {
  const rows: Row[] = [];
  for (const apart of [false, true]) {
    const named = apart ? 'apart' : 'in one process';
    const stage = await stageOf(lab, apart);
    const generator = new Generator();
    try {
      const { grpcPort } = stage.asked;
      const open = { protocol: 'grpc', port: grpcPort, answers: 'known', key: KEY, requests: [] } as const;
      await generator.open({ target: 'service', workload: 'all', connections: 4, ...open });
      await generator.slice('service', { inFlight: 64, durationMs: 4000 });
      const normal = await slice(generator);
      lab.say(
        `isolation, ${named}: nothing else: p99 ${normal.p99.toFixed(2)} ms, longest ${normal.max.toFixed(1)} ms`,
      );
      rows.push(row('isolation', `${named}: p99 of Check, nothing else`, 'ms', [normal.p99]));
      for (const [name, disturb] of Object.entries(DISTURBANCES)) {
        const noticed = await beside(generator, stage, disturb);
        lab.say(`isolation, ${named}: ${name}: p99 ${noticed.p99.toFixed(2)} ms, longest ${noticed.max.toFixed(1)} ms`);
        rows.push(
          row('isolation', `${named}: ${name}, p99`, 'ms', [noticed.p99]),
          row('isolation', `${named}: ${name}, longest`, 'ms', [noticed.max]),
          row('isolation', `${named}: ${name}, p99 to normal`, '', [noticed.p99 / normal.p99], { atMost: 2 }),
        );
        // What is left of it must not fall into the next.
        await new Promise((resolve) => setTimeout(resolve, 2000));
      }
    } finally {
      await generator.end();
      if (apart) await stage.asked.stop();
      await stage.room.close();
    }
  }
  return rows;
}
