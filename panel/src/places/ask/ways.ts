/**
 * What would change an answer: every smallest single change that turns a no into a yes, or a yes into a no, the one that gives
 * (or takes) the least besides first. Pure: from an explanation, the matrix of the application and what is known of the person.
 */

import type { LevelName, Question } from './question.ts';
import { applies, type Explained, type Level, overrideOf, rolesOf } from './rules.ts';

/** One change. */
export type Way =
  | { readonly kind: 'set-override'; readonly level: LevelName; readonly else: Else }
  | { readonly kind: 'deny-override'; readonly else: Else }
  | { readonly kind: 'remove-override'; readonly else: Else }
  | { readonly kind: 'give-role' | 'take-role'; readonly role: string; readonly else: Else }
  | { readonly kind: 'set-level'; readonly role: string; readonly level: Level; readonly else: Else }
  | { readonly kind: 'make-admin' | 'remove-admin'; readonly else: Else }
  | { readonly kind: 'make-superadmin' | 'remove-superadmin'; readonly else: Else }
  | { readonly kind: 'unblock' | 'block'; readonly else: Else };

/** What a change gives or takes besides the answer. */
interface Else {
  /** Other permissions of the person, in the application. Infinity: everything. */
  readonly permissions: number;
  /** Other people, for this permission. */
  readonly people: number;
  /** Whether it holds for every record, where the question is about one. */
  readonly everyRecord: boolean;
}

/** The matrix of the application, as `GET …/matrix` answers it. */
export interface Matrix {
  readonly permissions: readonly {
    readonly id: number;
    readonly code: string;
    readonly type: 'binary' | 'tiered';
    readonly global: boolean;
  }[];
  readonly roles: readonly { readonly id: number; readonly code: string; readonly holders: number }[];
  readonly levels: readonly {
    readonly roleId: number;
    readonly permissionId: number;
    readonly accessLevel: LevelName;
  }[];
}

export interface Known {
  readonly question: Question;
  readonly explained: Explained;
  readonly matrix: Matrix;
  /** Whether an administrator has blocked the person. The provider's own block is not Usher's to lift. */
  readonly blocked: boolean;
  /** Whether overrides can name the kind of record: with a catalog of entities, only those in it. */
  readonly recordKnown: boolean;
}

const ORDER: readonly Level[] = [null, 'allowed', 'view', 'edit'];
const rank = (level: Level): number => ORDER.indexOf(level);
const ALL: Else = { permissions: Number.POSITIVE_INFINITY, people: 0, everyRecord: true };
const NOTHING: Else = { permissions: 0, people: 0, everyRecord: false };

/** The changes, the least first. None for a permission that does not exist: nothing but a misspelling would hold it. */
export function waysOf(known: Known): Way[] {
  const facts = factsOf(known);
  if (facts === null) return [];
  const ways = known.explained.allowed ? takingAway(facts) : giving(facts);
  return ways.sort((a, b) => weightOf(a) - weightOf(b));
}

interface Facts extends Known {
  readonly permission: Matrix['permissions'][number];
  /** The level that is needed for a yes. */
  readonly needed: LevelName;
  readonly onRecord: boolean;
  /** Of the permission, by role. */
  readonly given: ReadonlyMap<string, Level>;
  readonly held: ReadonlySet<string>;
  /** What each role gives: a matrix may have 500 roles, so it is walked once. */
  readonly byRole: ReadonlyMap<string, Matrix['levels']>;
}

function factsOf(known: Known): Facts | null {
  const { question, explained, matrix } = known;
  const permission = matrix.permissions.find(({ code }) => code === question.permission);
  if (permission === undefined) return null;
  const levels = matrix.levels.filter(({ permissionId }) => permissionId === permission.id);
  const byId = new Map(levels.map(({ roleId, accessLevel }) => [roleId, accessLevel]));
  const codes = new Map(matrix.roles.map(({ id, code }) => [id, code]));
  return {
    ...known,
    byRole: Map.groupBy(matrix.levels, ({ roleId }) => codes.get(roleId) ?? ''),
    permission,
    needed: permission.type === 'binary' ? 'allowed' : question.level === 'edit' ? 'edit' : 'view',
    onRecord: question.resourceType !== '' && question.resourceId !== '',
    given: new Map(matrix.roles.map(({ id, code }) => [code, byId.get(id) ?? null])),
    held: new Set(rolesOf(explained).map(({ code }) => code)),
  };
}

/** Whether the rules behind `after` would say yes by themselves. */
function wouldAllow({ explained, needed }: Facts, after: number): boolean {
  const next = explained.rules.find(({ rule, applies: holds }) => rule > after && holds);
  return next !== undefined && rank(next.accessLevel) >= rank(needed);
}

function giving(facts: Facts): Way[] {
  const { explained, needed, onRecord, permission, blocked, recordKnown } = facts;
  if (applies(explained, 'inactive')) {
    return blocked && wouldAllow(facts, 1) ? [{ kind: 'unblock', else: ALL }] : [];
  }
  const ways: Way[] = [
    { kind: 'make-admin', else: ALL },
    { kind: 'make-superadmin', else: ALL },
  ];
  if (onRecord && recordKnown && !permission.global) ways.push({ kind: 'set-override', level: needed, else: NOTHING });
  if (overrideOf(explained) !== null) {
    // No role is asked while an override stands.
    if (wouldAllow(facts, 4)) ways.push({ kind: 'remove-override', else: NOTHING });
    return ways;
  }
  return [...ways, ...givingByRoles(facts)];
}

function givingByRoles(facts: Facts): Way[] {
  const { matrix, needed, onRecord, given, held } = facts;
  return matrix.roles
    .map(({ code, holders }): Way => {
      if (held.has(code)) {
        const people = Math.max(0, holders - 1);
        return {
          kind: 'set-level',
          role: code,
          level: needed,
          else: { permissions: 0, people, everyRecord: onRecord },
        };
      }
      return { kind: 'give-role', role: code, else: { permissions: 0, people: 0, everyRecord: onRecord } };
    })
    .flatMap((way) => {
      if (way.kind !== 'give-role') return [way];
      if (rank(given.get(way.role) ?? null) < rank(needed)) return [];
      return [{ ...way, else: { ...way.else, permissions: gainedBy(facts, way.role) } }];
    });
}

/** The other permissions of which the person would hold more by the role. */
function gainedBy(facts: Facts, role: string): number {
  return countAbove(facts, role, [...facts.held]);
}

/** The other permissions of which the person would hold less without the role. */
function lostBy(facts: Facts, role: string): number {
  const others = [...facts.held].filter((code) => code !== role);
  return countAbove(facts, role, others);
}

/** Permissions but the one in question of which a role gives more than others together. */
function countAbove({ byRole, permission }: Facts, role: string, others: readonly string[]): number {
  const best = new Map<number, number>();
  for (const { permissionId, accessLevel } of others.flatMap((code) => byRole.get(code) ?? [])) {
    best.set(permissionId, Math.max(best.get(permissionId) ?? 0, rank(accessLevel)));
  }
  return (byRole.get(role) ?? []).filter(({ permissionId, accessLevel }) => {
    return permissionId !== permission.id && rank(accessLevel) > (best.get(permissionId) ?? 0);
  }).length;
}

function takingAway(facts: Facts): Way[] {
  const { explained, onRecord, permission, recordKnown } = facts;
  const ways: Way[] = [{ kind: 'block', else: ALL }];
  if (applies(explained, 'superadmin')) {
    if (!wouldAllow(facts, 2)) ways.push({ kind: 'remove-superadmin', else: ALL });
    return ways;
  }
  if (applies(explained, 'app_admin')) {
    if (!wouldAllow(facts, 3)) ways.push({ kind: 'remove-admin', else: ALL });
    return ways;
  }
  if (onRecord && recordKnown && !permission.global) ways.push({ kind: 'deny-override', else: NOTHING });
  if (overrideOf(explained) !== null) {
    if (!wouldAllow(facts, 4)) ways.push({ kind: 'remove-override', else: NOTHING });
    return ways;
  }
  return [...ways, ...takingByRole(facts)];
}

/** Where one role alone gives enough, without it or with less of it the answer is no. */
function takingByRole(facts: Facts): Way[] {
  const { explained, needed, matrix, onRecord, question } = facts;
  const giving = rolesOf(explained).filter(({ accessLevel }) => rank(accessLevel) >= rank(needed));
  const [only] = giving;
  if (only === undefined || giving.length > 1) return [];
  const holders = matrix.roles.find(({ code }) => code === only.code)?.holders ?? 1;
  const people = Math.max(0, holders - 1);
  // Asked for edit, seeing may stay.
  const level = question.level === 'edit' && needed === 'edit' ? 'view' : null;
  return [
    {
      kind: 'take-role',
      role: only.code,
      else: { permissions: lostBy(facts, only.code), people: 0, everyRecord: onRecord },
    },
    { kind: 'set-level', role: only.code, level, else: { permissions: 0, people, everyRecord: onRecord } },
  ];
}

/** What is far more than the question asks for: offered behind "more", so that it is never beside a change of one record. */
const GRAVE: ReadonlySet<Way['kind']> = new Set([
  'make-admin',
  'make-superadmin',
  'remove-admin',
  'remove-superadmin',
  'block',
]);

/**
 * How many of the ways, the mildest first, are shown before somebody asks for more. What makes or unmakes a SuperAdmin, and blocks
 * somebody, is not among them where there is anything else; an administration of the application neither.
 */
export function shownAtFirst(ways: readonly Way[], most: number): number {
  const mild = ways.filter(({ kind }) => !GRAVE.has(kind)).length;
  if (mild > 0) return Math.min(mild, most);
  return ways.filter(({ kind }) => kind !== 'make-superadmin').length;
}

/** How much a change gives or takes besides, for the order alone. */
function weightOf(way: Way): number {
  switch (way.kind) {
    case 'remove-override':
      return 0;
    case 'set-override':
    case 'deny-override':
      return 1;
    case 'unblock':
      return 2;
    case 'make-admin':
    case 'remove-admin':
      return 1e9;
    case 'remove-superadmin':
      return 1e10;
    case 'block':
      return 1e11;
    case 'make-superadmin':
      return 1e12;
    default:
      return 10 + way.else.permissions + way.else.people;
  }
}
