import { sql } from 'kysely';
import type { Tx } from '../database.ts';

/** Statements about notification types that the catalog needs: what every application has, texts, manifests. */

/** What every application has (specification, "Notification type"): for notifications without a type of their own. */
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
