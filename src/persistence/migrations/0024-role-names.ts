import { Migration } from '@mikro-orm/migrations';

/** What a role is called, for people; null: its code is shown. Processes of the version before leave it null, and unchanged. */
export class Migration0024RoleNames extends Migration {
  override up(): void {
    this.addSql('alter table role add column name text');
  }
}
