import {
  ANY_REVISION,
  type Change,
  type GroundRows,
  type Level,
  type LogHead,
  type LogWindow,
  type MemberAnswer,
  type MemberNeed,
  type OverrideFacts,
  type PolicyRows,
  type Question,
  type Revision,
  type RevisionToken,
} from '../../engine/types.ts';
import { exact } from '../driver/values.ts';
import { MAX_CHANGES } from './sql.ts';

/** The row of NEWEST_REVISION; null without a revision. */
export type HeadTuple = [revision: number, nonce: string] | null;

export interface HeadRow {
  head: HeadTuple;
  sinceNonce: string | null;
  /** Of statements that somebody who waits for a revision may repeat. */
  standby?: boolean;
}

/** What CHANGES_SQL answers, and every other statement of a miss besides. JSON `null` stands for an empty list. */
export interface WindowRow extends HeadRow {
  changes: [revision: number, nonce: string, scopes: string[]][] | null;
}

export interface MembersRow extends WindowRow {
  answers: MemberTuple[] | null;
}

type MemberTuple = [
  active: boolean,
  superadmin: true | null,
  appId: number | null,
  admin: boolean | null,
  roleIds: number[] | null,
  overrides: [permissionId: number, level: Level][] | null,
  memberBoundaryMs: number | null,
  overridesBoundaryMs: number | null,
];

type PermissionTuple = [id: number, code: string, tiered: boolean, global: boolean, groupName: string | null];

/** What GROUNDS_SQL answers. */
export interface GroundsRow extends HeadRow, Pick<MembersRow, 'answers'> {
  userKnown: boolean | null;
  appId: number | null;
  permission: PermissionTuple | null;
  roles: [id: number, code: string, level: Level | null][] | null;
}

export interface PolicyRow extends WindowRow {
  appId: number | null;
  strictCodes: boolean | null;
  resourceTypes: string[] | null;
  permissions: PermissionTuple[] | null;
  rolePermissions: [roleId: number, permissionId: number, level: Level][] | null;
}

/**
 * The log as the statement's snapshot shows it. Numbers have no gaps, so fewer rows than `head - since` mean that some
 * were pruned, which counts as too many.
 */
export function readWindow(row: WindowRow, since: Revision): LogWindow {
  const rows = row.changes ?? [];
  const newest = readHead(row);
  const expected = Math.max(0, newest.head - since);
  const tooMany = expected > MAX_CHANGES || rows.length !== expected;
  const changes: Change[] = tooMany ? [] : rows.map(([revision, nonce, scopes]) => ({ revision, nonce, scopes }));
  return { ...newest, changes, tooMany };
}

/** Answers in the order of the needs. Throws when their number differs: the facts of one person must never be used for another. */
export function readAnswers(row: Pick<MembersRow, 'answers'>, needs: readonly MemberNeed[]): MemberAnswer[] {
  const tuples = row.answers ?? [];
  if (tuples.length !== needs.length) throw new Error('The answers of the database do not match the needs.');
  return needs.map((need, index) => readAnswer(tuples[index] as MemberTuple, need));
}

function readAnswer(tuple: MemberTuple, { email, app, resourceType, resourceId }: MemberNeed): MemberAnswer {
  const [active, superadmin, appId, admin, roleIds, levels, memberBoundaryMs, overridesBoundaryMs] = tuple;
  return {
    person: { email, active, superadmin: superadmin === true },
    member: { app, email, appId: idOrNull(appId), admin: admin === true, roleIds: (roleIds ?? []).map(exact) },
    overrides: resourceType === '' ? null : readOverrides(levels, { app, email, resourceType, resourceId }),
    boundaries: { person: null, member: memberBoundaryMs, overrides: overridesBoundaryMs },
  };
}

function readOverrides(
  levels: [number, Level][] | null,
  of: Pick<OverrideFacts, 'app' | 'email' | 'resourceType' | 'resourceId'>,
): OverrideFacts {
  return {
    ...of,
    levels: (levels ?? []).map(([permissionId, level]) => ({ permissionId: exact(permissionId), level })),
  };
}

export function readPolicy(row: Omit<PolicyRow, keyof WindowRow>, app: string): PolicyRows {
  return {
    app,
    appId: idOrNull(row.appId),
    strictCodes: row.strictCodes === true,
    resourceTypes: row.resourceTypes ?? [],
    permissions: (row.permissions ?? []).map(([permissionId, code, tiered, global, groupName]) => ({
      id: exact(permissionId),
      code,
      tiered,
      global,
      groupName,
    })),
    rolePermissions: (row.rolePermissions ?? []).map(([roleId, permissionId, level]) => ({
      roleId: exact(roleId),
      permissionId: exact(permissionId),
      level,
    })),
  };
}

export function readNewest(head: HeadTuple): RevisionToken {
  return head === null ? ANY_REVISION : { number: head[0], nonce: head[1] };
}

export function readHead(row: HeadRow): LogHead {
  const [head, headNonce] = row.head ?? [0, null];
  const newest = { head, headNonce, sinceNonce: row.sinceNonce };
  return row.standby === true ? { ...newest, standby: true } : newest;
}

export function readGrounds(row: GroundsRow, question: Question): GroundRows {
  const [answer] = readAnswers(row, [question]);
  if (answer === undefined) throw new Error('one need has one answer');
  const { permission } = row;
  const roles = row.roles ?? [];
  const policy = readPolicy(
    {
      appId: row.appId,
      strictCodes: null,
      resourceTypes: null,
      permissions: permission === null ? null : [permission],
      rolePermissions: roles.flatMap(([roleId, , level]): [number, number, Level][] =>
        permission === null || level === null ? [] : [[roleId, permission[0], level]],
      ),
    },
    question.app,
  );
  return {
    answer,
    userKnown: row.userKnown === true,
    policy,
    roles: roles.map(([roleId, code]) => ({ id: exact(roleId), code })),
  };
}

function idOrNull(value: number | null): number | null {
  return value === null ? null : exact(value);
}
