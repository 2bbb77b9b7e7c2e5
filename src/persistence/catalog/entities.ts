import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { Row } from '../entities/schema.ts';
import { isHeld } from '../windows.ts';

export type EntityRecord = Omit<Row<'entity'>, 'applicationId'>;

/** The writable fields of an entity. */
export type EntityFields = Omit<EntityRecord, 'id' | 'createdAt' | 'updatedAt'>;

const COLUMNS = [
  'id',
  'code',
  'name',
  'description',
  'idLabel',
  'listEndpoint',
  'listSearch',
  'createdAt',
  'updatedAt',
] as const;

/** An application's catalog, by code. */
export async function listEntities(tx: Tx, app: number): Promise<EntityRecord[]> {
  return await tx.kysely
    .selectFrom('entity')
    .select(COLUMNS)
    .where('applicationId', '=', app)
    .orderBy('code')
    .execute();
}

/** One entity by its code, in an application by its code. */
export async function findEntity(tx: Tx, app: string, code: string): Promise<EntityRecord | undefined> {
  return await tx.kysely
    .selectFrom('entity')
    .select(COLUMNS)
    .where('applicationId', '=', (eb) => eb.selectFrom('application').select('id').where('code', '=', app))
    .where('code', '=', code)
    .executeTakeFirst();
}

/** One entity of the application, locked against other writes until the transaction ends. */
export async function lockEntity(tx: Tx, app: number, id: number): Promise<EntityRecord | undefined> {
  return await tx.kysely
    .selectFrom('entity')
    .select(COLUMNS)
    .where('applicationId', '=', app)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

/** Undefined when the code is taken. */
export async function insertEntity(tx: Tx, app: number, fields: EntityFields): Promise<EntityRecord | undefined> {
  return await tx.kysely
    .insertInto('entity')
    .values({ applicationId: app, ...fields })
    .onConflict((oc) => oc.columns(['applicationId', 'code']).doNothing())
    .returning(COLUMNS)
    .executeTakeFirst();
}

/** Undefined when another entity of the application has that code. Lock the application alone first. */
export async function updateEntity(
  tx: Tx,
  app: number,
  id: number,
  fields: EntityFields,
): Promise<EntityRecord | undefined> {
  return await tx.kysely
    .updateTable('entity')
    .set({ ...fields, updatedAt: sql<Date>`now()` })
    .where('id', '=', id)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('entity as other')
            .select('other.id')
            .where('other.applicationId', '=', app)
            .where('other.code', '=', fields.code)
            .where('other.id', '<>', id),
        ),
      ),
    )
    .returning(COLUMNS)
    .executeTakeFirst();
}

export async function deleteEntity(tx: Tx, id: number): Promise<void> {
  await tx.kysely.deleteFrom('entity').where('id', '=', id).execute();
}

/** Whether any override in the application is for a resource of that type. */
export async function isResourceTypeUsed(tx: Tx, app: number, code: string): Promise<boolean> {
  const row = await tx.kysely
    .selectFrom('resource_override as o')
    .select('o.permissionId')
    .where('o.applicationId', '=', app)
    .where('o.resourceType', '=', code)
    .where(isHeld('o'))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
