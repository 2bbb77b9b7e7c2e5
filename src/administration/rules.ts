/**
 * The rules of administration, each stated once (docs/reference/administration.md#guards). Guards of routes apply them to the cached
 * engine, guards of writes to rows of the write's own transaction.
 */

import { UsherError } from '../base/errors.ts';
import { Level, type MemberFacts, type PersonFacts } from '../engine/types.ts';
import { PANEL_APP } from './panel.ts';

/** A person's facts, from either source. */
export interface Standing {
  readonly person: Pick<PersonFacts, 'active' | 'superadmin'>;
  /** Their place in an application; `appId` is null for an unknown one. */
  readonly member: (app: string) => Promise<Pick<MemberFacts, 'appId' | 'admin'>>;
  /** Their level on an application in the panel, or on all of them where `app` is null. NONE without entry to the panel. */
  readonly panelLevel: (app: string | null) => Promise<Level>;
}

/** Resolves to the refusal, or null. */
export type Rule = (who: Standing) => Promise<UsherError | null>;

/** An active SuperAdmin; `act` completes "Only a SuperAdmin may …". */
export function bySuperAdmin(act: string): Rule {
  return async ({ person }) => {
    if (!person.active) return inactive();
    return person.superadmin ? null : new UsherError('FORBIDDEN', `Only a SuperAdmin may ${act}.`);
  };
}

/** A SuperAdmin, or a panel user who manages all applications. */
export function byManagerOfAll(act: string): Rule {
  return async ({ person, panelLevel }) => {
    if (!person.active) return inactive();
    if (person.superadmin || (await panelLevel(null)) >= Level.EDIT) return null;
    return new UsherError('FORBIDDEN', `Only users who manage every application may ${act}.`);
  };
}

/**
 * A SuperAdmin, an app admin of `app`, or a panel user with that level on it. An unknown application is refused like a foreign one.
 * In `auth` only SuperAdmins edit, because power over `auth` is power over everything: its templates carry reset codes. Where the
 * edit is `delegated`, holders of the level on all applications do so too, and holders of a level on `auth` alone do not.
 */
export function byAdministratorOf(app: string, level: Level, { delegated = false } = {}): Rule {
  const closed = app === PANEL_APP && level === Level.EDIT;
  return async ({ person, member, panelLevel }) => {
    if (!person.active) return inactive();
    if (person.superadmin) return null;
    if (closed && !delegated) return noLevel();
    const { appId, admin } = await member(app);
    if (appId === null) return noLevel();
    if (admin && !closed) return null;
    return (await panelLevel(closed ? null : app)) >= level ? null : noLevel();
  };
}

function inactive(): UsherError {
  return new UsherError('USER_INACTIVE', 'This account is not active.');
}

function noLevel(): UsherError {
  return new UsherError('NO_APPLICATION_LEVEL', 'You have no level that allows this on the application.');
}
