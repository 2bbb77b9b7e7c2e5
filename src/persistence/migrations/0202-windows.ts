import { Migration } from '@mikro-orm/migrations';
import { lockAll } from './partitioned.ts';

/**
 * Grants with a beginning and an end: roles, overrides and seats of administrators (docs/reference/time.md). Null: no bound. What the
 * lists of people read of them stands in their indexes, so that those are still read alone. Processes of the version before make
 * grants without a bound, and pass over the bounds of others: the rules of the database are 1 until none of them is left.
 */
export const WINDOWS = '0202-windows';

export class Migration0202Windows extends Migration {
  override up(): void {
    for (const statement of STATEMENTS) this.addSql(statement);
  }
}

const TABLES = ['user_role', 'app_admin', 'resource_override'] as const;

/** Indexes that are made anew with the bounds beside their columns. */
const REMADE = {
  user_role_role: 'user_role (application_id, role_id, person_id)',
  app_admin_application: 'app_admin (application_id, person_id)',
  resource_override_subjects:
    'resource_override (application_id, permission_id, resource_type, resource_id, level, person_id)',
};

/** What each index is called until it is in place, and what it is of. */
const INDEXES: readonly (readonly [name: string, of: string])[] = [
  ...TABLES.flatMap((table) =>
    (['starts_at', 'ends_at'] as const).map(
      (column) => [`${table}_${column.slice(0, -3)}`, `${table} (${column}) where ${column} is not null`] as const,
    ),
  ),
  // Of one person: what a list of resources goes on with.
  [
    'resource_override_timed',
    'resource_override (person_id, application_id) where starts_at is not null or ends_at is not null',
  ],
  ...Object.entries(REMADE).map(([name, of]) => [`${name}_windows`, `${of} include (starts_at, ends_at)`] as const),
];

/** Does nothing where the table is not there yet, or has them. No row is looked at: the lock is held for a moment. */
const addColumns = (table: string): string => `do $$ begin
  if to_regclass('${table}') is not null and not exists (
      select from pg_attribute where attrelid = to_regclass('${table}') and attname = 'ends_at' and not attisdropped) then
    ${lockAll([table])}
    alter table ${table} add column starts_at timestamptz(3), add column ends_at timestamptz(3),
      add constraint ${table}_window check (starts_at < ends_at) not valid;
  end if; end $$`;

/** Reads the whole table, and nobody waits for that. */
const checkRows = (table: string): string => `do $$ begin
  if to_regclass('${table}') is not null then alter table ${table} validate constraint ${table}_window; end if; end $$`;

/** Done before the migration, each statement in a transaction of its own. */
export const WINDOW_COLUMNS: readonly string[] = TABLES.flatMap((table) => [addColumns(table), checkRows(table)]);

/** Indexes that are missing, and those that an ended migration left half-made. */
export const LACKS_WINDOW_INDEXES_SQL = `
  select i.name, i.of, x.indexrelid is not null as broken
    from (values ${INDEXES.map(([name, of]) => `('${name}', '${of}')`).join(', ')}) as i (name, of)
    left join pg_index x on x.indexrelid = to_regclass(i.name)
   where not coalesce(x.indisvalid, false) and to_regclass(split_part(i.of, ' ', 1)) is not null`;

/** Makes it while everybody reads and writes; each statement stands alone, outside a transaction. */
export function windowIndex({ name, of, broken }: { name: string; of: string; broken: boolean }): readonly string[] {
  return [...(broken ? [`drop index concurrently ${name}`] : []), `create index concurrently ${name} on ${of}`];
}

const STATEMENTS = [
  `do $$ begin ${lockAll(TABLES)} end $$`,
  ...WINDOW_COLUMNS,
  ...INDEXES.map(([name, of]) => `create index if not exists ${name} on ${of}`),
  ...Object.keys(REMADE).flatMap((name) => [
    `drop index if exists ${name}`,
    `alter index ${name}_windows rename to ${name}`,
  ]),
  // A database that holds an application was served by a version before.
  `insert into setting (key, value) select 'rules', case when exists (select from application) then '1' else '2' end::jsonb`,
];
