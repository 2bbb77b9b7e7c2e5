import { sql } from 'kysely';
import { SYSTEM_LANGUAGE } from '../../base/grammar.ts';
import type { Tx } from '../database.ts';
import type { LanguageRow } from './languages.ts';

/** Statements of the seed. Each inserts what is missing and leaves existing rows unchanged. */

export async function insertLanguages(tx: Tx, languages: readonly LanguageRow[]): Promise<void> {
  await tx.kysely
    .insertInto('language')
    .values([...languages])
    .onConflict((oc) => oc.column('code').doNothing())
    .execute();
}

/** Into a registry that administrators may have changed: English stands for a fallback that they deleted. */
export async function insertMoreLanguages(tx: Tx, languages: readonly LanguageRow[]): Promise<void> {
  const rows = await tx.kysely.selectFrom('language').select('code').execute();
  const known = new Set(rows.map(({ code }) => code));
  const last = known.has(SYSTEM_LANGUAGE) ? SYSTEM_LANGUAGE : null;
  await insertLanguages(
    tx,
    languages.map(({ fallback, ...language }) => ({
      ...language,
      fallback: fallback !== null && known.has(fallback) ? fallback : last,
    })),
  );
}

/** The application's id, and whether it was created now. */
export async function ensureApplication(
  tx: Tx,
  application: { code: string; name: string; description: string },
): Promise<{ id: number; made: boolean }> {
  const inserted = await tx.kysely
    .insertInto('application')
    .values(application)
    .onConflict((oc) => oc.column('code').doNothing())
    .returning('id')
    .executeTakeFirst();
  if (inserted) return { id: inserted.id, made: true };
  const { id } = await tx.kysely
    .selectFrom('application')
    .select('id')
    .where('code', '=', application.code)
    .executeTakeFirstOrThrow();
  return { id, made: false };
}

/** True when it was created now. */
export async function ensureEntity(
  tx: Tx,
  entity: { applicationId: number; code: string; name: string; description: string; idLabel: string },
): Promise<boolean> {
  const made = await tx.kysely
    .insertInto('entity')
    .values(entity)
    .onConflict((oc) => oc.columns(['applicationId', 'code']).doNothing())
    .returning('id')
    .executeTakeFirst();
  return made !== undefined;
}

/** True when it was created now. */
export async function ensurePermission(
  tx: Tx,
  permission: {
    applicationId: number;
    code: string;
    description: string;
    tiered: boolean;
    global: boolean;
    groupName: string;
  },
): Promise<boolean> {
  const made = await tx.kysely
    .insertInto('permission')
    .values(permission)
    .onConflict((oc) => oc.columns(['applicationId', 'code']).doNothing())
    .returning('id')
    .executeTakeFirst();
  return made !== undefined;
}

/** Creates the role with its permissions (code to level); an existing role stays as administrators left it. */
export async function ensureRole(
  tx: Tx,
  role: { applicationId: number; code: string; description: string },
  permissions: ReadonlyMap<string, number>,
): Promise<boolean> {
  const made = await tx.kysely
    .insertInto('role')
    .values(role)
    .onConflict((oc) => oc.columns(['applicationId', 'code']).doNothing())
    .returning('id')
    .executeTakeFirst();
  if (made === undefined) return false;
  await sql`
    insert into role_permission (application_id, role_id, permission_id, tiered, level)
    select p.application_id, ${made.id}, p.id, p.tiered, wanted.level
    from unnest(${[...permissions.keys()]}::text[], ${[...permissions.values()]}::smallint[]) as wanted (code, level)
    join permission p on p.application_id = ${role.applicationId} and p.code = wanted.code
  `.execute(tx.kysely);
  return true;
}

/** Whether there is any application but `code`. */
export async function hasOtherApplications(tx: Tx, code: string): Promise<boolean> {
  const other = await tx.kysely
    .selectFrom('application')
    .select('id')
    .where('code', '<>', code)
    .limit(1)
    .executeTakeFirst();
  return other !== undefined;
}
