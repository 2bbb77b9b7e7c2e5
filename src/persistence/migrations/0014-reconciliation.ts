import { Migration } from '@mikro-orm/migrations';

/**
 * Events that a reconciliation with the identity provider found. Processes of the version before go on working: they write events of
 * the other sources, and show these beside them.
 */
export class Migration0014Reconciliation extends Migration {
  override up(): void {
    this.addSql(`alter table provider_event drop constraint provider_event_source_check`);
    // The table holds a few thousand rows: checking them takes no time.
    this.addSql(
      `alter table provider_event add constraint provider_event_source_check check (source in ('webhook', 'mail', 'reconciliation'))`,
    );
  }
}
