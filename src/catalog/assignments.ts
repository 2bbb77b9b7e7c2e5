/** The roles that people hold. (docs/reference/administration.md#assignments.) */

import {
  type Administration,
  administer,
  applicationOf,
  type By,
  existing,
  knownApplication,
} from '../administration/administer.ts';
import { refuseStale, tagOf } from '../administration/records.ts';
import {
  type AskedWindow,
  type GrantWindow,
  isSameWindow,
  refuseWindows,
  type WantedWindow,
  windowAfter,
  windowWords,
} from '../administration/windows.ts';
import { certain } from '../base/certain.ts';
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
  holdForRoles,
  holdRole,
  listHolders,
  putHolders,
  putUserRole,
  readUserRoles,
  replaceUserRoles,
} from '../persistence/catalog/assignments.ts';
import { codesOf } from '../persistence/catalog/references.ts';
import type { Committed, Database } from '../persistence/database.ts';
import { ensurePeople, personIdOf } from '../persistence/people/people.ts';
import { assignerOf, delegateIn } from './delegation.ts';
import { type HoldersChanged, type Moves, movesOf, personOf, refuseMoves, type WantedHolders } from './holder-moves.ts';
import { makeAndHold, rolesOf } from './locked-roles.ts';

import { idsOf, type Reference, unknownCode } from './references.ts';
import { unknownRole } from './roles.ts';

export type { AssignedRole, HolderRow } from '../persistence/catalog/assignments.ts';

/** A person's roles in one application, and the tag for `ifMatch` of a replacement. */
export interface AssignedRoles {
  roles: readonly AssignedRole[];
  etag: string;
}

/** A role in a body, and when it is to count. */
export interface WantedRole extends WantedWindow {
  readonly reference: Reference;
}

/** The roles in a body, and their field; no role twice with different windows. */
export interface WantedRoles {
  readonly field: 'roleIds' | 'roles';
  readonly roles: readonly WantedRole[];
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
    { field, roles: requested }: WantedRoles,
    ifMatch: string | undefined,
    by: By,
  ): Promise<Committed<AssignedRoles>> {
    const about = { app, action: 'user_roles.replaced', guard: assignerOf(app), subject: email };
    return administer<AssignedRoles>(this.#database, by, about, async ({ tx, audit }) => {
      const references = requested.map(({ reference }) => reference);
      const ids = await idsOf(tx, 'role', app, references);
      const wanted = [...new Set(ids)];
      const { app: found, roles: known, person } = await holdForRoles(tx, app, wanted, email);
      const appId = existing(found, app);
      const delegate = await delegateIn(tx, app, by.caller.email);
      const named = wanted.map((id) => ({ id, code: known.get(id)?.code }));
      const windowOf = (id: number, before: readonly AssignedRole[]) => {
        const held = before.find((role) => role.id === id) ?? null;
        return windowAfter(certain(requested[ids.indexOf(id)]), held);
      };
      // A role whose window changes is given anew.
      const isKept = (role: AssignedRole, before: readonly AssignedRole[]) =>
        !ids.includes(role.id) || isSameWindow(role, windowOf(role.id, before));
      const refuse = async (before: readonly AssignedRole[]) => {
        const kept = before.filter((role) => isKept(role, before));
        return delegate === null ? null : await delegate.refuseRoles(tx, email, kept, named);
      };

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
      await refuseWindows(
        tx,
        requested.map((role, at) => askedAt(`${field}.${at}`, role, held.roles, certain(ids[at]))),
      );
      // In the order of the list: codes are ASCII, so this is the database's byte order.
      const after = [...known.values()].sort((a, b) => byCodeUnit(a.code, b.code));
      const result = tagged(after.map((role) => ({ ...role, ...windowOf(role.id, held.roles) })));
      if (result.etag === before.etag) return { result: before, scopes: [] };
      await replaceUserRoles(tx, appId, held.person, result.roles);
      audit({ subject: email, before: wordsOf(before.roles), after: wordsOf(result.roles) });
      return { result, scopes: [`m:${app}:${email}`] };
    });
  }

  /**
   * Adds one role and keeps the others, even before the user has a record. `made` is false when it is held already: then only its
   * window may change. UNKNOWN_REFERENCE for a role of another application.
   */
  addRole(
    app: string,
    email: string,
    { reference, ...wanted }: WantedRole,
    by: By,
  ): Promise<Committed<{ role: AssignedRole; made: boolean }>> {
    const about = { app, action: 'assignment.created', guard: assignerOf(app), subject: email };
    return administer<{ role: AssignedRole; made: boolean }>(this.#database, by, about, async ({ tx, audit }) => {
      const [id = 0] = await idsOf(tx, 'role', app, [reference]);
      const { app: found, roles, person } = await holdForRoles(tx, app, [id], email);
      const appId = existing(found, app);
      const delegate = await delegateIn(tx, app, by.caller.email);
      const role = roles.get(id);
      const heldIn = (before: readonly AssignedRole[]) => before.find((one) => one.id === id) ?? null;
      const refuse = async (before: readonly AssignedRole[]) => {
        const current = heldIn(before);
        if (delegate === null || (current !== null && isSameWindow(current, windowAfter(wanted, current)))) return null;
        const others = before.filter((one) => one !== current);
        return await delegate.refuseRoles(tx, email, others, [...others, { id, code: role?.code }]);
      };

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
      const current = heldIn(held.roles);
      await refuseWindows(tx, [{ path: '', wanted, held: current }]);
      const after = { ...role, ...windowAfter(wanted, current) };
      if (current !== null && isSameWindow(current, after)) {
        return { result: { role: current, made: false }, scopes: [] };
      }
      await putUserRole(tx, appId, held.person, after);
      auditOne(audit, { email, role: role.code, before: current, after });
      return { result: { role: after, made: current === null }, scopes: [`m:${app}:${email}`] };
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
   * Gives a role to people and takes it from others, even before they have records. Of those who hold it already only the window may
   * change; the others stay as they are and are not counted. NOT_FOUND for a role of another application.
   */
  changeHolders(app: string, roleId: number, wanted: WantedHolders, by: By): Promise<Committed<HoldersChanged>> {
    const subjects = [...new Set([...wanted.add.map(({ email }) => email), ...wanted.remove])];
    const about = { app, action: 'role_users.changed', guard: assignerOf(app), subjects };
    return administer<HoldersChanged>(this.#database, by, about, async ({ tx, audit }) => {
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
      const { added, changed, removed } = moves;
      await refuseWindows(
        tx,
        [...added, ...changed].map(({ at, ...one }) => ({ ...one, path: `add.${at}` })),
      );
      const put = [...added, ...changed].map((one) => ({ person: personOf(one), ...one.after }));
      if (put.length > 0) await putHolders(tx, appId, roleId, put);
      if (removed.length > 0) await deleteHolders(tx, appId, roleId, removed.map(personOf));
      for (const { email, held, after } of [...added, ...changed]) {
        auditOne(audit, { email, role: role.code, before: held, after });
      }
      for (const { email } of removed) {
        audit({ action: 'assignment.removed', subject: email, before: { role: role.code } });
      }
      const scopes = [...added, ...changed, ...removed].map(({ email }) => `m:${app}:${email}` as const);
      const result = { added: added.length, changed: changed.length, removed: removed.length };
      return { result, scopes };
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

function tagged(roles: readonly AssignedRole[]): AssignedRoles {
  return { roles, etag: tagOf(roles.map(({ id, startsAt, endsAt }) => [id, startsAt, endsAt])) };
}

function askedAt(path: string, wanted: WantedWindow, held: readonly AssignedRole[], id: number): AskedWindow {
  return { path, wanted, held: held.find((role) => role.id === id) ?? null };
}

/** A set in an audit record: the codes, and the windows of those that have one. */
function wordsOf(roles: readonly AssignedRole[]): { roles: string[]; windows?: object[] } {
  const windows = roles
    .filter(({ startsAt, endsAt }) => startsAt !== null || endsAt !== null)
    .map((role) => ({ role: role.code, ...windowWords(role) }));
  return { roles: roles.map(({ code }) => code), ...(windows.length === 0 ? {} : { windows }) };
}

/** The record of a role that was given (`before` null), or whose window changed. */
function auditOne(
  audit: Administration['audit'],
  { email, role, before, after }: { email: string; role: string; before: GrantWindow | null; after: GrantWindow },
): void {
  const words = { role, ...windowWords(after) };
  if (before === null) audit({ action: 'assignment.created', subject: email, after: words });
  else audit({ action: 'assignment.changed', subject: email, before: { role, ...windowWords(before) }, after: words });
}
