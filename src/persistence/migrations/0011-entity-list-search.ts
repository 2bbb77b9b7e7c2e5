import { Migration } from '@mikro-orm/migrations';

/**
 * Whether an entity's list endpoint takes `q`, `cursor` and `ids`. Processes of the version before leave it false for new entities,
 * and unchanged for others.
 */
export class Migration0011EntityListSearch extends Migration {
  override up(): void {
    this.addSql('alter table entity add column list_search boolean not null default false');
  }
}
