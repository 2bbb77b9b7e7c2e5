/**
 * Delegates: who may assign in `auth` without being a SuperAdmin (docs/reference/administration.md#guards). They hold `applications.manage: edit` globally
 * and must not exceed it. Two rules enforce that. A delegate moves only the two panel roles and overrides of
 * `applications.manage`, and only permissions that they hold themselves. And no write of theirs changes
 * anybody's level on an application on which they lack `edit`: with a denying override on one application they can neither
 * lift it, nor make a second account a `panel_admin`, who would manage that application as well.
 */

import { editorOf, type WriteGuard } from '../administration/administer.ts';
import { PANEL_ADMIN, PANEL_APP, PANEL_ENTITY, PANEL_MANAGE, PANEL_MANAGER } from '../administration/panel.ts';
import { type Panelist, panelistIn } from '../administration/reach.ts';
import { UsherError } from '../base/errors.ts';
import { evaluate, permissionIn } from '../engine/evaluate.ts';
import { Level } from '../engine/types.ts';
import type { Resource } from '../persistence/catalog/overrides.ts';
import type { Tx } from '../persistence/database.ts';

const DELEGABLE_ROLES: ReadonlySet<string> = new Set([PANEL_MANAGER, PANEL_ADMIN]);

/** The guard of writes of user roles and overrides: in `auth` it admits delegates, whom `delegateIn` then limits. */
export function assignerOf(app: string): WriteGuard {
  return editorOf(app, { delegated: true });
}

/** The limits of the author of a write in `app`; null without limits. Call it after `assignerOf` has admitted them. */
export async function delegateIn(tx: Tx, app: string, email: string): Promise<Delegate | null> {
  if (app !== PANEL_APP) return null;
  const self = await panelistIn(tx, email);
  return self.answer.person.superadmin ? null : new Delegate(self);
}

/** A role by id and code; the code is undefined for a role of another application. */
interface NamedRole {
  id: number;
  code: string | undefined;
}

/** An override by the permission's id and code; the code is undefined for a permission of another application. */
interface NamedLevel {
  permissionId: number;
  code: string | undefined;
  level: Level | undefined;
}

export class Delegate {
  readonly #self: Panelist;

  constructor(self: Panelist) {
    this.#self = self;
  }

  /** Why the roles of `email` must not change from `before` to `after`; null when they may. */
  async refuseRoles(
    tx: Tx,
    email: string,
    before: readonly NamedRole[],
    after: readonly NamedRole[],
  ): Promise<UsherError | null> {
    const moved = difference(before, after);
    for (const role of moved) {
      if (role.code === undefined || !DELEGABLE_ROLES.has(role.code) || !this.#holdsAllOf(role.id)) {
        return beyond('Only a SuperAdmin may assign panel roles that you do not hold yourself.');
      }
    }
    if (moved.length === 0) return null;
    const target = await panelistIn(tx, email, this.#self.policy);
    const was = target.withRoles(before.map(({ id }) => id));
    const is = target.withRoles(after.map(({ id }) => id));
    const touched = [...this.#self.overrides.keys()].find(
      (app) => !this.#edits(app) && was.level(app) !== is.level(app),
    );
    return touched === undefined ? null : foreign();
  }

  /** Why the overrides for that resource must not change from `before` to `after`; null when they may. */
  refuseOverrides(
    { resourceType, resourceId }: Resource,
    before: readonly NamedLevel[],
    after: readonly NamedLevel[],
  ): UsherError | null {
    const was = new Map(before.map((one) => [one.permissionId, one]));
    const is = new Map(after.map((one) => [one.permissionId, one]));
    const moved = [...was.values(), ...is.values()].filter(
      ({ permissionId }) => was.get(permissionId)?.level !== is.get(permissionId)?.level,
    );
    if (moved.length === 0) return null;
    if (resourceType !== PANEL_ENTITY || moved.some(({ code }) => code !== PANEL_MANAGE)) {
      return beyond(`Only a SuperAdmin may change overrides of the panel other than those of ${PANEL_MANAGE}.`);
    }
    return this.#edits(resourceId) ? null : foreign();
  }

  #edits(app: string): boolean {
    return this.#self.level(app) === Level.EDIT;
  }

  /** Whether the delegate holds, everywhere, at least the role's permissions. */
  #holdsAllOf(roleId: number): boolean {
    const { policy, answer } = this.#self;
    const codes = new Map(policy.permissions.map(({ id, code }) => [id, code]));
    return policy.rolePermissions
      .filter((row) => row.roleId === roleId)
      .every(({ permissionId, level }) => {
        const permission = permissionIn(policy, codes.get(permissionId) ?? '');
        return evaluate(answer.person, answer.member, permission, null).level >= level;
      });
  }
}

function difference(before: readonly NamedRole[], after: readonly NamedRole[]): NamedRole[] {
  const [was, is] = [new Set(before.map(({ id }) => id)), new Set(after.map(({ id }) => id))];
  return [...before.filter(({ id }) => !is.has(id)), ...after.filter(({ id }) => !was.has(id))];
}

function beyond(message: string): UsherError {
  return new UsherError('FORBIDDEN', message);
}

function foreign(): UsherError {
  return new UsherError(
    'NO_APPLICATION_LEVEL',
    'This would change access to an application that you do not manage yourself.',
  );
}
