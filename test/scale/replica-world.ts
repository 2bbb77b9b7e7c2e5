/** A primary, a replica of it behind by seconds, and services whose facts come from the replica, with writers and judges. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UsherError } from '../../src/base/errors.ts';
import { parseRevision } from '../../src/engine/question.ts';
import type { Decision, Question } from '../../src/engine/types.ts';
import type { Outcome } from '../../src/persistence/database.ts';
import { answerOf } from '../oracle/oracle.ts';
import { applyTo, type Operation, type Rows } from '../oracle/rows.ts';
import { asDecision } from '../oracle/storage.ts';
import { History, NAMES, type Names, pick, type Random, randomOperation, seeded } from '../oracle/world.ts';
import { carryOut } from '../support/carry-out.ts';
import { type RunningEdge, startEdge } from '../support/edge.ts';
import { createDatabase } from '../support/postgres.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { LineCutter } from '../support/proxy.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** So many that what was written in the seconds of the lag is not all that is asked about. */
const WORLD: Names = {
  ...NAMES,
  emails: [...NAMES.emails, ...Array.from({ length: 297 }, (_, index) => `person${index}@example.com`)],
  apps: [...NAMES.apps, 'depot', 'school', 'garden', 'lab'],
  // Rights take a while to grow.
  writesOfAnApp: 300,
};
/** Writes before the first question, so that there is something to answer, and how many of them are one commit. */
const FILL = 3000;
const AT_ONCE = 50;
const ASKERS = 6;
/** Of a batch. */
export const QUESTIONS = 40;
const WRITERS = 3;
const PAUSE_MS = 25;

export interface Tally {
  decisions: number;
  allowed: number;
  revisions: number;
  /** Refused by the service, with why: nothing may be, while the primary answers. */
  refused: string[];
  /** Calls of the edge that were not answered in its time, which a machine that stands still is enough for. */
  late: number;
  wrong: string[];
}

export class ReplicaWorld {
  readonly primary: PostgresServer;
  readonly replica: PostgresServer;
  /** Between the service and its replica. */
  readonly line: LineCutter;
  /** Of the database on each of the two. */
  readonly url: string;
  readonly replicaUrl: string;
  /** Takes the writes, and reads from the primary alone. */
  readonly writing: RunningUsher;
  readonly answering: RunningUsher;
  /** An edge of the one that answers. */
  readonly edge: RunningEdge;
  readonly history: History;
  readonly #directories: string[];

  private constructor(
    parts: Omit<ReplicaWorld, 'close' | 'fill' | 'write' | 'run' | 'counters'> & { directories: string[] },
  ) {
    this.primary = parts.primary;
    this.replica = parts.replica;
    this.line = parts.line;
    this.url = parts.url;
    this.replicaUrl = parts.replicaUrl;
    this.writing = parts.writing;
    this.answering = parts.answering;
    this.edge = parts.edge;
    this.history = parts.history;
    this.#directories = parts.directories;
  }

  /** Facts run out soon, so that most questions are misses. */
  static async start(applyDelayMs: number, env: Record<string, string> = { CACHE_TTL_MS: '1500' }) {
    const directories: string[] = [];
    const instance = async (at: string, more: Record<string, string> = {}) => {
      const dataDir = mkdtempSync(join(tmpdir(), 'usher-replica-'));
      directories.push(dataDir);
      return await startUsher({ url: at, dataDir }, { env: more });
    };
    const primary = await startPostgres({ maxConnections: 100 });
    const { url } = await createDatabase({ server: primary, empty: true });
    const writing = await instance(url);
    const replica = await startPostgres({ maxConnections: 100, standbyOf: primary, applyDelayMs });
    const replicaUrl = url.replace(`:${primary.port}/`, `:${replica.port}/`);
    const line = await LineCutter.start(replicaUrl);
    const answering = await instance(url, { DATABASE_FACTS_URL: line.url(replicaUrl), ...env });
    const key = answering.app.localKey ?? '';
    const edge = await startEdge(answering.grpc, { env: { UPSTREAM_KEY: key, INTERNAL_API_KEY: key, ...env } });
    const { number } = parseRevision(writing.app.engine.revision);
    const history = new History(number);
    const servers = { primary, replica, line, url, replicaUrl };
    return new ReplicaWorld({ ...servers, writing, answering, edge, history, directories });
  }

  /** What became of the loads that the replica was there for. */
  get counters() {
    const counters = this.answering.app.engine.counters.replica;
    if (counters === null) throw new Error('no replica is configured');
    return counters;
  }

  /** Rights of many people. */
  async fill(): Promise<void> {
    const random = seeded(1);
    for (let left = FILL; left > 0; left -= AT_ONCE) {
      let rows = this.history.newest;
      const operations = Array.from({ length: AT_ONCE }, () => {
        const operation = randomOperation(random, rows, WORLD);
        rows = applyTo(rows, operation);
        return operation;
      });
      const { result, number } = await this.writing.app.database.change(async (tx) => {
        const outcomes: Outcome<Operation | null>[] = [];
        for (const operation of operations) outcomes.push(await carryOut(tx, operation));
        const done = outcomes.flatMap(({ result: one }) => (one === null ? [] : [one]));
        return { result: done, scopes: outcomes.flatMap(({ scopes }) => scopes) };
      });
      this.history.record(number, ...result);
    }
  }

  /** A write, recorded. Answers its revision. */
  async write(operation: Operation, through = this.writing): Promise<string> {
    const { result, number, revision } = await through.app.database.change((tx) => carryOut(tx, operation));
    if (result !== null) this.history.record(number, result);
    return revision;
  }

  /** Writers and askers, until `isOver`; each answer is judged at the revision that it names. */
  async run(isOver: (tally: Tally) => boolean, seed = 20_261): Promise<Tally> {
    const random = seeded(seed);
    const tally: Tally = { decisions: 0, allowed: 0, revisions: 0, refused: [], late: 0, wrong: [] };
    const { history, answering, edge, writing } = this;
    let done = false;
    const write = async () => {
      while (!done) {
        // Through the one that answers, too: what is acknowledged there is seen by the next question.
        const operation = randomOperation(random, history.newest, WORLD);
        await this.write(operation, random(4) === 0 ? answering : writing);
        tally.revisions++;
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    };
    const ask = async () => {
      while (!done) {
        const isOfEdge = random(4) === 0;
        const engine = isOfEdge ? edge.edge.engine : answering.app.engine;
        const questions = Array.from({ length: QUESTIONS }, () => randomQuestion(random));
        try {
          const { decisions, revision } = await engine.batch(questions);
          const { number } = parseRevision(revision);
          while (history.head < number) await new Promise((resolve) => setTimeout(resolve, 2));
          judge(questions, decisions, history.at(number), revision, tally);
          history.forget(number - 20_000);
        } catch (error) {
          if (isOfEdge && error instanceof UsherError && error.code === 'UNAVAILABLE') tally.late++;
          else tally.refused.push(String(error));
        }
        done ||= isOver(tally) || tally.wrong.length > 10;
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    try {
      await Promise.all([...Array.from({ length: WRITERS }, write), ...Array.from({ length: ASKERS }, ask)]);
    } finally {
      done = true;
    }
    return tally;
  }

  async close(): Promise<void> {
    await this.edge.close();
    await this.answering.close();
    await this.writing.close();
    await this.line.close();
    await this.replica.close();
    await this.primary.close();
    for (const directory of this.#directories) rmSync(directory, { recursive: true, force: true });
  }
}

function randomQuestion(random: Random): Question {
  const resource = random(2) === 0 ? { resourceType: '', resourceId: '' } : pick(random, WORLD.resources);
  const [email, app] = [pick(random, WORLD.emails), pick(random, WORLD.apps)];
  return { email, app, permission: pick(random, WORLD.permissions), ...resource };
}

function judge(
  questions: readonly Question[],
  decisions: readonly Decision[],
  rows: Rows,
  revision: string,
  tally: Tally,
): void {
  for (const [index, question] of questions.entries()) {
    const { granted, level, source } = decisions[index] as Decision;
    const right = asDecision(answerOf(about(rows, question), question));
    tally.decisions++;
    if (granted) tally.allowed++;
    if (granted === right.granted && level === right.level && source === right.source) continue;
    tally.wrong.push(`at ${revision}, ${JSON.stringify(question)}: ${granted} by ${source}, right is ${right.granted}`);
  }
}

/** The oracle looks at all rows that it is given. */
function about(rows: Rows, { app, email }: Question): Rows {
  const ofBoth = (row: { app: string; email: string }) => row.app === app && row.email === email;
  return { ...rows, assignments: rows.assignments.filter(ofBoth), overrides: rows.overrides.filter(ofBoth) };
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
