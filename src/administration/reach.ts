/**
 * What a person may administer, on rows of one snapshot (docs/reference/administration.md#panel-levels): where they
 * are an AppAdmin, and their level on each application.
 */

import { evaluate, type PolicyPermission, permissionIn } from '../engine/evaluate.ts';
import { Level, type MemberAnswer, type PolicyRows } from '../engine/types.ts';
import {
  type ApplicationWithAdmin,
  applicationsWithAdmin,
  levelsByResource,
} from '../persistence/catalog/panel-levels.ts';
import type { Tx } from '../persistence/database.ts';
import { memberIn, policyIn } from '../persistence/facts/source.ts';
import { PANEL_APP, PANEL_ENTITY, PANEL_ENTRY, PANEL_MANAGE } from './panel.ts';

/** An application that a person may see or change. */
export interface ReachedApplication {
  readonly id: number;
  readonly code: string;
  readonly level: typeof Level.VIEW | typeof Level.EDIT;
}

export interface Reach {
  readonly active: boolean;
  readonly superadmin: boolean;
  /** Codes of the applications whose AppAdmin they are, in order. */
  readonly appAdminFor: readonly string[];
  /** The applications they may see, by code; empty while they are inactive. */
  readonly applications: readonly ReachedApplication[];
  /** Codes of the permissions granted to them in the panel's own application without a resource, in order. */
  readonly panelPermissions: readonly string[];
}

/** Takes four statements, however many applications there are. */
export async function reachIn(tx: Tx, email: string): Promise<Reach> {
  const panelist = await panelistIn(tx, email);
  const { active, superadmin } = panelist.answer.person;
  const all = await applicationsWithAdmin(tx, email, null);
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

/** What a person may see; only the application `app`, where it is not null. */
export type Sight = Pick<Reach, 'active' | 'superadmin'> & {
  /** Whether they may enter the panel. */
  readonly enters: boolean;
  /** Null: all of them, so that they need not be read. */
  readonly applications: readonly ReachedApplication[] | null;
};

/** The part of `reachIn` that decides whose records a person may see. */
export async function sightIn(tx: Tx, email: string, app: string | null): Promise<Sight> {
  const panelist = await panelistIn(tx, email);
  const { active, superadmin } = panelist.answer.person;
  const enters = panelist.enters;
  if (!active) return { active, superadmin, enters: false, applications: [] };
  const applications =
    superadmin && app === null ? null : reached(panelist, await applicationsWithAdmin(tx, email, app));
  return { active, superadmin, enters, applications };
}

/** Whether somebody is an administrator of anything: a SuperAdmin, a panel user, or an app admin of an application. */
export function isAdministrator({ active, superadmin, enters, applications }: Sight): boolean {
  return active && (superadmin || enters || applications === null || applications.length > 0);
}

/** The ids of the applications that a person may see, or of `app` alone where they may see it; null: all of them. */
export async function seenBy(tx: Tx, email: string, app: string | null = null): Promise<readonly number[] | null> {
  const { applications } = await sightIn(tx, email, app);
  return applications?.map(({ id }) => id) ?? null;
}

function reached(panelist: Panelist, all: readonly ApplicationWithAdmin[]): ReachedApplication[] {
  const { active } = panelist.answer.person;
  return all.flatMap(({ id, code, admin }) => {
    const level = active && admin ? Level.EDIT : panelist.level(code);
    return level === Level.VIEW || level === Level.EDIT ? [{ id, code, level }] : [];
  });
}

/** A person as a user of the panel: decides their level on each application. */
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

  /** Whether they may enter the panel. */
  get enters(): boolean {
    const { person, member } = this.answer;
    return evaluate(person, member, this.#entry, null).granted;
  }

  /** The level on one application; null: on all of them, including future ones. */
  level(app: string | null): Level {
    const { person, member } = this.answer;
    if (!this.enters) return Level.NONE;
    const manage = this.#manage;
    const own = app === null ? undefined : this.overrides.get(app);
    const overrides = manage === undefined || own === undefined ? null : new Map([[manage.id, own]]);
    return evaluate(person, member, manage, overrides).level;
  }
}

/** Takes three statements, two where the panel's policy is known from the same locks. */
export async function panelistIn(tx: Tx, email: string, known?: PolicyRows): Promise<Panelist> {
  const policy = known ?? (await policyIn(tx, PANEL_APP));
  const answer = await memberIn(tx, { email, app: PANEL_APP, resourceType: '', resourceId: '' });
  const of = { email, app: PANEL_APP, permission: PANEL_MANAGE, resourceType: PANEL_ENTITY };
  return new Panelist(policy, answer, await levelsByResource(tx, of));
}
