import { sql } from 'kysely';
import type { Database } from '../../src/persistence/database.ts';

/** How much of the lists a person is given. */
export interface Amounts {
  notifications: number;
  events: number;
  overrides: number;
}

/** Statements with `$1` for the address. Of an application `billing` with a role `reader` and a permission `invoice.read` of two levels. */
const GIVEN = [
  `insert into person (email, registered_at) values ($1, '2026-01-01Z')
    on conflict (email) do update set registered_at = excluded.registered_at`,
  `insert into profile (person_id, first_name, last_name, display_name, locale)
    select id, 'Mia', 'Malá', 'Mia Malá', 'cs' from person where email = $1
    on conflict (person_id) do update set first_name = 'Mia', last_name = 'Malá', display_name = 'Mia Malá', locale = 'cs'`,
  `update person_account set signs_in = false where person_id = (select id from person where email = $1)`,
  `insert into person_account (issuer, user_id, person_id, signs_in, organization)
    select 'https://idp.example.com', 'account-of-mia', id, true, 'organization-of-mia' from person where email = $1
    on conflict (issuer, user_id, person_id) do update set signs_in = true`,
  `insert into superadmin (person_id) select id from person where email = $1`,
  `insert into user_role (person_id, application_id, role_id)
    select p.id, r.application_id, r.id from person p, role r join application a on a.id = r.application_id
    where p.email = $1 and a.code = 'billing' and r.code = 'reader'`,
  `insert into app_admin (person_id, application_id)
    select p.id, a.id from person p, application a where p.email = $1 and a.code in ('billing', 'shop')`,
  `insert into app_preference (person_id, application_id, last_login_at, login_count)
    select p.id, a.id, '2026-02-02Z', 7 from person p, application a where p.email = $1 and a.code = 'billing'
    on conflict (person_id, application_id) do nothing`,
  `insert into notification_preference (person_id, notification_type_id, email)
    select p.id, t.id, false from person p, notification_type t join application a on a.id = t.application_id
    where p.email = $1 and a.code = 'billing' and t.code = 'generic'`,
  `insert into push_subscription (person_id, endpoint, p256dh, auth, device_label, vapid_key)
    select id, 'https://push.example.com/' || md5($1), 'key-of-browser', 'auth-of-browser', 'Phone', 'vapid-of-browser'
    from person where email = $1`,
  `insert into registration_locale (email, org_id, locale) values ($1, 'org-1', 'cs')`,
  `insert into provider_event (source, event_type, org_id, email, outcome) values ('webhook', 'user.updated', 'org-1', $1, 'applied')`,
  `insert into audit (actor, action, app_code, subject, before, after) values
    ('user:' || $1, 'role.created', 'billing', 'writer', null, '{"code":"writer"}'),
    ('user:' || $1, 'brand.tested', null, 'default', null, jsonb_build_object('to', $1)),
    ('user:other@example.com', 'brand.tested', null, 'default', null, jsonb_build_object('to', $1)),
    ('user:other@example.com', 'application.deleted', 'gone', 'gone',
      jsonb_build_object('managers', jsonb_build_array('other@example.com', $1, 'x' || $1)), null),
    ('idp', 'user.subject_changed', null, $1, '{"issuer":"i","subject":"account-of-mia"}', '{"issuer":"i","subject":"s2"}'),
    ('user:other@example.com', 'assignment.created', 'billing', $1, null, '{"role":"reader"}'),
    ('user:other@example.com', 'override.replaced', 'billing', $1, null, jsonb_build_object('resourceId', $1)),
    ('user:other@example.com', 'assignment.created', 'billing', $1 || ':reader', null, null)`,
];

/** Lists: `$1` the address, `$2` how many. */
const LISTS = {
  overrides: `insert into resource_override (person_id, application_id, resource_type, resource_id, permission_id, tiered, level)
    select p.id, c.application_id, 'invoice', i::text, c.id, true, i % 2 * 3
    from person p, permission c join application a on a.id = c.application_id, generate_series(1, $2::int) i
    where p.email = $1 and a.code = 'billing' and c.code = 'invoice.read'`,
  events: `insert into app_event (person_id, application_id, event, actor, at)
    select p.id, a.id, case i % 2 when 0 then 'logout' else 'login' end, 'user:' || $1, '2026-01-01Z'::timestamptz + i * interval '1 minute'
    from person p, application a, generate_series(1, $2::int) i where p.email = $1 and a.code = 'billing'`,
  notifications: `with stored as (
      insert into notification (application_id, notification_type_id, person_id, subject, payload, status, locale, body, created_at)
      select a.id, t.id, p.id, 'Subject ' || i, jsonb_build_object('number', i), 'sent', 'en', 'Žofie wrote', '2026-03-03 10:00Z'
      from person p, application a join notification_type t on t.application_id = a.id, generate_series(1, $2::int) i
      where p.email = $1 and a.code = 'billing' and t.code = 'generic' order by i
      returning id)
    insert into delivery (notification_id, channel, status, content, lane, due_at)
    select id, 'email', 'sent', json_build_object('to', $1, 'subject', 'Rendered'), 'email:none', null from stored`,
} as const;

/** Gives an address something in every table that can hold something about a person. */
export async function giveEverything(database: Database, email: string, amounts: Amounts): Promise<void> {
  await database.change(async ({ kysely }) => {
    const run = async (text: string, ...values: readonly unknown[]): Promise<void> => {
      // As one text with parameters: the driver takes the types from their use.
      const parts = text.split(/\$([12])(?!\d)/);
      const built = parts.map((part, at) => {
        if (at % 2 === 0) return sql.raw(part);
        return part === '1' ? sql`${values[0]}::text` : sql`${values[1]}`;
      });
      await sql.join(built, sql``).execute(kysely);
    };
    for (const statement of GIVEN) await run(statement, email);
    for (const [list, statement] of Object.entries(LISTS)) {
      await run(statement, email, amounts[list as keyof Amounts]);
    }
    return { result: null, scopes: [`u:${email}`, `m:billing:${email}`, `m:shop:${email}`] };
  });
}
