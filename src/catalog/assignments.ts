/** The roles that people hold. (docs/reference/administration.md#assignments.) */

import { administer, applicationOf, type By, existing, knownApplication } from '../administration/administer.ts';
import { refuseStale, tagOf } from '../administration/records.ts';
import { UsherError } from '../base/errors.ts';
import { nearest, orMeant } from '../base/nearest.ts';
import { byCodeUnit } from '../base/order.ts';
import { oneMore, type Page, type PageQuery, pageOf } from '../base/page.ts';
import {
  type AssignedRole,
  deleteHolders,
  deleteUserRole,
  type HolderRow,
  hasRole,
  holdersAmong,
  holdForRoles,
  holdRole,
  insertHolders,
  insertUserRole,
  listHolders,
  readUserRoles,
  replaceUserRoles,
} from '../persistence/catalog/assignments.ts';
import { codesOf } from '../persistence/catalog/references.ts';
import type { Committed, Database, Tx } from '../persistence/database.ts';
import { ensurePeople, holdPeople, holdPerson, personIdOf } from '../persistence/people/people.ts';
import { assignerOf, type Delegate, delegateIn } from './delegation.ts';

import { idsOf, type Reference, unknownCode } from './references.ts';
import { unknownRole } from './roles.ts';

export type { AssignedRole, HolderRow } from '../persistence/catalog/assignments.ts';

/** A person's roles in one application, and the tag for `ifMatch` of a replacement. */
export interface AssignedRoles {
  roles: readonly AssignedRole[];
  etag: string;
}

/** The roles in a body, and their field. */
export interface WantedRoles {
  field: 'roleIds' | 'roles';
  references: readonly Reference[];
}

/** Whom to give a role and from whom to take it; nobody is in both. */
export interface WantedHolders {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

export class Assignments {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** A person's roles, by code; empty for an unknown address. NOT_FOUND for an unknown application. */
  roles(app: string, email: string): Promise<AssignedRoles> {
    return this.#database.read(async (tx) => {
      const appId = await knownApplication(tx, app);
      const person = await personIdOf(tx, email);
      return tagged(person === null ? [] : await readUserRoles(tx, appId, person));
    });
  }

  /**
   * Replaces the set, even before the user has a record. UNKNOWN_REFERENCE for a role of another application, STALE when
   * `ifMatch` is of an older set.
   */
  replaceRoles(
    app: string,
    email: string,
    { field, references }: WantedRoles,
    ifMatch: string | undefined,
    by: By,
  ): Promise<Committed<AssignedRoles>> {
    const about = { app, action: 'user_roles.replaced', guard: assignerOf(app), subject: email };
    return administer<AssignedRoles>(this.#database, by, about, async ({ tx, audit }) => {
      const ids = await idsOf(tx, 'role', app, references);
      const wanted = [...new Set(ids)];
      const { app: found, roles: known, person } = await holdForRoles(tx, app, wanted, email);
      const appId = existing(found, app);
      const delegate = await delegateIn(tx, app, by.caller.email);
      const named = wanted.map((id) => ({ id, code: known.get(id)?.code }));
      const refuse = async (before: readonly AssignedRole[]) =>
        delegate === null ? null : await delegate.refuseRoles(tx, email, before, named);

      const present = await rolesOf(tx, appId, person);
      const refused = await refuse(present.roles);
      if (refused !== null) return { result: refused, scopes: [] };
      const unknown = ids.findIndex((id) => !known.has(id));
      if (unknown >= 0) {
        const reference = references[unknown] as Reference;
        throw await unknownCode(tx, { app, path: `${field}.${unknown}`, thing: 'role', reference });
      }
      if (present.person === null && wanted.length === 0) {
        refuseStale(ifMatch, tagged([]).etag);
        return { result: tagged([]), scopes: [] };
      }
      // A person without a record until now may have been given roles by another transaction meanwhile.
      const held = present.person === null ? await makeAndHold(tx, appId, email) : present;
      const again = present.person === null ? await refuse(held.roles) : null;
      if (again !== null) return { result: again, scopes: [] };

      const before = tagged(held.roles);
      refuseStale(ifMatch, before.etag);
      // In the order of the list: codes are ASCII, so this is the database's byte order.
      const result = tagged([...known.values()].sort((a, b) => byCodeUnit(a.code, b.code)));
      if (result.etag === before.etag) return { result: before, scopes: [] };
      await replaceUserRoles(tx, appId, held.person, wanted);
      audit({
        subject: email,
        before: { roles: before.roles.map(({ code }) => code) },
        after: { roles: result.roles.map(({ code }) => code) },
      });
      return { result, scopes: [`m:${app}:${email}`] };
    });
  }

  /**
   * Adds one role and keeps the others, even before the user has a record. `made` is false when it is held already.
   * UNKNOWN_REFERENCE for a role of another application.
   */
  addRole(
    app: string,
    email: string,
    reference: Reference,
    by: By,
  ): Promise<Committed<{ role: AssignedRole; made: boolean }>> {
    const about = { app, action: 'assignment.created', guard: assignerOf(app), subject: email };
    return administer<{ role: AssignedRole; made: boolean }>(this.#database, by, about, async ({ tx, audit }) => {
      const [id = 0] = await idsOf(tx, 'role', app, [reference]);
      const { app: found, roles, person } = await holdForRoles(tx, app, [id], email);
      const appId = existing(found, app);
      const delegate = await delegateIn(tx, app, by.caller.email);
      const role = roles.get(id);
      const refuse = async (before: readonly AssignedRole[]) =>
        delegate === null || before.some((held) => held.id === id)
          ? null
          : await delegate.refuseRoles(tx, email, before, [...before, { id, code: role?.code }]);

      const present = await rolesOf(tx, appId, person);
      const refused = await refuse(present.roles);
      if (refused !== null) return { result: refused, scopes: [] };
      if (role === undefined) {
        const path = typeof reference === 'number' ? 'roleId' : 'role';
        throw await unknownCode(tx, { app, path, thing: 'role', reference });
      }
      const held = present.person === null ? await makeAndHold(tx, appId, email) : present;
      const again = present.person === null ? await refuse(held.roles) : null;
      if (again !== null) return { result: again, scopes: [] };
      if (held.roles.some((one) => one.id === id)) return { result: { role, made: false }, scopes: [] };
      await insertUserRole(tx, appId, held.person, id);
      audit({ subject: email, after: { role: role.code } });
      return { result: { role, made: true }, scopes: [`m:${app}:${email}`] };
    });
  }

  /** Removes one role and keeps the others. NOT_FOUND when it is not held. */
  removeRole(app: string, email: string, code: string, by: By): Promise<Committed<null>> {
    const about = { app, action: 'assignment.removed', guard: assignerOf(app), subject: email };
    return administer<null>(this.#database, by, about, async ({ tx, audit }) => {
      const [id = 0] = await idsOf(tx, 'role', app, [code]);
      const { app: found, person } = await holdForRoles(tx, app, [id], email);
      const appId = existing(found, app);
      const delegate = await delegateIn(tx, app, by.caller.email);
      const present = await rolesOf(tx, appId, person);
      const rest = present.roles.filter((role) => role.id !== id);
      const refused = delegate === null ? null : await delegate.refuseRoles(tx, email, present.roles, rest);
      if (refused !== null) return { result: refused, scopes: [] };
      if (present.person === null || rest.length === present.roles.length) {
        // A code that the application has was not misspelled.
        const codes = id > 0 ? [] : await codesOf(tx, 'role', app);
        const meant = orMeant(nearest(code, codes));
        throw new UsherError('NOT_FOUND', `${email} does not hold the role ${code} in ${app}${meant}`);
      }
      await deleteUserRole(tx, appId, present.person, id);
      audit({ subject: email, before: { role: code } });
      return { result: null, scopes: [`m:${app}:${email}`] };
    });
  }

  /**
   * Gives a role to people and takes it from others, even before they have records. People who hold it already, or do not, stay as
   * they are and are not counted. NOT_FOUND for a role of another application.
   */
  changeHolders(
    app: string,
    roleId: number,
    wanted: WantedHolders,
    by: By,
  ): Promise<Committed<{ added: number; removed: number }>> {
    const subjects = [...new Set([...wanted.add, ...wanted.remove])];
    const about = { app, action: 'role_users.changed', guard: assignerOf(app), subjects };
    return administer<{ added: number; removed: number }>(this.#database, by, about, async ({ tx, audit }) => {
      const appId = await applicationOf(tx, app);
      const role = await holdRole(tx, appId, roleId);
      if (role === undefined) throw unknownRole();
      const delegate = await delegateIn(tx, app, by.caller.email);
      const refuse = (moves: Moves) => (delegate === null ? null : refuseMoves(tx, delegate, { appId, role, moves }));

      let moves = await movesOf(tx, appId, role, wanted);
      const refused = await refuse(moves);
      if (refused !== null) return { result: refused, scopes: [] };
      const unknown = moves.added.filter(({ person }) => person === undefined).map(({ email }) => email);
      if (unknown.length > 0) {
        await ensurePeople(tx, unknown);
        // They may have been given roles by another transaction meanwhile.
        moves = await movesOf(tx, appId, role, wanted);
        const again = await refuse(moves);
        if (again !== null) return { result: again, scopes: [] };
      }
      const { added, removed } = moves;
      if (added.length > 0) await insertHolders(tx, appId, roleId, added.map(personOf));
      if (removed.length > 0) await deleteHolders(tx, appId, roleId, removed.map(personOf));
      for (const { email } of added)
        audit({ action: 'assignment.created', subject: email, after: { role: role.code } });
      for (const { email } of removed) {
        audit({ action: 'assignment.removed', subject: email, before: { role: role.code } });
      }
      const scopes = [...added, ...removed].map(({ email }) => `m:${app}:${email}` as const);
      return { result: { added: added.length, removed: removed.length }, scopes };
    });
  }

  /** The holders of a role; `search` is text in the address or the display name. NOT_FOUND for a role of another application. */
  holders(app: string, roleId: number, query: PageQuery & { search: string | null }): Promise<Page<HolderRow>> {
    return this.#database.read(async (tx) => {
      const appId = await knownApplication(tx, app);
      if (!(await hasRole(tx, appId, roleId))) throw unknownRole();
      const { rows, behind } = await listHolders(tx, appId, roleId, oneMore(query));
      return pageOf(rows, query, behind);
    });
  }
}

/** Somebody whose holding of a role changes; `person` is undefined for an unknown address. */
interface Move {
  email: string;
  person: number | undefined;
}

interface Moves {
  added: readonly Move[];
  removed: readonly Move[];
}

/** What the request changes. Locks everybody in it who has a row, against other writes about the same people. */
async function movesOf(tx: Tx, app: number, role: AssignedRole, { add, remove }: WantedHolders): Promise<Moves> {
  const people = await holdPeople(tx, [...add, ...remove]);
  const holding = await holdersAmong(tx, app, role.id, [...people.values()]);
  const placed = (emails: readonly string[]) =>
    [...new Set(emails)].map((email) => ({ email, person: people.get(email) }));
  const holds = ({ person }: Move) => person !== undefined && holding.has(person);
  return { added: placed(add).filter((one) => !holds(one)), removed: placed(remove).filter(holds) };
}

/** Why a delegate must not carry out these moves; null when they may. */
async function refuseMoves(
  tx: Tx,
  delegate: Delegate,
  { appId, role, moves }: { appId: number; role: AssignedRole; moves: Moves },
): Promise<UsherError | null> {
  const rolesBefore = async ({ person }: Move) => (await rolesOf(tx, appId, person ?? null)).roles;
  for (const one of moves.added) {
    const before = await rolesBefore(one);
    const refused = await delegate.refuseRoles(tx, one.email, before, [...before, role]);
    if (refused !== null) return refused;
  }
  for (const one of moves.removed) {
    const before = await rolesBefore(one);
    const rest = before.filter(({ id }) => id !== role.id);
    const refused = await delegate.refuseRoles(tx, one.email, before, rest);
    if (refused !== null) return refused;
  }
  return null;
}

function personOf({ email, person }: Move): number {
  if (person === undefined) throw new Error(`person row of ${email} missing after it was created`);
  return person;
}

/** The roles of a locked person, or of an unknown one. */
async function rolesOf(
  tx: Tx,
  app: number,
  person: number | null,
): Promise<LockedRoles | { person: null; roles: readonly [] }> {
  return person === null ? { person, roles: [] } : { person, roles: await readUserRoles(tx, app, person) };
}

/** A person locked against other writes, and their roles. */
interface LockedRoles {
  person: number;
  roles: readonly AssignedRole[];
}

async function makeAndHold(tx: Tx, app: number, email: string): Promise<LockedRoles> {
  await ensurePeople(tx, [email]);
  const held = await rolesOf(tx, app, await holdPerson(tx, email));
  if (held.person === null) throw new Error('person row missing after it was created');
  return held;
}

function tagged(roles: readonly AssignedRole[]): AssignedRoles {
  return { roles, etag: tagOf(roles.map(({ id }) => id)) };
}
