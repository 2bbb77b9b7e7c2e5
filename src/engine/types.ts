/**
 * The engine's vocabulary, and its interface to storage. Plain data only; the engine, the transports and persistence share it.
 * (docs/reference/decisions.md; docs/freshness.md.)
 */

/** A count of policy changes, in commit order, without gaps. */
export type Revision = number;

/**
 * A revision of one history. After a failover that lost commits, or a restore, other changes get the same numbers; the nonce
 * of the change's row in the log tells them apart. Null where it is unknown: at revision 0, or for a caller with only the
 * number. Callers see both as one opaque string (`formatRevision`).
 */
export interface RevisionToken {
  readonly number: Revision;
  readonly nonce: string | null;
}

/** Every answer is at least this fresh. */
export const ANY_REVISION: RevisionToken = { number: 0, nonce: null };

/** A revision as callers see it: an opaque string. */
export function formatRevision({ number, nonce }: RevisionToken): string {
  return nonce === null ? `${number}` : `${number}.${nonce}`;
}

/**
 * Whether the log's row with the number of a token proves that the token is of a different history. `rowNonce` is null without
 * that row: revision 0, a pruned row, or a number that the log has not reached. Then nothing is proved.
 */
export function isOfOtherHistory({ nonce }: Pick<RevisionToken, 'nonce'>, rowNonce: string | null): boolean {
  return nonce !== null && rowNonce !== null && rowNonce !== nonce;
}

/** Levels in order: 0 nothing, 1 allowed (binary), 2 view, 3 edit. Stored and compared as these numbers. */
export const Level = { NONE: 0, ALLOWED: 1, VIEW: 2, EDIT: 3 } as const;
export type Level = (typeof Level)[keyof typeof Level];

/** Which of the six rules decided. 0 is the default denial and the inactive user. Numbers are those of the RPC enum. */
export const Source = { NONE: 0, ROLE: 1, OVERRIDE: 2, SUPERADMIN: 3, APP_ADMIN: 4 } as const;
export type Source = (typeof Source)[keyof typeof Source];

/**
 * One question, normalized and well-formed (grammar.ts): transports refuse or deny everything else before it gets here.
 * `resourceType` and `resourceId` are both '' for a global question, both non-empty otherwise.
 * The cache key consists of all five fields: a new field must go into `questionKey` too.
 */
export interface Question {
  email: string;
  app: string;
  permission: string;
  resourceType: string;
  resourceId: string;
}

/** A question without its permission, as bulk and effective share it. */
export type Subject = Omit<Question, 'permission'>;

/**
 * The result of the six rules. `level` is the level held; `granted` is false exactly when the level equals NONE.
 * `tiered` tells whether a requested level is compared: false for a binary permission, and for an undefined one
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

/** Everything that an application defines, as stored. `appId` is null when there is no such application. */
export interface PolicyRows {
  app: string;
  appId: number | null;
  /** Whether a question with an unknown permission or resource type is refused. */
  strictCodes: boolean;
  /** The codes of the entity catalog. */
  resourceTypes: readonly string[];
  permissions: readonly PermissionRow[];
  rolePermissions: readonly RolePermissionRow[];
}

/** Facts about a person in all applications. An address without a record is active and not a SuperAdmin. */
export interface PersonFacts {
  email: string;
  active: boolean;
  superadmin: boolean;
}

/** Facts about a person in one application; `appId` as of the same snapshot, null when there is no such application. */
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
 * The log's rows after `mark`, ascending, up to the revision `upTo` and at most `limit` of them. Null where one of them is no longer
 * kept, or where `mark` is of another history. Rejects with UNAVAILABLE.
 */
export type ChangeHistory = (mark: RevisionToken, upTo: Revision, limit: number) => Promise<readonly Change[] | null>;

/** The newest revision of a snapshot, and whether it is of the history that the reader knows. */
export interface LogHead {
  head: Revision;
  /** The nonce of the newest row; null for an empty log. */
  headNonce: string | null;
  /** The nonce of the row at `since`; null without that row (revision 0, pruned, or a restored database). */
  sinceNonce: string | null;
  /** Read from a standby: what has been committed may be on its way there. */
  standby?: boolean;
}

/**
 * The log part of every statement's result, of the same database snapshot as its facts.
 * `sinceNonce` is the nonce of the log row at `since`, null without that row (revision 0, pruned, or a restored database).
 */
export interface LogWindow extends LogHead {
  /** The rows after `since`, ascending; empty when `tooMany`. */
  changes: readonly Change[];
  /** More than 1,000 rows, or rows after `since` already pruned: the reader must drop everything. */
  tooMany: boolean;
  /** How long before the question arrived the log was read, in ms; absent for a snapshot taken after it. */
  ageMs?: number;
}

/** Changes that were told without a question. `sinceNonce` and `headNonce` as in a window. */
export interface LogNews extends LogWindow {
  since: Revision;
}

/** One need of a member batch: person and member always; overrides when a resource is given ('' and '' otherwise). */
export interface MemberNeed {
  email: string;
  app: string;
  resourceType: string;
  resourceId: string;
}

/**
 * How long facts stay as they were read, in ms from when the statement was executed: until the next beginning or end of a grant among
 * them, by the clock of the database. Null for a fact that only a write can change.
 */
export interface Boundaries {
  readonly person: number | null;
  readonly member: number | null;
  readonly overrides: number | null;
}

export const UNBOUNDED: Boundaries = Object.freeze({ person: null, member: null, overrides: null });

/** The answer to one MemberNeed, at the same index. `overrides` is null without a resource. */
export interface MemberAnswer {
  person: PersonFacts;
  member: MemberFacts;
  overrides: OverrideFacts | null;
  boundaries: Boundaries;
}

/** Everything that decides one question, with the codes for an explanation; all of one snapshot. */
export interface GroundRows {
  answer: MemberAnswer;
  /** Whether the address has a user's record. */
  userKnown: boolean;
  /** The policy of the application; its permissions and role levels may be limited to the permission of the question. */
  policy: PolicyRows;
  /** The roles that the person holds in the application. */
  roles: readonly { id: number; code: string }[];
}

/** The most needs of one statement. */
export const MAX_NEEDS = 256;

/**
 * The engine's interface to what it reads facts from: a database, or another engine (fact-server.ts). Of a database each call is one
 * statement on one snapshot, read from the primary, never inside a caller's transaction. Rejects with UsherError UNAVAILABLE when
 * there is no answer in time; never answers in part.
 */
export interface FactsSource {
  /** Useful concurrent statements: 4 on PostgreSQL, 1 on PGlite. */
  readonly parallelism: number;
  /** Between two reads of the log, in ms; 250 where it is not said. */
  readonly pollMs?: number;
  /**
   * Facts for 1 to MAX_NEEDS needs, answers in the order of the needs. `maxAgeMs` is how long before the question they may have been
   * read; a database reads them after it.
   */
  members(since: Revision, needs: readonly MemberNeed[], maxAgeMs?: number): Promise<MembersReply>;
  /** One application's policy. */
  policy(since: Revision, app: string, maxAgeMs?: number): Promise<PolicyReply>;
  /** The facts that decide one question, never cached. The window has the newest revision and the nonce at `since`, no changes. */
  grounds(since: Revision, question: Question): Promise<{ window: LogHead; grounds: GroundRows }>;
  /** The log alone; `fresh` asks for a snapshot taken after this call, which every read of a database is. */
  changes(since: Revision, fresh?: boolean): Promise<LogWindow>;
  /**
   * Calls `hear` when another instance may have written, with the changes where they are known. Only a hint: it may be late,
   * lost or spurious, and it reconnects by itself. Resolves to a function that stops it.
   */
  listen(hear: (news?: LogNews) => void): Promise<() => Promise<void>>;
}

/** A replica of a source. Its snapshots may be behind by any time, ahead for an instant, or of another history. */
export type ReplicaSource = Pick<FactsSource, 'members' | 'policy' | 'changes'>;

/** Facts of one snapshot, with the log as that snapshot shows it. */
export interface FactsReply {
  window: LogWindow;
  /** How long before the question arrived the oldest of the facts was read from the database, in ms; absent for all read after it. */
  ageMs?: number;
}

export interface MembersReply extends FactsReply {
  answers: MemberAnswer[];
}

export interface PolicyReply extends FactsReply {
  policy: PolicyRows;
}

/** One permission of an application, and the level that a person holds. */
export interface EffectiveItem {
  code: string;
  tiered: boolean;
  groupName: string | null;
  global: boolean;
  level: Level;
  granted: boolean;
  source: Source;
}

/** A question about all people: without the user. */
export interface SubjectsQuestion extends Omit<Question, 'email'> {
  /** The required level; NONE for any. */
  readonly level: Level;
}

/** A question about every resource of a type: without the identifier. */
export interface ResourcesQuestion extends Omit<Question, 'resourceId'> {
  readonly level: Level;
}

/** A cursor older than this many changes is LIST_CHANGED without a search of the log. */
export const MAX_LOG_ROWS = 20_000;

/** The state of the log in a snapshot: the newest revision, and the nonces of the requested revisions, null for missing rows. */
export interface Snapshot {
  readonly head: RevisionToken;
  readonly nonces: readonly (string | null)[];
}

/** The application and the permission of a question, in one snapshot. */
export interface Named {
  readonly appId: number | null;
  readonly permission: Pick<PermissionRow, 'id' | 'tiered' | 'global'> | null;
  /** The level of the permission that each role grants. */
  readonly levels: readonly (readonly [roleId: number, level: Level])[];
  /** The whole policy if the application does not define the permission or the resource type; otherwise null. */
  readonly policy: PolicyRows | null;
}

/** A candidate. `roleIds` contains the roles that grant the required level. `override` is null without an override. */
export interface SubjectRow {
  readonly id: number;
  readonly person: PersonFacts;
  readonly member: Pick<MemberFacts, 'admin' | 'roleIds'>;
  readonly override: Level | null;
}

interface SubjectsRead extends Snapshot, Named {
  /** Everyone for whom the answer may be yes, by id, after `after` and up to `until`; at most `limit`. */
  readonly rows: readonly SubjectRow[];
  /** The id up to which all candidates have been examined; null at the end. */
  readonly until: number | null;
}

export interface ResourcesRead extends Snapshot, Named {
  readonly person: PersonFacts;
  readonly member: Pick<MemberFacts, 'admin' | 'roleIds'>;
  /**
   * When the next of the person's grants that the list may be of begins or ends, in ms of the database's clock; null for none. Another
   * one on a later page means that one has begun or ended between them.
   */
  readonly boundary: number | null;
  /** Whether a change since the given revision may have changed the person's access. */
  readonly changed: boolean;
  readonly resourceIds: readonly string[];
}

/** The start of a page of resources: `skip` places after the first identifier that is not less than `from`. */
export interface Place {
  readonly from: string;
  readonly skip: number;
}

/** The interface of the lists to storage: each call reads one snapshot. Rejects with UNAVAILABLE, never answers in part. */
export interface ListSource {
  subjects(
    question: SubjectsQuestion,
    page: { readonly limit: number; readonly after: number; readonly revisions: readonly Revision[] },
  ): Promise<SubjectsRead>;
  /**
   * The identifiers for which the person has an override of one of the levels that `listed` returns, in the order of UTF-8; at most
   * `limit`. `since` is the revision from which `changed` is computed; null skips that.
   */
  resources(
    question: ResourcesQuestion,
    page: {
      readonly limit: number;
      readonly place: Place;
      readonly revisions: readonly Revision[];
      readonly since: Revision | null;
    },
    listed: (facts: Omit<ResourcesRead, 'resourceIds'>) => readonly Level[],
  ): Promise<ResourcesRead>;
}
