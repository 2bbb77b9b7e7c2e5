/**
 * The engine's vocabulary, and what it asks of storage. Plain data only; everything here is part of the contract
 * between the engine, its doors and persistence. (docs/reference/decisions.md; docs/freshness.md.)
 */

/** A count of policy changes, in commit order, without gaps. */
export type Revision = number;

/**
 * A revision of one history. After a failover that lost commits, or a restore, other changes get the same numbers; the nonce
 * of the change's row in the log tells them apart. Null where it is not named: at revision 0, or by a caller who has the number
 * alone. Callers see both as one string (`formatRevision`), opaque to them.
 */
export interface Mark {
  readonly number: Revision;
  readonly nonce: string | null;
}

/** What every revision is as fresh as. */
export const ANY_REVISION: Mark = { number: 0, nonce: null };

/** A revision as callers see it: a string without meaning for them. */
export function formatRevision({ number, nonce }: Mark): string {
  return nonce === null ? `${number}` : `${number}.${nonce}`;
}

/** What a decision grants, ordered: 0 nothing, 1 allowed (binary), 2 view, 3 edit. Stored so, and compared as numbers. */
export const Level = { NONE: 0, ALLOWED: 1, VIEW: 2, EDIT: 3 } as const;
export type Level = (typeof Level)[keyof typeof Level];

/** Which of the six rules decided. 0 is the default denial and the inactive user. Numbers are those of the RPC enum. */
export const Source = { NONE: 0, ROLE: 1, OVERRIDE: 2, SUPERADMIN: 3, APP_ADMIN: 4 } as const;
export type Source = (typeof Source)[keyof typeof Source];

/**
 * One question. Already normalised and well-formed (grammar.ts): a door refuses or denies what is not, before it gets here.
 * `resourceType` and `resourceId` are both '' for a global question, both non-empty otherwise.
 * The cache key is made of all five fields: a new field must go into `questionKey` too.
 */
export interface Question {
  email: string;
  app: string;
  permission: string;
  resourceType: string;
  resourceId: string;
}

/** Who asks about what, without the permission: what bulk and effective share. */
export type Subject = Omit<Question, 'permission'>;

/**
 * What the six rules say. `level` is what is held; `granted` is false exactly when it is NONE.
 * `tiered` says whether a level asked for is compared: false for a binary permission, and for an undefined one
 * allowed to an app admin, which ignore it (docs/reference/decisions.md#levels); true for a SuperAdmin's `edit` and for denials.
 */
export interface Decision {
  readonly granted: boolean;
  readonly level: Level;
  readonly source: Source;
  readonly tiered: boolean;
}

export interface PermissionRow {
  id: number;
  code: string;
  tiered: boolean;
  global: boolean;
  groupName: string | null;
}

export interface RolePermissionRow {
  roleId: number;
  permissionId: number;
  level: Level;
}

/** Everything that an application defines, as storage gives it. `appId` is null when there is no such application. */
export interface PolicyRows {
  app: string;
  appId: number | null;
  /** Whether a question that names an unknown permission or resource type is refused. */
  strictCodes: boolean;
  /** The codes of the entity catalog. */
  resourceTypes: readonly string[];
  permissions: readonly PermissionRow[];
  rolePermissions: readonly RolePermissionRow[];
}

/** What is known of a person everywhere. An address without a record is active and no SuperAdmin. */
export interface PersonFacts {
  email: string;
  active: boolean;
  superadmin: boolean;
}

/** What a person is in one application; `appId` as of the same snapshot, null when there is no such application. */
export interface MemberFacts {
  app: string;
  email: string;
  appId: number | null;
  admin: boolean;
  roleIds: readonly number[];
}

/** A person's overrides for one resource: permission id to level, NONE being an explicit denial. */
export interface OverrideFacts {
  app: string;
  email: string;
  resourceType: string;
  resourceId: string;
  levels: readonly { permissionId: number; level: Level }[];
}

/** A row of the change log. Scopes: `p:APP`, `u:EMAIL`, `m:APP:EMAIL`, `a:APP`, `*`. */
export interface Change {
  revision: Revision;
  nonce: string;
  scopes: readonly string[];
}

/**
 * What every statement brings beside its facts, all of one database snapshot.
 * `sinceNonce` is the nonce of the log row at `since`, null when there is none (revision 0, pruned, or a restored database).
 */
export interface LogWindow {
  head: Revision;
  /** Of the newest row; null when there is none. */
  headNonce: string | null;
  sinceNonce: string | null;
  /** The rows after `since`, ascending; empty when `tooMany`. */
  changes: readonly Change[];
  /** More than 1,000 rows, or rows after `since` already pruned: the reader must drop everything. */
  tooMany: boolean;
}

/** One need of a member batch: person and member always; overrides when the resource is named ('' and '' otherwise). */
export interface MemberNeed {
  email: string;
  app: string;
  resourceType: string;
  resourceId: string;
}

/** The answer to one MemberNeed, at the same index. `overrides` is null when no resource was named. */
export interface MemberAnswer {
  person: PersonFacts;
  member: MemberFacts;
  overrides: OverrideFacts | null;
}

/** Needs of one statement at most. */
export const MAX_NEEDS = 256;

/**
 * What the engine asks of storage. Each call is one statement on one snapshot, read from the primary, never inside a
 * caller's transaction. Rejects with UsherError UNAVAILABLE when the database cannot answer in time; never answers in part.
 */
export interface FactsSource {
  /** Statements that make sense at once: 4 on PostgreSQL, 1 on PGlite. */
  readonly parallelism: number;
  /** Facts for 1 to MAX_NEEDS needs, answers in the order of the needs. */
  members(since: Revision, needs: readonly MemberNeed[]): Promise<{ window: LogWindow; answers: MemberAnswer[] }>;
  /** One application's policy. */
  policy(since: Revision, app: string): Promise<{ window: LogWindow; policy: PolicyRows }>;
  /** The log alone. */
  changes(since: Revision): Promise<LogWindow>;
  /**
   * Calls `wake` when another instance may have written. A hint only: it may be late, lost or spurious, and it reconnects
   * by itself. Resolves to a function that ends it.
   */
  listen(wake: () => void): Promise<() => Promise<void>>;
}

/** One permission of an application, and what somebody holds of it. */
export interface EffectiveItem {
  code: string;
  tiered: boolean;
  groupName: string | null;
  global: boolean;
  level: Level;
  granted: boolean;
  source: Source;
}
