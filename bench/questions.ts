/** The questions asked of the data set: made from the same seed, each with the answer that it must get. */
import type { Question } from '../clients/typescript/src/types.ts';
import type { BenchApplication, Dataset } from './dataset.ts';
import { BULK_APP, WIDE_USERS } from './dataset.ts';
import type { BenchQuestion, BenchSubject } from './oracle.ts';
import { Random } from './random.ts';

const ROUNDS = 5;

/**
 * 50,000 questions: five rounds over the 10,000 users. In each round every user is asked about once, in random order; a
 * user is asked about another application in each round, so that no question finds the member facts of an earlier one.
 * Half name a resource, of which half have an override; some ask for a level; some name what does not exist.
 */
export function allQuestions(dataset: Dataset, seed = 7): BenchQuestion[] {
  const random = new Random(seed);
  const overridden = indexOverrides(dataset);
  const applicationsOf = dataset.users.map((user) => {
    const member = dataset.codes.filter((code) => dataset.applications.get(code)?.assignments.has(user.email));
    const other = random.pick(dataset.codes.filter((code) => !member.includes(code)));
    return random.shuffle([...member, other]);
  });
  const questions: BenchQuestion[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (const index of random.shuffle(dataset.users.map((_, i) => i))) {
      const email = dataset.users[index]?.email as string;
      const app = dataset.applications.get(applicationsOf[index]?.[round] as string) as BenchApplication;
      questions.push(makeQuestion(random, app, email, overridden.get(`${app.code} ${email}`)));
    }
  }
  return questions;
}

type Overridden = { resourceType: string; resourceId: string; permission: string };

function indexOverrides(dataset: Dataset): Map<string, Overridden> {
  const index = new Map<string, Overridden>();
  for (const app of dataset.applications.values()) {
    for (const o of app.overrides) index.set(`${app.code} ${o.email}`, o);
  }
  return index;
}

function makeQuestion(random: Random, app: BenchApplication, email: string, o: Overridden | undefined): BenchQuestion {
  const question: BenchQuestion = {
    email: random.chance(0.01) ? `nobody.${random.below(1_000_000)}@example.com` : email,
    app: app.code,
    permission: random.chance(0.02) ? 'no.such.permission' : random.pick(app.permissions).code,
    resourceType: '',
    resourceId: '',
    asked: random.chance(0.3) ? (random.chance(0.5) ? 2 : 3) : 0,
  };
  if (random.chance(0.5)) {
    question.resourceType = o?.resourceType ?? random.pick(app.entities);
    question.resourceId = o?.resourceId ?? `${question.resourceType}-${random.below(5000)}`;
    if (o && random.chance(0.6)) question.permission = o.permission;
  }
  return question;
}

/** The 100 questions of the hot set: every five-hundredth of the 50,000. */
export function hotQuestions(all: readonly BenchQuestion[]): BenchQuestion[] {
  return all.filter((_, i) => i % Math.floor(all.length / 100) === 0).slice(0, 100);
}

/** The first of the 50,000 in batches of 100: of mixed people, applications and records. The caches hold the facts of 100 batches. */
export function batches(all: readonly BenchQuestion[], count: number): BenchQuestion[][] {
  return Array.from({ length: count }, (_, batch) => all.slice(100 * batch, 100 * (batch + 1)));
}

/** One question about each user of an application, about the resource of its override: for the manifest's data. */
export function questionsOf(dataset: Dataset, app: BenchApplication): BenchQuestion[] {
  const random = new Random(17);
  const overridden = indexOverrides(dataset);
  return dataset.users.map(({ email }) => makeQuestion(random, app, email, overridden.get(`${app.code} ${email}`)));
}

export interface BulkQuestion extends BenchSubject {
  permissions: readonly string[];
}

/** BulkCheck of 50 permissions for each of `users` users (at most 2,000); half of them for a resource. */
export function bulkQuestions(dataset: Dataset, users = WIDE_USERS): BulkQuestion[] {
  const app = dataset.applications.get(BULK_APP) as BenchApplication;
  const random = new Random(11);
  const codes = app.permissions.map((p) => p.code);
  return subjects(dataset, app, random, users).map((s) => ({ ...s, permissions: random.shuffle([...codes]) }));
}

/** Effective of an application for each of 2,000 users, half of those with an override for its resource. */
export function effectiveQuestions(dataset: Dataset, code: string): BenchSubject[] {
  const app = dataset.applications.get(code) as BenchApplication;
  return subjects(dataset, app, new Random(13), WIDE_USERS);
}

function subjects(dataset: Dataset, app: BenchApplication, random: Random, users: number): BenchSubject[] {
  const overridden = new Map(app.overrides.map((o) => [o.email, o]));
  return dataset.users.slice(0, users).map(({ email }) => {
    const o = overridden.get(email);
    if (!o || !random.chance(0.5)) return { email, app: app.code, resourceType: '', resourceId: '' };
    return { email, app: app.code, resourceType: o.resourceType, resourceId: o.resourceId };
  });
}

/** As the TypeScript packages ask it. */
export function toQuestion({ email, app, permission, resourceType, resourceId, asked }: BenchQuestion): Question {
  return {
    email,
    app,
    permission,
    ...(resourceType === '' ? {} : { resource: { type: resourceType, id: resourceId } }),
    ...(asked === 0 ? {} : { level: asked === 2 ? 'view' : 'edit' }),
  };
}
