import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { Row } from '../entities/schema.ts';
import { ACTIVITY as FIVE_MINUTES } from './activity.ts';

type Switches = Pick<Row<'app_preference'>, 'showHelp' | 'notificationsEnabled'>;

/** A person's settings in an application. */
export interface Preferences extends Switches {
  applicationCode: string;
}

/** The fields that a write may set; omitted ones stay. */
export interface PreferencesChange {
  showHelp?: boolean | undefined;
  notificationsEnabled?: boolean | undefined;
}

/** The settings without a row (docs/reference/people.md#application-preferences). */
export const DEFAULTS: Switches = { showHelp: true, notificationsEnabled: true };

const ACTIVITY = sql.raw(FIVE_MINUTES);

/** The settings of an address, in every application where it has a row, by the applications' codes. */
export async function listPreferences(tx: Tx, email: string): Promise<Preferences[]> {
  return await tx.kysely
    .selectFrom('app_preference as f')
    .innerJoin('person as p', 'p.id', 'f.personId')
    .innerJoin('application as a', 'a.id', 'f.applicationId')
    .select(['a.code as applicationCode', 'f.showHelp', 'f.notificationsEnabled'])
    .where('p.email', '=', email)
    .orderBy('a.code')
    .execute();
}

/** A person's settings in one application; the defaults without a row. */
export async function findPreferences(tx: Tx, person: number, app: number): Promise<Switches> {
  return (await preferencesOf(tx, person, app).executeTakeFirst()) ?? DEFAULTS;
}

/** Like `findPreferences`, and locks the row, if any, against other writes until the transaction ends. */
export async function lockPreferences(tx: Tx, person: number, app: number): Promise<Switches> {
  return (await preferencesOf(tx, person, app).forNoKeyUpdate().executeTakeFirst()) ?? DEFAULTS;
}

function preferencesOf(tx: Tx, person: number, app: number) {
  return tx.kysely
    .selectFrom('app_preference')
    .select(['showHelp', 'notificationsEnabled'])
    .where('personId', '=', person)
    .where('applicationId', '=', app);
}

/** Sets the fields sent, creating the row with defaults if necessary. Moves no login and no activity. */
export async function setPreferences(
  tx: Tx,
  person: number,
  app: number,
  { showHelp, notificationsEnabled }: PreferencesChange,
): Promise<Switches> {
  // Undefined fields are left out of the statement.
  const change = { showHelp, notificationsEnabled };
  return await tx.kysely
    .insertInto('app_preference')
    .values({ personId: person, applicationId: app, ...change })
    .onConflict((oc) =>
      oc.columns(['personId', 'applicationId']).doUpdateSet({ ...change, updatedAt: sql<Date>`now()` }),
    )
    .returning(['showHelp', 'notificationsEnabled'])
    .executeTakeFirstOrThrow();
}

/** Counts a login, with its event, and returns the settings; creates the row with defaults if necessary. */
export async function recordLogin(tx: Tx, person: number, app: number, actor: string): Promise<Switches> {
  const { rows } = await sql<Switches>`
    with told as (
      insert into app_event (person_id, application_id, event, actor) values (${person}, ${app}, 'login', ${actor}))
    insert into app_preference as f
      (person_id, application_id, first_login_at, last_login_at, login_count, last_activity_at)
    values (${person}, ${app}, now(), now(), 1, now())
    on conflict (person_id, application_id) do update set
      first_login_at = least(f.first_login_at, excluded.first_login_at),
      last_login_at = greatest(f.last_login_at, excluded.last_login_at),
      login_count = f.login_count + 1,
      last_activity_at = greatest(f.last_activity_at, excluded.last_activity_at)
    returning show_help, notifications_enabled`.execute(tx.kysely);
  const row = rows[0];
  if (row === undefined) throw new Error('an upsert must return its row');
  return row;
}

/**
 * Moves the last activity where the previous one is five minutes old or missing; creates the row if necessary.
 * `waitMs`: how long no write will be needed.
 */
export async function recordActivity(
  tx: Tx,
  person: number,
  app: number,
): Promise<{ recorded: boolean; waitMs: number }> {
  // A row that this statement had to wait for is invisible to its second part. `waitMs` is then too short, and the next call simply asks again.
  const { rows } = await sql<{ recorded: boolean; waitMs: number }>`
    with moved as (
      insert into app_preference as f (person_id, application_id, last_activity_at) values (${person}, ${app}, now())
      on conflict (person_id, application_id) do update set last_activity_at = excluded.last_activity_at
        where f.last_activity_at is null or f.last_activity_at <= excluded.last_activity_at - ${ACTIVITY}
      returning last_activity_at),
    last as (
      select max(at) as at from (
        select last_activity_at as at from moved
        union all
        select last_activity_at from app_preference where person_id = ${person} and application_id = ${app}) as both_of_them)
    select exists (select from moved) as recorded,
      coalesce(greatest(0, extract(epoch from at + ${ACTIVITY} - now()) * 1000), 0)::float8 as wait_ms
    from last`.execute(tx.kysely);
  const row = rows[0];
  if (row === undefined) throw new Error('an aggregate must return its row');
  return row;
}

interface NewEvent {
  person: number;
  app: number;
  event: 'logout';
  /** As in audit records: `user:EMAIL` or `key:NAME`. */
  actor: string;
}

export async function insertEvent(tx: Tx, { person, app, event, actor }: NewEvent): Promise<void> {
  await tx.kysely.insertInto('app_event').values({ personId: person, applicationId: app, event, actor }).execute();
}

export type EventRow = Pick<Row<'app_event'>, 'id' | 'event' | 'actor' | 'at'>;

/** Logins and logouts of a person in an application, the newest first; only those before `after` where it is given. */
export async function listEvents(
  tx: Tx,
  person: number,
  app: number,
  { limit, after }: { limit: number; after: number | null },
): Promise<EventRow[]> {
  const events = tx.kysely
    .selectFrom('app_event')
    .select(['id', 'event', 'actor', 'at'])
    .where('personId', '=', person)
    .where('applicationId', '=', app);
  return await (after === null ? events : events.where('id', '<', after)).orderBy('id', 'desc').limit(limit).execute();
}

/** The state of an address, for calls on a person's behalf; undefined for an unknown address. */
export interface Known {
  id: number;
  /** The user has a record; otherwise the address only appears in other records. */
  registered: boolean;
  active: boolean;
}

export async function findKnown(tx: Tx, email: string): Promise<Known | undefined> {
  const row = await tx.kysely
    .selectFrom('person')
    .select(['id', 'registeredAt', 'providerActive', 'blocked'])
    .where('email', '=', email)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  return { id: row.id, registered: row.registeredAt !== null, active: row.providerActive && !row.blocked };
}
