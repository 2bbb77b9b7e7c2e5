import { Migration } from '@mikro-orm/migrations';

/**
 * The mails of a brand that its server refused with the same words, one after the other: three of them tell that the server means the
 * brand, not the recipients. Kept, because the first two have failed by then, and a killed worker must not forget them. Processes of the
 * version before neither read nor write it.
 */
export class Migration0027RefusedRow extends Migration {
  override up(): void {
    this.addSql(`create table refused_row (
      lane text collate "C" primary key,
      words text collate "C" not null,
      paused boolean not null,
      deliveries bigint[] not null,
      notifications bigint[] not null,
      people bigint[] not null,
      at timestamptz(3) not null default now()
    )`);
  }
}
