/** Everything that is stored of one person, for them to take along (docs/reference/people.md#export). */

import { type RawBuilder, sql } from 'kysely';
import { CHANNEL_NAMES, type ChannelName } from '../../base/channels.ts';
import type { Tx } from '../database.ts';
import { held, type WindowJson, windowJsonSql } from '../windows.ts';

/** Notifications and overrides of one statement at most. */
const ROWS = 200;
/** The same in characters, except for a single larger row: what a reader who is slow holds in memory. */
const CHARACTERS = 256 * 1024;

/** What is stored once of a person, or a few times. */
export interface PersonalRecord {
  id: number;
  email: string;
  providerActive: boolean;
  blocked: boolean;
  registeredAt: string | null;
  createdAt: string;
  /** Since when they are a SuperAdmin. */
  superadminSince: string | null;
  profile: Record<string, unknown> | null;
  /** At identity providers. */
  accounts: Record<string, unknown>[];
  /** Where they have a role, a seat, preferences or a login, by code. */
  applications: {
    code: string;
    name: string;
    adminSince: string | null;
    /** Null: without a beginning and an end. */
    adminWindow: WindowJson | null;
    roles: ({ code: string; since: string } & WindowJson)[];
    preferences: Record<string, unknown> | null;
  }[];
  notificationPreferences: (Record<ChannelName, boolean | null> & {
    appCode: string;
    type: string;
    updatedAt: string;
  })[];
  /** Without keys. */
  pushSubscriptions: Record<string, unknown>[];
  /** Kept for a day, for an address that registers. */
  registrationLocales: { orgId: string; locale: string; at: string }[];
  /** Of the identity provider, with this address. */
  providerEvents: Record<string, unknown>[];
  /** E-mails of the identity provider to this address that were refused, without what they say. */
  refusedMails: Record<string, unknown>[];
  /** When this was read, by the clock of the database. */
  readAt: string;
  /** The ids of the newest rows of the lists: later ones are not of this state. */
  newestNotification: number;
  newestEvent: number;
}

/** Undefined for an address without a row. One statement, hence one snapshot. */
export async function readPersonalRecord(tx: Tx, email: string): Promise<PersonalRecord | undefined> {
  const { rows } = await sql<PersonalRecord>`
    select p.id, p.email, p.provider_active, p.blocked, ${iso('p.registered_at')} as registered_at,
      ${iso('p.created_at')} as created_at,
      (select ${iso('s.created_at')} from superadmin s where s.person_id = p.id) as superadmin_since,
      (select json_build_object('firstName', f.first_name, 'lastName', f.last_name, 'displayName', f.display_name,
          'namesChangedAt', ${iso('f.names_changed_at')}, 'avatarUrl', f.avatar_url, 'locale', f.locale, 'theme', f.theme,
          'timezone', f.timezone, 'brand', (select slug from brand where id = f.brand_id),
          'stateChangedAt', ${iso('f.state_changed_at')}, 'createdAt', ${iso('f.created_at')},
          'updatedAt', ${iso('f.updated_at')})
        from profile f where f.person_id = p.id) as profile,
      coalesce((select json_agg(json_build_object('issuer', a.issuer, 'subject', a.user_id, 'signsIn', a.signs_in,
          'organization', a.organization, 'seenAt', ${iso('a.seen_at')}) order by a.signs_in desc, a.issuer, a.user_id)
        from person_account a where a.person_id = p.id), '[]') as accounts,
      ${APPLICATIONS} as applications,
      coalesce((select json_agg(json_build_object('appCode', a.code, 'type', t.code, ${CHOICES}, 'updatedAt', ${iso('c.updated_at')})
          order by a.code, t.code)
        from notification_preference c join notification_type t on t.id = c.notification_type_id
          join application a on a.id = t.application_id where c.person_id = p.id), '[]') as notification_preferences,
      coalesce((select json_agg(json_build_object('id', s.id, 'endpoint', s.endpoint, 'deviceLabel', s.device_label,
          'lastUsedAt', ${iso('s.last_used_at')}, 'createdAt', ${iso('s.created_at')}, 'updatedAt', ${iso('s.updated_at')})
          order by s.id)
        from push_subscription s where s.person_id = p.id), '[]') as push_subscriptions,
      coalesce((select json_agg(json_build_object('orgId', r.org_id, 'locale', r.locale, 'at', ${iso('r.at')})
          order by r.org_id)
        from registration_locale r where r.email = p.email), '[]') as registration_locales,
      coalesce((select json_agg(json_build_object('at', ${iso('e.at')}, 'source', e.source, 'eventType', e.event_type,
          'orgId', e.org_id, 'outcome', e.outcome, 'reason', e.reason) order by e.id)
        from provider_event e where e.email = p.email), '[]') as provider_events,
      coalesce((select json_agg(json_build_object('at', ${iso('m.at')}, 'eventType', m.event_type, 'orgId', m.org_id,
          'reason', m.reason, 'sentAt', ${iso('m.sent_at')}) order by m.id)
        from refused_mail m where m.email = p.email), '[]') as refused_mails,
      ${isoOf(sql`now()::timestamptz(3)`)} as read_at,
      coalesce((select max(n.id) from notification n where n.person_id = p.id), 0) as newest_notification,
      coalesce((select max(v.id) from app_event v where v.person_id = p.id), 0) as newest_event
    from person p where p.email = ${email}`.execute(tx.kysely);
  return rows[0];
}

/** A column as ISO 8601, to the millisecond. */
function iso(column: string): RawBuilder<string> {
  return isoOf(sql.ref(column));
}

function isoOf(value: RawBuilder<unknown>): RawBuilder<string> {
  return sql`to_char(${value} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** A person's own switches of a type. */
const CHOICES = sql.join(CHANNEL_NAMES.map((name) => sql`${sql.lit(name)}, ${sql.ref(`c.${name}`)}`));

const WINDOW = (of: string): RawBuilder<unknown> => sql.raw(windowJsonSql(of));

const APPLICATIONS = sql`
  coalesce((
    select json_agg(json_build_object('code', a.code, 'name', a.name,
      'adminSince', (select ${iso('m.created_at')} from ${held('app_admin')} m where m.person_id = p.id and m.application_id = a.id),
      'adminWindow', (select json_build_object(${WINDOW('m')}) from ${held('app_admin')} m
        where m.person_id = p.id and m.application_id = a.id and coalesce(m.starts_at, m.ends_at) is not null),
      'roles', coalesce((select json_agg(json_build_object('code', r.code, 'since', ${iso('u.created_at')}, ${WINDOW('u')}) order by r.code)
        from ${held('user_role')} u join role r on r.id = u.role_id where u.person_id = p.id and u.application_id = a.id), '[]'::json),
      'preferences', (select json_build_object('showHelp', l.show_help, 'notificationsEnabled', l.notifications_enabled,
          'firstLoginAt', ${iso('l.first_login_at')}, 'lastLoginAt', ${iso('l.last_login_at')}, 'loginCount', l.login_count,
          'lastActivityAt', ${iso('l.last_activity_at')}, 'createdAt', ${iso('l.created_at')},
          'updatedAt', ${iso('l.updated_at')})
        from app_preference l where l.person_id = p.id and l.application_id = a.id)) order by a.code)
    from application a where a.id in (
      select application_id from ${held('user_role')} u where u.person_id = p.id
      union select application_id from ${held('app_admin')} m where m.person_id = p.id
      union select application_id from app_preference where person_id = p.id)), '[]')`;

/** Whether the address is still this person's. */
export async function isStill(tx: Tx, { id, email }: Pick<PersonalRecord, 'id' | 'email'>): Promise<boolean> {
  const { rows } = await sql`select from person where id = ${id} and email = ${email}`.execute(tx.kysely);
  return rows.length > 0;
}

export interface PersonalOverride extends WindowJson {
  appCode: string;
  resourceType: string;
  resourceId: string;
  permission: string;
  /** 0 denies. */
  level: number;
  since: string;
}

/** The place of an override: the rest of its key. */
export type OverridePlace = readonly [app: number, resourceType: string, resourceId: string, permission: number];

/** The next overrides of the person, and the place behind them; null at the end. */
export async function nextOverrides(
  tx: Tx,
  person: number,
  after: OverridePlace,
): Promise<{ rows: PersonalOverride[]; behind: OverridePlace | null }> {
  const [app, type, id, permission] = after;
  const { rows } = await sql<PersonalOverride & { app: number; permissionId: number }>`
    select a.code as app_code, o.resource_type, o.resource_id, c.code as permission,
      o.level, ${iso('o.created_at')} as since, ${iso('o.starts_at')} as starts_at, ${iso('o.ends_at')} as ends_at,
      o.application_id as app, o.permission_id
    from (select * from ${held('resource_override')} o where person_id = ${person}
        and (application_id, resource_type, resource_id, permission_id) > (${app}, ${type}, ${id}, ${permission})
      order by application_id, resource_type, resource_id, permission_id limit ${ROWS}) o
    join application a on a.id = o.application_id join permission c on c.id = o.permission_id
    order by o.application_id, o.resource_type, o.resource_id, o.permission_id`.execute(tx.kysely);
  const last = rows.at(-1);
  return {
    rows: rows.map(({ app: _app, permissionId: _permission, ...row }) => row),
    behind: last === undefined ? null : [last.app, last.resourceType, last.resourceId, last.permissionId],
  };
}

export interface PersonalEvent {
  id: number;
  appCode: string;
  event: string;
  actor: string;
  at: string;
}

/** The next logins and logouts in all applications, oldest first. */
export async function nextEvents(tx: Tx, person: number, after: number, last: number): Promise<PersonalEvent[]> {
  const { rows } = await sql<PersonalEvent>`
    select v.id, a.code as app_code, v.event, v.actor, ${iso('v.at')} as at
    from (select * from app_event where person_id = ${person} and id > ${after} and id <= ${last}
      order by id limit ${ROWS}) v
    join application a on a.id = v.application_id order by v.id`.execute(tx.kysely);
  return rows;
}

/** A notification with its deliveries, as JSON text: payloads and contents are large and are not looked into. */
export interface PersonalNotification {
  id: number;
  json: string;
}

/**
 * The next notifications, oldest first, with suppressed ones, which no inbox shows: as many as `CHARACTERS` hold, at least one.
 */
export async function nextNotifications(
  tx: Tx,
  person: number,
  after: number,
  last: number,
): Promise<PersonalNotification[]> {
  const { rows } = await sql<PersonalNotification>`
    with n as materialized (
      select * from notification where person_id = ${person} and id > ${after} and id <= ${last} order by id limit ${ROWS}),
    written as materialized (
      select n.id, json_build_object('id', n.id, 'appCode', a.code, 'type', t.code, 'subject', n.subject, 'body', n.body,
          'url', n.url, 'icon', n.icon, 'payload', n.payload, 'status', n.status, 'statusReason', n.status_reason,
          'locale', n.locale, 'readAt', ${iso('n.read_at')}, 'createdAt', ${iso('n.created_at')},
          'deliveries', coalesce((
            select json_agg(json_build_object('channel', d.channel, 'status', d.status, 'attempts', d.attempts,
              'error', d.error, 'content', d.content, 'createdAt', ${iso('d.created_at')}, 'sentAt', ${iso('d.sent_at')})
              order by d.channel)
            from delivery d where d.notification_id = n.id), '[]'::json))::text as json
      from n join application a on a.id = n.application_id join notification_type t on t.id = n.notification_type_id),
    counted as (
      select id, json, sum(length(json)) over (order by id) as total, row_number() over (order by id) as place from written)
    select id, json from counted where place = 1 or total <= ${CHARACTERS} order by id`.execute(tx.kysely);
  return rows;
}
