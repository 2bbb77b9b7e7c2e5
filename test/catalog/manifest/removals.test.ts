import { beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { deleteAssignments, deleteOverrides } from '../../../src/persistence/catalog/manifest-write.ts';
import * as chosen from '../../../src/persistence/catalog/overrides.ts';
import type { Tx } from '../../../src/persistence/database.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { manifestsOf } from './fixture.ts';

const PAGE = 1000;
const PEOPLE = 4 * PAGE;
/** What one row may cost: itself, its person and its definition, each by an index. */
const READ_PER_ROW = 5;

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
  // No ANALYZE has run: nothing is known of the tables but their size, as after a first import.
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
    (await kysely.selectFrom('resource_override').select('person_id').execute()).length +
    (await kysely.selectFrom('user_role').select('person_id').execute()).length;

  test.each<[string, (tx: Tx, app: number) => Promise<void>]>([
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
          .select(['person_id as personId', 'resource_type as resourceType', 'resource_id as resourceId'])
          .select('permission_id as permissionId')
          .orderBy('person_id', 'desc')
          .limit(PAGE)
          .execute();
        await chosen.deleteOverrides(tx, app, keys);
      },
    ],
  ])('%s: a page reads little more than its own rows', async (_name, remove) => {
    await fixture.database.change(async (tx) => {
      const app = await tx.kysely
        .selectFrom('application')
        .select('id')
        .where('code', '=', 'large')
        .executeTakeFirstOrThrow();
      const before = { held: await held(tx), read: await rowsRead(tx) };
      await remove(tx, app.id);
      expect((await rowsRead(tx)) - before.read).toBeLessThan(READ_PER_ROW * PAGE);
      expect(await held(tx)).toBe(before.held - PAGE);
      return { result: null, scopes: ['*'] };
    });
  });
});
