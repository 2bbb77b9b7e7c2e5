import { Migration } from '@mikro-orm/migrations';
import { type Conversion, LOCK_ALL, PARTITIONED, partition } from './partitioned.ts';

/**
 * Audit records, application events, notifications and their deliveries in partitions, so that old ones can be dropped whole
 * (docs/adr/0027-partitions.md). Each table becomes the only partition of one of the same name, so processes of the version before
 * go on with the statements that they have.
 */
export const PARTITIONS = '0015-partitions';

export class Migration0015Partitions extends Migration {
  override up(): void {
    for (const statement of STATEMENTS) this.addSql(statement);
  }
}

const TRIGGER = {
  takesDeliveries: `create trigger notification_takes_deliveries after delete on notification
    referencing old table as gone for each statement execute function take_deliveries_of_notification()`,
  // Of rows, which partitions inherit: nobody deletes a record by the name of a partition either.
  appendOnly: `create trigger audit_append_only before delete on audit
    for each row execute function audit_is_append_only()`,
  pseudonymsOnly: `create trigger audit_pseudonyms_only before update on audit
    for each row execute function audit_takes_pseudonyms()`,
};

const CONVERSIONS: Record<string, Omit<Conversion, 'name' | 'by'>> = {
  notification: { triggers: [{ name: 'notification_takes_deliveries', definition: TRIGGER.takesDeliveries }] },
  // By notification: its deliveries go with it. What is unique across partitions has to contain that; an id alone is so in each.
  delivery: {
    ownIndexes: true,
    own: [
      'alter table delivery add unique (notification_id, channel)',
      'create index on delivery (lane, due_at, id) where due_at is not null',
    ],
  },
  audit: {
    triggers: [
      { name: 'audit_append_only', definition: TRIGGER.appendOnly },
      { name: 'audit_pseudonyms_only', definition: TRIGGER.pseudonymsOnly },
    ],
  },
  app_event: {
    own: [
      'alter table app_event add foreign key (person_id) references person (id) on delete cascade',
      'alter table app_event add foreign key (application_id) references application (id) on delete cascade',
    ],
  },
};

const STATEMENTS = [LOCK_ALL, ...PARTITIONED.flatMap((table) => partition({ ...table, ...CONVERSIONS[table.name] }))];
