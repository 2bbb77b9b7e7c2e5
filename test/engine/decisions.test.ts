import { describe, expect, test } from '@jest/globals';
import { evaluate, evaluateRows } from '../../src/engine/evaluate.ts';
import { compilePolicy } from '../../src/engine/policy.ts';
import { isAllowed } from '../../src/engine/question.ts';
import { Level } from '../../src/engine/types.ts';
import { answerOf, isAllowedByOracle } from '../oracle/oracle.ts';
import { applyTo, NO_ROWS, type Operation, type Rows } from '../oracle/rows.ts';
import { asDecision, memberOf, policyOf } from '../oracle/storage.ts';
import { CASES, type Case, type Given } from './decisions.data.ts';

const email = 'u@example.com';
const app = 'shop';
const permission = 'orders.read';
const RESOURCES = {
  'the resource': { resourceType: 'order', resourceId: '7' },
  'another id': { resourceType: 'order', resourceId: '8' },
  'another type': { resourceType: 'invoice', resourceId: '7' },
} as const;
const NONE = { resourceType: '', resourceId: '' };

function rowsOf(given: Given): Rows {
  const roles = given.permission === undefined ? [] : (given.roles ?? []);
  const named = roles.map((level, index) => ({ role: `role${index}`, level }));
  const operations: Operation[] = [];
  if (given.user !== undefined) operations.push({ kind: 'user', email, active: given.user === 'active' });
  if (given.superadmin) operations.push({ kind: 'superadmin', email, is: true });
  if (!given.noApplication) operations.push({ kind: 'create-app', app });
  if (given.appAdmin) operations.push({ kind: 'app-admin', app, email, is: true });
  if (given.permission)
    operations.push({ kind: 'define-permission', app, permission, groupName: null, ...given.permission });
  if (given.otherRole !== undefined) named.push({ role: 'other', level: given.otherRole });
  for (const { role, level } of named) {
    const permissions = level === null ? [] : [{ permission, accessLevel: level }];
    operations.push({ kind: 'define-role', app, role }, { kind: 'permissions-of-role', app, role, permissions });
  }
  operations.push({ kind: 'roles-of-user', app, email, roles: roles.map((_, index) => `role${index}`) });
  for (const [whose, level] of [
    [email, given.override],
    ['other@example.com', given.overrideOfOther],
  ] as const) {
    if (level === undefined) continue;
    const override = { permission, granted: level !== 'denied', accessLevel: level === 'denied' ? null : level };
    operations.push({
      kind: 'overrides-of-user',
      app,
      email: whose,
      ...RESOURCES['the resource'],
      overrides: [override],
    });
  }
  return operations.reduce(applyTo, NO_ROWS);
}

const LEVELS = { view: Level.VIEW, edit: Level.EDIT };

describe('decision tables', () => {
  test.each(CASES.map((one): [string, Case] => [one.cites, one]))(
    'the decision table holds: %s',
    (_cites, { given, about, asked, expected }) => {
      const rows = rowsOf(given);
      const resource = about === undefined ? NONE : RESOURCES[about];
      const question = { email, app, permission, ...resource };
      const answer = memberOf(rows, question);
      const levels = answer.overrides?.levels.map((row) => [row.permissionId, row.level] as const);
      const defined = compilePolicy(policyOf(rows, app)).permissions.get(permission);
      const decision = evaluate(answer.person, answer.member, defined, levels ? new Map(levels) : null);

      const { allowed, accessLevel, source } = expected;
      expect(decision).toMatchObject(asDecision({ granted: accessLevel !== null, accessLevel, source }));
      expect(isAllowed(decision, asked === undefined ? Level.NONE : LEVELS[asked])).toBe(allowed);
      expect(evaluateRows(policyOf(rows, app), answer, permission)).toBe(decision);
      // The oracle of the other suites is held by the same tables.
      expect(answerOf(rows, question)).toEqual({ granted: accessLevel !== null, accessLevel, source });
      expect(isAllowedByOracle(rows, question, asked ?? null)).toBe(allowed);
    },
  );
});
