import { Migration } from '@mikro-orm/migrations';
import { STAMPS } from './stamps.ts';

/**
 * Notification types, templates and preferences; notifications and their deliveries; push subscriptions.
 * The deliveries table is the truth of what is still to be sent: a bell only wakes a worker (docs/adr/0008).
 */
export class Migration0003Notifications extends Migration {
  override up(): void {
    for (const statement of STATEMENTS) this.addSql(statement);
  }
}

const STATEMENTS = [
  `create table notification_type (
    id bigint generated always as identity primary key,
    application_id bigint not null references application (id) on delete cascade,
    code text collate "C" not null,
    name text not null,
    description text,
    email_enabled boolean not null default true,
    push_enabled boolean not null default true,
    user_can_disable boolean not null default true,
    default_email boolean not null default true,
    default_push boolean not null default true,
    self_service_enabled boolean not null default true,
    system boolean not null default false,
    email_from_name text,
    ${STAMPS},
    unique (application_id, code),
    unique (application_id, id)
  )`,
  `create table template (
    id bigint generated always as identity primary key,
    application_id bigint not null references application (id) on delete cascade,
    notification_type_id bigint not null,
    key text collate "C" not null default 'default',
    locale text collate "C" not null references language (code),
    subject text not null,
    html text not null,
    text text,
    push_title text,
    push_body text,
    url text,
    required_variables text[] not null default '{}',
    ${STAMPS},
    unique (notification_type_id, key, locale),
    foreign key (application_id, notification_type_id) references notification_type (application_id, id)
  )`,
  `create index template_application on template (application_id, notification_type_id)`,
  `create index template_locale on template (locale)`,
  // Only what a user has chosen; the type's defaults where there is no row or the value is null.
  `create table notification_preference (
    person_id bigint not null references person (id) on delete cascade,
    notification_type_id bigint not null references notification_type (id) on delete cascade,
    email boolean,
    push boolean,
    updated_at timestamptz(3) not null default now(),
    primary key (person_id, notification_type_id)
  )`,
  `create index notification_preference_type on notification_preference (notification_type_id)`,
  // A send that named an idempotency key, with its first answer; kept 24 hours.
  `create table send_request (
    application_id bigint not null references application (id) on delete cascade,
    idempotency_key text collate "C" not null,
    body_hash text not null,
    answer jsonb,
    created_at timestamptz(3) not null default now(),
    primary key (application_id, idempotency_key)
  )`,
  `create index send_request_at on send_request (created_at)`,
  // A thousand of these are stored at once, so what they refer to is not looked up row by row: who stores them holds their
  // application, type and people, and who takes one of those away takes these along, or is refused (docs/adr/0011).
  `create table notification (
    id bigint generated always as identity primary key,
    application_id bigint not null,
    notification_type_id bigint not null,
    person_id bigint not null,
    subject text not null,
    payload jsonb not null,
    status text not null check (status in ('queued', 'sent', 'partial', 'failed', 'suppressed')),
    status_reason text,
    locale text collate "C" not null,
    read_at timestamptz(3),
    created_at timestamptz(3) not null default now()
  )`,
  // The inbox, its unread part, and the application's send log, as it is asked for.
  `create index notification_inbox on notification (person_id, id)`,
  `create index notification_unread on notification (person_id, id) where read_at is null and status <> 'suppressed'`,
  `create index notification_log on notification (application_id, id)`,
  `create index notification_log_status on notification (application_id, status, id)`,
  `create index notification_log_type on notification (notification_type_id, id)`,
  // One thing to send to one address by one channel. content holds what was rendered when the send was accepted; the brand's
  // look is put around it when it leaves. The identity provider's e-mails are never stored: they hold codes (docs/reference/identity-provider.md#e-mails).
  // due_at says when it is to be done next, null that nothing is left to do: a claim moves it behind its lease, so that what a
  // killed worker held becomes due again by itself. A brand that is gone stands for the default one. sent_at is the first
  // success; of a push, browsers may still be left, and push_done names those that need no more tries. lane is what it queues
  // in: a brand's mails, or a push service's pushes.
  `create table delivery (
    id bigint generated always as identity primary key,
    notification_id bigint not null,
    channel text not null check (channel in ('email', 'push')),
    status text not null default 'queued' check (status in ('queued', 'sending', 'sent', 'failed')),
    brand_id bigint,
    content json not null,
    lane text collate "C" not null,
    attempts int not null default 0,
    error text,
    due_at timestamptz(3) default now(),
    give_up_at timestamptz(3) not null default now() + interval '25 hours',
    push_done bigint[] not null default '{}',
    sent_at timestamptz(3),
    created_at timestamptz(3) not null default now(),
    unique (notification_id, channel)
  )`,
  `create function take_notifications_of_person() returns trigger language plpgsql as $$
    begin
      delete from notification n using gone where n.person_id = gone.id;
      return null;
    end $$`,
  `create trigger person_takes_notifications after delete on person
    referencing old table as gone for each statement execute function take_notifications_of_person()`,
  `create function take_deliveries_of_notification() returns trigger language plpgsql as $$
    begin
      delete from delivery d using gone where d.notification_id = gone.id;
      return null;
    end $$`,
  `create trigger notification_takes_deliveries after delete on notification
    referencing old table as gone for each statement execute function take_deliveries_of_notification()`,
  `create function keep_type_of_notifications() returns trigger language plpgsql as $$
    begin
      if exists (select from gone where exists (select from notification n where n.notification_type_id = gone.id)) then
        raise foreign_key_violation using message = 'notifications are of this type', constraint = 'notification_type_is_used';
      end if;
      return null;
    end $$`,
  `create trigger notification_type_is_used after delete on notification_type
    referencing old table as gone for each statement execute function keep_type_of_notifications()`,
  `create index delivery_due on delivery (lane, due_at, id) where due_at is not null`,
  `create table push_subscription (
    id bigint generated always as identity primary key,
    person_id bigint not null references person (id) on delete cascade,
    endpoint text collate "C" not null unique,
    p256dh text not null,
    auth text not null,
    device_label text not null,
    vapid_key text not null,
    last_used_at timestamptz(3),
    ${STAMPS}
  )`,
  `create index push_subscription_person on push_subscription (person_id, id)`,
  // Hashes of auth e-mails that went out, kept 30 days: an identical call sends nothing (docs/reference/identity-provider.md#duplicates).
  `create table auth_mail (
    hash text collate "C" primary key,
    status text not null check (status in ('sending', 'sent')),
    template_source text,
    at timestamptz(3) not null default now()
  )`,
  `create index auth_mail_at on auth_mail (at)`,
];
