import { sql } from 'kysely';
import { FIXED_SWITCHES, only, TYPE_SWITCHES } from '../../base/channels.ts';
import type { Tx } from '../database.ts';
import { listed, replaced } from './columns.ts';
import { PAGE, pages, turn } from './manifest-read.ts';
import type { NotificationTypeRow } from './manifest-records.ts';
import { expectRows } from './touched.ts';

/** The type of every application (docs/reference/notifications.md#types) for notifications without a type of their own. */
const GENERIC = { code: 'generic', name: 'Generic' } as const;

/** A type as the API returns it. */
export interface TypeRow extends NotificationTypeRow {
  id: number;
  createdAt: Date;
  updatedAt: Date;
}

/** The writable fields. */
export type TypeFields = Omit<NotificationTypeRow, 'code' | 'system'>;

/** A system type as the seed describes it. */
export type SystemType = Omit<NotificationTypeRow, 'system'>;

/** Each field has a column: a channel is two columns here, and not a row of a table of channels (docs/adr/0016). */
const TEXTS = ['name', 'description', 'emailFromName'] as const;
const FIELDS = [...TEXTS, ...TYPE_SWITCHES];

const MANIFEST_COLUMNS = ['code', 'name', 'description', ...TYPE_SWITCHES, 'system', 'emailFromName'] as const;
const COLUMNS = ['id', ...MANIFEST_COLUMNS, 'createdAt', 'updatedAt'] as const;

function types({ kysely }: Tx, app: number) {
  return kysely.selectFrom('notification_type').select(COLUMNS).where('applicationId', '=', app);
}

/** An application's notification types, by code. */
export async function listTypes(tx: Tx, app: number): Promise<TypeRow[]> {
  return await types(tx, app).orderBy('code').execute();
}

export async function findType(tx: Tx, app: number, code: string): Promise<TypeRow | undefined> {
  return await types(tx, app).where('code', '=', code).executeTakeFirst();
}

/** The present type, locked against deletion until the transaction ends. */
export async function holdType(tx: Tx, app: number, id: number): Promise<TypeRow | undefined> {
  return await types(tx, app).where('id', '=', id).forKeyShare().executeTakeFirst();
}

/** One type of the application, locked against other writes, and against new templates and notifications of it. */
export async function lockType(tx: Tx, app: number, id: number): Promise<TypeRow | undefined> {
  return await types(tx, app).where('id', '=', id).forUpdate().executeTakeFirst();
}

/** The names and descriptions of an application's types, by code. */
export async function readTypeTexts(
  tx: Tx,
  app: number,
): Promise<{ code: string; name: string; description: string | null }[]> {
  return await tx.kysely
    .selectFrom('notification_type')
    .select(['code', 'name', 'description'])
    .where('applicationId', '=', app)
    .orderBy('code')
    .execute();
}

/** All types of an application as a manifest describes them, by code, in pages. */
export function readNotificationTypes(tx: Tx, app: number): AsyncGenerator<NotificationTypeRow[]> {
  const types = tx.kysely
    .selectFrom('notification_type')
    .select(MANIFEST_COLUMNS)
    .where('applicationId', '=', app)
    .orderBy('code');
  return pages(tx, sql<NotificationTypeRow>`${types}`);
}

/** Undefined when the code is taken. */
export async function insertType(
  tx: Tx,
  app: number,
  { code, system, ...fields }: NotificationTypeRow,
): Promise<TypeRow | undefined> {
  return await tx.kysely
    .insertInto('notification_type')
    .values({ applicationId: app, code, system, ...only(fields, FIELDS) })
    .onConflict((oc) => oc.columns(['applicationId', 'code']).doNothing())
    .returning(COLUMNS)
    .executeTakeFirst();
}

export async function updateType(tx: Tx, id: number, fields: TypeFields): Promise<TypeRow> {
  return await tx.kysely
    .updateTable('notification_type')
    .set({ ...only(fields, FIELDS), updatedAt: sql<Date>`now()` })
    .where('id', '=', id)
    .returning(COLUMNS)
    .executeTakeFirstOrThrow();
}

/** Deletes the users' preferences for it too. */
export async function deleteType(tx: Tx, id: number): Promise<void> {
  await tx.kysely.deleteFrom('notification_type').where('id', '=', id).execute();
}

/** Whether notifications refer to the type, or templates, where these count; call it while the type is locked. */
export async function isTypeInUse(tx: Tx, id: number, templatesCount = true): Promise<boolean> {
  const { rows } = await sql<{ used: boolean }>`
    select (${templatesCount}::boolean and exists (select from template where notification_type_id = ${id}))
      or exists (select from notification where notification_type_id = ${id}) as used`.execute(tx.kysely);
  return rows[0]?.used === true;
}

/** Those of the codes whose type notifications refer to or, where these count, templates. */
export async function usedNotificationTypes(
  tx: Tx,
  app: number,
  codes: readonly string[],
  templatesCount: boolean,
): Promise<Set<string>> {
  const used = new Set<string>();
  for (let at = 0; at < codes.length; at += PAGE) {
    const types = await tx.kysely
      .selectFrom('notification_type')
      .select(['id', 'code'])
      .where('applicationId', '=', app)
      .where('code', 'in', codes.slice(at, at + PAGE))
      .execute();
    // One by one, and only for types that are removed: for all in one statement the planner would read whole tables.
    for (const { id, code } of types) if (await isTypeInUse(tx, id, templatesCount)) used.add(code);
    await turn();
  }
  return used;
}

/** Creates types, or updates existing ones to these fields. */
export async function putNotificationTypes(
  { kysely }: Tx,
  app: number,
  rows: readonly NotificationTypeRow[],
): Promise<void> {
  const fields = [...FIELDS, 'system'] as const;
  const arrays = fields.map((field) => {
    const type = TEXTS.some((text) => text === field) ? sql`text[]` : sql`boolean[]`;
    return sql`${rows.map((row) => row[field])}::${type}`;
  });
  const touched = await sql`
    insert into notification_type (application_id, code, ${listed(fields)})
    select ${app}, * from unnest(${rows.map(({ code }) => code)}::text[], ${sql.join(arrays)})
    on conflict (application_id, code) do update set ${replaced(fields)}, updated_at = now()`.execute(kysely);
  expectRows(touched, rows.length, 'notification types');
}

/** Gives an application its type `generic`. An existing one stays unchanged. */
export async function ensureGenericType({ kysely }: Tx, app: number): Promise<void> {
  await sql`
    insert into notification_type (application_id, code, name) values (${app}, ${GENERIC.code}, ${GENERIC.name})
    on conflict (application_id, code) do nothing`.execute(kysely);
}

/** The same for every application that lacks it. */
export async function ensureGenericTypes({ kysely }: Tx): Promise<void> {
  await sql`
    insert into notification_type (application_id, code, name)
    select id, ${GENERIC.code}, ${GENERIC.name} from application
    where not exists (
      select from notification_type t where t.application_id = application.id and t.code = ${GENERIC.code})
    order by id on conflict (application_id, code) do nothing`.execute(kysely);
}

/** Creates a system type, or resets the fixed switches of an existing one; its texts and defaults stay. */
export async function ensureSystemType({ kysely }: Tx, app: number, type: SystemType): Promise<void> {
  const fixed = [...FIXED_SWITCHES, 'system'];
  await sql`
    insert into notification_type as t (application_id, code, system, ${listed(FIELDS)})
    values (${app}, ${type.code}, true, ${sql.join(FIELDS.map((field) => type[field]))})
    on conflict (application_id, code) do update set ${replaced(fixed)}
    where (${listed(fixed, 't')}) is distinct from (${listed(fixed, 'excluded')})`.execute(kysely);
}
