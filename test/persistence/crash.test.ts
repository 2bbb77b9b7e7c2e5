import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Database } from '../../src/persistence/database.ts';
import type { Failpoint } from '../../src/persistence/open.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { spawnWriter } from '../support/spawn-writer.ts';

const POINTS: (Failpoint | 'inside')[] = ['inside', 'before-log', 'committing', 'after-commit', 'after-reach'];
const LONG = process.env.USHER_LONG === '1';
const ROUNDS = LONG ? 24 : 1;
/** Each round kills in the third write: two acknowledged ones come before it. */
const DIE_IN = 2;

/** What there is of one write: its application, permission, audit record and log row. */
async function traces(database: Database, code: string): Promise<number> {
  return await database.read(async (tx) => {
    const applications = await tx.kysely.selectFrom('application').select('id').where('code', '=', code).execute();
    const permissions = await tx.kysely
      .selectFrom('permission')
      .innerJoin('application', 'application.id', 'permission.applicationId')
      .select('permission.id')
      .where('application.code', '=', code)
      .execute();
    const records = await tx.kysely.selectFrom('audit').select('id').where('appCode', '=', code).execute();
    const log = await tx.kysely.selectFrom('policy_change').select('scopes').execute();
    const announced = log.filter(({ scopes }) => scopes.includes(`p:${code}`));
    return applications.length + permissions.length + records.length + announced.length;
  });
}

describe.each(KINDS)('kill -9 between the statements of a write (%s)', (kind) => {
  let storage: TestStorage;

  beforeAll(async () => {
    storage = await createStorage(kind);
  });

  afterAll(async () => {
    await storage.remove();
  });

  test.each(POINTS)(
    'acknowledged writes survive kill -9, and the last one is complete or absent: %s',
    async (dieAt) => {
      for (let round = 0; round < ROUNDS; round++) {
        const prefix = `${dieAt}-${round}-`;
        const { url, dataDir } = storage;
        const writer = spawnWriter({ url, dataDir, prefix, writes: DIE_IN + 1, dieAt, dieIn: DIE_IN });
        expect(await writer.ended).toBe('SIGKILL');
        expect(writer.lines).toEqual(['open', 'acknowledged 0', 'acknowledged 1']);

        const database = await storage.open();
        expect(await Promise.all([0, 1].map((i) => traces(database, `${prefix}${i}`)))).toEqual([4, 4]);
        const committed = dieAt === 'after-commit' || dieAt === 'after-reach';
        // What the server had been told to do when the process ended, it may have done or not.
        const whole = dieAt === 'committing' ? [0, 4] : [committed ? 4 : 0];
        expect(whole).toContain(await traces(database, `${prefix}${DIE_IN}`));
        // Numbering goes on without a gap.
        const { head } = await database.facts.changes(0);
        const next = await database.change(async () => ({ result: 0, scopes: ['*'] }));
        expect(next.number).toBe(head + 1);
        await database.close();
      }
      if (LONG) process.stderr.write(`${kind}: killed ${dieAt} ${ROUNDS} times, lost 0\n`);
    },
    30_000 + ROUNDS * 60_000,
  );
});
