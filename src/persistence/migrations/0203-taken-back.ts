import { Migration } from '@mikro-orm/migrations';
import { lockAll } from './partitioned.ts';

/**
 * Deliveries that were taken back (docs/reference/notifications.md#taking-back): `skipped`, or marked where a worker had claimed them. The
 * rule is wider than the one before, so no row is read for it. Workers of the version before skip both: the first are not due, and the time
 * of the others is over.
 */
export class Migration0203TakenBack extends Migration {
  override up(): void {
    this.addSql(`do $$ begin ${lockAll(['delivery'])} end $$`);
    this.addSql('alter table delivery add column cancelled_at timestamptz(3)');
    this.addSql('alter table delivery drop constraint delivery_status_check');
    this.addSql(`alter table delivery add constraint delivery_status_check
      check (status in ('queued', 'sending', 'sent', 'failed', 'skipped')) not valid`);
  }
}
