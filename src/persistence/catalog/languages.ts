import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { Row } from '../entities/schema.ts';

export type LanguageRow = Row<'language'>;

/** The registry, by code. */
export async function listLanguages(tx: Tx): Promise<LanguageRow[]> {
  return await tx.kysely.selectFrom('language').selectAll().orderBy('code').execute();
}

export async function languageCodes(tx: Tx): Promise<string[]> {
  return (await listLanguages(tx)).map(({ code }) => code);
}

/** Serializes writes of the registry, because loops of fallbacks span several rows. Readers go on. */
export async function lockLanguages(tx: Tx): Promise<void> {
  await sql`lock table language in share row exclusive mode`.execute(tx.kysely);
}

/** One language, locked against new references to it until the transaction ends. */
export async function lockLanguage(tx: Tx, code: string): Promise<LanguageRow | undefined> {
  return await tx.kysely.selectFrom('language').selectAll().where('code', '=', code).forUpdate().executeTakeFirst();
}

/** Those of the codes that the registry has, locked against deletion until the transaction ends. */
export async function holdLanguages(tx: Tx, codes: readonly string[]): Promise<Set<string>> {
  if (codes.length === 0) return new Set();
  const { rows } = await sql<{ code: string }>`
    select code from language where code = any(${codes}::text[]) order by code for key share`.execute(tx.kysely);
  return new Set(rows.map(({ code }) => code));
}

/** Whether the registry has the language; it is locked against deletion until the transaction ends. */
export async function holdLanguage(tx: Tx, code: string): Promise<boolean> {
  return (await holdLanguages(tx, [code])).has(code);
}

/** Undefined when the code is taken. */
export async function insertLanguage(tx: Tx, language: LanguageRow): Promise<LanguageRow | undefined> {
  return await tx.kysely
    .insertInto('language')
    .values(language)
    .onConflict((oc) => oc.column('code').doNothing())
    .returningAll()
    .executeTakeFirst();
}

export async function updateLanguage(
  tx: Tx,
  code: string,
  { name, nativeName, fallback }: Omit<LanguageRow, 'code'>,
): Promise<LanguageRow> {
  return await tx.kysely
    .updateTable('language')
    .set({ name, nativeName, fallback })
    .where('code', '=', code)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function deleteLanguage(tx: Tx, code: string): Promise<void> {
  await tx.kysely.deleteFrom('language').where('code', '=', code).execute();
}

/** Whether falling back from `code` to `fallback` would lead back to `code`. */
export async function makesLoop(tx: Tx, code: string, fallback: string): Promise<boolean> {
  const { rows } = await sql<{ loop: boolean }>`
    with recursive chain (code) as (
      select ${fallback}::text collate "C"
      union
      select language.fallback from chain join language on language.code = chain.code where language.fallback is not null)
    select exists (select from chain where code = ${code}) as loop`.execute(tx.kysely);
  return rows[0]?.loop ?? false;
}

/** The kinds of things that use a language, for a person to read. */
export async function usersOfLanguage(tx: Tx, code: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from (values
      ('applications', exists (select from application_language where language_code = ${code})),
      ('profiles', exists (select from profile where locale = ${code})),
      ('templates', exists (select from template where locale = ${code})),
      ('the fallback of other languages', exists (select from language where fallback = ${code}))
    ) as uses (name, used) where used`.execute(tx.kysely);
  return rows.map(({ name }) => name);
}

/** What each language falls back to. */
export async function fallbacks(tx: Tx): Promise<Map<string, string>> {
  const rows = await tx.kysely.selectFrom('language').select(['code', 'fallback']).execute();
  return new Map(rows.flatMap(({ code, fallback }) => (fallback === null ? [] : [[code, fallback]])));
}
