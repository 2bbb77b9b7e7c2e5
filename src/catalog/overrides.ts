/**
 * Overrides: a person's level on a single resource, regardless of roles. (docs/reference/administration.md#assignments.)
 */

import { administer, type By, existing, knownApplication } from '../administration/administer.ts';
import { refuseImmutable, refuseStale, tagOf } from '../administration/records.ts';
import {
  type GrantWindow,
  isSameWindow,
  refuseWindows,
  type WantedWindow,
  windowAfter,
} from '../administration/windows.ts';
import { certain } from '../base/certain.ts';
import { UsherError } from '../base/errors.ts';
import { LEVEL_NAMES } from '../base/level-names.ts';
import { nearest, orMeant } from '../base/nearest.ts';
import { byCodeUnit } from '../base/order.ts';
import type { Page } from '../base/page.ts';
import { Level } from '../engine/types.ts';
import {
  holdForOverrides,
  holdResourceType,
  listOverrides,
  type OverridePlace,
  type OverrideRow,
  type PlacedOverrideRow,
  type Resource,
  readOverrides,
  replaceOverrides,
} from '../persistence/catalog/overrides.ts';
import { codesOf } from '../persistence/catalog/references.ts';
import type { Committed, Database, Tx } from '../persistence/database.ts';
import { ensurePeople, holdPerson, personIdOf } from '../persistence/people/people.ts';
import { assignerOf, delegateIn } from './delegation.ts';

import { idsOf, permissionField, type Reference, refuseRepeated, unknownCode, unknownReference } from './references.ts';

export type { OverridePlace, OverrideRow, PlacedOverrideRow, Resource } from '../persistence/catalog/overrides.ts';

/** A person's overrides for one resource, and the tag for `ifMatch` of a replacement. */
export interface Overrides {
  overrides: readonly OverrideRow[];
  etag: string;
}

/** One override of a request; `level` undefined with `granted` means the highest of the permission's type. */
export interface WantedOverride extends WantedWindow {
  permission: Reference;
  /** The code sent beside an id: must be the permission's own. */
  code?: string | undefined;
  granted: boolean;
  level: Level | undefined;
}

/** The same with the permission's id; `field` is the body's field for it. */
type Found = Omit<WantedOverride, 'permission'> & { permissionId: number; field: string };

/** An override as it is to stand. */
type Standing = { permissionId: number; level: Level } & GrantWindow;

type Permission = { code: string; tiered: boolean; global: boolean };

export class ResourceOverrides {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** By permission code; empty for an unknown address. NOT_FOUND for an unknown application. */
  read(app: string, email: string, resource: Resource): Promise<Overrides> {
    return this.#database.read(async (tx) => {
      const appId = await knownApplication(tx, app);
      const person = await personIdOf(tx, email);
      return tagged(person === null ? [] : await readOverrides(tx, appId, person, resource));
    });
  }

  /** Every override of a person in the application; `search` is text in type, identifier or permission code. */
  list(
    app: string,
    email: string,
    { limit, after, search }: { limit: number; after: OverridePlace | null; search: string | null },
  ): Promise<Page<PlacedOverrideRow, OverridePlace>> {
    return this.#database.read(async (tx) => {
      const appId = await knownApplication(tx, app);
      const person = await personIdOf(tx, email);
      if (person === null) return { items: [], next: null };
      const rows = await listOverrides(tx, appId, person, { limit: limit + 1, after, search });
      const items = rows.slice(0, limit);
      return { items, next: rows.length > limit ? (items.at(-1) ?? null) : null };
    });
  }

  /**
   * Replaces the set for that resource; an empty one removes all. UNKNOWN_REFERENCE for a permission of another application,
   * INVALID_ACCESS_LEVEL for a level of the other type, IMMUTABLE_FIELD for another permission's code beside an id, STALE when
   * `ifMatch` is of an older set. GLOBAL_PERMISSION and UNKNOWN_RESOURCE_TYPE only for new or changed overrides: existing
   * ones may be sent again unchanged. A window that is not sent stays.
   */
  replace(
    app: string,
    email: string,
    resource: Resource,
    requested: readonly WantedOverride[],
    ifMatch: string | undefined,
    by: By,
  ): Promise<Committed<Overrides>> {
    const about = { app, action: 'override.replaced', guard: assignerOf(app), subject: email, overrides: true };
    return administer<Overrides>(this.#database, by, about, async ({ tx, audit }) => {
      const wanted = await found(tx, app, requested);
      const ids = wanted.map(({ permissionId }) => permissionId);
      const held = await holdForOverrides(tx, app, ids, email);
      const appId = existing(held.app, app);
      const { permissions } = held;
      const after = wanted.map((one) => ({ ...named(one, permissions), permissionId: one.permissionId }));
      const delegate = await delegateIn(tx, app, by.caller.email);
      const refuse = (before: readonly OverrideRow[]) => {
        // One whose window changes is given anew.
        const kept = before.filter((one) => {
          const asked = wanted.find(({ permissionId }) => permissionId === one.permissionId);
          return asked === undefined || isSameWindow(one, windowAfter(asked, one));
        });
        return delegate?.refuseOverrides(resource, kept, after) ?? null;
      };

      let { person } = held;
      let before = person === null ? [] : await readOverrides(tx, appId, person, resource);
      const refused = refuse(before);
      if (refused !== null) return { result: refused, scopes: [] };
      const unknown = wanted.findIndex(({ permissionId }) => !permissions.has(permissionId));
      if (unknown >= 0) {
        const path = `permissions.${unknown}.${wanted[unknown]?.field}`;
        const reference = requested[unknown]?.permission as Reference;
        throw await unknownCode(tx, { app, path, thing: 'permission', reference });
      }
      const fits = fitting(wanted, permissions);
      const fields = wanted.map(({ field }) => field);
      if (person === null && wanted.length > 0) {
        await ensurePeople(tx, [email]);
        person = await holdPerson(tx, email);
        // A person without a record until now may have been given overrides by another transaction meanwhile.
        before = person === null ? [] : await readOverrides(tx, appId, person, resource);
        const again = refuse(before);
        if (again !== null) return { result: again, scopes: [] };
      }
      refuseStale(ifMatch, tagged(before).etag);
      if (person === null) return { result: tagged([]), scopes: [] };
      const heldOf = (id: number) => before.find(({ permissionId }) => permissionId === id) ?? null;
      const levels = fits.map((one, at) => ({ ...one, ...windowAfter(certain(wanted[at]), heldOf(one.permissionId)) }));
      await refuseNew(tx, appId, resource, before, { levels, fields, permissions });
      await refuseWindows(
        tx,
        wanted.map((one, at) => ({ path: `permissions.${at}`, wanted: one, held: heldOf(one.permissionId) })),
      );

      // In the order of the list: codes are ASCII, so this is the database's byte order.
      const rows = levels.map((one) => standing(one, permissions)).sort((a, b) => byCodeUnit(a.code, b.code));
      const result = tagged(rows);
      if (result.etag === tagged(before).etag) return { result, scopes: [] };
      await replaceOverrides(tx, appId, person, resource, levels);
      audit({
        subject: email,
        before: { ...resource, overrides: before.map(words) },
        after: { ...resource, overrides: result.overrides.map(words) },
      });
      return { result, scopes: [`m:${app}:${email}`] };
    });
  }
}

async function found(tx: Tx, app: string, requested: readonly WantedOverride[]): Promise<Found[]> {
  const references = requested.map(({ permission }) => permission);
  const ids = await idsOf(tx, 'permission', app, references);
  refuseRepeated(ids, references);
  return requested.map(({ permission, ...rest }, index) => {
    return { permissionId: certain(ids[index]), field: permissionField(permission), ...rest };
  });
}

/** The override as far as it is known before its validation. */
function named(
  { permissionId, granted, level }: Found,
  permissions: ReadonlyMap<number, Permission>,
): { code: string | undefined; level: Level | undefined } {
  const permission = permissions.get(permissionId);
  if (!granted) return { code: permission?.code, level: Level.NONE };
  return { code: permission?.code, level: level ?? (permission?.tiered ? Level.EDIT : Level.ALLOWED) };
}

/** The levels to store; throws for an unknown permission or a level of the other type. */
function fitting(
  wanted: readonly Found[],
  permissions: ReadonlyMap<number, Permission>,
): { permissionId: number; level: Level }[] {
  return wanted.map(({ permissionId, field, code, granted, level }, index) => {
    const path = `permissions.${index}`;
    const permission = permissions.get(permissionId);
    if (permission === undefined) throw unknownReference(`${path}.${field}`, 'permission');
    refuseImmutable(`${path}.code`, permission.code, code);
    const unfit = granted ? permission.tiered === (level === Level.ALLOWED) : true;
    if (level !== undefined && unfit) {
      const fit = granted ? (permission.tiered ? 'view or edit' : 'allowed') : 'omitted, because nothing is granted';
      throw new UsherError('INVALID_ACCESS_LEVEL', `${path}.accessLevel of ${permission.code} must be ${fit}.`, {
        details: { path: `${path}.accessLevel` },
      });
    }
    const highest = permission.tiered ? Level.EDIT : Level.ALLOWED;
    return { permissionId, level: granted ? (level ?? highest) : Level.NONE };
  });
}

/** Throws when a new override would have no effect, or is for a type that the catalog does not list. */
async function refuseNew(
  tx: Tx,
  app: number,
  { resourceType }: Resource,
  before: readonly OverrideRow[],
  wanted: {
    levels: readonly Standing[];
    fields: readonly string[];
    permissions: ReadonlyMap<number, Permission>;
  },
): Promise<void> {
  const { levels, fields, permissions } = wanted;
  const standing = new Map(before.map((one) => [one.permissionId, one]));
  const isNew = (one: Standing) => {
    const held = standing.get(one.permissionId);
    return held === undefined || held.level !== one.level || !isSameWindow(held, one);
  };
  const global = levels.findIndex((one) => isNew(one) && permissions.get(one.permissionId)?.global);
  if (global >= 0) {
    const path = `permissions.${global}.${fields[global]}`;
    throw new UsherError(
      'GLOBAL_PERMISSION',
      `${path} is a global permission: an override of it would have no effect.`,
      {
        details: { path },
      },
    );
  }
  if (levels.some(isNew) && !(await holdResourceType(tx, app, resourceType))) {
    const { code } = await tx.kysely
      .selectFrom('application')
      .select('code')
      .where('id', '=', app)
      .executeTakeFirstOrThrow();
    const known = nearest(resourceType, await codesOf(tx, 'entity', code));
    const message = `${resourceType} is not an entity of the application${orMeant(known)}`;
    throw new UsherError('UNKNOWN_RESOURCE_TYPE', message, {
      details: { resourceType, ...(known === null ? {} : { known }) },
    });
  }
}

/** The row as stored. */
function standing(
  { permissionId, level, startsAt, endsAt }: Standing,
  permissions: ReadonlyMap<number, Permission>,
): OverrideRow {
  const { code = '', tiered = false } = permissions.get(permissionId) ?? {};
  return { permissionId, code, tiered, level, startsAt, endsAt };
}

/** For audit records. As text: in an object keyed by codes, `token.read` would be masked as a secret. */
function words({ code, level, startsAt, endsAt }: OverrideRow): string {
  const from = startsAt === null ? '' : ` from ${startsAt.toISOString()}`;
  const until = endsAt === null ? '' : ` until ${endsAt.toISOString()}`;
  return `${code}: ${LEVEL_NAMES[level] ?? 'denied'}${from}${until}`;
}

function tagged(overrides: readonly OverrideRow[]): Overrides {
  return {
    overrides,
    etag: tagOf(overrides.map(({ permissionId, level, startsAt, endsAt }) => [permissionId, level, startsAt, endsAt])),
  };
}
