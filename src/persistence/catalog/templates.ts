import { sql } from 'kysely';
import { OPTIONAL_PARTS, only, TEMPLATE_PART_NAMES } from '../../base/channels.ts';
import type { Tx } from '../database.ts';
import { listed, replaced } from './columns.ts';
import type { TemplateContent } from './manifest-records.ts';
import { expectRows } from './touched.ts';

/** A template as the API returns it. */
export interface TemplateRow extends TemplateContent {
  id: number;
  notificationTypeId: number;
  createdAt: Date;
  updatedAt: Date;
}

/** The writable fields. */
export type TemplateFields = Omit<TemplateRow, 'id' | 'type' | 'key' | 'createdAt' | 'updatedAt'>;

const CONTENT = [
  't.id',
  'n.code as type',
  't.key',
  't.locale',
  't.subject',
  't.html',
  ...OPTIONAL_PARTS.map((part) => `t.${part}` as const),
  't.requiredVariables',
] as const;

function contents({ kysely }: Tx, app: number) {
  return kysely
    .selectFrom('template as t')
    .innerJoin('notification_type as n', 'n.id', 't.notificationTypeId')
    .select(CONTENT)
    .where('t.applicationId', '=', app);
}

function templates(tx: Tx, app: number) {
  return contents(tx, app).select(['t.notificationTypeId', 't.createdAt', 't.updatedAt']);
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
  return await templates(tx, app).where('t.notificationTypeId', '=', type).where('t.key', '=', key).execute();
}

/** Locked against other writes until the transaction ends. */
export async function lockTemplate(tx: Tx, app: number, id: number): Promise<TemplateRow | undefined> {
  return await templates(tx, app).where('t.id', '=', id).forUpdate('t').executeTakeFirst();
}

/** Returns its id; undefined when type, key and language are taken. The type must be the application's, the language registered. */
export async function insertTemplate(
  tx: Tx,
  app: number,
  { key, ...fields }: TemplateFields & { key: string },
): Promise<number | undefined> {
  const row = await tx.kysely
    .insertInto('template')
    .values({ applicationId: app, key, ...valuesOf(fields) })
    .onConflict((oc) => oc.columns(['notificationTypeId', 'key', 'locale']).doNothing())
    .returning('id')
    .executeTakeFirst();
  return row?.id;
}

/** False when another template has its type, key and language. */
export async function updateTemplate(tx: Tx, id: number, fields: TemplateFields & { key: string }): Promise<boolean> {
  // Checked instead of undone by a savepoint: both writers lock the type, so a rival cannot appear in between.
  const rival = await tx.kysely
    .selectFrom('template')
    .select('id')
    .where('notificationTypeId', '=', fields.notificationTypeId)
    .where('key', '=', fields.key)
    .where('locale', '=', fields.locale)
    .where('id', '<>', id)
    .executeTakeFirst();
  if (rival !== undefined) return false;
  await tx.kysely
    .updateTable('template')
    .set({ ...valuesOf(fields), updatedAt: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
  return true;
}

export async function deleteTemplate(tx: Tx, id: number): Promise<void> {
  await tx.kysely.deleteFrom('template').where('id', '=', id).execute();
}

function valuesOf({ requiredVariables, ...fields }: TemplateFields) {
  return {
    ...only(fields, ['notificationTypeId', 'locale', ...TEMPLATE_PART_NAMES]),
    requiredVariables: sql<string[]>`${requiredVariables}::text[]`,
  };
}

/** The next templates of an application after an id, by id: few at a time, because each can be long. */
export async function readTemplatesAfter(
  tx: Tx,
  app: number,
  after: number,
  limit: number,
): Promise<(TemplateContent & { id: number })[]> {
  return await contents(tx, app).where('t.id', '>', after).orderBy('t.id').limit(limit).execute();
}

/** Creates templates, or updates existing ones to these parts. Their types and languages exist. */
export async function putTemplates({ kysely }: Tx, app: number, rows: readonly TemplateContent[]): Promise<void> {
  const texts = ['type', 'key', 'locale', ...TEMPLATE_PART_NAMES] as const;
  // As JSON: an array of arrays would be flattened.
  const variables = rows.map((row) => JSON.stringify(row.requiredVariables));
  const touched = await sql`
    insert into template (application_id, notification_type_id, key, locale, ${listed(TEMPLATE_PART_NAMES)}, required_variables)
    select ${app}, n.id, t.key, t.locale, ${listed(TEMPLATE_PART_NAMES, 't')},
      array(select value from jsonb_array_elements_text(t.variables::jsonb) with ordinality order by ordinality)
    from unnest(
        ${sql.join(texts.map((field) => sql`${rows.map((row) => row[field])}::text[]`))}, ${variables}::text[])
        as t (type, key, locale, ${listed(TEMPLATE_PART_NAMES)}, variables)
      join notification_type n on n.application_id = ${app} and n.code = t.type
    on conflict (notification_type_id, key, locale) do update set ${replaced(TEMPLATE_PART_NAMES)},
      required_variables = excluded.required_variables, updated_at = now()`.execute(kysely);
  expectRows(touched, rows.length, 'templates');
}

export async function deleteTemplates(
  { kysely }: Tx,
  app: number,
  rows: readonly Pick<TemplateContent, 'type' | 'key' | 'locale'>[],
): Promise<void> {
  const touched = await sql`
    delete from template x
    using unnest(
        ${rows.map((row) => row.type)}::text[], ${rows.map((row) => row.key)}::text[],
        ${rows.map((row) => row.locale)}::text[]) as t (type, key, locale),
      notification_type n
    where x.application_id = ${app} and n.application_id = ${app} and n.code = t.type
      and x.notification_type_id = n.id and x.key = t.key and x.locale = t.locale`.execute(kysely);
  expectRows(touched, rows.length, 'removal of templates');
}
