/** The catalog of entities: the resource types of an application's overrides. (docs/reference/administration.md#entities.) */

import {
  administer,
  applicationAlone,
  applicationOf,
  type By,
  editorOf,
  knownApplication,
} from '../administration/administer.ts';
import { isSame, merged, refuseSystem, type Sent } from '../administration/records.ts';
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

type EntityChange = Sent<EntityFields>;

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
    const about = { app, action: 'entity.created', guard: editorOf(app), policyAlone: true };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      const made = await insertEntity(tx, await applicationOf(tx, app), fields);
      if (made === undefined) throw taken(fields.code);
      audit({ subject: made.code, after: content(made) });
      return { result: made, scopes: [`p:${app}`] };
    });
  }

  /**
   * Changes the fields sent. A new code is refused while overrides use the present one (ENTITY_IN_USE), when it is taken
   * (ALREADY_EXISTS), and for the panel's own (SYSTEM_RECORD).
   */
  change(app: string, id: number, change: EntityChange, by: By): Promise<Committed<EntityRecord>> {
    const about = { app, action: 'entity.changed', guard: editorOf(app), policyAlone: true };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      const appId = await applicationAlone(tx, app);
      const before = await locked(tx, appId, id);
      const wanted = merged(content(before), change);
      if (isSame(wanted, content(before))) return { result: before, scopes: [] };
      if (wanted.code !== before.code) await refuseUsed(tx, app, appId, before.code, 'renamed');
      const after = await updateEntity(tx, appId, id, wanted);
      if (after === undefined) throw taken(wanted.code);
      audit({ subject: before.code, before: content(before), after: content(after) });
      // Questions refer to an entity by its code alone.
      return { result: after, scopes: wanted.code === before.code ? [] : [`p:${app}`] };
    });
  }

  /** ENTITY_IN_USE while overrides use it; SYSTEM_RECORD for the panel's own. */
  delete(app: string, id: number, by: By): Promise<Committed<null>> {
    const about = { app, action: 'entity.deleted', guard: editorOf(app), policyAlone: true };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      const appId = await applicationAlone(tx, app);
      const before = await locked(tx, appId, id);
      await refuseUsed(tx, app, appId, before.code, 'deleted');
      await deleteEntity(tx, id);
      audit({ subject: before.code, before: content(before) });
      return { result: null, scopes: [`p:${app}`] };
    });
  }
}

/** The application is locked alone: no override can be added between this and the write. */
async function refuseUsed(tx: Tx, app: string, appId: number, code: string, act: string): Promise<void> {
  refuseSystem(isSystemRecord(app, 'entities', code), `entity ${code}`);
  if (!(await isResourceTypeUsed(tx, appId, code))) return;
  throw new UsherError('ENTITY_IN_USE', `${code} cannot be ${act} while overrides for resources of this type exist.`);
}

function content({ code, name, description, idLabel, listEndpoint, listSearch }: EntityFields): EntityFields {
  return { code, name, description, idLabel, listEndpoint, listSearch };
}

async function locked(tx: Tx, app: number, id: number): Promise<EntityRecord> {
  const entity = await lockEntity(tx, app, id);
  if (entity === undefined) throw unknownEntity();
  return entity;
}

function unknownEntity(): UsherError {
  return new UsherError('NOT_FOUND', 'The application has no entity with this id or code.');
}

function taken(code: string): UsherError {
  return new UsherError('ALREADY_EXISTS', `Entity ${code} exists already.`);
}
