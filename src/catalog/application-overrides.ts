/** The overrides of everybody in an application: listed, and deleted many at once. (docs/reference/administration.md#assignments.) */

import { administer, applicationOf, type By, knownApplication } from '../administration/administer.ts';
import { windowWords } from '../administration/windows.ts';
import { certain } from '../base/certain.ts';
import { LEVEL_NAMES } from '../base/level-names.ts';
import type { Page } from '../base/page.ts';
import { Level } from '../engine/types.ts';
import {
  type AppOverridePlace,
  type AppOverrideRow,
  deleteOverrides,
  findOverrides,
  listAppOverrides,
  type Resource,
} from '../persistence/catalog/overrides.ts';
import { findPermissions } from '../persistence/catalog/permissions.ts';
import type { Committed, Database } from '../persistence/database.ts';
import { holdPeople, personIdOf } from '../persistence/people/people.ts';
import { assignerOf, delegateIn } from './delegation.ts';
import { idsOf, unknownCode } from './references.ts';

export type { AppOverridePlace, AppOverrideRow } from '../persistence/catalog/overrides.ts';

/** Undefined: any. */
export interface OverridesSought {
  email?: string | undefined;
  permission?: string | undefined;
  resourceType?: string | null | undefined;
  resourceId?: string | null | undefined;
  endingWithinDays?: number | null | undefined;
}

/** An override of a request; `permission` is the code. */
export interface NamedOverride extends Resource {
  email: string;
  permission: string;
}

export class ApplicationOverrides {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** By permission, resource and person; none for an unknown address or permission. NOT_FOUND for an unknown application. */
  list(
    app: string,
    { email, permission, resourceType = null, resourceId = null, endingWithinDays = null }: OverridesSought,
    { limit, after }: { limit: number; after: AppOverridePlace | null },
  ): Promise<Page<AppOverrideRow, AppOverridePlace>> {
    return this.#database.read(async (tx) => {
      const appId = await knownApplication(tx, app);
      const person = email === undefined ? undefined : await personIdOf(tx, email);
      const [id] = permission === undefined ? [] : await idsOf(tx, 'permission', app, [permission]);
      if (person === null) return { items: [], next: null };
      const filter = { person: person ?? null, permission: id ?? null, resourceType, resourceId, endingWithinDays };
      const rows = await listAppOverrides(tx, appId, filter, { limit: limit + 1, after });
      const items = rows.slice(0, limit);
      return { items, next: rows.length > limit ? (items.at(-1) ?? null) : null };
    });
  }

  /** Deletes those that exist; `deleted` counts them. UNKNOWN_REFERENCE for a permission of another application. */
  delete(app: string, named: readonly NamedOverride[], by: By): Promise<Committed<{ deleted: number }>> {
    const subjects = [...new Set(named.map(({ email }) => email))];
    const about = { app, action: 'override.removed', guard: assignerOf(app), subjects, overrides: true };
    return administer<{ deleted: number }>(this.#database, by, about, async ({ tx, audit }) => {
      const appId = await applicationOf(tx, app);
      const codes = named.map(({ permission }) => permission);
      const ids = await idsOf(tx, 'permission', app, codes);
      const permissions = await findPermissions(tx, appId, ids);
      const people = await holdPeople(tx, subjects);
      const keys = named.flatMap(({ email, resourceType, resourceId }, index) => {
        const personId = people.get(email);
        const permissionId = certain(ids[index]);
        return personId === undefined ? [] : [{ personId, resourceType, resourceId, permissionId }];
      });
      // An override that is named twice is found twice.
      const distinct = new Map(keys.map((key) => [JSON.stringify(Object.values(key)), key]));
      const found = await findOverrides(tx, appId, [...distinct.values()]);
      const rows = found.map((row) => ({ ...row, code: permissions.get(row.permissionId)?.code }));
      const delegate = await delegateIn(tx, app, by.caller.email);
      for (const row of rows) {
        const refused = delegate?.refuseOverrides(row, [row], []) ?? null;
        if (refused !== null) return { result: refused, scopes: [] };
      }
      const unknown = ids.findIndex((id) => !permissions.has(id));
      if (unknown >= 0) {
        const at = { app, path: `overrides.${unknown}.permission`, thing: 'permission' } as const;
        throw await unknownCode(tx, { ...at, reference: codes[unknown] ?? '' });
      }
      if (rows.length === 0) return { result: { deleted: 0 }, scopes: [] };
      await deleteOverrides(tx, appId, rows);
      const emails = new Map([...people].map(([email, id]) => [id, email]));
      const emailOf = ({ personId }: { personId: number }) => emails.get(personId) ?? '';
      for (const row of rows) {
        const { resourceType, resourceId, code: permission, level } = row;
        const held = { granted: level !== Level.NONE, accessLevel: LEVEL_NAMES[level], ...windowWords(row) };
        audit({
          subject: emailOf(row),
          before: { resourceType, resourceId, permission, ...held },
        });
      }
      return { result: { deleted: rows.length }, scopes: rows.map((row) => `m:${app}:${emailOf(row)}` as const) };
    });
  }
}
