import { Migration } from '@mikro-orm/migrations';

/** Images of brands that were uploaded (docs/reference/brands.md#uploaded-images). `content` in base64; `shown_at`: when a brand last had it. */
export class Migration0201Images extends Migration {
  override up(): void {
    this.addSql(`create table image (
      name text collate "C" primary key,
      media text collate "C" not null,
      content text not null,
      shown_at timestamptz(3) not null default now()
    )`);
  }
}
