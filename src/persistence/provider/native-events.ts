/** What is kept of the provider's native events (docs/reference/identity-provider.md#native-events). */

import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { Row } from '../entities/schema.ts';
import type { Subject } from '../people/accounts.ts';

/** What an event is about; each has an order of its own. */
export type Matter = 'state' | 'names' | 'email';

const SEQUENCE = { state: 'stateSequence', names: 'namesSequence', email: 'emailSequence' } as const;

/**
 * Moves a user's sequence of that matter on; false where the event is not newer than the last that was taken. An event without a sequence
 * always is. The row stays locked until the transaction ends, so that events about one user take turns.
 */
export async function advance(
  { kysely }: Tx,
  { issuer, subject }: Subject,
  { matter, sequence, orgId }: { matter: Matter; sequence: number | null; orgId: string },
): Promise<boolean> {
  const column = sql.ref(`provider_user.${SEQUENCE[matter]}`);
  const { rows } = await sql`
    insert into provider_user (issuer, user_id, org_id, ${sql.ref(SEQUENCE[matter])})
    values (${issuer}, ${subject}, ${orgId || null}, ${sequence}::bigint)
    on conflict (issuer, user_id) do update set org_id = coalesce(excluded.org_id, provider_user.org_id),
      ${sql.ref(SEQUENCE[matter])} = coalesce(${sequence}::bigint, ${column})
    where ${sequence}::bigint is null or ${column} is null or ${column} < ${sequence}::bigint
    returning user_id`.execute(kysely);
  return rows.length > 0;
}

/** When the person's state changed last, where it was by an event about this user; null otherwise. */
export async function ownStateChange(
  { kysely }: Tx,
  person: number,
  { issuer, subject }: Subject,
): Promise<Date | null> {
  const row = await kysely
    .selectFrom('provider_user as u')
    .innerJoin('profile as f', 'f.stateChangedAt', 'u.stateAt')
    .select('u.stateAt as at')
    .where('u.issuer', '=', issuer)
    .where('u.userId', '=', subject)
    .where('f.personId', '=', person)
    .executeTakeFirst();
  return row?.at ?? null;
}

/** Keeps the time that an event about this user gave the person's state. */
export async function keepStateChange({ kysely }: Tx, { issuer, subject }: Subject, email: string): Promise<void> {
  await sql`
    update provider_user set state_at = (select f.state_changed_at from profile f join person p on p.id = f.person_id
      where p.email = ${email})
    where issuer = ${issuer} and user_id = ${subject}`.execute(kysely);
}

/** Keeps whether the provider has the user active. */
export async function setUserActive({ kysely }: Tx, { issuer, subject }: Subject, active: boolean): Promise<void> {
  await kysely
    .updateTable('provider_user')
    .set({ active })
    .where('issuer', '=', issuer)
    .where('userId', '=', subject)
    .execute();
}

/**
 * Whether another user of the provider with this person's address is active. Of one that no event has spoken of, the account that signs the
 * person in counts as active, and others do not.
 */
export async function hasOtherActive({ kysely }: Tx, person: number, { issuer, subject }: Subject): Promise<boolean> {
  const { rows } = await sql`
    select from person_account a left join provider_user u on u.issuer = a.issuer and u.user_id = a.user_id
    where a.person_id = ${person} and a.issuer = ${issuer} and a.user_id <> ${subject}
      and coalesce(u.active, a.signs_in) limit 1`.execute(kysely);
  return rows.length > 0;
}

/** Keeps the address that the user has at the provider now. */
export async function setUserEmail(
  { kysely }: Tx,
  { issuer, subject }: Subject,
  email: string,
  at: Date,
): Promise<void> {
  await kysely
    .updateTable('provider_user')
    .set({ email, emailChangedAt: at })
    .where('issuer', '=', issuer)
    .where('userId', '=', subject)
    .execute();
}

/** A person whose address the provider has changed, and who still has the old one here. */
export interface EmailChangeRow {
  email: string;
  to: string;
  at: Date;
}

/** The newest first. */
export async function listEmailChanges({ kysely }: Tx, limit: number): Promise<EmailChangeRow[]> {
  const { rows } = await sql<EmailChangeRow>`
    select p.email, u.email as to, u.email_changed_at as at
    from provider_user u join person_account a on a.issuer = u.issuer and a.user_id = u.user_id
      join person p on p.id = a.person_id
    where u.email is not null and u.email <> p.email
      and not exists (select from person_account b join person q on q.id = b.person_id
        where b.issuer = u.issuer and b.user_id = u.user_id and q.email = u.email)
    order by u.email_changed_at desc, p.email limit ${limit}`.execute(kysely);
  return rows;
}

export type NewUnresolved = Omit<UnresolvedRow, 'id' | 'tries' | 'at'>;

export interface UnresolvedRow extends Subject, Omit<Row<'unresolved_event'>, 'issuer' | 'userId'> {}

/** Kept at most; the oldest go. */
const KEPT = 5000;

/** Keeps the event; one that is kept already counts another try. */
export async function keepUnresolved({ kysely }: Tx, event: NewUnresolved): Promise<void> {
  const { issuer, subject, sequence, eventType, orgId, email, reason } = event;
  const { rows } = await sql<{ id: number }>`
    insert into unresolved_event (issuer, user_id, sequence, event_type, org_id, email, event, reason)
    values (${issuer}, ${subject}, ${sequence}, ${eventType}, ${orgId}, ${email}, ${JSON.stringify(event.event)}::jsonb, ${reason})
    on conflict (issuer, user_id, sequence, event_type) do update set tries = unresolved_event.tries + 1, reason = excluded.reason
    returning id`.execute(kysely);
  const id = rows[0]?.id ?? 0;
  await sql`delete from unresolved_event where id in (
    select id from unresolved_event where id <= ${id - KEPT} or at < now() - interval '30 days'
    order by id limit 100 for update skip locked)`.execute(kysely);
}

export async function dropUnresolved(
  { kysely }: Tx,
  { issuer, subject, sequence, eventType }: Pick<NewUnresolved, 'issuer' | 'subject' | 'sequence' | 'eventType'>,
): Promise<void> {
  await kysely
    .deleteFrom('unresolved_event')
    .where('issuer', '=', issuer)
    .where('userId', '=', subject)
    .where('sequence', '=', sequence)
    .where('eventType', '=', eventType)
    .execute();
}

/** The oldest first, after `after`; those of one user where one is named. */
export async function listUnresolved(
  { kysely }: Tx,
  { after, limit, subject }: { after: number; limit: number; subject?: string },
): Promise<UnresolvedRow[]> {
  const rows = kysely
    .selectFrom('unresolved_event')
    .select([
      'id',
      'issuer',
      'userId as subject',
      'sequence',
      'eventType',
      'orgId',
      'email',
      'event',
      'reason',
      'tries',
      'at',
    ])
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit);
  return await (subject === undefined ? rows : rows.where('userId', '=', subject)).execute();
}
