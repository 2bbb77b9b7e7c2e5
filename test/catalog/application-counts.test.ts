import { beforeAll, describe, expect, test } from '@jest/globals';
import { type KyselyPlugin, type RootOperationNode, sql } from 'kysely';
import { systemClock } from '../../src/base/clock.ts';
import { Counts } from '../../src/catalog/application-counts.ts';
import type { Tx } from '../../src/persistence/database.ts';
import { forEachDatabase, KINDS } from '../support/databases.ts';
import { useRegistry } from '../support/registry.ts';

const BILLING = `
application: { code: billing, name: Billing }
permissions: [{ code: invoice.read, type: tiered }, { code: invoice.pay, type: binary }]
roles: [{ code: reader, permissions: { invoice.read: view } }, { code: payer }, { code: nobody }]
admins: [nora@example.com, ben@example.com]
assignments: [{ email: ben@example.com, roles: [reader, payer] }, { email: cid@example.com, roles: [reader] }]
overrides:
  - { email: ida@example.com, resourceType: invoice, resourceId: "1", permission: invoice.read, granted: true }
  - { email: ida@example.com, resourceType: invoice, resourceId: "2", permission: invoice.read, granted: true }
`;
const EMPTY = 'application: { code: empty, name: Empty }\nadmins: [nora@example.com]';
const PANEL =
  'application: { code: auth, name: Administration }\nassignments: [{ email: eva@example.com, roles: [application_manager] }]';

for (const kind of KINDS) {
  describe(`the counts of applications (${kind})`, () => {
    const registry = useRegistry(kind, [BILLING, EMPTY, PANEL]);
    const countsOf = async (name: string) => {
      const { body } = await registry.as(name).get('/api/applications');
      return Object.fromEntries(body.data.map(({ code, counts }: { code: string; counts: object }) => [code, counts]));
    };

    test('the list of applications says how much each holds, to whoever may view it', async () => {
      const billing = { people: 4, roles: 3, permissions: 2, admins: 2 };
      const empty = { people: 1, roles: 0, permissions: 0, admins: 1 };
      expect(await countsOf('nora')).toEqual({ billing, empty });
      expect(await countsOf('admin')).toMatchObject({ billing, empty, auth: { people: 1, permissions: 2 } });
      expect(await countsOf('eva')).toEqual({});
      const { body } = await registry.root.get('/api/users?appCode=billing&limit=200');
      expect(body.data).toHaveLength(billing.people);
    });

    test('counts follow what changes', async () => {
      const { root } = registry;
      await root.post('/api/users/dan@example.com/apps/empty/roles', { role: 'none' });
      await root.post('/api/applications/empty/roles', { code: 'first' });
      await root.post('/api/users/dan@example.com/apps/empty/roles', { role: 'first' });
      await registry.as('visitor').get('/api/profile/me/apps/empty');
      expect((await countsOf('nora')).empty).toEqual({ people: 3, roles: 1, permissions: 0, admins: 1 });
      await root.delete('/api/users/dan@example.com/apps/empty/roles/first');
      expect((await countsOf('nora')).empty).toEqual({ people: 2, roles: 1, permissions: 0, admins: 1 });
    });
  });
}

forEachDatabase('counting people', (fixture) => {
  const alter = (statement: string) =>
    fixture.database.change(async (tx) => {
      await sql.raw(statement).execute(tx.kysely);
      return { result: null, scopes: ['*'] };
    });
  beforeAll(async () => {
    await alter(
      `insert into application (id, code, name) overriding system value values (1, 'one', 'One'), (2, 'two', 'Two')`,
    );
  });

  test('a slow count is reused for fifty times as long as it took, and a quick one is not', async () => {
    let now = 0;
    let took = 200;
    // Each count reads the clock twice.
    let reads = 0;
    const clock = { ...systemClock, monotonic: () => (reads++ % 2 === 0 ? now : now + took) };
    const counts = new Counts(fixture.database, clock);
    const people = async (...ids: number[]) => {
      reads = 0;
      return [...(await counts.of(ids)).values()].map((count) => count.people);
    };
    const seat = (email: string) =>
      alter(`with p as (insert into person (email) values ('${email}@example.com') returning id)
        insert into app_admin (person_id, application_id) select id, 1 from p`);
    expect(await people(1, 2)).toEqual([0, 0]);
    await seat('a');
    took = 1000;
    expect(await people(1)).toEqual([1]);
    await seat('b');
    expect(await people(2, 1)).toEqual([0, 1]);
    now = 50_999;
    expect(await people(1)).toEqual([1]);
    now = 51_000;
    expect(await people(1)).toEqual([2]);
  });

  test('what was counted before a failure is not counted again', async () => {
    let now = 0;
    let left = 3;
    const sizes: number[] = [];
    const database = Object.create(fixture.database, {
      read: {
        value: (...[fn]: Parameters<typeof fixture.database.read>) => {
          now += 300;
          if (left-- === 0) return Promise.reject(new Error('away'));
          return fixture.database.read((tx) => fn(withArrays(tx, sizes)));
        },
      },
    });
    const counts = new Counts(database, { ...systemClock, monotonic: () => now });
    const ids = Array.from({ length: 25 }, (_, i) => i + 1);
    // What the applications hold, and people of ten at a time.
    await expect(counts.of(ids)).rejects.toThrow('away');
    expect(sizes).toEqual([25, 10, 10]);
    left = Number.MAX_SAFE_INTEGER;
    sizes.length = 0;
    expect((await counts.of(ids)).size).toBe(25);
    expect(sizes).toEqual([25, 5]);
  });

  test('a count that fails does not fail the next one', async () => {
    let failing = true;
    const database = Object.create(fixture.database, {
      read: {
        value: (...[fn]: Parameters<typeof fixture.database.read>) =>
          failing ? Promise.reject(new Error('away')) : fixture.database.read(fn),
      },
    });
    const counts = new Counts(database, systemClock);
    await expect(counts.of([2])).rejects.toThrow('away');
    failing = false;
    expect((await counts.of([2])).get(2)).toEqual({ people: 0, roles: 0, permissions: 0, admins: 0 });
  });
});

/** Notes how many ids each statement is about. */
function withArrays(tx: Tx, sizes: number[]): Tx {
  const note: KyselyPlugin = {
    transformQuery: ({ node, queryId }) => {
      const { parameters } = tx.kysely.getExecutor().compileQuery(node as RootOperationNode, queryId);
      const ids = parameters.find((value): value is number[] => Array.isArray(value));
      if (ids !== undefined) sizes.push(ids.length);
      return node;
    },
    transformResult: ({ result }) => Promise.resolve(result),
  };
  return { ...tx, kysely: tx.kysely.withPlugin(note) };
}
