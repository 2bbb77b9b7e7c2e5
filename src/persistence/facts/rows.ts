import type {
  Change,
  Level,
  LogWindow,
  MemberAnswer,
  MemberNeed,
  OverrideFacts,
  PolicyRows,
  Revision,
} from '../../engine/types.ts';
import { MAX_CHANGES } from './sql.ts';

/** What CHANGES_SQL answers, and every other statement of a miss besides. JSON `null` stands for an empty list. */
export interface WindowRow {
  /** The newest row; null when there is none. */
  head: [revision: number, nonce: string] | null;
  since_nonce: string | null;
  changes: [revision: number, nonce: string, scopes: string[]][] | null;
}

export interface MembersRow extends WindowRow {
  answers: MemberTuple[] | null;
}

type MemberTuple = [
  active: boolean,
  superadmin: true | null,
  appId: number | null,
  admin: true | null,
  roleIds: number[] | null,
  overrides: [permissionId: number, level: Level][] | null,
];

export interface PolicyRow extends WindowRow {
  app_id: number | null;
  strict_codes: boolean | null;
  resource_types: string[] | null;
  permissions: [id: number, code: string, tiered: boolean, global: boolean, groupName: string | null][] | null;
  role_permissions: [roleId: number, permissionId: number, level: Level][] | null;
}

/**
 * The log as the statement's snapshot shows it. Numbers have no gaps, so that fewer rows than `head - since` means that some
 * were pruned: as good as too many.
 */
export function readWindow(row: WindowRow, since: Revision): LogWindow {
  const rows = row.changes ?? [];
  const [head, headNonce] = row.head ?? [0, null];
  const expected = Math.max(0, head - since);
  const tooMany = expected > MAX_CHANGES || rows.length !== expected;
  const changes: Change[] = tooMany ? [] : rows.map(([revision, nonce, scopes]) => ({ revision, nonce, scopes }));
  return { head, headNonce, sinceNonce: row.since_nonce, changes, tooMany };
}

/** Answers in the order of the needs. Throws when their number differs: facts of one must never be taken for another's. */
export function readAnswers(row: Pick<MembersRow, 'answers'>, needs: readonly MemberNeed[]): MemberAnswer[] {
  const tuples = row.answers ?? [];
  if (tuples.length !== needs.length)
    throw new Error('The database answered another number of needs than it was asked.');
  return needs.map((need, index) => readAnswer(tuples[index] as MemberTuple, need));
}

function readAnswer(tuple: MemberTuple, { email, app, resourceType, resourceId }: MemberNeed): MemberAnswer {
  const [active, superadmin, appId, admin, roleIds, levels] = tuple;
  return {
    person: { email, active, superadmin: superadmin === true },
    member: { app, email, appId: idOrNull(appId), admin: admin === true, roleIds: (roleIds ?? []).map(id) },
    overrides: resourceType === '' ? null : readOverrides(levels, { app, email, resourceType, resourceId }),
  };
}

function readOverrides(
  levels: [number, Level][] | null,
  of: Pick<OverrideFacts, 'app' | 'email' | 'resourceType' | 'resourceId'>,
): OverrideFacts {
  return { ...of, levels: (levels ?? []).map(([permissionId, level]) => ({ permissionId: id(permissionId), level })) };
}

export function readPolicy(row: Omit<PolicyRow, keyof WindowRow>, app: string): PolicyRows {
  return {
    app,
    appId: idOrNull(row.app_id),
    strictCodes: row.strict_codes === true,
    resourceTypes: row.resource_types ?? [],
    permissions: (row.permissions ?? []).map(([permissionId, code, tiered, global, groupName]) => ({
      id: id(permissionId),
      code,
      tiered,
      global,
      groupName,
    })),
    rolePermissions: (row.role_permissions ?? []).map(([roleId, permissionId, level]) => ({
      roleId: id(roleId),
      permissionId: id(permissionId),
      level,
    })),
  };
}

/** JSON numbers beyond 2^53 are rounded by the reader: a rounded id would be another row's. */
function id(value: number): number {
  if (!Number.isSafeInteger(value)) throw new RangeError('A bigint beyond 2^53 came from the database.');
  return value;
}

function idOrNull(value: number | null): number | null {
  return value === null ? null : id(value);
}
