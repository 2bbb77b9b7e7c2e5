import { sql } from 'kysely';
import { NOTIFICATION_TYPE, type NotificationTypeRow } from '../catalog/notification-types.ts';
import type { Tx } from '../database.ts';

/** A type as its endpoints show it. */
export interface TypeRow extends NotificationTypeRow {
  id: number;
  createdAt: Date;
  updatedAt: Date;
}

/** What an administrator sets. */
export type TypeFields = Omit<TypeRow, 'id' | 'code' | 'system' | 'createdAt' | 'updatedAt'>;

const COLUMNS = ['id', ...NOTIFICATION_TYPE, 'created_at as createdAt', 'updated_at as updatedAt'] as const;

function columnsOf(fields: TypeFields) {
  return {
    name: fields.name,
    description: fields.description,
    email_enabled: fields.emailEnabled,
    push_enabled: fields.pushEnabled,
    user_can_disable: fields.userCanDisable,
    default_email: fields.defaultEmail,
    default_push: fields.defaultPush,
    self_service_enabled: fields.selfServiceEnabled,
    email_from_name: fields.emailFromName,
  };
}

/** An application's notification types, by code. */
export async function listTypes(tx: Tx, app: number): Promise<TypeRow[]> {
  return await tx.kysely
    .selectFrom('notification_type')
    .select(COLUMNS)
    .where('application_id', '=', app)
    .orderBy('code')
    .execute();
}

export async function findType(tx: Tx, app: number, code: string): Promise<TypeRow | undefined> {
  return await tx.kysely
    .selectFrom('notification_type')
    .select(COLUMNS)
    .where('application_id', '=', app)
    .where('code', '=', code)
    .executeTakeFirst();
}

/** The type as it is now, held against deletion until the transaction ends. */
export async function holdType(tx: Tx, app: number, id: number): Promise<TypeRow | undefined> {
  return await tx.kysely
    .selectFrom('notification_type')
    .select(COLUMNS)
    .where('application_id', '=', app)
    .where('id', '=', id)
    .forKeyShare()
    .executeTakeFirst();
}

/** One type of the application, locked against other writes, and against new templates and notifications of it. */
export async function lockType(tx: Tx, app: number, id: number): Promise<TypeRow | undefined> {
  return await tx.kysely
    .selectFrom('notification_type')
    .select(COLUMNS)
    .where('application_id', '=', app)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

/** Undefined when the code is taken. */
export async function insertType(
  tx: Tx,
  app: number,
  { code, system, ...fields }: TypeFields & { code: string; system: boolean },
): Promise<TypeRow | undefined> {
  return await tx.kysely
    .insertInto('notification_type')
    .values({ application_id: app, code, system, ...columnsOf(fields) })
    .onConflict((oc) => oc.columns(['application_id', 'code']).doNothing())
    .returning(COLUMNS)
    .executeTakeFirst();
}

export async function updateType(tx: Tx, id: number, fields: TypeFields): Promise<TypeRow> {
  return await tx.kysely
    .updateTable('notification_type')
    .set({ ...columnsOf(fields), updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .returning(COLUMNS)
    .executeTakeFirstOrThrow();
}

/** Whether templates or notifications refer to the type; asked while it is locked. */
export async function isTypeInUse(tx: Tx, id: number): Promise<boolean> {
  const { rows } = await sql<{ used: boolean }>`
    select exists (select from template where notification_type_id = ${id})
      or exists (select from notification where notification_type_id = ${id}) as used`.execute(tx.kysely);
  return rows[0]?.used === true;
}

/** Takes the users' preferences of it along. */
export async function deleteType(tx: Tx, id: number): Promise<void> {
  await tx.kysely.deleteFrom('notification_type').where('id', '=', id).execute();
}
