import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { Erasures } from '../../src/directory/erasures.ts';
import type { Database } from '../../src/persistence/database.ts';
import { createStorage, KINDS, type TestStorage, withDatabase } from '../support/databases.ts';
import type { EraserOrders } from '../support/eraser-process.ts';
import { spawnScript } from '../support/spawn-writer.ts';
import { startUsher } from '../support/usher.ts';
import { giveEverything } from './whole-person.ts';

const MANIFESTS = [
  `application: { code: billing, name: Billing }
permissions: [{ code: invoice.read, type: tiered }]
roles: [{ code: reader, permissions: { invoice.read: view } }]`,
  'application: { code: shop, name: Shop }',
];

/** What is left of an address and of the people who had it. */
interface Left {
  people: number;
  rights: number;
  records: number;
  named: number;
  unfinished: number;
}

for (const kind of KINDS) {
  describe(`erasures that kill -9 ends (${kind})`, () => {
    let storage: TestStorage;

    beforeAll(async () => {
      storage = await createStorage(kind);
      const usher = await startUsher(storage);
      for (const manifest of MANIFESTS) await usher.app.manifests.apply(manifest, { actor: 'cli' });
      await usher.close();
    }, 60_000);
    afterAll(() => storage?.remove(), 60_000);

    const within = <T>(work: (database: Database) => Promise<T>) => withDatabase(storage, work);

    async function left(database: Database, email: string): Promise<Left | undefined> {
      return await database.read(async ({ kysely }) => {
        const { rows } = await sql<Left>`
          select (select count(*)::int from person where email = ${email}) as people,
            (select count(*)::int from superadmin s join person p on p.id = s.person_id where p.email = ${email})
              + (select count(*)::int from user_role u join person p on p.id = u.person_id where p.email = ${email})
              + (select count(*)::int from app_admin m join person p on p.id = m.person_id where p.email = ${email})
              + (select count(*)::int from resource_override o join person p on p.id = o.person_id where p.email = ${email}) as rights,
            (select count(*)::int from notification n where n.person_id not in (select id from person)) as records,
            (select count(*)::int from audit where subject = ${email} or actor = ${`user:${email}`}) as named,
            (select count(*)::int from erasure where finished_at is null) as unfinished`.execute(kysely);
        return rows[0];
      });
    }

    const POINTS: [EraserOrders['dieAt'], number][] =
      kind === 'postgresql'
        ? [0, 1, 3].flatMap((at) =>
            (['before-log', 'committing', 'after-commit'] as const).map(
              (point) => [point, at] as [typeof point, number],
            ),
          )
        : [
            ['before-log', 0],
            ['after-commit', 0],
            ['before-log', 2],
          ];

    test.each(POINTS)(
      'at %s of write %i a person is whole or gone, and the next process finishes',
      async (dieAt, dieIn) => {
        const email = `${dieAt}-${dieIn}@example.com`;
        await within((database) => giveEverything(database, email, { notifications: 1100, events: 2, overrides: 3 }));
        const { url, dataDir } = storage;
        const orders: EraserOrders = { url, dataDir, email, by: 'admin@example.com', dieAt, dieIn };
        const eraser = spawnScript('eraser-process.ts', orders);
        expect([await eraser.ended, eraser.complaints()]).toEqual(['SIGKILL', '']);

        await within(async (database) => {
          const after = await left(database, email);
          if (after?.people === 1) expect(after).toMatchObject({ rights: 7, records: 0, unfinished: 0 });
          else expect(after).toMatchObject({ people: 0, rights: 0, unfinished: 1 });
          // Whether the server had committed when the process died is its own affair; elsewhere it is certain.
          if (dieAt !== 'committing') expect(after?.people).toBe(dieAt === 'before-log' && dieIn === 0 ? 1 : 0);
          const secret = { derive: () => Promise.resolve(Buffer.alloc(32, 1)) };
          const next = new Erasures({ database, secret, clock: systemClock, log: createLogger('silent') });
          const { result } = await next.erase(email, { caller: { email: 'admin@example.com' }, requestId: 'next-1' });
          expect(result.removed).toMatchObject({
            people: 1,
            superadmins: 1,
            overrides: 3,
            notifications: 1100,
            auditRecords: 8,
          });
          expect(await left(database, email)).toEqual({ people: 0, rights: 0, records: 0, named: 0, unfinished: 0 });
        });
      },
      30_000,
    );
  });
}
