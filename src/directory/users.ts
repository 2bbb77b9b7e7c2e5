/**
 * People as administrators see them. (docs/reference/administration.md#users.) A reader who is not a SuperAdmin sees only the users of applications that they
 * may see, and of those users only the data of these applications.
 */

import { administer, type By, superAdmin } from '../administration/administer.ts';
import { type Sight, sightIn } from '../administration/reach.ts';
import { unknownApplication } from '../administration/records.ts';
import { UsherError } from '../base/errors.ts';
import { oneMore, type Page, type PageQuery, pageOf } from '../base/page.ts';
import type { Committed, Database, Tx } from '../persistence/database.ts';
import { findProfile } from '../persistence/directory/profiles.ts';
import {
  findRoleIds,
  findUserIds,
  findUsersInOrder,
  type MembershipRow,
  type PeopleOrder,
  type PersonPlace,
  type RolesRow,
  readMemberships,
  readRolesOf,
  readUsers,
  rolesGranting,
  setBlocked,
  type UserFilter,
  type UserRow,
} from '../persistence/directory/users.ts';
import { forgetAccount, nameAccount } from '../persistence/people/accounts.ts';
import { holdPerson, personIdOf } from '../persistence/people/people.ts';
import { refuseLastSuperadmin } from '../persistence/people/superadmins.ts';
import { type ProfileRecord, profileRecord } from './profile-record.ts';

export type { MembershipRow, PeopleOrder, PersonPlace, UserRow } from '../persistence/directory/users.ts';

/** The filter of a list of users: all of it applies. */
export interface UserQuery {
  search: string | null;
  active: boolean | null;
  /** Users of this application. With a permission of it, everybody to whom it is allowed. */
  appCode: string | null;
  /** Codes of roles of that application: the holders of any. */
  roles: readonly string[] | null;
  /** The code of a permission of that application: those whom a check without a resource allows. */
  permission: string | null;
  /** Whether only inactive people who still hold something are wanted. */
  orphan: boolean;
  /** Only people who have a grant in that application that ends within that number of days. */
  endingWithinDays: number | null;
}

/** A user of a list; with the roles held in the application that was asked about. */
export type ListedUser = UserRow & Partial<RolesRow>;

interface UserPage<Place = number> extends Page<ListedUser, Place> {
  /** Whether the reader is a SuperAdmin; only they learn who else is one. */
  readonly bySuperadmin: boolean;
}

/** One user with everything that the reader may see. */
export interface UserDetail {
  bySuperadmin: boolean;
  user: UserRow;
  profile: ProfileRecord;
  /** In the applications that the reader may see. */
  memberships: readonly MembershipRow[];
}

export class Users {
  readonly #database: Database;
  readonly #idpPublicUrl: string | null;
  readonly #issuer: string;

  /** `issuer`: that of the tokens. */
  constructor(database: Database, { idpPublicUrl, issuer }: { idpPublicUrl: string | null; issuer: string }) {
    this.#database = database;
    this.#idpPublicUrl = idpPublicUrl;
    this.#issuer = issuer;
  }

  /**
   * Known addresses in the order in which they first appeared. NO_APPLICATION_LEVEL when `query.appCode` is an application
   * that the reader may not see; for a SuperAdmin an unknown one is NOT_FOUND.
   */
  list(reader: string, query: UserQuery, page: PageQuery): Promise<UserPage> {
    return this.#database.read(async (tx) => {
      const { bySuperadmin, filter, shown, app } = await seenBy(tx, reader, query);
      if (filter === null) return { bySuperadmin, items: [], next: null };
      const { ids, behind } = await findUserIds(tx, filter, oneMore(page));
      const rows = await withRoles(tx, await readUsers(tx, ids, shown), app);
      return { bySuperadmin, ...pageOf(rows, page, behind) };
    });
  }

  /** As `list`, in another order: by address, or the newest date first and people without one last. */
  sorted(
    reader: string,
    query: UserQuery,
    { order, limit, after }: { order: PeopleOrder; limit: number; after: PersonPlace | null },
  ): Promise<UserPage<PersonPlace>> {
    return this.#database.read(async (tx) => {
      const { bySuperadmin, filter, shown, app } = await seenBy(tx, reader, query);
      if (filter === null) return { bySuperadmin, items: [], next: null };
      const page = { order, apps: shown, limit: limit + 1, after };
      const { places, behind } = await findUsersInOrder(tx, filter, page);
      const onPage = places.slice(0, limit);
      const ids = onPage.map(({ id }) => id);
      const rows = await withRoles(tx, await readUsers(tx, ids, shown), app);
      const byId = new Map(rows.map((row) => [row.id, row]));
      const items = onPage.flatMap(({ id }) => byId.get(id) ?? []);
      return { bySuperadmin, items, next: places.length > limit ? (onPage.at(-1) ?? null) : behind };
    });
  }

  /** NO_APPLICATION_LEVEL for a user with whom the reader shares no application, known or not; for a SuperAdmin an unknown one is NOT_FOUND. */
  read(reader: string, email: string): Promise<UserDetail> {
    return this.#database.read(async (tx) => {
      const sight = await sightIn(tx, reader, null);
      const apps = seenIds(sight, null);
      const person = await personIdOf(tx, email);
      const memberships = person === null ? [] : await readMemberships(tx, person, apps);
      if (!sight.superadmin && memberships.length === 0) {
        throw new UsherError('NO_APPLICATION_LEVEL', 'You have no level on any application of this user.');
      }
      const user = person === null ? undefined : await userOf(tx, person, apps);
      if (user === undefined) throw unknownUser(email);
      return { bySuperadmin: sight.superadmin, user, profile: await this.#profile(tx, user), memberships };
    });
  }

  /** The profile or, for an address without one, the initial state of a new profile. */
  async #profile(tx: Tx, { id, email, brand, createdAt }: UserRow): Promise<ProfileRecord> {
    const found = await findProfile(tx, email);
    const none = { firstName: null, lastName: null, displayName: null, avatarUrl: null, locale: null, timezone: null };
    const account = { namesChangedAt: null, namesKept: 0, issuer: null, subject: null };
    const row = found ?? { id, email, ...none, ...account, theme: 'system', brand, createdAt, updatedAt: createdAt };
    return profileRecord(row, this.#idpPublicUrl);
  }

  /**
   * Blocks or unblocks a person; the provider's own flag stays as it is. NOT_FOUND for an
   * unknown address, LAST_SUPERADMIN when no active SuperAdmin would be left.
   */
  setActive(email: string, active: boolean, by: By): Promise<Committed<UserRow>> {
    const action = active ? 'user.unblocked' : 'user.blocked';
    const about = { app: null, action, guard: superAdmin('block users'), subject: email };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      // SuperAdmins before the person: the same lock order as the removal of one.
      if (!active) await refuseLastSuperadmin(tx, email);
      const person = await holdPerson(tx, email);
      if (person === null) throw unknownUser(email);
      const changed = await setBlocked(tx, person, !active);
      const user = await userOf(tx, person, null);
      if (user === undefined) throw new Error('person vanished while locked');
      if (changed) audit({ action, subject: email, before: { blocked: active }, after: { blocked: !active } });
      return { result: user, scopes: changed ? [`u:${email}`] : [] };
    });
  }

  /** Unbinds the address from its account at the provider: the next token binds it again. NOT_FOUND for an unknown one. */
  clearSubject(email: string, by: By): Promise<Committed<null>> {
    const about = {
      app: null,
      action: 'user.subject_cleared',
      guard: superAdmin('unbind accounts'),
      subject: email,
    };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      const person = await personIdOf(tx, email);
      if (person === null) throw unknownUser(email);
      const before = await forgetAccount(tx, person);
      if (before !== null) audit({ subject: email, before: { ...before } });
      return { result: null, scopes: [] };
    });
  }

  /**
   * Names the account at the provider that the address belongs to; from now on its tokens alone are admitted, where accounts are bound.
   * `issuer` undefined: that of the tokens. NOT_FOUND for an unknown address.
   */
  nameAccount(
    email: string,
    { issuer = this.#issuer, subject }: { issuer?: string | undefined; subject: string },
    by: By,
  ): Promise<Committed<NamedAccount>> {
    const about = {
      app: null,
      action: 'user.subject_named',
      guard: superAdmin('name accounts'),
      subject: email,
    };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      const person = await personIdOf(tx, email);
      if (person === null) throw unknownUser(email);
      const after = { issuer, subject };
      const { before, changed } = await nameAccount(tx, person, after);
      if (changed) audit({ subject: email, before, after });
      return { result: { email, ...after }, scopes: [] };
    });
  }
}

/** The account that signs an address in. */
export interface NamedAccount {
  readonly email: string;
  readonly issuer: string;
  readonly subject: string;
}

interface Seen {
  bySuperadmin: boolean;
  /** Null: nobody matches. */
  filter: UserFilter | null;
  /** The applications (ids) whose logins the reader sees; null: all. */
  shown: readonly number[] | null;
  /** The one application that is asked about. */
  app?: number;
}

/** The query over what the reader may see. */
async function seenBy(tx: Tx, reader: string, query: UserQuery): Promise<Seen> {
  const { search, active, appCode, roles, permission, orphan, endingWithinDays } = query;
  const sight = await sightIn(tx, reader, appCode);
  const apps = seenIds(sight, appCode);
  const bySuperadmin = sight.superadmin;
  const shown = bySuperadmin ? null : apps;
  const filter: UserFilter = { search, active, apps };
  // What a hidden application gives does not make an orphan, nor does being a SuperAdmin, which only SuperAdmins see.
  if (orphan) filter.orphansOf = shown;
  const [app] = appCode === null ? [] : (apps ?? []);
  if (app !== undefined && roles !== null) {
    const ids = await findRoleIds(tx, app, roles);
    if (ids.length === 0) return { bySuperadmin, filter: null, shown, app };
    filter.roles = ids;
  }
  if (app !== undefined && endingWithinDays !== null) filter.endingWithinDays = endingWithinDays;
  if (app !== undefined && permission !== null) filter.allowedBy = await rolesGranting(tx, app, permission);
  return { bySuperadmin, filter, shown, ...(app === undefined ? {} : { app }) };
}

/** Each with the roles held in the application; as they are where none is asked about. */
async function withRoles(tx: Tx, rows: UserRow[], app: number | undefined): Promise<ListedUser[]> {
  if (app === undefined) return rows;
  const held = await readRolesOf(
    tx,
    rows.map(({ id }) => id),
    app,
  );
  return rows.map((row) => ({ ...row, ...(held.get(row.id) ?? { roles: [], roleWindows: [] }) }));
}

/** The ids of the applications that the reader may see, or of the one that they ask about; null: of all. */
export function seenIds({ active, superadmin, applications }: Sight, appCode: string | null): readonly number[] | null {
  if (!active) throw new UsherError('USER_INACTIVE', 'This account is not active.');
  if (appCode === null) return applications?.map(({ id }) => id) ?? null;
  const named = applications?.find(({ code }) => code === appCode);
  if (named !== undefined) return [named.id];
  if (superadmin) throw unknownApplication(appCode);
  throw new UsherError('NO_APPLICATION_LEVEL', 'You have no level that allows this on the application.');
}

async function userOf(tx: Tx, person: number, apps: readonly number[] | null): Promise<UserRow | undefined> {
  return (await readUsers(tx, [person], apps))[0];
}

export function unknownUser(email: string): UsherError {
  return new UsherError('NOT_FOUND', `There is no user ${email}.`);
}
