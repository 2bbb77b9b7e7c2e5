import { beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { deleteAssignments, deleteOverrides } from '../../../src/persistence/catalog/manifest-write.ts';
import * as chosen from '../../../src/persistence/catalog/overrides.ts';
import type { Tx } from '../../../src/persistence/database.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { manifestsOf } from './fixture.ts';

const PAGE = 1000;
const PEOPLE = 4 * PAGE;
/** Room to read each of these small tables once or twice as a whole, but not once for each row. */
const READ_PER_ROW = 10;

const rowsOf = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => ({
    email: `person-${from + at}@example.com`,
    resourceType: 'document',
    resourceId: `doc-${at % 100}`,
    permission: 'document',
  }));

/** How many rows the transaction has read, which does not depend on the machine. */
async function rowsRead({ kysely }: Tx): Promise<number> {
  const { rows } = await sql<{ total: number }>`select sum(seq_tup_read + idx_tup_fetch)::int as total
    from pg_stat_xact_user_tables`.execute(kysely);
  return rows[0]?.total ?? 0;
}

forEachDatabase('what is taken away by the page', (fixture) => {
  beforeAll(async () => {
    const people = rowsOf(0, PEOPLE);
    const manifest = {
      application: { code: 'large', name: 'Large' },
      entities: [{ code: 'document', name: 'Document' }],
      permissions: [{ code: 'document', type: 'tiered' }],
      roles: [{ code: 'reader', permissions: { document: 'view' } }],
      assignments: people.map(({ email }) => ({ email, roles: ['reader'] })),
      overrides: people.map((row) => ({ ...row, granted: true })),
    };
    await manifestsOf(fixture.database).apply(JSON.stringify(manifest), { actor: 'cli' });
  });

  const held = async ({ kysely }: Tx): Promise<number> =>
    (await kysely.selectFrom('resource_override').select('personId').execute()).length +
    (await kysely.selectFrom('user_role').select('personId').execute()).length;

  const removals: [string, (tx: Tx, app: number) => Promise<void>][] = [
    ['overrides of an apply', (tx, app) => deleteOverrides(tx, app, rowsOf(0, PAGE))],
    [
      'assignments of an apply',
      (tx, app) =>
        deleteAssignments(
          tx,
          app,
          rowsOf(0, PAGE).map(({ email }) => ({ email, role: 'reader' })),
        ),
    ],
    [
      'overrides that an administrator chose',
      async (tx, app) => {
        const keys = await tx.kysely
          .selectFrom('resource_override')
          .select(['personId', 'resourceType', 'resourceId'])
          .select('permissionId')
          .orderBy('personId', 'desc')
          .limit(PAGE)
          .execute();
        await chosen.deleteOverrides(tx, app, await chosen.findOverrides(tx, app, keys));
      },
    ],
  ];

  const littleIsRead = async (remove: (tx: Tx, app: number) => Promise<void>): Promise<void> => {
    await fixture.database.change(async (tx) => {
      const { id } = await tx.kysely
        .selectFrom('application')
        .select('id')
        .where('code', '=', 'large')
        .executeTakeFirstOrThrow();
      const before = { held: await held(tx), read: await rowsRead(tx) };
      await remove(tx, id);
      expect((await rowsRead(tx)) - before.read).toBeLessThan(READ_PER_ROW * PAGE);
      expect(await held(tx)).toBe(before.held - PAGE);
      return { result: null, scopes: ['*'] };
    });
  };

  // Nothing is known of the tables but their size, as after a first import.
  test.each(removals)('%s: a page does not read a table for each of its rows', async (_name, remove) => {
    await littleIsRead(remove);
  });

  test('after ANALYZE a page does not read all that its people have', async () => {
    await fixture.database.change(async ({ kysely }) => {
      await sql`insert into resource_override
          (person_id, application_id, resource_type, resource_id, permission_id, tiered, level)
        select o.person_id, o.application_id, o.resource_type, 'more-' || n, o.permission_id, o.tiered, o.level
        from resource_override o, generate_series(1, 10) n`.execute(kysely);
      await sql`analyze resource_override, person`.execute(kysely);
      return { result: null, scopes: ['*'] };
    });
    await littleIsRead((tx, app) => deleteOverrides(tx, app, rowsOf(PAGE, PAGE)));
  });
});
