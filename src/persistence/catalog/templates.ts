import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import { expectRows } from './touched.ts';

/** Statements about templates that manifests need; each takes at most a page of rows (manifest-read.ts). */

/** A template by its place and its parts, without ids. */
export interface TemplateContent {
  /** The type's code. */
  type: string;
  key: string;
  locale: string;
  subject: string;
  html: string;
  text: string | null;
  pushTitle: string | null;
  pushBody: string | null;
  url: string | null;
  requiredVariables: string[];
}

/** The next templates of an application behind an id, by id: few at a time, since each can be long. */
export async function readTemplatesAfter(
  { kysely }: Tx,
  app: number,
  after: number,
  limit: number,
): Promise<(TemplateContent & { id: number })[]> {
  const { rows } = await sql<TemplateContent & { id: number }>`
    select t.id, n.code as type, t.key, t.locale, t.subject, t.html, t.text, t.push_title as "pushTitle",
      t.push_body as "pushBody", t.url, t.required_variables as "requiredVariables"
    from template t join notification_type n on n.application_id = t.application_id and n.id = t.notification_type_id
    where t.application_id = ${app} and t.id > ${after} order by t.id limit ${limit}`.execute(kysely);
  return rows;
}

/** Makes templates, or gives those that are there these parts. Their types and languages are there. */
export async function putTemplates({ kysely }: Tx, app: number, rows: readonly TemplateContent[]): Promise<void> {
  const texts = (
    field: 'type' | 'key' | 'locale' | 'subject' | 'html' | 'text' | 'pushTitle' | 'pushBody' | 'url',
  ): (string | null)[] => rows.map((row) => row[field]);
  // As JSON: an array of arrays would be flattened.
  const variables = rows.map((row) => JSON.stringify(row.requiredVariables));
  const touched = await sql`
    insert into template (application_id, notification_type_id, key, locale, subject, html, text, push_title, push_body,
      url, required_variables)
    select ${app}, n.id, t.key, t.locale, t.subject, t.html, t.text, t.push_title, t.push_body, t.url,
      array(select value from jsonb_array_elements_text(t.variables::jsonb) with ordinality order by ordinality)
    from unnest(
        ${texts('type')}::text[], ${texts('key')}::text[], ${texts('locale')}::text[], ${texts('subject')}::text[],
        ${texts('html')}::text[], ${texts('text')}::text[], ${texts('pushTitle')}::text[], ${texts('pushBody')}::text[],
        ${texts('url')}::text[], ${variables}::text[])
        as t (type, key, locale, subject, html, text, push_title, push_body, url, variables)
      join notification_type n on n.application_id = ${app} and n.code = t.type
    on conflict (notification_type_id, key, locale) do update set subject = excluded.subject, html = excluded.html,
      text = excluded.text, push_title = excluded.push_title, push_body = excluded.push_body, url = excluded.url,
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
