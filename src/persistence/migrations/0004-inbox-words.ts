import { Migration } from '@mikro-orm/migrations';

/**
 * What an inbox item says beside its subject, and idempotency keys of administrators. Processes of the version before run on it as
 * well: they leave the new columns null, and keep every sender's keys in `send_request`, whose primary key their statements rely on.
 */
export class Migration0004InboxWords extends Migration {
  override up(): void {
    for (const statement of STATEMENTS) this.addSql(statement);
  }
}

const STATEMENTS = [
  `alter table notification add column body text, add column url text, add column icon text`,
  // As send_request, which is that of backends: what an administrator names takes no key of theirs.
  `create table administrator_send_request (
    application_id bigint not null references application (id) on delete cascade,
    idempotency_key text collate "C" not null,
    body_hash text not null,
    answer jsonb,
    created_at timestamptz(3) not null default now(),
    primary key (application_id, idempotency_key)
  )`,
  `create index administrator_send_request_at on administrator_send_request (created_at)`,
];
