import { describe, expect, test } from '@jest/globals';
import { evaluate, evaluateRows } from '../../src/engine/evaluate.ts';
import { compilePolicy } from '../../src/engine/policy.ts';
import { isAllowed } from '../../src/engine/question.ts';
import { Level } from '../../src/engine/types.ts';
import { answerOf, isAllowedByOracle } from '../oracle/oracle.ts';
import { type AccessLevel, applyTo, NO_ROWS, type Operation, type Rows } from '../oracle/rows.ts';
import { asDecision, memberOf, policyOf } from '../oracle/storage.ts';
import { EVALUATOR_MUTANTS } from './evaluator-mutants.ts';

const email = 'u@example.com';
const app = 'shop';
const permission = 'orders.read';
const QUESTIONS = [
  { resourceType: '', resourceId: '' },
  { resourceType: 'order', resourceId: '7' },
  { resourceType: 'order', resourceId: '8' },
  { resourceType: 'invoice', resourceId: '7' },
].map((resource) => ({ email, app, permission, ...resource }));
const ASKED = [
  [null, Level.NONE],
  ['view', Level.VIEW],
  ['edit', Level.EDIT],
] as const;

/** Every combination of one value from each list. */
function* combinations<T extends readonly unknown[]>(...lists: { [K in keyof T]: readonly T[K][] }): Generator<T> {
  const [first, ...rest] = lists as readonly (readonly unknown[])[];
  if (first === undefined) {
    yield [] as unknown as T;
    return;
  }
  for (const value of first) for (const tail of combinations(...rest)) yield [value, ...tail] as unknown as T;
}

type Who = [user: boolean | null, superadmin: boolean, appAdmin: boolean];

/** The subjects: 3 states of a record, SuperAdmin or not, AppAdmin or not. */
const PEOPLE = [...combinations<Who>([null, true, false], [false, true], [false, true])];

/** Whatever is defined: nothing, or a permission of either type with any override, any levels of two roles, any of them held. */
function* definitions(): Generator<readonly Operation[]> {
  const roles = (['one', 'two'] as const).map((role): Operation => ({ kind: 'define-role', app, role }));
  yield [{ kind: 'create-app', app }];
  for (const type of ['binary', 'tiered'] as const) {
    const levels: readonly AccessLevel[] = type === 'binary' ? ['allowed'] : ['view', 'edit'];
    const all = combinations<
      [boolean, AccessLevel | 'denied' | null, AccessLevel | null, AccessLevel | null, string[]]
    >(
      [false, true],
      [null, 'denied', ...levels],
      [null, ...levels],
      [null, ...levels],
      [[], ['one'], ['two'], ['one', 'two']],
    );
    for (const [global, override, one, two, held] of all) {
      const gives = (role: string, level: AccessLevel | null): Operation => {
        const permissions = level === null ? [] : [{ permission, accessLevel: level }];
        return { kind: 'permissions-of-role', app, role, permissions };
      };
      const accessLevel = override === 'denied' ? null : override;
      yield [
        { kind: 'create-app', app },
        { kind: 'define-permission', app, permission, type, global, groupName: null },
        ...roles,
        gives('one', one),
        gives('two', two),
        { kind: 'roles-of-user', app, email, roles: held },
        {
          kind: 'overrides-of-user',
          app,
          email,
          resourceType: 'order',
          resourceId: '7',
          overrides: override === null ? [] : [{ permission, granted: override !== 'denied', accessLevel }],
        },
      ];
    }
  }
}

function* worlds(): Generator<Rows> {
  for (const defined of definitions()) {
    for (const [user, superadmin, appAdmin] of PEOPLE) {
      const operations: Operation[] = [...defined];
      if (user !== null) operations.push({ kind: 'user', email, active: user });
      operations.push({ kind: 'superadmin', email, is: superadmin }, { kind: 'app-admin', app, email, is: appAdmin });
      yield operations.reduce(applyTo, NO_ROWS);
    }
  }
}

interface Scene {
  rows: Rows;
  question: (typeof QUESTIONS)[number];
  expected: ReturnType<typeof asDecision>;
  allowed: readonly boolean[];
  facts: Parameters<typeof evaluate>;
}

const scenes: Scene[] = [];
for (const rows of worlds()) {
  const defined = compilePolicy(policyOf(rows, app)).permissions.get(permission);
  for (const question of QUESTIONS) {
    const { person, member, overrides } = memberOf(rows, question);
    const levels = overrides && new Map(overrides.levels.map((row) => [row.permissionId, row.level]));
    scenes.push({
      rows,
      question,
      expected: asDecision(answerOf(rows, question)),
      allowed: ASKED.map(([asked]) => isAllowedByOracle(rows, question, asked)),
      facts: [person, member, defined, levels],
    });
  }
}

function differs(evaluator: typeof evaluate, { expected, allowed, facts }: Scene): boolean {
  const decision = evaluator(...facts);
  return (
    decision.granted !== expected.granted ||
    decision.level !== expected.level ||
    decision.source !== expected.source ||
    ASKED.some(([, asked], index) => isAllowed(decision, asked) !== allowed[index])
  );
}

describe('the six rules, exhaustively in a small scope', () => {
  test('the exhaustive scope has the expected size', () => {
    const perType = (overrides: number, levels: number) => 2 * overrides * levels * levels * 4;
    expect(scenes).toHaveLength((1 + perType(3, 2) + perType(4, 3)) * PEOPLE.length * QUESTIONS.length);
  });

  test('the evaluator agrees with the oracle', () => {
    expect(scenes.filter((scene) => differs(evaluate, scene)).slice(0, 3)).toEqual([]);
  });

  test('evaluating rows, as guards of writes do, agrees with the oracle', () => {
    const wrong = scenes.filter(({ rows, question, facts }) => {
      return evaluateRows(policyOf(rows, app), memberOf(rows, question), permission) !== evaluate(...facts);
    });
    expect(wrong.slice(0, 3)).toEqual([]);
  });

  test.each(Object.keys(EVALUATOR_MUTANTS))('the mutant is killed: %s', (name) => {
    const mutant = EVALUATOR_MUTANTS[name] as typeof evaluate;
    expect(scenes.some((scene) => differs(mutant, scene))).toBe(true);
  });
});
