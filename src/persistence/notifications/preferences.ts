import { type RawBuilder, sql } from 'kysely';
import {
  CHANNEL_FIELDS,
  CHANNEL_NAMES,
  type ChannelName,
  ENABLED_FIELDS,
  type EnabledField,
} from '../../base/channels.ts';
import { listed } from '../catalog/columns.ts';
import type { Tx } from '../database.ts';

/** A type, the application's switches of it, and by each channel whether it is on for the person. */
export interface PreferenceRow extends Record<EnabledField | ChannelName, boolean> {
  notificationTypeId: number;
  code: string;
  name: string;
  description: string | null;
  userCanDisable: boolean;
}

/** A user's choice for one type; null leaves a switch unchanged. */
export interface PreferenceChange extends Record<ChannelName, boolean | null> {
  notificationTypeId: number;
}

const ENABLED = ENABLED_FIELDS.map((field) => sql`${sql.ref(`t.${field}`)} as ${sql.ref(field)}`);
const SWITCHES = CHANNEL_NAMES.map((name) => sql`${switchOf(name)} as ${sql.ref(name)}`);

/** A person's switch, of a type `t` and a choice \`c\` of the person: the type's default where nothing was chosen. */
export function switchOf(channel: ChannelName): RawBuilder<boolean> {
  return sql`coalesce(${sql.ref(`c.${channel}`)}, ${sql.ref(`t.${CHANNEL_FIELDS[channel].default}`)})`;
}

const SELECTED = sql`
  select t.id as notification_type_id, t.code, t.name, t.description, ${sql.join(ENABLED)},
    t.user_can_disable, ${sql.join(SWITCHES)}
  from notification_type t
  left join notification_preference c on t.user_can_disable and c.notification_type_id = t.id
    and c.person_id = (select id from person where email = `;

/** A person's switches for every type of an application, by code; the type's defaults where users may not switch. */
export async function listPreferences(tx: Tx, app: number, email: string): Promise<PreferenceRow[]> {
  const { rows } = await sql<PreferenceRow>`
    ${SELECTED} ${email}) where t.application_id = ${app} order by t.code`.execute(tx.kysely);
  return rows;
}

/** A person's switches for these types of any application; by id. */
export async function preferencesOf(
  tx: Tx,
  email: string,
  types: readonly number[],
): Promise<Map<number, PreferenceRow>> {
  const { rows } = await sql<PreferenceRow>`
    ${SELECTED} ${email}) where t.id = any(${types}::bigint[])`.execute(tx.kysely);
  return new Map(rows.map((row) => [row.notificationTypeId, row]));
}

/** Whether users may switch each of these types; existing ones are locked until the transaction ends. */
export async function holdSwitchable(tx: Tx, types: readonly number[]): Promise<Map<number, boolean>> {
  const { rows } = await sql<{ id: number; switchable: boolean }>`
    select id, user_can_disable as switchable from notification_type
    where id = any(${types}::bigint[]) order by id for share`.execute(tx.kysely);
  return new Map(rows.map(({ id, switchable }) => [id, switchable]));
}

/** Stores a person's choices, in one statement. The types must exist, and occur once each. */
export async function keepPreferences(tx: Tx, person: number, changes: readonly PreferenceChange[]): Promise<void> {
  const ids = changes.map(({ notificationTypeId }) => notificationTypeId);
  const chosen = CHANNEL_NAMES.map((name) => sql`${changes.map((change) => change[name])}::boolean[]`);
  const kept = CHANNEL_NAMES.map(
    (name) => sql`${sql.ref(name)} = coalesce(${sql.ref(`excluded.${name}`)}, ${sql.ref(`p.${name}`)})`,
  );
  await sql`
    insert into notification_preference as p (person_id, notification_type_id, ${listed(CHANNEL_NAMES)})
    select ${person}, c.id, ${listed(CHANNEL_NAMES, 'c')}
    from unnest(${ids}::bigint[], ${sql.join(chosen)}) as c (id, ${listed(CHANNEL_NAMES)})
    order by c.id
    on conflict (person_id, notification_type_id) do update
      set ${sql.join(kept)}, updated_at = now()`.execute(tx.kysely);
}
