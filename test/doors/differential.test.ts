import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { createLocalUsher } from '../../clients/typescript/src/local.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { parseRevision } from '../../src/engine/question.ts';
import { answerOf, effectiveOf, isAllowedByOracle, type OracleQuestion, refusalOf } from '../oracle/oracle.ts';
import { countingAt, instantsOf, type Operation, type Rows } from '../oracle/rows.ts';
import { History, NAMES, type Names, pick, type Random, randomOperation, seeded } from '../oracle/world.ts';
import { carryOut } from '../support/carry-out.ts';
import { createStorage, KINDS, type Kind, type TestStorage } from '../support/databases.ts';
import { type RunningEdge, startEdge } from '../support/edge.ts';
import { numberOf } from '../support/revisions.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { type Door, localDoors, openDoors, openGrpcDoors, pathIn, Refused, type Reply, type Said } from './doors.ts';

/**
 * Random questions through every door while writers change everything, each answer compared with the oracle replayed to the
 * revision that came with it. (docs/freshness.md: I1, I2.)
 */
const LONG = process.env.USHER_LONG !== undefined;
/** A bound for the long run, where there is no time for all of it: then it tells how far it came. */
const MINUTES = process.env.USHER_MINUTES === undefined ? null : Number(process.env.USHER_MINUTES);
const DECISIONS = { postgresql: LONG ? 5_000_000 : 100_000, pglite: LONG ? 500_000 : 20_000 };
/** Less proves nothing: on any machine it continues until this much is done. */
const AT_LEAST = {
  decisions: LONG && MINUTES === null ? DECISIONS : { postgresql: 2000, pglite: 1000 },
  revisions: 21,
  crossings: 10,
  /** The only strict application may be made lenient by an early write, and stay so for most of a short run. */
  refused: 1,
};
/** The time that a merge has for more than that. */
const MOST_MS = LONG ? (MINUTES ?? Number.POSITIVE_INFINITY) * 60_000 : 20_000;
/** A service that answers nothing any more is told from a slow one by this. */
const LIMIT_MS = LONG ? 7_200_000 : 240_000;
const ASKERS = LONG ? 12 : 24;
const WRITERS = 8;
/** A grant has no bound, a beginning, an end or both; many are near, so that they are passed while questions wait. */
const windows = seeded(20_262);
const ahead = () => Date.now() + 1 + windows(windows(2) === 0 ? 100 : 2000);
const WINDOWS = [
  () => ({}),
  () => ({ endsAt: ahead() }),
  () => ({ startsAt: ahead() }),
  () => {
    const startsAt = ahead();
    return { startsAt, endsAt: startsAt + 1 + windows(500) };
  },
] as const;
const window = () => pick(windows, WINDOWS)();
/** In the long run an answer says more: bulk and effective doors tell of many permissions for one call. */
const WORLD: Names = LONG
  ? {
      ...NAMES,
      strict: true,
      window,
      permissions: [...NAMES.permissions, ...Array.from({ length: 60 }, (_, index) => `field.${index}`)],
      writesOfAnApp: 1000,
    }
  : { ...NAMES, strict: true, window };
/** Between two writes of a writer. */
const PAUSE_MS = { postgresql: LONG ? 40 : 5, pglite: 20 };
/** Revisions that are remembered: no answer is as old as that. */
const REMEMBERED = 20_000;
const PROGRESS_MS = 30_000;

interface Asked {
  door: Door;
  question: OracleQuestion;
  permissions: readonly string[];
  level: 'view' | 'edit' | null;
  reply: Reply | Refusal;
  /** When it was asked and answered, by the clock of this machine, which is that of the database: it holds at an instant between. */
  at: readonly [from: number, to: number];
}

/** An error carries no revision: it must be right at one between what was acknowledged before and what was reached after. */
interface Refusal {
  refused: Refused;
  from: number;
  revision: number;
}

/** Who answers. */
interface Place {
  engine: Pick<Engine, 'cursor'>;
  doors: Door[];
  close: () => void;
  /** The newest write that was acknowledged there. */
  acknowledged: number;
}

interface Instance extends Place {
  usher: RunningUsher;
}

for (const kind of KINDS) {
  describe(`every transport against the oracle during writes (${kind})`, () => {
    let storage: TestStorage;
    let instances: Instance[];
    /** An edge of the first instance, one of that edge, and a client that decides itself, of the second. */
    let edges: Place[];
    const running: RunningEdge[] = [];

    beforeAll(async () => {
      storage = await createStorage(kind);
      instances = [];
      edges = [];
      for (let i = 0; i < (kind === 'postgresql' ? 2 : 1); i++) {
        const usher = await startUsher(storage);
        const { engine } = usher.app;
        instances.push({ usher, engine, ...(await openDoors(usher, WORLD.emails)), acknowledged: 0 });
      }
      const env = { DATA_DIR: storage.dataDir };
      let upstream = instances[0]?.usher.grpc as string;
      for (const name of ['edge', 'edge of an edge']) {
        const started = await startEdge(upstream, { env });
        running.push(started);
        edges.push({ engine: started.edge.engine, ...openGrpcDoors(name, started.grpc), acknowledged: 0 });
        upstream = started.grpc;
      }
      const key = instances[0]?.usher.app.localKey ?? undefined;
      const local = createLocalUsher({ address: upstream, key, deadlineMs: 20_000, maxStalenessMs: 20_000 });
      await local.ready();
      const cursor = () => numberOf(local.revision);
      edges.push({
        engine: {
          get cursor() {
            return cursor();
          },
        },
        doors: localDoors(local),
        close: () => local.close(),
        acknowledged: 0,
      });
    });

    afterAll(async () => {
      for (const { close } of edges ?? []) close();
      for (const edge of running.reverse()) await edge.close();
      for (const { usher, close } of instances ?? []) {
        close();
        await usher.close();
      }
      await storage?.remove();
    });

    test(
      'every answer is correct, and as new as the acknowledged writes',
      async () => {
        const result = await run(instances, edges, kind, seeded(Number(process.env.USHER_SEED ?? 20_261)));
        expect(result.wrong).toEqual([]);
        expect(result.decisions).toBeGreaterThanOrEqual(AT_LEAST.decisions[kind]);
        const doors = [instances[0] as Place, ...edges].flatMap((place) => place.doors.map(({ name }) => name));
        expect([...result.doors.keys()].sort()).toEqual(doors.sort());
        // Neither a frozen world nor one that denies everything would prove anything.
        expect(result.revisions).toBeGreaterThanOrEqual(AT_LEAST.revisions);
        expect(result.refused).toBeGreaterThanOrEqual(AT_LEAST.refused);
        expect(result.crossings).toBeGreaterThanOrEqual(AT_LEAST.crossings);
        expect(result.allowed / result.decisions).toBeGreaterThan(0.1);
        expect(result.allowed / result.decisions).toBeLessThan(0.9);
      },
      LIMIT_MS,
    );
  });
}

async function run(instances: Instance[], edges: readonly Place[], kind: Kind, random: Random) {
  const [first] = instances as [Instance];
  const start = parseRevision(first.usher.app.engine.revision);
  await Promise.all(instances.map(({ usher }) => usher.app.engine.reach(start)));
  const history = new History(start.number);
  const [strict = ''] = WORLD.apps;
  await carryOutAll(first, history, [
    { kind: 'create-app', app: strict },
    { kind: 'set-strict', app: strict, strict: true },
  ]);
  if (LONG) await fill(first, history, random);
  const tally = {
    decisions: 0,
    allowed: 0,
    revisions: 0,
    refused: 0,
    /** Answers to questions while which a grant of that person began or ended. */
    crossings: 0,
    wrong: [] as string[],
    doors: new Map<string, number>(),
  };
  let pending: Asked[] = [];
  const begun = performance.now();
  let done = false;

  const isOver = () => {
    const took = performance.now() - begun;
    const { decisions, revisions, refused } = AT_LEAST;
    const enough = tally.decisions >= decisions[kind] && tally.revisions >= revisions && tally.refused >= refused;
    if ((enough && tally.decisions >= DECISIONS[kind]) || tally.wrong.length > 10) return true;
    return took > (enough ? MOST_MS : LIMIT_MS - 20_000);
  };

  /** What the timekeeper does changes no answer: its rows have ended. */
  const tidied = new Set<number>();
  const noteTidying = async (): Promise<void> => {
    const { rows } = await first.usher.app.database.read((tx) =>
      sql<{ revision: number }>`
        select revision::int from policy_change where revision > ${history.head} and actor = 'system'`.execute(
        tx.kysely,
      ),
    );
    for (const { revision } of rows) {
      if (tidied.has(revision) || revision <= history.head) continue;
      tidied.add(revision);
      history.record(revision);
    }
  };
  const settle = async () => {
    await noteTidying();
    const ready = pending.filter(({ reply }) => reply.revision <= history.head);
    pending = pending.filter(({ reply }) => reply.revision > history.head);
    for (const asked of ready) judge(asked, history, tally);
    history.forget(history.head - REMEMBERED);
  };
  let told = begun;
  const tell = () => {
    if (!LONG || performance.now() - told < PROGRESS_MS) return;
    told = performance.now();
    const { decisions, allowed, revisions, wrong } = tally;
    const seconds = Math.round((told - begun) / 1000);
    process.stderr.write(
      `${kind}: ${decisions} decisions (${allowed} allowed) at ${revisions} revisions in ${seconds} s, ${wrong.length} wrong\n`,
    );
  };
  const write = async () => {
    while (!done) {
      const instance = pick(random, instances);
      const operation = randomOperation(random, history.newest, WORLD);
      const written = await unlessAway(instance.usher.app.database.change((tx) => carryOut(tx, operation)));
      if (written === null) continue;
      if (written.result !== null) history.record(written.number, written.result);
      instance.acknowledged = Math.max(instance.acknowledged, written.number);
      tally.revisions = history.head;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS[kind]));
    }
  };
  const ask = async () => {
    while (!done) {
      const place = pick(random, [...instances, ...edges]);
      const door = pick(random, place.doors);
      const asked = { door, ...randomQuestion(random) };
      const { acknowledged } = place;
      const askedAt = Date.now();
      // An edge may be behind, by as much as it says.
      const from = edges.includes(place) ? place.engine.cursor : acknowledged;
      const answer = door.ask(asked.question, asked.permissions, asked.level).catch((error: unknown): Refusal => {
        if (!(error instanceof Refused)) throw error;
        // What is passed on was answered by the instance.
        const { engine } = door.lenient ? (instances[0] as Place) : place;
        return { refused: error, from, revision: engine.cursor };
      });
      const reply = await unlessAway(unlessLate(answer));
      const at = [askedAt, Date.now() + 1] as const;
      if (isOver()) done = true;
      if (reply === null) continue;
      if (reply.revision < acknowledged)
        tally.wrong.push(`${door.name}: ${reply.revision}, acknowledged ${acknowledged}`);
      pending.push({ ...asked, reply, at });
      if (pending.length > 500) await settle();
      tell();
    }
  };
  try {
    await Promise.all([
      ...Array.from({ length: kind === 'pglite' ? 2 : WRITERS }, write),
      ...Array.from({ length: ASKERS }, ask),
    ]);
  } finally {
    done = true;
  }
  await settle();
  told = Number.NEGATIVE_INFINITY;
  tell();
  expect(pending).toEqual([]);
  return tally;
}

/** All that the world can define, so that there is much to tell of from the beginning. */
async function fill(instance: Instance, history: History, random: Random): Promise<void> {
  for (const app of WORLD.apps) {
    const define = WORLD.permissions.map((permission): Operation => {
      const type = random(2) === 0 ? 'binary' : 'tiered';
      return { kind: 'define-permission', app, permission, type, global: random(3) === 0, groupName: null };
    });
    await carryOutAll(instance, history, [{ kind: 'create-app', app }, ...define]);
  }
}

async function carryOutAll({ usher }: Instance, history: History, operations: readonly Operation[]): Promise<void> {
  for (const operation of operations) {
    const { result, number } = await usher.app.database.change((tx) => carryOut(tx, operation));
    if (result !== null) history.record(number, result);
  }
}

/** On a busy machine trouble may occur, which is not an answer; a write that failed is in no history. */
async function unlessAway<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    const { code, message, cause } = error as { code?: unknown; message: string; cause?: { code?: unknown } };
    // A kept connection may be closed just as it is used again.
    if (cause?.code === 'ECONNRESET' || cause?.code === 'UND_ERR_SOCKET') return null;
    if (code === 'UNAVAILABLE' || code === 14 || message.includes(': 503 ')) return null;
    throw error;
  }
}

/**
 * A question whose caller gave up waiting was not answered, and is asked again. Not for a write, which may have taken place: the
 * history would lack it.
 */
async function unlessLate<T>(question: Promise<T>): Promise<T | null> {
  try {
    return await question;
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === 'DEADLINE_EXCEEDED' || code === 4) return null;
    throw error;
  }
}

function randomQuestion(random: Random): Pick<Asked, 'question' | 'permissions' | 'level'> {
  const resource = random(2) === 0 ? { resourceType: '', resourceId: '' } : pick(random, WORLD.resources);
  const all = [...WORLD.permissions, 'undefined.permission'];
  const permissions = all.sort(() => random(3) - 1).slice(0, 1 + random(all.length));
  const question = {
    email: pick(random, WORLD.emails),
    app: pick(random, [...WORLD.apps, 'unknown']),
    permission: '',
    ...resource,
  };
  return { question, permissions, level: pick(random, [null, 'view', 'edit'] as const) };
}

type Tally = Awaited<ReturnType<typeof run>>;

function judge({ door, question, permissions, level, reply, at }: Asked, history: History, tally: Tally): void {
  tally.doors.set(door.name, (tally.doors.get(door.name) ?? 0) + 1);
  const named = door.kind === 'effective' ? [] : door.kind === 'one' ? permissions.slice(0, 1) : permissions;
  const pathAt = (revision: number) =>
    door.lenient ? null : pathOf(door, named, refusalOf(history.at(revision), question, named));
  if ('refused' in reply) {
    tally.refused++;
    const from = Math.max(reply.from, history.first);
    for (let at = from; at <= reply.revision; at++) if (pathAt(at) === reply.refused.path) return;
    tally.wrong.push(
      `${door.name} refused ${String(reply.refused.path)} of ${JSON.stringify({ ...question, permissions })}`,
    );
    return;
  }
  const rows = history.at(reply.revision);
  if (pathAt(reply.revision) !== null) {
    tally.wrong.push(`${door.name} at ${reply.revision} answered ${JSON.stringify({ ...question, permissions })}`);
    return;
  }
  const own = about(rows, question);
  const [from, to] = at;
  const between = instantsOf(own).filter((instant) => from < instant && instant <= to);
  if (between.length > 0) tally.crossings++;
  const expectations = [from, ...between].map((instant) => {
    return expectation(door, question, permissions, level, countingAt(own, instant));
  });
  tally.decisions += Math.max(1, reply.said.length);
  tally.allowed += reply.said.filter(({ allowed }) => allowed).length;
  if (expectations.some((expected) => isSaid(reply.said, expected))) return;
  // Each decision of a batch is of an instant of its own.
  const isApart = (one: Said, index: number) =>
    expectations.some((expected) => isSaid([one], expected.slice(index, index + 1)));
  if (door.kind === 'batch' && reply.said.every(isApart)) return;
  tally.wrong.push(
    `${door.name} at ${reply.revision} about ${JSON.stringify({ ...question, permissions, level })}: said ${JSON.stringify(reply.said)}, right is ${JSON.stringify(expectations)}`,
  );
}

function isSaid(said: readonly Said[], expected: readonly Said[]): boolean {
  const told = said.map((one, index) => only(one, expected[index]));
  return JSON.stringify(told) === JSON.stringify(expected.map((one, index) => only(one, said[index])));
}

/** What the door calls the refused code; null where the question is answered. */
function pathOf(door: Door, named: readonly string[], refusal: ReturnType<typeof refusalOf>): string | null {
  if (refusal === null) return null;
  if (refusal.permission === null) return pathIn(door, 'type');
  return pathIn(door, 'permission', named.indexOf(refusal.permission));
}

/** The rows of the application and the person asked about: the oracle looks at all that it is given, for each permission. */
function about(rows: Rows, { app, email }: OracleQuestion): Rows {
  const ofBoth = (row: { app: string; email: string }) => row.app === app && row.email === email;
  return {
    ...rows,
    permissions: rows.permissions.filter((row) => row.app === app),
    rolePermissions: rows.rolePermissions.filter((row) => row.app === app),
    appAdmins: rows.appAdmins.filter(ofBoth),
    assignments: rows.assignments.filter(ofBoth),
    overrides: rows.overrides.filter(ofBoth),
  };
}

/** The fields that both sides tell, in one order. */
function only(one: Said, other: Said | undefined): unknown {
  return Object.keys(one)
    .sort()
    .filter(
      (field) =>
        other === undefined || (other[field as keyof Said] !== undefined && one[field as keyof Said] !== undefined),
    )
    .map((field) => [field, one[field as keyof Said]]);
}

function expectation(
  door: Door,
  question: OracleQuestion,
  permissions: readonly string[],
  level: 'view' | 'edit' | null,
  rows: Rows,
): Said[] {
  const shown = (source: string | null, granted: boolean) => (door.userScoped ? (granted ? source : 'none') : source);
  if (door.kind === 'effective') {
    return effectiveOf(rows, question).map(({ code, granted, source, ...item }) => {
      return { permission: code, allowed: granted, source: shown(source, granted), ...item };
    });
  }
  return (door.kind === 'one' ? permissions.slice(0, 1) : permissions).map((permission) => {
    const asked = { ...question, permission };
    const { granted, accessLevel, source } = answerOf(rows, asked);
    return { permission, allowed: isAllowedByOracle(rows, asked, level), accessLevel, source: shown(source, granted) };
  });
}
