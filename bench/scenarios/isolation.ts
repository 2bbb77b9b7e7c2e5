/**
 * What those who ask Check notice of everything else that the service does, once where one process does it all and once where they
 * have a process of their own: 500 questions a second, paced, beside each of the disturbances, and at the same moments as many of a
 * bare gRPC server, which shares nothing with the service but the machine.
 */
import { makeManifestDataset } from '../dataset.ts';
import { Generator } from '../generator-client.ts';
import type { Lab } from '../lab.ts';
import { manifestYaml } from '../manifest-file.ts';
import { APP, Newsroom, reader } from '../newsroom.ts';
import { giveWay, startBare, stop } from '../processes.ts';
import { type Row, row } from '../report.ts';
import { KEY, Service } from '../service.ts';
import type { SliceResult } from '../slice.ts';
import { load } from './backlog.ts';
import { type Listener, listen, until } from './streams.ts';

/** Of each of the two. */
const PER_SECOND = 500;
const SLICE_MS = 10_000;
/** For a disturbance that takes its time by itself. */
const LONG_SLICE_MS = 20_000;
const QUICK_SLICE_MS = 4000;
const READERS = 10_000;
const ASSIGNED = 100_000;
/** Streams that are being opened at once. */
const OPENING = 50;

interface Disturbance {
  /** What is made ready before anybody is asked, and is no part of what is measured. */
  prepare?: (stage: Stage) => Promise<void>;
  /** Goes on until the signal is aborted, or is done before. */
  go: (stage: Stage, signal: AbortSignal) => Promise<void>;
  cleanUp?: (stage: Stage) => Promise<unknown>;
  /** What it gets done: what is counted, and how many of them there have been. */
  done?: { of: string; count: (stage: Stage) => Promise<number> } | undefined;
  /** How long Check is asked meanwhile. */
  sliceMs?: number;
}

interface Stage {
  room: Newsroom;
  /** Who is asked: the room's own service, or one beside it. */
  asked: Service;
  barePort: number;
  quick: boolean;
}

async function again(signal: AbortSignal, work: (round: number) => Promise<unknown>): Promise<void> {
  for (let round = 0; !signal.aborted; round++) await work(round);
}

const thousand = (round: number): string[] =>
  Array.from({ length: 1000 }, (_, at) => reader(((round * 1000) % READERS) + at + 1));

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve()));

const LEFT: Disturbance['done'] = {
  of: 'mails and pushes that left',
  count: async ({ room }) => {
    const { mails, pushes } = await room.counts();
    return mails + pushes;
  },
};

/** A million deliveries, queued past the service, and some seconds until they leave at full speed. */
const backlogOf = (channel: 'email' | 'push'): Disturbance => ({
  prepare: async ({ room, quick }) => {
    await load(room, { channel, count: quick ? 20_000 : 1_000_000, readers: READERS });
    await new Promise((resolve) => setTimeout(resolve, 3000));
  },
  go: (_, signal) => aborted(signal),
  done: LEFT,
  cleanUp: ({ room }) => room.sql.query('truncate delivery, notification cascade'),
});

/** Sixteen who ask over REST, each as soon as he is answered. */
const flood = (call: (stage: Stage, asker: number, round: number) => Promise<void>): Disturbance => ({
  go: async (stage, signal) => {
    await Promise.all(Array.from({ length: 16 }, (_, asker) => again(signal, (round) => call(stage, asker, round))));
  },
});

async function ask(url: string, key: string, question: object): Promise<{ status: number; text: string }> {
  const response = await fetch(`${url}/api/check`, {
    method: 'POST',
    headers: { 'x-internal-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(question),
  });
  return { status: response.status, text: await response.text() };
}

const DISTURBANCES: Record<string, Disturbance> = {
  'sends to 1,000 recipients, one after the other': {
    // What renders and what delivers are started by the first.
    prepare: async ({ room }) => {
      for (let round = 0; round < 3; round++) await room.send(thousand(round));
    },
    go: ({ room }, signal) => again(signal, (round) => room.send(thousand(round))),
    done: LEFT,
    // Long enough for a collection of the whole heap, which is due after dozens of them.
    sliceMs: LONG_SLICE_MS,
  },
  'a backlog of 1,000,000 mails that leaves': backlogOf('email'),
  'a backlog of 1,000,000 pushes that leaves': backlogOf('push'),
  'events for 10,000 streams that are being opened, and open': {
    go: async ({ room, quick }, signal) => {
      const count = quick ? 1000 : READERS;
      const listeners: Listener[] = [];
      try {
        for (let at = 1; at <= count && !signal.aborted; at++) {
          listeners.push(listen(room.service.httpPort, await room.issuer.sign(reader(at)), () => undefined));
          if (at % OPENING === 0)
            await until(() => signal.aborted || listeners.every(({ opened }) => opened), 'opened');
        }
        await again(signal, (round) => room.send(thousand(round), { subject: 'News', payload: { number: 1 } }));
      } finally {
        for (const { socket } of listeners) socket.destroy();
      }
    },
    sliceMs: LONG_SLICE_MS,
  },
  'administrators who write, four at once': {
    go: async ({ room }, signal) => {
      const one = (writer: number): Promise<void> =>
        again(signal, async (round) => {
          const path = `/api/users/${reader(writer * 1000 + (round % 1000) + 1)}`;
          await room.admin('PUT', `${path}/apps/${APP}/preferences`, { showHelp: round % 2 === 0 });
          await room.admin('PUT', `${path}/active`, { active: round % 2 === 0 });
        });
      await Promise.all([0, 1, 2, 3].map(one));
    },
  },
  'a manifest of 100,000 assignments and as many overrides': {
    go: async ({ room, quick }) => {
      await room.applyManifest(manifestYaml(makeManifestDataset(undefined, quick ? ASSIGNED / 10 : ASSIGNED)));
    },
    sliceMs: LONG_SLICE_MS,
  },
  'its application deleted': { go: ({ room }) => room.admin('DELETE', '/api/applications/orders') },
  'caches cleared, twice a second': {
    go: ({ asked }, signal) =>
      again(signal, async () => {
        await asked.clearCaches();
        await new Promise((resolve) => setTimeout(resolve, 500));
      }),
  },
  'questions about people whom nobody knows, 16 at once': flood(async ({ asked }, asker, round) => {
    const question = { email: `flood${asker}.${round}@example.com`, app: 'crm', permission: 'contact.read' };
    const { status, text } = await ask(asked.url, KEY, question);
    if (status !== 200 || text.includes('"allowed":true'))
      throw new Error(`a stranger was answered ${status}: ${text}`);
  }),
  'wrong keys over REST, 16 at once': flood(async ({ room }, asker, round) => {
    const { status } = await ask(room.service.url, `wrong-${asker}-${round}-${KEY}`, {});
    if (status !== 401 && status !== 429) throw new Error(`a wrong key was answered ${status}`);
  }),
};

/** What was noticed at the same moments. */
interface Noticed {
  service: SliceResult;
  bare: SliceResult;
  /** Of what the disturbance gets done, as many a second. */
  donePerSecond?: number;
}

async function slice(generator: Generator, durationMs: number): Promise<Noticed> {
  const options = { inFlight: 0, order: 'paced', perSecond: PER_SECOND, durationMs } as const;
  const [service, bare] = await Promise.all([generator.slice('service', options), generator.slice('bare', options)]);
  return { service, bare };
}

/** Connects, and asks every question once: of what is read from the database first, PostgreSQL's waiting is all that would be seen. */
async function connect(generator: Generator, { asked, barePort }: Stage): Promise<void> {
  const open = { protocol: 'grpc', workload: 'all', connections: 4, key: KEY, requests: [] } as const;
  await generator.open({ ...open, target: 'bare', port: barePort, answers: 'constant' });
  const questions = await generator.open({ ...open, target: 'service', port: asked.grpcPort, answers: 'known' });
  for (const target of ['bare', 'service'])
    await generator.slice(target, { inFlight: 64, order: 'once', from: 0, to: questions });
}

/** Check beside a disturbance, from its beginning on. */
async function beside(generator: Generator, stage: Stage, disturbance: Disturbance): Promise<Noticed> {
  await disturbance.prepare?.(stage);
  // A connection does not outlive max_connection_age and idleness, whose GOAWAY the generator does not follow.
  for (const target of ['bare', 'service']) await generator.close(target);
  await connect(generator, stage);
  const over = new AbortController();
  const disturbed = disturbance.go(stage, over.signal);
  // Trouble of the disturbance counts when the slice is over.
  const settled = Promise.allSettled([disturbed]);
  const { done, sliceMs = SLICE_MS } = disturbance;
  const before = await done?.count(stage);
  const begun = performance.now();
  try {
    const noticed = await slice(generator, stage.quick ? QUICK_SLICE_MS : sliceMs);
    if (done === undefined || before === undefined) return noticed;
    const seconds = (performance.now() - begun) / 1000;
    return { ...noticed, donePerSecond: ((await done.count(stage)) - before) / seconds };
  } finally {
    over.abort();
    await settled;
    await disturbed;
    await disturbance.cleanUp?.(stage);
  }
}

async function stageOf(lab: Lab, apart: boolean, barePort: number): Promise<Stage> {
  const databaseUrl = await lab.copyOf(await lab.data());
  // Sized to hold the facts of all who are asked about, as in check-all-warm, and for longer than any slice.
  const env = { CACHE_PERSONS: '20000', CACHE_MEMBERS: '100000', CACHE_TTL_MS: '600000' };
  const room = await Newsroom.open(lab, {
    readers: READERS,
    subscribed: READERS,
    databaseUrl,
    env,
  });
  room.sinks.giveWay();
  // As if it, too, had a machine of its own: what is left to be seen is what they share, the database.
  if (apart) giveWay(room.service.pid);
  const asked = apart
    ? await Service.start({ databaseUrl, core: null, env: { ...env, USHER_ROLES: 'rpc,gateway' } })
    : room.service;
  return { room, asked, barePort, quick: lab.settings.quick };
}

function rowsOf(lab: Lab, name: string, { service, bare }: Noticed, normal: Noticed): Row[] {
  const [toNormal, bareToNormal] = [service.p99 / normal.service.p99, bare.p99 / normal.bare.p99];
  lab.say(
    `isolation, ${name}: p50 ${service.p50.toFixed(2)}, p99 ${service.p99.toFixed(1)}, longest ${service.max.toFixed(0)} ms; ` +
      `bare p50 ${bare.p50.toFixed(2)}, p99 ${bare.p99.toFixed(1)}, longest ${bare.max.toFixed(0)} ms`,
  );
  return [
    row('isolation', `${name}, p50`, 'ms', [service.p50]),
    row('isolation', `${name}, p99`, 'ms', [service.p99]),
    row('isolation', `${name}, longest`, 'ms', [service.max]),
    row('isolation', `${name}, p99 to normal`, '', [toNormal], { atMost: 2 }),
    row('isolation', `${name}, the bare server's p99 to its normal one`, '', [bareToNormal]),
    row('isolation', `${name}, p99 to the bare server's`, '', [service.p99 / bare.p99], { atMost: 2 }),
  ];
}

function rowsOfDone(name: string, { done }: Disturbance, { donePerSecond }: Noticed): Row[] {
  if (done === undefined || donePerSecond === undefined) return [];
  return [row('isolation', `${name}, ${done.of}`, '/s', [donePerSecond])];
}

export async function isolation(lab: Lab): Promise<Row[]> {
  const rows: Row[] = [];
  await lab.postgresGivesWay();
  for (const apart of [false, true]) {
    const named = apart ? 'apart' : 'in one process';
    const bare = await startBare('grpc', null);
    const stage = await stageOf(lab, apart, bare.port);
    const generator = new Generator();
    try {
      await connect(generator, stage);
      const normal = await slice(generator, lab.settings.quick ? QUICK_SLICE_MS : LONG_SLICE_MS);
      rows.push(...rowsOf(lab, `${named}: nothing else`, normal, normal));
      for (const [name, disturbance] of Object.entries(DISTURBANCES)) {
        const noticed = await beside(generator, stage, disturbance);
        rows.push(...rowsOf(lab, `${named}: ${name}`, noticed, normal));
        rows.push(...rowsOfDone(`${named}: ${name}`, disturbance, noticed));
        // What is left of it must not fall into the next.
        await new Promise((resolve) => setTimeout(resolve, 2000));
      }
    } finally {
      await generator.end();
      if (apart) await stage.asked.stop();
      await stage.room.close();
      await stop(bare.child);
    }
  }
  return rows;
}
