/** The catalog of what an application's overrides can be about. (docs/reference/administration.md#entities.) */

import {
  administer,
  applicationAlone,
  applicationOf,
  type By,
  editorOf,
  knownApplication,
} from '../administration/administer.ts';
import { isSame, refuseSystem } from '../administration/records.ts';
import { UsherError } from '../base/errors.ts';
import {
  deleteEntity,
  type EntityFields,
  type EntityRecord,
  findEntity,
  insertEntity,
  isResourceTypeUsed,
  listEntities,
  lockEntity,
  updateEntity,
} from '../persistence/catalog/entities.ts';
import type { Committed, Database, Tx } from '../persistence/database.ts';
import { isSystemRecord } from './system.ts';

export type { EntityFields, EntityRecord } from '../persistence/catalog/entities.ts';

export type EntityChange = { [Field in keyof EntityFields]?: EntityFields[Field] | undefined };

export class Entities {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** All entities, by code; NOT_FOUND for an unknown application. */
  list(app: string): Promise<EntityRecord[]> {
    return this.#database.read(async (tx) => await listEntities(tx, await knownApplication(tx, app)));
  }

  /** One by its code; NOT_FOUND. */
  async find(app: string, code: string): Promise<EntityRecord> {
    const entity = await this.#database.read((tx) => findEntity(tx, app, code));
    if (entity === undefined) throw unknownEntity();
    return entity;
  }

  /** ALREADY_EXISTS when the code is taken. */
  create(app: string, fields: EntityFields, by: By): Promise<Committed<EntityRecord>> {
    const about = { app, action: 'entity.created', guard: editorOf(app) };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      const made = await insertEntity(tx, await applicationOf(tx, app), fields);
      if (made === undefined) throw taken(fields.code);
      audit({ action: about.action, subject: made.code, after: content(made) });
      return { result: made, scopes: [`p:${app}`] };
    });
  }

  /**
   * Changes the fields sent. A new code is refused while overrides name the present one (ENTITY_IN_USE), when it is taken
   * (ALREADY_EXISTS), and for what the panel needs (SYSTEM_RECORD).
   */
  change(app: string, id: number, change: EntityChange, by: By): Promise<Committed<EntityRecord>> {
    const about = { app, action: 'entity.changed', guard: editorOf(app) };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      const appId = await applicationAlone(tx, app);
      const before = await locked(tx, appId, id);
      const wanted = merged(before, change);
      if (isSame(wanted, content(before))) return { result: before, scopes: [] };
      if (wanted.code !== before.code) await refuseUsed(tx, app, appId, before.code, 'renamed');
      const after = await updateEntity(tx, appId, id, wanted);
      if (after === undefined) throw taken(wanted.code);
      audit({ action: about.action, subject: before.code, before: content(before), after: content(after) });
      // Questions know an entity by its code alone.
      return { result: after, scopes: wanted.code === before.code ? [] : [`p:${app}`] };
    });
  }

  /** ENTITY_IN_USE while overrides name it; SYSTEM_RECORD for what the panel needs. */
  delete(app: string, id: number, by: By): Promise<Committed<null>> {
    const about = { app, action: 'entity.deleted', guard: editorOf(app) };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      const appId = await applicationAlone(tx, app);
      const before = await locked(tx, appId, id);
      await refuseUsed(tx, app, appId, before.code, 'deleted');
      await deleteEntity(tx, id);
      audit({ action: about.action, subject: before.code, before: content(before) });
      return { result: null, scopes: [`p:${app}`] };
    });
  }
}

/** The application is held alone: no override can come between this and the write. */
async function refuseUsed(tx: Tx, app: string, appId: number, code: string, act: string): Promise<void> {
  refuseSystem(isSystemRecord(app, 'entities', code), `entity ${code}`);
  if (!(await isResourceTypeUsed(tx, appId, code))) return;
  throw new UsherError('ENTITY_IN_USE', `${code} cannot be ${act} while overrides are for resources of this type.`);
}

function merged(before: EntityRecord, change: EntityChange): EntityFields {
  const or = <T>(sent: T | undefined, present: T): T => (sent === undefined ? present : sent);
  return {
    code: or(change.code, before.code),
    name: or(change.name, before.name),
    description: or(change.description, before.description),
    idLabel: or(change.idLabel, before.idLabel),
    listEndpoint: or(change.listEndpoint, before.listEndpoint),
  };
}

function content({ code, name, description, idLabel, listEndpoint }: EntityFields): EntityFields {
  return { code, name, description, idLabel, listEndpoint };
}

async function locked(tx: Tx, app: number, id: number): Promise<EntityRecord> {
  const entity = await lockEntity(tx, app, id);
  if (entity === undefined) throw unknownEntity();
  return entity;
}

function unknownEntity(): UsherError {
  return new UsherError('NOT_FOUND', 'The application has no such entity.');
}

function taken(code: string): UsherError {
  return new UsherError('ALREADY_EXISTS', `There is an entity ${code} already.`);
}
