import { Migration } from '@mikro-orm/migrations';

/**
 * What lists of the panel are ordered and searched by. Indexes only: processes of the version before read and write as they
 * did, and no row is rewritten.
 */
export class Migration0009PanelLists extends Migration {
  override up(): void {
    for (const statement of STATEMENTS) this.addSql(statement);
  }
}

const STATEMENTS = [
  // People by the date of their record: the profile's, else that of the first mention (persistence/people/person-order.ts).
  `create index person_created on person (created_at, id)`,
  `create index profile_created on profile (created_at, person_id)`,
  // Partial: most rows never change this column, and activity alone still touches no index.
  `create index app_preference_login on app_preference (last_login_at, person_id, application_id)
    where last_login_at is not null`,
  // Records of earlier versions name a person and a thing in one subject: 'eva@example.com:document.access:document:7'. No address
  // holds a colon. Partial, because no such record is added any more: writers pay nothing.
  `create index audit_composed on audit (split_part(subject, ':', 1), at, id) where subject like '%@%:%'`,
  // Any part of a code, as for people (0001).
  `create index role_pieces on role using gin (text_pieces(lower(code))) with (gin_pending_list_limit = 1024)`,
  `create index permission_pieces on permission using gin (text_pieces(lower(code))) with (gin_pending_list_limit = 1024)`,
];
