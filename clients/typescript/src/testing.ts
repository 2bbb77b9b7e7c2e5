/** For the tests of applications: answers that a test chooses, without a service. */

import { UnavailableError } from './errors.ts';
import type { Decision, Question, Usher } from './types.ts';

export interface FakeUsher extends Usher {
  /** Allows it: with a level of a tiered permission, or without. For one record, or for all questions about the permission. */
  allow(question: Pick<Question, 'email' | 'app' | 'permission' | 'resource'>, level?: 'view' | 'edit'): FakeUsher;
  /** Every question is UNAVAILABLE from now on, or no longer. */
  fail(fails?: boolean): FakeUsher;
  /** Every question so far. */
  readonly asked: readonly Question[];
}

type Given = Pick<Question, 'email' | 'app' | 'permission' | 'resource'> & { level: 'allowed' | 'view' | 'edit' };

/** Denies what was not allowed. `explain`, `subjects`, `resources` and `watch` know only what was allowed by name. */
export function createFakeUsher(): FakeUsher {
  const given: Given[] = [];
  const asked: Question[] = [];
  let failing = false;
  const revision = '1';
  const decide = (question: Question): Decision => {
    asked.push(question);
    if (failing) throw new UnavailableError('The fake fails.', { code: 'UNAVAILABLE', reason: 'UNAVAILABLE' });
    const held = given.findLast((one) => fits(one, question));
    const level = held?.level ?? null;
    const enough = question.level === undefined || level === 'allowed' || level === 'edit' || level === question.level;
    return { allowed: level !== null && enough, level, source: level === null ? null : 'role', revision };
  };
  const permissionsOf = ({ email, app }: Pick<Question, 'email' | 'app'>) => [
    ...new Set(given.filter((one) => one.email === email && one.app === app).map(({ permission }) => permission)),
  ];
  const fake: FakeUsher = {
    asked,
    allow(question, level) {
      given.push({ ...question, level: level ?? 'allowed' });
      return fake;
    },
    fail(fails = true) {
      failing = fails;
      return fake;
    },
    check: async (question) => decide(question),
    allowed: async (question) => !failing && decide(question).allowed,
    bulkCheck: async ({ permissions, ...subject }) =>
      new Map(permissions.map((permission) => [permission, decide({ ...subject, permission })])),
    batchCheck: async (questions) => questions.map(decide),
    effective: async (subject) => ({
      revision,
      permissions: permissionsOf(subject).map((permission) => {
        const { revision: _, ...decision } = decide({ ...subject, permission });
        return { permission, ...decision, tiered: decision.level !== 'allowed', global: false, group: null };
      }),
    }),
    explain: async (question) => ({
      ...decide(question),
      rules: [],
      known: { user: true, application: true, permission: true },
    }),
    async *subjects(question) {
      for (const email of new Set(given.map((one) => one.email))) {
        const { allowed, level, source } = decide({ ...question, email });
        if (allowed) yield { email, level, source };
      }
    },
    resources: async ({ resourceType, ...question }) => {
      const ids = given.flatMap(({ resource }) => (resource?.type === resourceType ? [resource.id] : []));
      const isHeld = (id: string) => decide({ ...question, resource: { type: resourceType, id } }).allowed;
      return { scope: 'only', resourceIds: [...new Set(ids)].filter(isHeld), revision };
    },
    async *watch() {
      yield { revision, changes: [], reset: false };
    },
    close: () => undefined,
  };
  return fake;
}

function fits(given: Given, { email, app, permission, resource }: Question): boolean {
  const about = given.resource;
  const isRecord = about === undefined || (about.type === resource?.type && about.id === resource?.id);
  return given.email === email && given.app === app && given.permission === permission && isRecord;
}
