import { sql } from 'kysely';
import type { Tx } from '../database.ts';

export interface PreferenceRow {
  notificationTypeId: number;
  code: string;
  name: string;
  description: string | null;
  emailEnabled: boolean;
  pushEnabled: boolean;
  userCanDisable: boolean;
  email: boolean;
  push: boolean;
}

/** What a user chose for one type; null leaves a switch as it is. */
export interface PreferenceChange {
  notificationTypeId: number;
  email: boolean | null;
  push: boolean | null;
}

const SELECTED = sql`
  select t.id as "notificationTypeId", t.code, t.name, t.description, t.email_enabled as "emailEnabled",
    t.push_enabled as "pushEnabled", t.user_can_disable as "userCanDisable",
    coalesce(c.email, t.default_email) as email, coalesce(c.push, t.default_push) as push
  from notification_type t
  left join notification_preference c on t.user_can_disable and c.notification_type_id = t.id
    and c.person_id = (select id from person where email = `;

/** A person's switches for every type of an application, by code: the type's own where users may not switch. */
export async function listPreferences(tx: Tx, app: number, email: string): Promise<PreferenceRow[]> {
  const { rows } = await sql<PreferenceRow>`
    ${SELECTED} ${email}) where t.application_id = ${app} order by t.code`.execute(tx.kysely);
  return rows;
}

/** A person's switches for these types, of whatever application; by id. */
export async function preferencesOf(
  tx: Tx,
  email: string,
  types: readonly number[],
): Promise<Map<number, PreferenceRow>> {
  const { rows } = await sql<PreferenceRow>`
    ${SELECTED} ${email}) where t.id = any(${types}::bigint[])`.execute(tx.kysely);
  return new Map(rows.map((row) => [row.notificationTypeId, row]));
}

/** Whether users may switch each of these types; those that exist, held as they are until the transaction ends. */
export async function holdSwitchable(tx: Tx, types: readonly number[]): Promise<Map<number, boolean>> {
  const { rows } = await sql<{ id: number; switchable: boolean }>`
    select id, user_can_disable as switchable from notification_type
    where id = any(${types}::bigint[]) order by id for share`.execute(tx.kysely);
  return new Map(rows.map(({ id, switchable }) => [id, switchable]));
}

/** Keeps what a person chose, in one statement. The types must exist, and stand once each. */
export async function keepPreferences(tx: Tx, person: number, changes: readonly PreferenceChange[]): Promise<void> {
  const ids = changes.map(({ notificationTypeId }) => notificationTypeId);
  const emails = changes.map(({ email }) => email);
  const pushes = changes.map(({ push }) => push);
  await sql`
    insert into notification_preference as p (person_id, notification_type_id, email, push)
    select ${person}, c.id, c.email, c.push
    from unnest(${ids}::bigint[], ${emails}::boolean[], ${pushes}::boolean[]) as c (id, email, push)
    order by c.id
    on conflict (person_id, notification_type_id) do update
      set email = coalesce(excluded.email, p.email), push = coalesce(excluded.push, p.push), updated_at = now()`.execute(
    tx.kysely,
  );
}
