/** What the soak of a cluster is judged by. */
import { setTimeout as delay } from 'node:timers/promises';
import { Judge } from '../../test/scale/judge.ts';
import { numberOf } from '../../test/support/revisions.ts';
import { grown } from '../floor.ts';
import type { HeldMB } from '../held.ts';
import type { Series } from '../plot.ts';
import { median, type Row, row } from '../report.ts';
import type { Sinks } from '../sinks-client.ts';
import type { ClusterDatabase } from './database.ts';
import type { Call, Outage, Tally } from './outages.ts';
import { GIVES, READERS, reader, TAKES, type Traffic } from './traffic.ts';

const NAME = 'cluster';
const CALLS: readonly Call[] = ['warm check', 'changing check', 'cold check', 'new connection', 'write', 'send'];

/**
 * A fact ends with its TTL, or where the outcome of a change is unknown. The check that needs it then waits as long for the database
 * (docs/guides/postgresql.md#failover), so a longer outage may refuse one that was warm.
 */
const READS_ARE_REPEATED_MS = 1800;

/** How much more may be held an hour later: 110 bytes for each of the 18,000 strangers who asked, and 90 kB for each outage. */
const HELD_MB = 2;

export interface Sample {
  readonly rssMB: number;
  readonly files: number;
}

interface Memory {
  samples: readonly Sample[][];
  held: readonly HeldMB[][];
  /** Writing a heap leaves more resident than any growth that is looked for. */
  hasSnapshots: boolean;
}

export interface Inboxes {
  readonly lost: number;
  readonly doubled: number;
  readonly examples: readonly string[];
}

interface Page {
  response: { id: number; subject: string }[];
  page: { nextCursor: string | null };
}

/** Every notification that was acknowledged is there, and none of one send twice. */
export async function judgeInboxes(
  traffic: Traffic,
  read: (email: string, path: string) => Promise<Page>,
): Promise<Inboxes> {
  let [lost, doubled] = [0, 0];
  const examples: string[] = [];
  for (let number = 1; number <= READERS; number++) {
    const email = reader(number);
    const found: Page['response'] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const at: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { response, page } = await read(email, `/api/profile/me/notifications/inbox?limit=200${at}`);
      found.push(...response);
      cursor = page.nextCursor;
    }
    const ids = new Set(found.map(({ id }) => id));
    const missing = traffic.sent.filter((sent) => sent.email === email && !ids.has(sent.id));
    const subjects = new Set(found.map(({ subject }) => subject));
    lost += missing.length;
    doubled += found.length - subjects.size;
    examples.push(...missing.map(({ subject }) => `${subject} is not in the inbox of ${email}`));
  }
  return { lost, doubled, examples };
}

function growth({ samples, held, hasSnapshots }: Memory, instance: number): Row[] {
  const own = samples.flatMap((all) => all[instance] ?? []);
  const ownHeld = held.flatMap((all) => all[instance] ?? []);
  const of = `of instance ${instance + 1}`;
  return [
    ...grown(NAME, `heap ${of}`, ownHeld, { unit: 'MB', pick: (one) => one.heap, atMost: HELD_MB }),
    ...grown(NAME, `heap of the delivery thread ${of}`, ownHeld, {
      unit: 'MB',
      pick: (one) => one.thread,
      atMost: HELD_MB,
    }),
    ...grown(NAME, `external memory ${of}`, ownHeld, { unit: 'MB', pick: (one) => one.external, atMost: HELD_MB }),
    ...grown(NAME, `RSS ${of}`, ownHeld, { unit: 'MB', pick: (one) => one.rss, atMost: hasSnapshots ? null : 25 }),
    ...grown(NAME, `open files ${of}`, own, { unit: '', pick: (one) => one.files, atMost: 10 }),
  ];
}

export function series({ samples, held }: Omit<Memory, 'hasSnapshots'>): Series[] {
  const instances = samples[0]?.map((_, at) => at) ?? [];
  return instances.flatMap((at) => {
    const of = (pick: (sample: Sample) => number): number[] => samples.flatMap((all) => all[at] ?? []).map(pick);
    const ofHeld = (pick: (one: HeldMB) => number): number[] => held.flatMap((all) => all[at] ?? []).map(pick);
    const name = `instance ${at + 1}`;
    return [
      { name: `Heap without garbage, ${name}`, unit: 'MB', values: ofHeld((one) => one.heap) },
      { name: `Heap without garbage, delivery thread of ${name}`, unit: 'MB', values: ofHeld((one) => one.thread) },
      { name: `Resident memory, ${name}`, unit: 'MB', values: of((s) => s.rssMB) },
      { name: `Open files and sockets, ${name}`, unit: '', values: of((s) => s.files) },
    ];
  });
}

/** What is in memory needs no database: it is answered whatever the machine has to do. The others have limits on their time. */
const WARM: readonly Call[] = ['warm check', 'new connection'];

/** Of each call: how many, how many were refused in outages, and that none failed in another way. */
function calls(tally: Tally): Row[] {
  return CALLS.flatMap((call) => {
    const refused = tally.of(call, 'refused') + tally.of(call, 'outcome unknown');
    const outside = tally.outside(call);
    return [
      row(NAME, `${call}: answered`, '', [tally.of(call, 'answered')]),
      row(NAME, `${call}: refused in outages`, '', [refused - outside]),
      row(NAME, `${call}: outcome unknown`, '', [tally.of(call, 'outcome unknown')]),
      row(NAME, `${call}: refused outside of outages`, '', [outside], ...(WARM.includes(call) ? [{ atMost: 0 }] : [])),
      row(NAME, `${call}: failed`, '', [tally.of(call, 'failed')], { atMost: 0 }),
      row(NAME, `${call}: slowest`, 's', [tally.slowest(call) / 1000]),
    ];
  });
}

const warmRefused = (outages: readonly Outage[]): number =>
  outages.flatMap((outage) => outage.warmRefused).reduce((sum, refused) => sum + refused, 0);

function outages(tally: Tally): Row[] {
  const kinds = [...new Set(tally.outages.map(({ kind }) => kind))];
  const short = tally.outages.filter(({ from, to }) => to - from < READS_ARE_REPEATED_MS);
  return [
    ...kinds.flatMap((kind) => {
      const own = tally.outages.filter((one) => one.kind === kind);
      const seconds = own.map(({ from, to }) => (to - from) / 1000);
      return [
        row(NAME, `${kind}: how often`, '', [own.length], { atLeast: 1 }),
        row(NAME, `${kind}: until both write again, median`, 's', [median(seconds)]),
        row(NAME, `${kind}: until both write again, longest`, 's', [Math.max(...seconds)]),
        row(NAME, `${kind}: warm checks refused`, '', [warmRefused(own)]),
      ];
    }),
    row(NAME, 'warm checks refused in outages of less than 1.8 s', '', [warmRefused(short)], { atMost: 0 }),
  ];
}

interface Given extends Memory {
  traffic: Traffic;
  inboxes: Inboxes;
  cluster: { tally: Tally; database: ClusterDatabase; sinks: Sinks; rotations: number };
}

export async function verdict({ traffic, inboxes, cluster, ...given }: Given): Promise<Row[]> {
  const { database, sinks, tally, rotations } = cluster;
  const waiting = await settled(database);
  const { mails } = await sinks.counts();
  const { acknowledged, told, sent } = traffic;
  const { lost, wrong, apart, judged } = await database.use(async (client) => {
    const judge = await Judge.of(client, { grant: `user:${GIVES}`, revoke: `user:${TAKES}` });
    return {
      // One that changed nothing is acknowledged at a revision that another write made.
      lost: acknowledged.filter(
        ({ email, granted, revision }) => !judge.has(revision) || judge.expected(email, numberOf(revision)) !== granted,
      ).length,
      wrong: judge.wrong(told).length,
      judged: told.filter(({ revision }) => judge.has(revision)).length,
      apart: (await judge.apart(client)).length,
    };
  });
  return [
    row(NAME, 'policy writes acknowledged', '', [acknowledged.length], { atLeast: 1 }),
    row(NAME, 'policy writes lost', '', [lost], { atMost: 0 }),
    row(NAME, 'people of whom tables and log differ', '', [apart], { atMost: 0 }),
    row(NAME, 'answers judged at their revision', '', [judged], { atLeast: 1 }),
    row(NAME, 'answers of revisions that went with a server', '', [told.length - judged]),
    row(NAME, 'answers wrong', '', [wrong + traffic.wrong.length], { atMost: 0 }),
    row(NAME, 'notifications acknowledged', '', [sent.length], { atLeast: 1 }),
    row(NAME, 'notifications lost', '', [inboxes.lost], { atMost: 0 }),
    row(NAME, 'notifications doubled', '', [inboxes.doubled], { atMost: 0 }),
    row(NAME, 'mails of them that left', '', [mails], { atLeast: sent.length }),
    row(NAME, 'deliveries waiting at the end', '', [waiting], { atMost: 0 }),
    row(NAME, 'rotations of certificates', '', [rotations], { atLeast: 1 }),
    row(NAME, 'trouble beside calls', '', [tally.troubles], { atMost: 0 }),
    ...calls(tally),
    ...outages(tally),
    ...(given.samples[0] ?? []).flatMap((_, at) => growth(given, at)),
  ];
}

/** How many deliveries are under way once they have had a minute. */
async function settled(database: ClusterDatabase): Promise<number> {
  return await database.use(async (client) => {
    for (const end = performance.now() + 60_000; ; await delay(500)) {
      const { rows } = await client.query<{ waiting: number }>(
        `select count(*)::int as waiting from delivery where status in ('queued', 'sending')`,
      );
      const waiting = rows[0]?.waiting ?? Number.NaN;
      if (waiting === 0 || performance.now() > end) return waiting;
    }
  });
}
