/** All that one person has, and where from (docs/reference/lists.md#access-of-a-person). */

import { sightIn } from '../administration/reach.ts';
import { tagOf } from '../administration/records.ts';
import { UsherError } from '../base/errors.ts';
import { evaluate } from '../engine/evaluate.ts';
import { type Decision, formatRevision, Level, type RevisionToken } from '../engine/types.ts';
import type { Database, Tx } from '../persistence/database.ts';
import {
  type AccessOverrideRow,
  type AccessRead,
  type AccessRow,
  readAccess,
  readAccessPerson,
} from '../persistence/directory/access.ts';
import { readMemberships } from '../persistence/directory/users.ts';
import { personIdOf } from '../persistence/people/people.ts';
import { seenIds, unknownUser } from './users.ts';

/** The access of a person in one application. */
export interface ApplicationAccess {
  readonly code: string;
  readonly name: string;
  readonly admin: boolean;
  /** Codes of those that count now, in order. */
  readonly roles: readonly string[];
  /** Of the roles that have a beginning or an end, to come included. */
  readonly roleWindows: AccessRow['roleWindows'];
  /** Those that are held without a resource, by code. */
  readonly permissions: readonly { readonly code: string; readonly decision: Decision }[];
  /** The first of them, by resource. */
  readonly overrides: readonly AccessOverrideRow[];
  /** How many there are beside those. */
  readonly moreOverrides: number;
  readonly lastLoginAt: Date | null;
}

export interface PersonAccess {
  readonly email: string;
  readonly active: boolean;
  /** Undefined for readers who may not see it. */
  readonly superadmin: boolean | undefined;
  readonly applications: readonly ApplicationAccess[];
}

/** An answer, its revision and its ETag. */
export interface AccessAnswer {
  readonly access: PersonAccess;
  readonly mark: RevisionToken;
  readonly revision: string;
  readonly etag: string;
}

export class Access {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** All that the person has themselves. */
  own(email: string): Promise<AccessAnswer> {
    return this.#database.read(async (tx) => answerOf(await accessIn(tx, email, null), email, true));
  }

  /**
   * What the reader may see of it: applications that they may not view are left out. NO_APPLICATION_LEVEL for whom the reader shares
   * no application with, known or not; for a SuperAdmin an unknown one is NOT_FOUND.
   */
  of(reader: string, email: string): Promise<AccessAnswer> {
    return this.#database.read(async (tx) => {
      const sight = await sightIn(tx, reader, null);
      const apps = seenIds(sight, null);
      const person = await personIdOf(tx, email);
      if (!sight.superadmin && (person === null || (await readMemberships(tx, person, apps)).length === 0)) {
        throw new UsherError('NO_APPLICATION_LEVEL', 'You have no level on any application of this user.');
      }
      if (person === null) throw unknownUser(email);
      return answerOf(await accessIn(tx, email, apps), email, sight.superadmin);
    });
  }
}

interface Found {
  readonly person: AccessRead;
  readonly rows: readonly AccessRow[];
}

async function accessIn(tx: Tx, email: string, apps: readonly number[] | null): Promise<Found> {
  const person = await readAccessPerson(tx, email);
  const { id, superadmin } = person;
  const rows = id === null ? [] : await readAccess(tx, id, apps, superadmin);
  return { person, rows };
}

function answerOf({ person, rows }: Found, email: string, told: boolean): AccessAnswer {
  const { active, superadmin, head } = person;
  const access: PersonAccess = {
    email,
    active,
    superadmin: told ? superadmin : undefined,
    applications: rows.map((row) => applicationAccess(person, row)),
  };
  return { access, mark: head, revision: formatRevision(head), etag: tagOf([access]) };
}

function applicationAccess(person: AccessRead, row: AccessRow): ApplicationAccess {
  const { code, name, admin, roles, roleWindows, overrides, overrideCount, lastLoginAt } = row;
  const roleIds = roles.map(({ id }) => id);
  const held = row.permissions.map((permission) => {
    const levels = row.rolePermissions.filter(({ permissionId }) => permissionId === permission.id);
    const ofRoles = new Map(levels.map(({ roleId, level }) => [roleId, level]));
    const definition = { ...permission, groupName: null, levels: ofRoles };
    return { code: permission.code, decision: evaluate(person, { admin, roleIds }, definition, null) };
  });
  return {
    code,
    name,
    admin,
    roles: roles.map((role) => role.code),
    roleWindows,
    permissions: held.filter(({ decision }) => decision.level !== Level.NONE),
    overrides,
    moreOverrides: overrideCount - overrides.length,
    lastLoginAt,
  };
}
