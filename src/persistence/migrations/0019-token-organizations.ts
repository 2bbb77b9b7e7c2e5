import { Migration } from '@mikro-orm/migrations';

/**
 * The organizations of admitted tokens. Processes of the version before write none: an organization that came only to them is not
 * known yet.
 */
export class Migration0019TokenOrganizations extends Migration {
  override up(): void {
    this.addSql(`create table token_organization (
      id text collate "C" primary key,
      created_at timestamptz(3) not null default now()
    )`);
  }
}
