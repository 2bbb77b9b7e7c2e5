/** The notification types of applications (docs/reference/notifications.md#types). */

import {
  administer,
  applicationOf,
  type By,
  editorOf,
  knownApplication,
  refuseAuthType,
} from '../administration/administer.ts';
import { PANEL_APP } from '../administration/panel.ts';
import { isSame, merged, refuseImmutable, refuseSystem, type Sent } from '../administration/records.ts';
import { FIXED_SWITCHES, recordOf, TYPE_SWITCHES } from '../base/channels.ts';
import { UsherError } from '../base/errors.ts';
import {
  deleteType,
  insertType,
  isTypeInUse,
  listTypes,
  lockType,
  type TypeFields,
  type TypeRow,
  updateType,
} from '../persistence/catalog/notification-types.ts';
import type { Committed, Database, Tx } from '../persistence/database.ts';

export type { TypeFields, TypeRow } from '../persistence/catalog/notification-types.ts';

/** Every application has this type: it is the type of sends that name none. */
export const GENERIC_TYPE = 'generic';

const DEFAULTS: Omit<TypeFields, 'name'> = {
  description: null,
  ...recordOf(TYPE_SWITCHES, () => true),
  emailFromName: null,
};

export class NotificationTypes {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** All types, by code; NOT_FOUND for an unknown application. */
  list(app: string): Promise<TypeRow[]> {
    return this.#database.read(async (tx) => await listTypes(tx, await knownApplication(tx, app)));
  }

  /** ALREADY_EXISTS when the code is taken, IMMUTABLE_FIELD for a system type: only the seed makes those. */
  create(
    app: string,
    { code, name, system, ...sent }: Sent<TypeFields & { system: boolean }> & { code: string; name: string },
    by: By,
  ): Promise<Committed<TypeRow>> {
    const about = { app, action: 'notification_type.created', guard: editorOf(app) };
    return administer<TypeRow>(this.#database, by, about, async ({ tx, audit }) => {
      const refused = await refuseAuthType(tx, code, by.caller.email);
      if (refused !== null) return { result: refused, scopes: [] };
      refuseImmutable('system', false, system);
      const made = await insertType(tx, await applicationOf(tx, app), {
        ...merged({ name, ...DEFAULTS }, sent),
        code,
        system: false,
      });
      if (made === undefined) throw new UsherError('ALREADY_EXISTS', `A notification type ${code} already exists.`);
      audit({ subject: code, after: auditOf(made) });
      return { result: made, scopes: [] };
    });
  }

  /** Changes the given fields. IMMUTABLE_FIELD for a changed code or `system`, SYSTEM_RECORD for a switch of `auth_idp`. */
  change(
    app: string,
    id: number,
    { code, system, ...sent }: Sent<TypeFields & { code: string; system: boolean }>,
    by: By,
  ): Promise<Committed<TypeRow>> {
    const about = { app, action: 'notification_type.changed', guard: editorOf(app) };
    return administer<TypeRow>(this.#database, by, about, async ({ tx, audit }) => {
      const before = await locked(tx, await applicationOf(tx, app), id);
      const refused = await refuseAuthType(tx, before.code, by.caller.email);
      if (refused !== null) return { result: refused, scopes: [] };
      refuseImmutable('code', before.code, code);
      refuseImmutable('system', before.system, system);
      const after = merged(auditOf(before), sent);
      // `auth_idp` sends the codes of the identity provider: its switches are fixed.
      const moved =
        before.system && app === PANEL_APP && FIXED_SWITCHES.some((field) => after[field] !== before[field]);
      refuseSystem(moved, `switches of the type ${before.code} as they are`);
      if (isSame(after, auditOf(before))) return { result: before, scopes: [] };
      const changed = await updateType(tx, id, after);
      audit({ subject: before.code, before: auditOf(before), after: auditOf(changed) });
      return { result: changed, scopes: [] };
    });
  }

  /** SYSTEM_RECORD for `generic` and system types, TYPE_IN_USE while templates or notifications refer to it. */
  delete(app: string, id: number, by: By): Promise<Committed<null>> {
    const about = { app, action: 'notification_type.deleted', guard: editorOf(app) };
    return administer<null>(this.#database, by, about, async ({ tx, audit }) => {
      const type = await locked(tx, await applicationOf(tx, app), id);
      const refused = await refuseAuthType(tx, type.code, by.caller.email);
      if (refused !== null) return { result: refused, scopes: [] };
      refuseSystem(type.system || type.code === GENERIC_TYPE, `notification type ${type.code}`);
      if (await isTypeInUse(tx, id)) {
        throw new UsherError('TYPE_IN_USE', `Templates or notifications use the type ${type.code}.`);
      }
      await deleteType(tx, id);
      audit({ subject: type.code, before: auditOf(type) });
      return { result: null, scopes: [] };
    });
  }
}

/** The type as audit records hold it. */
function auditOf({ id: _id, createdAt: _created, updatedAt: _updated, ...fields }: TypeRow) {
  return fields;
}

async function locked(tx: Tx, app: number, id: number): Promise<TypeRow> {
  const type = await lockType(tx, app, id);
  if (type === undefined) throw new UsherError('NOT_FOUND', 'Unknown notification type of the application.');
  return type;
}
