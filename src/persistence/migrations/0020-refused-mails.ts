import { Migration } from '@mikro-orm/migrations';

/**
 * E-mails of the identity provider that cannot be sent yet, and what an event had that could not be stored. Processes of the version
 * before go on working: they write events without the new column, and answer a repeated mail with its error again.
 */
export class Migration0020RefusedMails extends Migration {
  override up(): void {
    for (const statement of STATEMENTS) this.addSql(statement);
  }
}

const STATEMENTS = [
  `alter table provider_event add column left_out text[] not null default '{}'`,
  // The table holds a few thousand rows: checking them takes no time.
  `alter table provider_event drop constraint provider_event_source_check`,
  `alter table provider_event add constraint provider_event_source_check
    check (source in ('webhook', 'mail', 'reconciliation', 'event'))`,
  `alter table provider_event drop constraint provider_event_outcome_check`,
  `alter table provider_event add constraint provider_event_outcome_check
    check (outcome in ('applied', 'unchanged', 'ignored', 'sent', 'duplicate', 'failed', 'refused', 'unresolved'))`,
  // One row a body. The body holds codes and links: it stands here sealed, and only until it has been sent.
  `create table refused_mail (
    id bigint generated always as identity primary key,
    hash text collate "C" not null unique,
    at timestamptz(3) not null default now(),
    last_at timestamptz(3) not null default now(),
    deliveries int not null default 1,
    reason text not null,
    message text not null,
    event_type text,
    org_id text,
    email text collate "C",
    body text,
    sent_at timestamptz(3),
    check ((body is null) = (sent_at is not null))
  )`,
  `create index refused_mail_at on refused_mail (at)`,
  `create index refused_mail_email on refused_mail (email) where email is not null`,
];
