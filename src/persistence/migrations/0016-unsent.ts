import { Migration } from '@mikro-orm/migrations';
import { lockAll } from './partitioned.ts';

/**
 * What was not sent, by status over all applications: for everybody who sees all of them, thousands of applications in each of a dozen
 * partitions were asked one by one.
 */
export const UNSENT = '0016-unsent';

export class Migration0016Unsent extends Migration {
  override up(): void {
    this.addSql(`do $$ declare part record; begin ${lockAll(['notification'], { mode: 'share' })}
      for part in ${LACKS_UNSENT_SQL} loop
        execute format('create index %I on %I ${UNSENT_INDEX.replaceAll("'", "''")}', ${indexOf('part.name')}, part.name);
      end loop; end $$`);
    // Takes those of the partitions as its own.
    this.addSql(`create index if not exists notification_unsent on notification ${UNSENT_INDEX}`);
  }
}

const UNSENT_INDEX = `(status, id) where status <> 'sent'`;
const indexOf = (table: string): string => `replace(${table}, 'notification', 'notification_unsent')`;

/** Where rows are that lack the index, in a valid form: partitions, or the whole table of a version before partitions. */
export const LACKS_UNSENT_SQL = `
  select c.relname::text as name, x.indexrelid is not null as broken from pg_class c
    left join pg_index x on x.indexrelid = to_regclass(${indexOf('c.relname::text')})
   where c.relkind = 'r' and not coalesce(x.indisvalid, false)
     and (c.oid = to_regclass('notification') or c.oid in (select inhrelid from pg_inherits where inhparent = to_regclass('notification')))`;

/** Makes the index there while everybody reads and writes; each statement stands alone, outside a transaction. */
export function unsentIndexes({ name, broken }: { name: string; broken: boolean }): readonly string[] {
  const index = name.replace('notification', 'notification_unsent');
  return [
    ...(broken ? [`drop index concurrently ${index}`] : []),
    `create index concurrently ${index} on ${name} ${UNSENT_INDEX}`,
  ];
}
