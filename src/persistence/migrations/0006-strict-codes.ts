import { Migration } from '@mikro-orm/migrations';

/** Whether an application refuses questions that name a permission or a resource type which it does not define. */
export class Migration0006StrictCodes extends Migration {
  override up(): void {
    this.addSql('alter table application add column strict_codes boolean not null default false');
  }
}
