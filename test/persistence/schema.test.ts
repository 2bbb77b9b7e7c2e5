import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { createLogger } from '../../src/base/telemetry.ts';
import { createDialect } from '../../src/persistence/driver/dialect.ts';
import { openOrm } from '../../src/persistence/driver/orm.ts';
import { forEachDatabase } from '../support/databases.ts';

async function tables() {
  const never = () => Promise.reject(new Error('nothing is asked of a database here'));
  const dialect = createDialect({ open: never, close: () => Promise.resolve() });
  const orm = await openOrm({ kind: 'postgresql', dialect, name: 'none', log: createLogger('silent') });
  return [...orm.getMetadata().getAll().values()];
}

/** Every column that the entities describe: its table, name, type, whether it may be null, whether it has a default. */
async function described(): Promise<string[]> {
  return (await tables()).flatMap((meta) =>
    meta.props.map((prop) => {
      const hasDefault = prop.autoincrement === true || prop.default !== undefined || prop.defaultRaw !== undefined;
      const type = (prop.columnTypes[0] ?? '').replace('bigserial', 'bigint');
      return column(meta.tableName, prop.fieldNames[0] ?? '', type, prop.nullable === true, hasDefault);
    }),
  );
}

function column(table: string, name: string, type: string, nullable: boolean, hasDefault: boolean): string {
  return `${table}.${name} ${type}${nullable ? ' null' : ''}${hasDefault ? ' default' : ''}`;
}

interface ColumnRow {
  table: string;
  name: string;
  type: string;
  nullable: boolean;
  hasDefault: boolean;
}

forEachDatabase('the entities', (fixture) => {
  test('entities describe the migrated tables, column by column', async () => {
    const { rows } = await fixture.database.read((tx) =>
      sql<ColumnRow>`
        select c.relname as table, a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
               not a.attnotnull as nullable, a.atthasdef or a.attidentity <> '' as has_default
          from pg_attribute a join pg_class c on c.oid = a.attrelid
         where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
           and c.relname <> 'mikro_orm_migrations'
           and a.attnum > 0 and not a.attisdropped`.execute(tx.kysely),
    );
    const types: Record<string, string> = { 'timestamp(3) with time zone': 'timestamptz(3)', integer: 'int' };
    const made = rows.map((row) =>
      column(row.table, row.name, types[row.type] ?? row.type, row.nullable, row.hasDefault),
    );
    expect((await described()).toSorted()).toEqual(made.toSorted());
  });

  test('statements find every column by its property, and rows come out by properties', async () => {
    for (const { tableName, props } of await tables()) {
      const names = props.map(({ name }) => name);
      const { rows, found } = await fixture.database.read(async ({ kysely }) => ({
        ...(await sql<object>`select (null::${sql.table(tableName)}).*`.execute(kysely)),
        // Of that many tables no type knows the columns.
        found: await kysely
          .selectFrom(tableName as 'brand')
          .select(names as ['id'])
          .limit(0)
          .execute(),
      }));
      expect([tableName, rows.map((row) => Object.keys(row).toSorted()), found]).toEqual([
        tableName,
        [names.toSorted()],
        [],
      ]);
    }
  });

  test('names are those of columns in SQL that is written out, and JSON keeps its own', async () => {
    const rows = await fixture.database.rehearse(async ({ kysely }) => {
      await sql`insert into person (email, registered_at) values ('ann@example.com', '2026-01-02Z')`.execute(kysely);
      const statement = sql`
        select p.registered_at, jsonb_build_object('a_b', jsonb_build_array(p.provider_active)) as a_value, 1 as "asIs",
            ${sql.ref('p.providerActive')} as active
          from ${kysely.selectFrom('person').selectAll().where('registeredAt', 'is not', null)} p`;
      return (await statement.execute(kysely)).rows;
    });
    const registeredAt = new Date('2026-01-02Z');
    expect(rows).toEqual([{ registeredAt, aValue: { a_b: [true] }, asIs: 1, active: true }]);
  });

  test('values are read as JavaScript numbers, dates, JSON and lists', async () => {
    const { rows } = await fixture.database.read((tx) =>
      sql`select 9007199254740991::bigint as big, '{1,2}'::bigint[] as bigs, '{}'::bigint[] as none, 2::smallint as small,
          timestamptz '2026-01-02 03:04:05.678+00' as at, '{"a": [1]}'::jsonb as json, '{a,"b c"}'::text[] as list,
          count(*) as counted from person`.execute(tx.kysely),
    );
    expect(rows).toEqual([
      {
        big: 9007199254740991,
        bigs: [1, 2],
        none: [],
        small: 2,
        at: new Date('2026-01-02T03:04:05.678Z'),
        json: { a: [1] },
        list: ['a', 'b c'],
        counted: 0,
      },
    ]);
    const beyond = fixture.database.read((tx) => sql`select 9007199254740992::bigint as id`.execute(tx.kysely));
    await expect(beyond).rejects.toThrow(RangeError);
  });

  test('dates and lists are written as they are read', async () => {
    const at = new Date('2026-06-30T22:10:00.123Z');
    const { rows } = await fixture.database.read((tx) =>
      sql`select ${at}::timestamptz as at, ${['ž', '"', '\\', 'a,b', '{}', 'null']}::text[] as list, ${[]}::text[] as none,
          ${JSON.stringify(['x'])}::jsonb as json, ${null}::text as nothing`.execute(tx.kysely),
    );
    expect(rows).toEqual([{ at, list: ['ž', '"', '\\', 'a,b', '{}', 'null'], none: [], json: ['x'], nothing: null }]);
  });
});
