import { describe, expect, test } from '@jest/globals';
import type { Question } from '../../panel/src/places/ask/question.ts';
import type { Explained } from '../../panel/src/places/ask/rules.ts';
import { type Matrix, shownAtFirst, type Way, waysOf } from '../../panel/src/places/ask/ways.ts';
import { LEVEL_NAMES, RULE_NAMES, SOURCE_NAMES } from '../../src/base/level-names.ts';
import { explainRows } from '../../src/engine/explanation.ts';
import { isAllowed } from '../../src/engine/question.ts';
import { Level } from '../../src/engine/types.ts';
import { isAllowedByOracle } from '../oracle/oracle.ts';
import { type AccessLevel, applyTo, NO_ROWS, type Operation, type Rows } from '../oracle/rows.ts';
import { groundsOf } from '../oracle/storage.ts';
import { NAMES, pick, type Random, randomOperation, seeded } from '../oracle/world.ts';

/** Every way that is offered is carried out on the rows, and the same question is asked again. */
const ROUNDS = process.env.USHER_LONG ? 40_000 : 4000;
const APP = 'billing';

type Asked = 'view' | 'edit' | null;

function askedOf({ level }: Question): Asked {
  return level === 'view' || level === 'edit' ? level : null;
}

function explain(rows: Rows, question: Question): Explained {
  const { decision, rule, rules, override, roles, known } = explainRows(groundsOf(rows, question), question.permission);
  const wanted = { '': Level.NONE, view: Level.VIEW, edit: Level.EDIT }[question.level] ?? Level.NONE;
  return {
    allowed: isAllowed(decision, wanted),
    accessLevel: LEVEL_NAMES[decision.level],
    source: SOURCE_NAMES[decision.source],
    rule,
    rules: RULE_NAMES.map((name, index) => {
      const { applies = false, decides = false, level = Level.NONE } = rules[index] ?? {};
      return {
        rule: index + 1,
        name,
        applies,
        decides,
        accessLevel: LEVEL_NAMES[level],
        override: override === null ? null : { granted: override.granted, accessLevel: LEVEL_NAMES[override.level] },
        roles: roles.map((role) => ({ code: role.code, accessLevel: LEVEL_NAMES[role.level] })),
      };
    }),
    known,
  };
}

function matrixOf(rows: Rows): Matrix {
  const roleIds = new Map(rows.roles.map(({ role, id }) => [role, id]));
  const permissionIds = new Map(rows.permissions.map(({ permission, id }) => [permission, id]));
  return {
    permissions: rows.permissions.map(({ id, permission, type, global }) => ({ id, code: permission, type, global })),
    roles: rows.roles.map(({ id, role }) => {
      return { id, code: role, holders: rows.assignments.filter((held) => held.role === role).length };
    }),
    levels: rows.rolePermissions.map(({ role, permission, accessLevel }) => {
      return { roleId: roleIds.get(role) ?? 0, permissionId: permissionIds.get(permission) ?? 0, accessLevel };
    }),
  };
}

/** The write that a way stands for. */
function operationOf(rows: Rows, question: Question, way: Way): Operation {
  const { email, permission, resourceType, resourceId } = question;
  const record = { kind: 'overrides-of-user', app: APP, email, resourceType, resourceId } as const;
  const others = rows.overrides.filter(
    (row) =>
      row.email === email &&
      row.resourceType === resourceType &&
      row.resourceId === resourceId &&
      row.permission !== permission,
  );
  const roles = rows.assignments.filter((row) => row.email === email).map(({ role }) => role);
  switch (way.kind) {
    case 'set-override':
      return { ...record, overrides: [...others, { permission, granted: true, accessLevel: way.level }] };
    case 'deny-override':
      return { ...record, overrides: [...others, { permission, granted: false, accessLevel: null }] };
    case 'remove-override':
      return { ...record, overrides: others };
    case 'give-role':
      return { kind: 'roles-of-user', app: APP, email, roles: [...roles, way.role] };
    case 'take-role':
      return { kind: 'roles-of-user', app: APP, email, roles: roles.filter((role) => role !== way.role) };
    case 'set-level': {
      const held = rows.rolePermissions.filter((row) => row.role === way.role && row.permission !== permission);
      const raised = way.level === null ? [] : [{ permission, accessLevel: way.level }];
      return { kind: 'permissions-of-role', app: APP, role: way.role, permissions: [...held, ...raised] };
    }
    case 'make-admin':
    case 'remove-admin':
      return { kind: 'app-admin', app: APP, email, is: way.kind === 'make-admin' };
    case 'make-superadmin':
    case 'remove-superadmin':
      return { kind: 'superadmin', email, is: way.kind === 'make-superadmin' };
    case 'unblock':
    case 'block':
      return { kind: 'user', email, active: way.kind === 'unblock' };
  }
}

const SOME = { permissions: 0, people: 0, everyRecord: false };

/** Every single change of the kinds that are offered, whether it changes the answer or not. */
function candidates(rows: Rows, { email, permission, level }: Question, allowed: boolean): Way[] {
  const defined = rows.permissions.find((row) => row.permission === permission);
  const needed: AccessLevel = defined?.type === 'binary' ? 'allowed' : level === 'edit' ? 'edit' : 'view';
  const less = level === 'edit' && needed === 'edit' ? 'view' : null;
  const held = new Set(rows.assignments.filter((row) => row.email === email).map(({ role }) => role));
  const overrides = allowed
    ? [{ kind: 'deny-override', else: SOME } as const]
    : [{ kind: 'set-override', level: needed, else: SOME } as const];
  const everything = allowed
    ? (['remove-admin', 'remove-superadmin', 'block'] as const)
    : (['make-admin', 'make-superadmin', 'unblock'] as const);
  const roles = rows.roles.flatMap(({ role }): Way[] => {
    if (!held.has(role)) return allowed ? [] : [{ kind: 'give-role', role, else: SOME }];
    const set: Way = { kind: 'set-level', role, level: allowed ? less : needed, else: SOME };
    return allowed ? [set, { kind: 'take-role', role, else: SOME }] : [set];
  });
  const rest = [{ kind: 'remove-override', else: SOME } as const, ...everything.map((kind) => ({ kind, else: SOME }))];
  return [...roles, ...overrides, ...rest];
}

function randomQuestion(random: Random): Question {
  const resource = random(4) === 0 ? { resourceType: '', resourceId: '' } : pick(random, NAMES.resources);
  return {
    app: APP,
    email: pick(random, NAMES.emails),
    permission: pick(random, NAMES.permissions),
    level: pick(random, ['', 'view', 'edit']),
    ...resource,
  };
}

const nameOf = (way: Way): string => JSON.stringify({ ...way, else: undefined });

describe('what would change the answer', () => {
  test(`each of the ways changes it, and no single change is missing, in ${ROUNDS} random worlds`, () => {
    const random = seeded(20_261_124);
    const names = { ...NAMES, apps: [APP], writesOfAnApp: 1e9 };
    let rows = NO_ROWS;
    const seen = new Map<string, number>();
    for (let round = 0; round < ROUNDS; round++) {
      for (let i = 0; i < 3; i++) rows = applyTo(rows, randomOperation(random, rows, names));
      const question = randomQuestion(random);
      const explained = explain(rows, question);
      const allowed = isAllowedByOracle(rows, question, askedOf(question));
      expect(explained.allowed).toBe(allowed);
      const blocked = rows.users.some((user) => user.email === question.email && !user.active);
      const ways = waysOf({ question, explained, matrix: matrixOf(rows), blocked, recordKnown: true });
      const changes = (way: Way): boolean => {
        const after = applyTo(rows, operationOf(rows, question, way));
        return isAllowedByOracle(after, question, askedOf(question)) !== allowed;
      };
      expect(ways.filter((way) => !changes(way))).toEqual([]);
      for (const { kind } of ways) seen.set(kind, (seen.get(kind) ?? 0) + 1);
      const permission = rows.permissions.find((row) => row.permission === question.permission);
      if (permission === undefined) continue;
      // An override of a global permission, or without a record, is refused.
      const possible = ({ kind }: Way) => {
        return !kind.endsWith('override') || (question.resourceType !== '' && !permission.global);
      };
      const wanted = candidates(rows, question, allowed).filter((way) => possible(way) && changes(way));
      expect(ways.map(nameOf).sort()).toEqual(wanted.map(nameOf).sort());
    }
    // Each kind came up often.
    expect([...seen.values()].every((count) => count > 10)).toBe(true);
    expect(seen.size).toBe(12);
  });

  const question: Question = {
    app: APP,
    email: 'ada@example.com',
    permission: 'invoices.read',
    resourceType: 'invoice',
    resourceId: '1',
    level: '',
  };

  test('lists first what gives least', () => {
    const operations: Operation[] = [
      { kind: 'create-app', app: APP },
      ...['invoices.read', 'invoices.write', 'books.close'].map((permission) => {
        return {
          kind: 'define-permission',
          app: APP,
          permission,
          type: 'tiered',
          global: false,
          groupName: null,
        } as const;
      }),
      ...['boss', 'reader', 'clerk'].map((role) => ({ kind: 'define-role', app: APP, role }) as const),
      {
        kind: 'permissions-of-role',
        app: APP,
        role: 'boss',
        permissions: ['invoices.read', 'invoices.write', 'books.close'].map((permission) => {
          return { permission, accessLevel: 'edit' };
        }),
      },
      {
        kind: 'permissions-of-role',
        app: APP,
        role: 'reader',
        permissions: [{ permission: 'invoices.read', accessLevel: 'view' }],
      },
      { kind: 'roles-of-user', app: APP, email: 'ada@example.com', roles: ['clerk'] },
      { kind: 'roles-of-user', app: APP, email: 'bob@example.com', roles: ['clerk'] },
    ];
    const rows = operations.reduce(applyTo, NO_ROWS);
    const explained = explain(rows, question);
    const ways = waysOf({ question, explained, matrix: matrixOf(rows), blocked: false, recordKnown: true });
    expect(ways.map(nameOf).map((text) => JSON.parse(text))).toEqual([
      { kind: 'set-override', level: 'view' },
      { kind: 'give-role', role: 'reader' },
      { kind: 'set-level', role: 'clerk', level: 'view' },
      { kind: 'give-role', role: 'boss' },
      { kind: 'make-admin' },
      { kind: 'make-superadmin' },
    ]);
    // An administrator, or a SuperAdmin, for one record: only for whoever asks for more.
    expect([shownAtFirst(ways, 6), shownAtFirst(ways, 2), shownAtFirst(ways.slice(-2), 6)]).toEqual([4, 2, 1]);
    expect(ways.find((way) => way.kind === 'give-role' && way.role === 'boss')?.else.permissions).toBe(2);
    expect(ways.find(({ kind }) => kind === 'set-level')?.else.people).toBe(1);
  });
});
