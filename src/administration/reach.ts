/**
 * What somebody may administer, on rows of one snapshot (docs/reference/administration.md#panel-levels): where he
 * is an AppAdmin, and the level on each application.
 */

import { evaluate, type PolicyPermission, permissionIn } from '../engine/evaluate.ts';
import { Level, type MemberAnswer, type PolicyRows } from '../engine/types.ts';
import { type ApplicationOf, applicationsOf, levelsByResource } from '../persistence/catalog/panel-levels.ts';
import type { Tx } from '../persistence/database.ts';
import { memberIn, policyIn } from '../persistence/facts/source.ts';
import { PANEL_APP, PANEL_ENTITY, PANEL_ENTRY, PANEL_MANAGE } from './panel.ts';

/** An application that somebody may see, and whether he may change it. */
export interface ReachedApplication {
  readonly id: number;
  readonly code: string;
  readonly level: typeof Level.VIEW | typeof Level.EDIT;
}

export interface Reach {
  readonly active: boolean;
  readonly superadmin: boolean;
  /** Codes of the applications whose AppAdmin he is, in order. */
  readonly appAdminFor: readonly string[];
  /** What he may see, by code; nothing while he is inactive. */
  readonly applications: readonly ReachedApplication[];
  /** Codes of what is granted to him in the panel's own application without a resource, in order. */
  readonly panelPermissions: readonly string[];
}

/** In four statements, however many applications there are. */
export async function reachIn(tx: Tx, email: string): Promise<Reach> {
  const panelist = await panelistIn(tx, email);
  const { active, superadmin } = panelist.answer.person;
  const all = await applicationsOf(tx, email, null);
  return {
    active,
    superadmin,
    appAdminFor: all.filter(({ admin }) => admin).map(({ code }) => code),
    applications: reached(panelist, all),
    panelPermissions: panelist.policy.permissions
      .map(({ code }) => code)
      .filter(
        (code) =>
          evaluate(panelist.answer.person, panelist.answer.member, permissionIn(panelist.policy, code), null).granted,
      )
      .sort(),
  };
}

/** What somebody may see; of the applications only the one `app`, where it is not null. */
export type Sight = Pick<Reach, 'active' | 'superadmin'> & {
  /** Null: all of them, which nobody needs to read. */
  readonly applications: readonly ReachedApplication[] | null;
};

/** The part of `reachIn` that says whose people somebody sees. */
export async function sightIn(tx: Tx, email: string, app: string | null): Promise<Sight> {
  const panelist = await panelistIn(tx, email);
  const { active, superadmin } = panelist.answer.person;
  if (!active) return { active, superadmin, applications: [] };
  const applications = superadmin && app === null ? null : reached(panelist, await applicationsOf(tx, email, app));
  return { active, superadmin, applications };
}

function reached(panelist: Panelist, all: readonly ApplicationOf[]): ReachedApplication[] {
  const { active } = panelist.answer.person;
  return all.flatMap(({ id, code, admin }) => {
    const level = active && admin ? Level.EDIT : panelist.level(code);
    return level === Level.VIEW || level === Level.EDIT ? [{ id, code, level }] : [];
  });
}

/** Somebody as a user of the panel: what decides the level on each application there, whichever it is. */
export class Panelist {
  readonly policy: PolicyRows;
  readonly answer: MemberAnswer;
  /** By the code of the application. */
  readonly overrides: ReadonlyMap<string, Level>;
  readonly #entry: PolicyPermission | undefined;
  readonly #manage: PolicyPermission | undefined;

  constructor(policy: PolicyRows, answer: MemberAnswer, overrides: ReadonlyMap<string, Level>) {
    this.policy = policy;
    this.answer = answer;
    this.overrides = overrides;
    this.#entry = permissionIn(policy, PANEL_ENTRY);
    this.#manage = permissionIn(policy, PANEL_MANAGE);
  }

  /** The same person with other roles. */
  withRoles(roleIds: readonly number[]): Panelist {
    const member = { ...this.answer.member, roleIds };
    return new Panelist(this.policy, { ...this.answer, member }, this.overrides);
  }

  /** The level on one application; null: on all of them, the ones to come included. */
  level(app: string | null): Level {
    const { person, member } = this.answer;
    if (!evaluate(person, member, this.#entry, null).granted) return Level.NONE;
    const manage = this.#manage;
    const own = app === null ? undefined : this.overrides.get(app);
    const overrides = manage === undefined || own === undefined ? null : new Map([[manage.id, own]]);
    return evaluate(person, member, manage, overrides).level;
  }
}

/** In three statements. */
export async function panelistIn(tx: Tx, email: string): Promise<Panelist> {
  const policy = await policyIn(tx, PANEL_APP);
  const answer = await memberIn(tx, { email, app: PANEL_APP, resourceType: '', resourceId: '' });
  const of = { email, app: PANEL_APP, permission: PANEL_MANAGE, resourceType: PANEL_ENTITY };
  return new Panelist(policy, answer, await levelsByResource(tx, of));
}
