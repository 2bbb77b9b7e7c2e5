import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { Row } from '../entities/schema.ts';

/** The sender and the texts of an auth mail, and whether it went out already. Codes and links are never stored. */

export type AuthTemplate = Pick<Row<'template'>, 'locale' | 'subject' | 'html' | 'text' | 'requiredVariables'>;

/** The facts behind one mail. */
export interface AuthMailFacts {
  app: { code: string; name: string };
  /** The displayed name of the sender, where the type has one. */
  fromName: string | null;
  /** The variants of the key's template. */
  variants: AuthTemplate[];
  /** The registry: each language with its fallback. */
  fallbacks: Map<string, string | null>;
  profile: Pick<Row<'profile'>, 'firstName' | 'lastName' | 'displayName' | 'locale' | 'timezone'> | null;
  /** The registration locale of the last 24 hours. */
  registrationLocale: string | null;
}

interface AuthMailKey {
  appCode: string;
  typeCode: string;
  /** Null: no template is used. */
  templateKey: string | null;
  email: string;
  orgId: string;
}

export async function readAuthMailFacts(tx: Tx, key: AuthMailKey): Promise<AuthMailFacts> {
  const type = await tx.kysely
    .selectFrom('application as a')
    .leftJoin('notification_type as t', (join) =>
      join.onRef('t.applicationId', '=', 'a.id').on('t.code', '=', key.typeCode),
    )
    .select(['a.code', 'a.name', 't.id as typeId', 't.emailFromName as fromName'])
    .where('a.code', '=', key.appCode)
    .executeTakeFirst();
  const variants =
    type?.typeId == null || key.templateKey === null
      ? []
      : await tx.kysely
          .selectFrom('template')
          .select(['locale', 'subject', 'html', 'text', 'requiredVariables'])
          .where('notificationTypeId', '=', type.typeId)
          .where('key', '=', key.templateKey)
          .orderBy('locale')
          .execute();
  const languages = await tx.kysely.selectFrom('language').select(['code', 'fallback']).execute();
  const profile = await tx.kysely
    .selectFrom('person')
    .innerJoin('profile', 'profile.personId', 'person.id')
    .select(['firstName', 'lastName', 'displayName', 'locale', 'timezone'])
    .where('person.email', '=', key.email)
    .executeTakeFirst();
  const registration = await tx.kysely
    .selectFrom('registration_locale')
    .select('locale')
    .where('email', '=', key.email)
    .where('orgId', '=', key.orgId)
    .where('at', '>', sql<Date>`now() - interval '24 hours'`)
    .executeTakeFirst();
  return {
    app: { code: key.appCode, name: type?.name ?? key.appCode },
    fromName: type?.fromName ?? null,
    variants,
    fallbacks: new Map(languages.map(({ code, fallback }) => [code, fallback])),
    profile: profile ?? null,
    registrationLocale: registration?.locale ?? null,
  };
}

/** Stores the language of a registration in the profile, if there is a profile without one. */
export async function keepRegistrationLocale(tx: Tx, email: string, locale: string): Promise<void> {
  await sql`
    update profile set locale = ${locale}, updated_at = now()
    where locale is null and person_id = (select id from person where email = ${email})
      and exists (select from language where code = ${locale})`.execute(tx.kysely);
}

export type Claim = { kind: 'ours' } | { kind: 'sent'; templateSource: string | null } | { kind: 'busy' };

/**
 * Claims the sending of a mail by its hash. `sent`: it went out in the last 30 days. `busy`: another instance is sending it. A claim
 * older than `leaseSeconds` was left behind by a crash and goes to the next caller. Of concurrent callers one gets it.
 */
export async function claimAuthMail(tx: Tx, hash: string, leaseSeconds: number): Promise<Claim> {
  await sql`
    delete from auth_mail where hash in (
      select hash from auth_mail where at < now() - interval '30 days' order by at limit 100 for update skip locked)
  `.execute(tx.kysely);
  const { rows: claimed } = await sql`
    insert into auth_mail (hash, status) values (${hash}, 'sending')
    on conflict (hash) do update set status = 'sending', template_source = null, at = now()
      where auth_mail.at < now() - interval '30 days'
        or (auth_mail.status = 'sending' and auth_mail.at < now() - make_interval(secs => ${leaseSeconds}))
    returning hash`.execute(tx.kysely);
  if (claimed.length > 0) return { kind: 'ours' };
  const row = await tx.kysely
    .selectFrom('auth_mail')
    .select(['status', 'templateSource'])
    .where('hash', '=', hash)
    .executeTakeFirst();
  return row?.status === 'sent' ? { kind: 'sent', templateSource: row.templateSource } : { kind: 'busy' };
}

/** It went out: remembered for 30 days from now. */
export async function settleAuthMail(tx: Tx, hash: string, templateSource: 'panel' | 'idp'): Promise<void> {
  await sql`
    insert into auth_mail (hash, status, template_source) values (${hash}, 'sent', ${templateSource})
    on conflict (hash) do update set status = 'sent', template_source = excluded.template_source, at = now()
  `.execute(tx.kysely);
}

/** It did not go out: the next call may try. */
export async function releaseAuthMail(tx: Tx, hash: string): Promise<void> {
  await tx.kysely.deleteFrom('auth_mail').where('hash', '=', hash).where('status', '=', 'sending').execute();
}

export interface TemplateSeed {
  key: string;
  locale: string;
  subject: string;
  html: string;
  text: string;
  requiredVariables: readonly string[];
}

/** Creates missing templates, in languages that the registry has; existing ones are never changed. */
export async function ensureTemplates(
  tx: Tx,
  type: { app: string; code: string },
  templates: readonly TemplateSeed[],
): Promise<void> {
  await sql`
    insert into template (application_id, notification_type_id, key, locale, subject, html, text, required_variables)
    select t.application_id, t.id, wanted.key, l.code, wanted.subject, wanted.html, wanted.text, wanted."requiredVariables"
    from jsonb_to_recordset(${JSON.stringify(templates)}::jsonb)
      as wanted (key text, locale text, subject text, html text, text text, "requiredVariables" text[])
    join application a on a.code = ${type.app}
    join notification_type t on t.application_id = a.id and t.code = ${type.code}
    join language l on l.code = wanted.locale
    order by wanted.key, wanted.locale
    on conflict (notification_type_id, key, locale) do nothing`.execute(tx.kysely);
}
