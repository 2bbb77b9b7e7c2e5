/** How tables become partitioned, and what that leaves to be done before (docs/adr/0027-partitions.md). */

/** Ids of one partition: of `TABLE_pN` those from (N - 1) times as many to before N times as many. */
export const PARTITION_IDS = 2 ** 36;

export interface PartitionedTable {
  readonly name: string;
  /** The column whose ranges the partitions are. */
  readonly by: string;
}

/** Every partitioned table, in the order in which they are locked. */
export const PARTITIONED: readonly PartitionedTable[] = [
  { name: 'notification', by: 'id' },
  { name: 'delivery', by: 'notification_id' },
  { name: 'audit', by: 'id' },
  { name: 'app_event', by: 'id' },
];

/** How long the lock of tables is waited for at a time: everybody who needs one of them waits meanwhile. */
const LOCK_MS = 250;
const LOCK_TRIES = 40;

/**
 * PL/pgSQL that locks all the tables. It gives up after a moment and tries again later, since everybody else waits behind it while it
 * waits for a long statement.
 */
export const lockAll = (tables: readonly string[], { before = '', mode = 'access exclusive' } = {}): string => `
  for attempt in 1 .. ${LOCK_TRIES} loop
    begin
      perform set_config('lock_timeout', '${LOCK_MS}', true);
      ${before}
      lock table ${tables.join(', ')} in ${mode} mode;
      exit;
    exception when lock_not_available or deadlock_detected then
      if attempt = ${LOCK_TRIES} then raise; end if;
    end;
    perform pg_sleep(${LOCK_MS / 1000});
  end loop;`;

/**
 * What the foreign keys of partitions refer to is locked as well, and first: writers hold people before they come to these tables. In
 * the same mode, since a plain table that becomes a partition gives up its own triggers there.
 */
export const LOCK_ALL = `do $$ begin ${lockAll(
  PARTITIONED.map(({ name }) => name),
  { before: 'lock table person, application in access exclusive mode;' },
)} end $$`;

/** The constraint by which the server knows, without reading the table, that all its rows fit the first partition. */
const fitsOf = (table: string): string => `${table}_fits_p1`;

/**
 * Checks all rows, as long as that takes, while everybody goes on reading and writing; each statement is a transaction of its own.
 * Nothing is done where the table is not there yet, or partitioned already.
 */
export function checksBefore({ name, by }: PartitionedTable): readonly string[] {
  const fits = fitsOf(name);
  const plain = `exists (select from pg_class where oid = to_regclass('${name}') and relkind = 'r')`;
  const has = (valid: string) =>
    `exists (select from pg_constraint where conrelid = to_regclass('${name}') and conname = '${fits}' ${valid})`;
  return [
    `do $$ begin
      if ${plain} and not ${has('')} then
        ${lockAll([name])}
        alter table ${name} add constraint ${fits} check (${by} < ${PARTITION_IDS}) not valid;
      end if; end $$`,
    `do $$ begin
      if ${plain} and ${has('and not convalidated')} then
        alter table ${name} validate constraint ${fits};
      end if; end $$`,
  ];
}

export interface Conversion extends PartitionedTable {
  /** What the partitioned table has that cannot be copied from the plain one: statements before the latter becomes its partition. */
  readonly own?: readonly string[];
  /** Indexes that are not copied: `own` makes them. */
  readonly ownIndexes?: true;
  /** Triggers of the plain table, which the partitioned one gets instead. */
  readonly triggers?: readonly { readonly name: string; readonly definition: string }[];
}

/**
 * Makes the table the first partition of a new one that takes its name, its identity, its indexes by their names and its grants. No row is
 * read where `checksBefore` were done. Statements that wait for the table find the new one by the name.
 */
export function partition({ name, by, own = [], ownIndexes, triggers = [] }: Conversion): readonly string[] {
  const first = `${name}_p1`;
  const fits = fitsOf(name);
  return [
    ...triggers.map((trigger) => `drop trigger ${trigger.name} on ${name}`),
    // The identity goes on where it is: the drivers give ids out once, and cursors of readers rely on their order.
    `do $$ declare following bigint; begin
      execute 'select case when is_called then last_value + 1 else last_value end from '
        || pg_get_serial_sequence('${name}', 'id') into following;
      alter table ${name} alter column id drop identity;
      alter table ${name} rename to ${first};
      create table ${name} (like ${first} including all ${ownIndexes ? 'excluding indexes' : ''}) partition by range (${by});
      alter table ${name} drop constraint if exists ${fits};
      alter table ${name} alter column id add generated always as identity;
      perform setval(pg_get_serial_sequence('${name}', 'id'), following, false);
    end $$`,
    ...own,
    `alter table ${name} attach partition ${first} for values from (minvalue) to (${PARTITION_IDS})`,
    `alter table ${first} drop constraint if exists ${fits}`,
    // The names of indexes stay those of the whole table.
    `do $$ declare i record; begin
      for i in select c.relname as part, p.relname as whole from pg_inherits h join pg_index x on x.indexrelid = h.inhrelid
        join pg_class c on c.oid = h.inhrelid join pg_class p on p.oid = h.inhparent where x.indrelid = '${first}'::regclass
      loop
        execute format('alter index %I rename to %I', i.part, i.part || '_p1');
        execute format('alter index %I rename to %I', i.whole, i.part);
      end loop; end $$`,
    `do $$ declare g record; begin
      for g in select pg_get_userbyid(a.grantee) as grantee, a.grantee = 0 as everybody, a.privilege_type as privilege
        from pg_class c cross join aclexplode(c.relacl) a where c.oid = '${first}'::regclass and a.grantee <> c.relowner
      loop
        execute format('grant %s on ${name} to %s', g.privilege, case when g.everybody then 'public' else quote_ident(g.grantee) end);
      end loop; end $$`,
    ...triggers.map((trigger) => trigger.definition),
  ];
}
