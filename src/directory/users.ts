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
import { clearSubject } from '../persistence/directory/subjects.ts';
import {
  findUserIds,
  type MembershipRow,
  readMemberships,
  readUsers,
  setBlocked,
  type UserRow,
} from '../persistence/directory/users.ts';
import { holdPerson, personIdOf } from '../persistence/people.ts';
import { refuseLastSuperadmin } from '../persistence/superadmins.ts';
import { type ProfileRecord, profileRecord } from './profile-record.ts';

export type { MembershipRow, UserRow } from '../persistence/directory/users.ts';

/** The filter of a list of users. */
export interface UserQuery {
  search: string | null;
  active: boolean | null;
  appCode: string | null;
}

interface UserPage extends Page<UserRow> {
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

  constructor(database: Database, idpPublicUrl: string | null) {
    this.#database = database;
    this.#idpPublicUrl = idpPublicUrl;
  }

  /**
   * Known addresses in the order in which they first appeared. NO_APPLICATION_LEVEL when `query.appCode` is an application
   * that the reader may not see; for a SuperAdmin an unknown one is NOT_FOUND.
   */
  list(reader: string, query: UserQuery, page: PageQuery): Promise<UserPage> {
    return this.#database.read(async (tx) => {
      const sight = await sightIn(tx, reader, query.appCode);
      const apps = seenIds(sight, query.appCode);
      const { ids, behind } = await findUserIds(tx, { ...query, apps }, oneMore(page));
      const rows = await readUsers(tx, ids, sight.superadmin ? null : apps);
      return { bySuperadmin: sight.superadmin, ...pageOf(rows, page, behind) };
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
      if ((await personIdOf(tx, email)) === null) throw unknownUser(email);
      const before = await clearSubject(tx, email);
      if (before !== null) audit({ action: about.action, subject: email, before: { ...before } });
      return { result: null, scopes: [] };
    });
  }
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
