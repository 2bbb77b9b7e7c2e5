/** Activity, written by statements that are a transaction each: one round trip, for one caller or for many of a moment. */

import type { Statement } from '../database.ts';
import { asOnly } from '../driver/dialect.ts';
import { Prepared } from '../driver/prepared.ts';
import { EVENTS_KEPT } from '../seen-events.ts';

/** Activity is written at most once in so long (docs/reference/people.md#logins). */
export const ACTIVITY = "interval '5 minutes'";

/** Who tells that he is active, and where. */
export interface ToldActivity {
  /** In normal form. */
  email: string;
  app: string;
  issuer: string;
  subject: string;
  /** The token's `iat`. */
  issuedAt: number;
  /** The names that the token brings, as bits (`nameBits`). */
  names: number;
}

export interface NotedActivity {
  /** Null: there is no such application. */
  appId: number | null;
  /** Whether the profile knows all that the token says. Where it does not, nothing was written: it comes first. */
  isCurrent: boolean;
  /** Whether this one moved the last activity. */
  recorded: boolean;
  /** How long there will be nothing to write. */
  waitMs: number;
}

/**
 * Rows that are to be moved, `due (n, person_id, app_id)`, are written in one order, so that of two who write the same ones
 * neither waits for the other; their applications are held before. What is recent is not even locked.
 */
const MOVED = `
  held as (
    select d.person_id, d.app_id from due d join application a on a.id = d.app_id for key share of a),
  moved as (
    insert into app_preference as f (person_id, application_id, last_activity_at)
    select person_id, app_id, now() from held order by person_id, app_id
    on conflict (person_id, application_id) do update set last_activity_at = excluded.last_activity_at
      where f.last_activity_at is null or f.last_activity_at <= excluded.last_activity_at - ${ACTIVITY}
    returning person_id, application_id)`;

/** $1 to $6 lists as long as each other, $7 whether names kept by their owners stay; answers in their order. Of several who tell the same at once, the first one's is recorded. */
const NOTE = new Prepared<NotedActivity>(
  'note_activity',
  `with given as (
    select g.n, a.id as app_id, p.id as person_id, x.last_activity_at as last,
      coalesce(f.issuer = g.issuer and f.subject = g.subject
        and (g.names & ~(case when $7::boolean then f.names_kept else 0 end) = 0
          or g.issued_at <= floor(extract(epoch from f.names_changed_at))::float8), false) as is_current
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::float8[], $6::int[]) with ordinality
      as g (email, app, issuer, subject, issued_at, names, n)
    left join application a on a.code = g.app
    left join person p on p.email = g.email
    left join profile f on f.person_id = p.id
    left join app_preference x on x.person_id = p.id and x.application_id = a.id),
  due as (
    select distinct on (person_id, app_id) n, person_id, app_id from given
    where is_current and app_id is not null and (last is null or last <= now() - ${ACTIVITY})
    order by person_id, app_id, n),
  ${MOVED}
  select g.app_id as "appId", g.is_current as "isCurrent", d.n is not null and m.person_id is not null as recorded,
    (case when m.person_id is not null then extract(epoch from ${ACTIVITY})
      else coalesce(greatest(0, extract(epoch from g.last + ${ACTIVITY} - now())), 0) end * 1000)::float8 as "waitMs"
  from given g left join due d on d.n = g.n
  left join moved m on m.person_id = g.person_id and m.application_id = g.app_id
  order by g.n`,
);

/**
 * Moves the last activity of each, at most once in five minutes, where the application exists and the profile is current. Done
 * twice it is as done once.
 */
export function noteActivity(told: readonly ToldActivity[], ownNames: boolean): Statement<NotedActivity> {
  return asOnly(
    NOTE.with(
      told.map(({ email }) => email),
      told.map(({ app }) => app),
      told.map(({ issuer }) => issuer),
      told.map(({ subject }) => subject),
      told.map(({ issuedAt }) => issuedAt),
      told.map(({ names }) => names),
      ownNames,
    ),
  );
}

/** What an application's backend was told of an activity, or why it was not recorded. */
export interface NotedEvent {
  /** Null: there is no such application. */
  appId: number | null;
  /** Null: the address was never mentioned. */
  active: boolean | null;
  registered: boolean | null;
  recorded: boolean;
}

/** $1 e-mail, $2 application, $3 the event's key, or null. */
const NOTE_EVENT = new Prepared<NotedEvent>(
  'note_activity_event',
  // The application is held: an event that comes while it is deleted is not remembered after its deletion.
  `with who as (
    select a.id as app_id, p.id as person_id, p.registered_at is not null as registered,
      p.provider_active and not p.blocked as active
    from (select 1) as one left join application a on a.code = $2::text left join person p on p.email = $1::text),
  told as (
    insert into seen_event (source, key)
    select 'application-event', $3::text from who w join application a on a.id = w.app_id
    where $3::text is not null and w.registered and w.active for key share of a
    on conflict (source, key) do update set at = excluded.at where seen_event.at <= now() - ${EVENTS_KEPT}
    returning source),
  due as (
    select w.person_id, w.app_id from who w
    left join app_preference x on x.person_id = w.person_id and x.application_id = w.app_id
    where w.app_id is not null and w.registered and w.active and ($3::text is null or exists (select from told))
      and (x.last_activity_at is null or x.last_activity_at <= now() - ${ACTIVITY})),
  ${MOVED}
  select app_id as "appId", registered, active, exists (select from moved) as recorded from who`,
);

/**
 * The same of one person, told by a backend: where the user is registered and active. An event of a key that was told within
 * 24 hours moves nothing; what is refused is not remembered.
 */
export function noteActivityEvent(email: string, app: string, key: string | null): Statement<NotedEvent> {
  return asOnly(NOTE_EVENT.with(email, app, key));
}
