/** Writes activity by statements that are a transaction each: one round trip, for one caller or a batch. */

import type { Statement } from '../database.ts';
import { asOnly } from '../driver/dialect.ts';
import { Prepared } from '../driver/prepared.ts';
import { EVENTS_KEPT } from '../people/seen-events.ts';

/** Activity is written at most once in this time (docs/reference/people.md#logins). */
export const ACTIVITY = "interval '5 minutes'";

/** Activity of a user in an application. */
export interface ReportedActivity {
  /** In normal form. */
  email: string;
  app: string;
  issuer: string;
  subject: string;
  /** The token's `iat`. */
  issuedAt: number;
  /** The names in the token, as bits (`nameBits`). */
  names: number;
}

export interface RecordedActivity {
  /** Null for an unknown application. */
  appId: number | null;
  /** Whether the profile is up to date with the token. If not, nothing was written: the profile comes first. */
  isCurrent: boolean;
  /** Whether this call moved the last activity. */
  recorded: boolean;
  /** How long no write will be needed. */
  waitMs: number;
}

/**
 * Writes the rows `due (n, person_id, app_id)` in one order, so that two writers of the same rows cannot deadlock; their
 * applications are locked before. Recent rows are not even locked.
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

/** $1 to $6 lists of equal length, $7 whether names kept by their owners stay; results in the same order. Of equal inputs the first one is recorded. */
const NOTE = new Prepared<RecordedActivity>(
  'note_activity',
  `with given as (
    select g.n, a.id as app_id, p.id as person_id, x.last_activity_at as last,
      coalesce(f.person_id is not null and c.issuer = g.issuer and c.user_id = g.subject
        and (g.names & ~(case when $7::boolean then f.names_kept else 0 end) = 0
          or g.issued_at <= floor(extract(epoch from f.names_changed_at))::float8), false) as is_current
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::float8[], $6::int[]) with ordinality
      as g (email, app, issuer, subject, issued_at, names, n)
    left join application a on a.code = g.app
    left join person p on p.email = g.email
    left join profile f on f.person_id = p.id
    left join person_account c on c.person_id = p.id and c.signs_in
    left join app_preference x on x.person_id = p.id and x.application_id = a.id),
  due as (
    select distinct on (person_id, app_id) n, person_id, app_id from given
    where is_current and app_id is not null and (last is null or last <= now() - ${ACTIVITY})
    order by person_id, app_id, n),
  ${MOVED}
  select g.app_id, g.is_current, d.n is not null and m.person_id is not null as recorded,
    (case when m.person_id is not null then extract(epoch from ${ACTIVITY})
      else coalesce(greatest(0, extract(epoch from g.last + ${ACTIVITY} - now())), 0) end * 1000)::float8 as wait_ms
  from given g left join due d on d.n = g.n
  left join moved m on m.person_id = g.person_id and m.application_id = g.app_id
  order by g.n`,
);

/**
 * Moves the last activity of each, at most once in five minutes, where the application exists and the profile is up to date.
 * Idempotent.
 */
export function noteActivity(activities: readonly ReportedActivity[], ownNames: boolean): Statement<RecordedActivity> {
  return asOnly(
    NOTE.with(
      activities.map(({ email }) => email),
      activities.map(({ app }) => app),
      activities.map(({ issuer }) => issuer),
      activities.map(({ subject }) => subject),
      activities.map(({ issuedAt }) => issuedAt),
      activities.map(({ names }) => names),
      ownNames,
    ),
  );
}

/** The result for an activity from an application's backend: the fields tell why it was not recorded. */
export interface NotedEvent {
  /** Null for an unknown application. */
  appId: number | null;
  /** Null for an unknown address. */
  active: boolean | null;
  registered: boolean | null;
  recorded: boolean;
}

/** $1 e-mail, $2 application, $3 the event's key, or null. */
const NOTE_EVENT = new Prepared<NotedEvent>(
  'note_activity_event',
  // The application is locked: an event that comes during its deletion must not be remembered afterwards.
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
  select app_id, registered, active, exists (select from moved) as recorded from who`,
);

/**
 * The same for one person, reported by a backend: where the user is registered and active. An event whose key was reported within
 * 24 hours moves nothing; refused events are not remembered.
 */
export function noteActivityEvent(email: string, app: string, key: string | null): Statement<NotedEvent> {
  return asOnly(NOTE_EVENT.with(email, app, key));
}
