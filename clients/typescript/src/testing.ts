/** For the tests of applications: answers that a test chooses, without a service. */

import { UnavailableError } from './errors.ts';
import { keptCall } from './kept.ts';
import {
  type CheckFields,
  readAboutEverybody,
  readAboutRecords,
  readBatch,
  readBulk,
  readCheck,
  readGiven,
  readSubject,
  type SubjectFields,
} from './questions.ts';
import { type KeepingUsher, orDenied } from './remote.ts';
import { readAsk, readReady, readWatch } from './settings.ts';
import type { Decision, Question, Usher } from './types.ts';

export interface FakeUsher extends KeepingUsher {
  /** Allows it: with a level of a tiered permission, or without. For one record, or for all questions about the permission. */
  allow(question: Pick<Question, 'email' | 'app' | 'permission' | 'resource'>, level?: 'view' | 'edit'): FakeUsher;
  /** Every question is UNAVAILABLE from now on, or no longer. */
  fail(fails?: boolean): FakeUsher;
  /** Every question so far. */
  readonly asked: readonly Question[];
}

type About = SubjectFields & { readonly permission: string };
type Given = About & { readonly level: 'allowed' | 'view' | 'edit' };

const REVISION = '1';
const LEVELS = { 0: undefined, 2: 'view', 3: 'edit' } as const;
const QUIET = { warn: () => undefined };

/**
 * Denies what was not allowed, and refuses a question that is wrong as every client does. `explain`, `subjects`, `resources` and
 * `watch` know only what was allowed by name.
 */
export function createFakeUsher(): FakeUsher {
  return new Fake();
}

class Fake implements FakeUsher {
  readonly asked: Question[] = [];
  readonly #given: Given[] = [];
  #failing = false;

  allow(question: Pick<Question, 'email' | 'app' | 'permission' | 'resource'>, level?: 'view' | 'edit'): FakeUsher {
    const given = readGiven(question, level);
    this.#given.push({ ...given, level: given.level ?? 'allowed' });
    return this;
  }

  fail(fails = true): FakeUsher {
    this.#failing = fails;
    return this;
  }

  check: Usher['check'] = async (question, options) => {
    const fields = readCheck(question);
    readAsk(options);
    return this.#decide(fields);
  };

  keep: KeepingUsher['keep'] = (question, options) => {
    const fields = readCheck(question);
    return keptCall(
      async () => this.#decide(fields),
      (given) => this.ready(given),
      options,
    );
  };

  allowed: Usher['allowed'] = (question, options) => orDenied(() => this.check(question, options), question, QUIET);

  bulkCheck: Usher['bulkCheck'] = async (subject, options) => {
    const { permissions, ...fields } = readBulk(subject);
    readAsk(options);
    return new Map(permissions.map((permission) => [permission, this.#decide({ ...fields, permission })]));
  };

  batchCheck: Usher['batchCheck'] = async (questions, options) => {
    const checks = readBatch(questions);
    readAsk(options);
    return checks.map((fields) => this.#decide(fields));
  };

  effective: Usher['effective'] = async (subject, options) => {
    const fields = readSubject(subject);
    readAsk(options);
    const { email, app } = fields;
    const named = this.#given.filter((one) => one.email === email && one.app === app);
    const permissions = [...new Set(named.map(({ permission }) => permission))].map((permission) => {
      const { revision: _, ...decision } = this.#decide({ ...fields, permission, accessLevel: 0 });
      return { permission, ...decision, tiered: decision.level !== 'allowed', global: false, group: null };
    });
    return { revision: REVISION, permissions };
  };

  explain: Usher['explain'] = async (question, options) => ({
    ...(await this.check(question, options)),
    rules: [],
    known: { user: true, application: true, permission: true },
  });

  subjects: Usher['subjects'] = (question, options) => this.#subjects(question, options);

  async *#subjects(...[question, options]: Parameters<Usher['subjects']>) {
    const fields = readAboutEverybody(question);
    readAsk(options);
    for (const email of new Set(this.#given.map((one) => one.email))) {
      const { allowed, level, source } = this.#decide({ ...fields, email });
      if (allowed) yield { email, level, source };
    }
  }

  resources: Usher['resources'] = async (question, options) => {
    const fields = readAboutRecords(question);
    readAsk(options);
    const named = this.#given.filter(({ resourceType }) => resourceType === fields.resourceType);
    const isHeld = (resourceId: string) => this.#decide({ ...fields, resourceId }).allowed;
    const resourceIds = [...new Set(named.map(({ resourceId }) => resourceId))].filter(isHeld);
    return { scope: 'only', resourceIds, revision: REVISION };
  };

  watch: Usher['watch'] = (options) => this.#watch(options);

  async *#watch(options: Parameters<Usher['watch']>[0]) {
    readWatch(options);
    yield { revision: REVISION, changes: [], reset: false };
  }

  async ready(options?: Parameters<Usher['ready']>[0]): Promise<void> {
    readReady(options);
    if (this.#failing) throw failure();
  }

  close(): void {
    // Nothing is open.
  }

  #decide({ accessLevel, ...about }: CheckFields): Decision {
    const level = LEVELS[accessLevel];
    this.asked.push(questionOf(about, level));
    if (this.#failing) throw failure();
    const held = this.#given.findLast((one) => fits(one, about))?.level ?? null;
    const isEnough = level === undefined || held === 'allowed' || held === 'edit' || held === level;
    const source = held === null ? null : 'role';
    return { allowed: held !== null && isEnough, level: held, source, revision: REVISION };
  }
}

function failure(): UnavailableError {
  return new UnavailableError('The fake fails.', { code: 'UNAVAILABLE', reason: 'UNAVAILABLE' });
}

function questionOf({ email, app, permission, resourceType, resourceId }: About, level: Question['level']): Question {
  return {
    email,
    app,
    permission,
    ...(resourceType === '' ? {} : { resource: { type: resourceType, id: resourceId } }),
    ...(level === undefined ? {} : { level }),
  };
}

function fits(given: Given, { email, app, permission, resourceType, resourceId }: About): boolean {
  const isRecord =
    given.resourceType === '' || (given.resourceType === resourceType && given.resourceId === resourceId);
  return given.email === email && given.app === app && given.permission === permission && isRecord;
}
