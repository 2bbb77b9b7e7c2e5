import { Migration } from '@mikro-orm/migrations';

/**
 * Who has an override of one permission for one record, by level and in the order of pages. It begins as the index on
 * permissions did, which it replaces.
 */
export class Migration0008OverrideResources extends Migration {
  override up(): void {
    this.addSql(`create index resource_override_subjects
      on resource_override (application_id, permission_id, resource_type, resource_id, level, person_id)`);
    this.addSql('drop index resource_override_permission');
  }
}
