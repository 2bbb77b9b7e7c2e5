import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import { expectRows } from './touched.ts';

/** Statements about notification types that the catalog needs: what every application has, texts, manifests. */

/** What every application has (docs/reference/notifications.md#types): for notifications without a type of their own. */
const GENERIC = { code: 'generic', name: 'Generic' } as const;

/** Gives an application its type `generic`. What is there already stays as it is. */
export async function ensureGenericType({ kysely }: Tx, app: number): Promise<void> {
  await sql`
    insert into notification_type (application_id, code, name) values (${app}, ${GENERIC.code}, ${GENERIC.name})
    on conflict (application_id, code) do nothing`.execute(kysely);
}

/** The same for every application that has none. */
export async function ensureGenericTypes({ kysely }: Tx): Promise<void> {
  await sql`
    insert into notification_type (application_id, code, name)
    select id, ${GENERIC.code}, ${GENERIC.name} from application
    where not exists (
      select from notification_type t where t.application_id = application.id and t.code = ${GENERIC.code})
    order by id on conflict (application_id, code) do nothing`.execute(kysely);
}

export interface SystemType {
  code: string;
  name: string;
  description: string;
  emailFromName: string;
  defaultEmail: boolean;
  defaultPush: boolean;
  emailEnabled: boolean;
  pushEnabled: boolean;
  userCanDisable: boolean;
  selfServiceEnabled: boolean;
}

/** Makes a system type, or gives the one that is there the flags that it always has; its texts and defaults stay. */
export async function ensureSystemType({ kysely }: Tx, app: number, type: SystemType): Promise<void> {
  await sql`
    insert into notification_type as t (application_id, code, name, description, email_from_name, default_email,
      default_push, email_enabled, push_enabled, user_can_disable, self_service_enabled, system)
    values (${app}, ${type.code}, ${type.name}, ${type.description}, ${type.emailFromName}, ${type.defaultEmail},
      ${type.defaultPush}, ${type.emailEnabled}, ${type.pushEnabled}, ${type.userCanDisable},
      ${type.selfServiceEnabled}, true)
    on conflict (application_id, code) do update set email_enabled = excluded.email_enabled,
      push_enabled = excluded.push_enabled, user_can_disable = excluded.user_can_disable,
      self_service_enabled = excluded.self_service_enabled, system = true
    where (t.email_enabled, t.push_enabled, t.user_can_disable, t.self_service_enabled, t.system) is distinct from
      (excluded.email_enabled, excluded.push_enabled, excluded.user_can_disable, excluded.self_service_enabled, true)
  `.execute(kysely);
}

/** What the types of an application are called, by code. */
export async function readTypeTexts(
  tx: Tx,
  app: number,
): Promise<{ code: string; name: string; description: string | null }[]> {
  return await tx.kysely
    .selectFrom('notification_type')
    .select(['code', 'name', 'description'])
    .where('application_id', '=', app)
    .orderBy('code')
    .execute();
}

/** A type as a manifest describes it. */
export interface NotificationTypeRow {
  code: string;
  name: string;
  description: string | null;
  emailEnabled: boolean;
  pushEnabled: boolean;
  userCanDisable: boolean;
  defaultEmail: boolean;
  defaultPush: boolean;
  selfServiceEnabled: boolean;
  system: boolean;
  emailFromName: string | null;
}

/** Its columns. */
export const NOTIFICATION_TYPE = [
  'code',
  'name',
  'description',
  'email_enabled as emailEnabled',
  'push_enabled as pushEnabled',
  'user_can_disable as userCanDisable',
  'default_email as defaultEmail',
  'default_push as defaultPush',
  'self_service_enabled as selfServiceEnabled',
  'system',
  'email_from_name as emailFromName',
] as const;

/** All types of an application, by code. */
export async function readNotificationTypes(tx: Tx, app: number): Promise<NotificationTypeRow[]> {
  return await tx.kysely
    .selectFrom('notification_type')
    .select(NOTIFICATION_TYPE)
    .where('application_id', '=', app)
    .orderBy('code')
    .execute();
}

/** Makes types, or gives those that are there these fields. */
export async function putNotificationTypes(
  { kysely }: Tx,
  app: number,
  rows: readonly NotificationTypeRow[],
): Promise<void> {
  const texts = (field: 'code' | 'name' | 'description' | 'emailFromName') => rows.map((row) => row[field]);
  const flags = (
    field:
      | 'emailEnabled'
      | 'pushEnabled'
      | 'userCanDisable'
      | 'defaultEmail'
      | 'defaultPush'
      | 'selfServiceEnabled'
      | 'system',
  ) => rows.map((row) => row[field]);
  const touched = await sql`
    insert into notification_type (application_id, code, name, description, email_from_name, email_enabled, push_enabled,
      user_can_disable, default_email, default_push, self_service_enabled, system)
    select ${app}, * from unnest(
      ${texts('code')}::text[], ${texts('name')}::text[], ${texts('description')}::text[],
      ${texts('emailFromName')}::text[], ${flags('emailEnabled')}::boolean[], ${flags('pushEnabled')}::boolean[],
      ${flags('userCanDisable')}::boolean[], ${flags('defaultEmail')}::boolean[], ${flags('defaultPush')}::boolean[],
      ${flags('selfServiceEnabled')}::boolean[], ${flags('system')}::boolean[])
    on conflict (application_id, code) do update set name = excluded.name, description = excluded.description,
      email_from_name = excluded.email_from_name, email_enabled = excluded.email_enabled,
      push_enabled = excluded.push_enabled, user_can_disable = excluded.user_can_disable,
      default_email = excluded.default_email, default_push = excluded.default_push,
      self_service_enabled = excluded.self_service_enabled, system = excluded.system, updated_at = now()`.execute(
    kysely,
  );
  expectRows(touched, rows.length, 'notification types');
}

/** Those of the codes whose type notifications are of, or templates, where these count. */
export async function usedNotificationTypes(
  tx: Tx,
  app: number,
  codes: readonly string[],
  templatesCount: boolean,
): Promise<Set<string>> {
  if (codes.length === 0) return new Set();
  const types = await tx.kysely
    .selectFrom('notification_type')
    .select(['id', 'code'])
    .where('application_id', '=', app)
    .where('code', 'in', codes)
    .execute();
  const used = new Set<string>();
  // One by one, and only for types that go: for all in one statement the planner would read whole tables.
  for (const { id, code } of types) {
    const { rows } = await sql<{ used: boolean }>`
      select (${templatesCount}::boolean and exists (select from template where notification_type_id = ${id}))
        or exists (select from notification where notification_type_id = ${id}) as used`.execute(tx.kysely);
    if (rows[0]?.used) used.add(code);
  }
  return used;
}
