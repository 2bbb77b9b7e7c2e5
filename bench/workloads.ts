/** The workloads by name: what is sent and what must come back, built from the data set. */
import type { BenchApplication, Dataset, Level } from './dataset.ts';
import { EFFECTIVE_APP, makeDataset, makeManifestDataset, USUAL_APP } from './dataset.ts';
import type { Workload } from './load.ts';
import { type BenchQuestion, Oracle } from './oracle.ts';
import { allQuestions, batches, bulkQuestions, effectiveQuestions, hotQuestions, questionsOf } from './questions.ts';
import {
  batchAnswer,
  bulkAnswer,
  CONSTANT_ANSWER,
  checkAnswer,
  effectiveAnswer,
  encodeBatch,
  encodeBulk,
  encodeCheck,
  encodeEffective,
  encodeExplain,
  isAnswer,
  isExplained,
} from './wire.ts';

const SERVICE = '/usher.permission.v1.PermissionService';

/** `constant`: the answers of the bare servers. */
export type Answers = 'known' | 'constant';

export type WorkloadName =
  /** Check, 100 questions. */
  | 'hot'
  /** Check, 50,000 questions. */
  | 'all'
  /** BulkCheck of 50 for 50 users: 2,500 decisions, which the decision cache holds. */
  | 'bulk-hot'
  /** BulkCheck of 50 for 2,000 users: 100,000 decisions, which it does not hold. */
  | 'bulk'
  /** BatchCheck of 100 mixed questions, 10,000 in all. */
  | 'batch'
  /** The same, all 50,000. */
  | 'batch-all'
  /** Explain, the 100 hot questions. */
  | 'explain'
  /** Effective of 30 permissions for 2,000 users. */
  | 'effective'
  /** Effective of 20 permissions for as many. */
  | 'effective-20'
  /** Check, one question about each user of the manifest's application. */
  | 'manifest'
  /** The hot questions over REST. A level cannot be left out of the answer there, so all are asked without one. */
  | 'rest'
  /** grpc.health.v1.Health/Check: passed on to grpc-js by the front. */
  | 'health'
  /** GET /api/profile/me, each question with the token of somebody else. */
  | 'profile'
  /** POST activity, the same. */
  | 'activity';

interface Item {
  body: Buffer;
  expected: Buffer;
  describe: () => string;
}

function grpcWorkload(method: string, revisionField: number, items: readonly Item[], answers: Answers): Workload {
  return {
    size: items.length,
    path: `${SERVICE}/${method}`,
    body: (index) => (items[index] as Item).body,
    isRight:
      answers === 'constant'
        ? (_, buffer, start, end) => buffer.compare(CONSTANT_ANSWER, 0, CONSTANT_ANSWER.length, start, end) === 0
        : (index, buffer, start, end) => isAnswer(buffer, start, end, (items[index] as Item).expected, revisionField),
    describe: (index) =>
      `${(items[index] as Item).describe()}, expected ${(items[index] as Item).expected.toString('hex')}`,
  };
}

function checkItem(oracle: Oracle, q: BenchQuestion): Item {
  return { body: encodeCheck(q), expected: checkAnswer(oracle.answer(q)), describe: () => JSON.stringify(q) };
}

function bulkItems(dataset: Dataset, oracle: Oracle, users: number | undefined): Item[] {
  return bulkQuestions(dataset, users).map((q) => {
    const items = q.permissions.map((permission) => ({
      permission,
      answer: oracle.answer({ ...q, permission, asked: 0 }),
    }));
    return { body: encodeBulk(q), expected: bulkAnswer(items), describe: () => JSON.stringify(q) };
  });
}

function batchItems(oracle: Oracle, all: readonly BenchQuestion[], count: number): Item[] {
  return batches(all, count).map((checks) => ({
    body: encodeBatch(checks),
    expected: batchAnswer(checks.map((check) => oracle.answer(check))),
    describe: () => JSON.stringify(checks),
  }));
}

function manifestItems(): Item[] {
  const dataset = makeManifestDataset();
  const oracle = new Oracle(dataset);
  const [app] = dataset.applications.values();
  return questionsOf(dataset, app as BenchApplication).map((q) => checkItem(oracle, q));
}

function effectiveItems(dataset: Dataset, oracle: Oracle, code: string): Item[] {
  return effectiveQuestions(dataset, code).map((s) => {
    const app = dataset.applications.get(s.app) as BenchApplication;
    const lines = inEffectiveOrder(app).map((p) => ({
      ...p,
      answer: oracle.answer({ ...s, permission: p.code, asked: 0 as Level }),
    }));
    return { body: encodeEffective(s), expected: effectiveAnswer(lines), describe: () => JSON.stringify(s) };
  });
}

/** By group, those without one last, then by code; both by UTF-16 code units (docs/reference/decisions.md#bulk-and-effective). */
function inEffectiveOrder(app: BenchApplication): BenchApplication['permissions'] {
  const group = (name: string | null): string => (name === null ? '\uffff' : name);
  return [...app.permissions].sort((a, b) => {
    const [x, y] = a.groupName === b.groupName ? [a.code, b.code] : [group(a.groupName), group(b.groupName)];
    return x < y ? -1 : x > y ? 1 : 0;
  });
}

function restWorkload(oracle: Oracle, questions: readonly BenchQuestion[], answers: Answers): Workload {
  const items = questions.map((q) => {
    const { asked: _, ...body } = q;
    if (body.resourceType === '') {
      const { email, app, permission } = body;
      return { body: Buffer.from(JSON.stringify({ email, app, permission })), question: q };
    }
    return { body: Buffer.from(JSON.stringify(body)), question: q };
  });
  const expected = questions.map((q) => answers === 'constant' || oracle.answer({ ...q, asked: 0 }).allowed);
  return {
    size: items.length,
    path: '/api/check',
    body: (index) => (items[index] as { body: Buffer }).body,
    isRight: (index, buffer, start, end) => {
      const answer = JSON.parse(buffer.toString('utf8', start, end)) as {
        success?: unknown;
        data?: { allowed?: unknown };
      };
      return answer.success === true && answer.data?.allowed === expected[index];
    },
    describe: (index) => `${JSON.stringify(items[index]?.question)}, expected ${expected[index]}`,
  };
}

export interface SignedInRequest {
  token: string;
  /** What must stand in the body of the answer. */
  expected: string;
}

const SIGNED_IN = {
  profile: { method: 'GET', path: '/api/profile/me' },
  activity: { method: 'POST', path: '/api/profile/me/apps/billing/activity' },
} as const;

/** Requests of signed-in people, without a body. */
export function signedInWorkload(name: keyof typeof SIGNED_IN, requests: readonly SignedInRequest[]): Workload {
  const empty = Buffer.alloc(0);
  const of = (index: number) => requests[index] as SignedInRequest;
  return {
    ...SIGNED_IN[name],
    size: requests.length,
    body: () => empty,
    token: (index) => of(index).token,
    isRight: (index, buffer, start, end) => buffer.toString('utf8', start, end).includes(of(index).expected),
    describe: (index) => `${name} of ${index}, expected ${of(index).expected}`,
  };
}

/** The health of the whole server, which serves: field 1 is 1. */
const HEALTH: Workload = {
  size: 1,
  path: '/grpc.health.v1.Health/Check',
  body: () => Buffer.alloc(0),
  isRight: (_, buffer, start, end) => buffer.toString('hex', start, end) === '0801',
  describe: () => 'health, expected SERVING',
};

/** Builds workloads on demand over one data set. */
export class Workloads {
  readonly #dataset = makeDataset();
  readonly #oracle = new Oracle(this.#dataset);
  readonly #all = allQuestions(this.#dataset);
  readonly #built = new Map<string, Workload>();

  get(name: Exclude<WorkloadName, keyof typeof SIGNED_IN>, answers: Answers): Workload {
    const key = `${name} ${answers}`;
    const workload = this.#built.get(key) ?? this.#build(name, answers);
    this.#built.set(key, workload);
    return workload;
  }

  #build(name: Exclude<WorkloadName, keyof typeof SIGNED_IN>, answers: Answers): Workload {
    const oracle = this.#oracle;
    switch (name) {
      case 'hot':
        return grpcWorkload(
          'Check',
          4,
          hotQuestions(this.#all).map((q) => checkItem(oracle, q)),
          answers,
        );
      case 'all':
        return grpcWorkload(
          'Check',
          4,
          this.#all.map((q) => checkItem(oracle, q)),
          answers,
        );
      case 'bulk-hot':
        return grpcWorkload('BulkCheck', 2, bulkItems(this.#dataset, oracle, 50), answers);
      case 'bulk':
        return grpcWorkload('BulkCheck', 2, bulkItems(this.#dataset, oracle, undefined), answers);
      case 'batch':
        return grpcWorkload('BatchCheck', 2, batchItems(oracle, this.#all, 100), answers);
      case 'batch-all':
        return grpcWorkload('BatchCheck', 2, batchItems(oracle, this.#all, 500), answers);
      case 'explain': {
        const items = hotQuestions(this.#all).map((q) => ({ ...checkItem(oracle, q), body: encodeExplain(q) }));
        const isRight: Workload['isRight'] = (index, buffer, start, end) =>
          isExplained(buffer, start, end, (items[index] as Item).expected);
        return { ...grpcWorkload('Explain', 4, items, answers), isRight };
      }
      case 'effective':
        return grpcWorkload('Effective', 2, effectiveItems(this.#dataset, oracle, EFFECTIVE_APP), answers);
      case 'effective-20':
        return grpcWorkload('Effective', 2, effectiveItems(this.#dataset, oracle, USUAL_APP), answers);
      case 'manifest':
        return grpcWorkload('Check', 4, manifestItems(), answers);
      case 'health':
        return HEALTH;
      case 'rest':
        return restWorkload(oracle, hotQuestions(this.#all), answers);
    }
  }
}
