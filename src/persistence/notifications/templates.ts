import { sql } from 'kysely';
import type { TemplateContent } from '../catalog/templates.ts';
import type { Tx } from '../database.ts';

/** A template as its endpoints show it. */
export interface TemplateRow extends TemplateContent {
  id: number;
  notificationTypeId: number;
  createdAt: Date;
  updatedAt: Date;
}

/** What an administrator writes. */
export type TemplateFields = Omit<TemplateRow, 'id' | 'type' | 'key' | 'createdAt' | 'updatedAt'>;

function templates(tx: Tx, app: number) {
  return tx.kysely
    .selectFrom('template as t')
    .innerJoin('notification_type as n', 'n.id', 't.notification_type_id')
    .select([
      't.id',
      't.notification_type_id as notificationTypeId',
      'n.code as type',
      't.key',
      't.locale',
      't.subject',
      't.html',
      't.text',
      't.push_title as pushTitle',
      't.push_body as pushBody',
      't.url',
      't.required_variables as requiredVariables',
      't.created_at as createdAt',
      't.updated_at as updatedAt',
    ])
    .where('t.application_id', '=', app);
}

/** An application's templates, by type, key and language. */
export async function listTemplates(tx: Tx, app: number): Promise<TemplateRow[]> {
  return await templates(tx, app).orderBy('n.code').orderBy('t.key').orderBy('t.locale').execute();
}

export async function findTemplate(tx: Tx, app: number, id: number): Promise<TemplateRow | undefined> {
  return await templates(tx, app).where('t.id', '=', id).executeTakeFirst();
}

/** Every variant of a template. */
export async function findVariants(tx: Tx, app: number, type: number, key: string): Promise<TemplateRow[]> {
  return await templates(tx, app).where('t.notification_type_id', '=', type).where('t.key', '=', key).execute();
}

/** Locked against other writes until the transaction ends. */
export async function lockTemplate(tx: Tx, app: number, id: number): Promise<TemplateRow | undefined> {
  return await templates(tx, app).where('t.id', '=', id).forUpdate('t').executeTakeFirst();
}

/** Its id; undefined when type, key and language are taken. The type must be the application's, the language registered. */
export async function insertTemplate(
  tx: Tx,
  app: number,
  { key, ...fields }: TemplateFields & { key: string },
): Promise<number | undefined> {
  const row = await tx.kysely
    .insertInto('template')
    .values({ application_id: app, key, ...columnsOf(fields) })
    .onConflict((oc) => oc.columns(['notification_type_id', 'key', 'locale']).doNothing())
    .returning('id')
    .executeTakeFirst();
  return row?.id;
}

/** False when another template has its type, key and language. */
export async function updateTemplate(tx: Tx, id: number, fields: TemplateFields & { key: string }): Promise<boolean> {
  // What a savepoint would undo is not written at all: the rival is looked for while the type is held by both.
  const rival = await tx.kysely
    .selectFrom('template')
    .select('id')
    .where('notification_type_id', '=', fields.notificationTypeId)
    .where('key', '=', fields.key)
    .where('locale', '=', fields.locale)
    .where('id', '<>', id)
    .executeTakeFirst();
  if (rival !== undefined) return false;
  await tx.kysely
    .updateTable('template')
    .set({ ...columnsOf(fields), updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
  return true;
}

export async function deleteTemplate(tx: Tx, id: number): Promise<void> {
  await tx.kysely.deleteFrom('template').where('id', '=', id).execute();
}

function columnsOf(fields: TemplateFields) {
  return {
    notification_type_id: fields.notificationTypeId,
    locale: fields.locale,
    subject: fields.subject,
    html: fields.html,
    text: fields.text,
    push_title: fields.pushTitle,
    push_body: fields.pushBody,
    url: fields.url,
    required_variables: sql<string[]>`${fields.requiredVariables}::text[]`,
  };
}

/** What each language falls back to. */
export async function fallbacks(tx: Tx): Promise<Map<string, string>> {
  const rows = await tx.kysely.selectFrom('language').select(['code', 'fallback']).execute();
  return new Map(rows.flatMap(({ code, fallback }) => (fallback === null ? [] : [[code, fallback]])));
}
