import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { RevisionToken } from '../../src/engine/types.ts';
import { changeHistory } from '../../src/persistence/facts/history.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

for (const kind of KINDS) {
  describe(`the change log after a revision (${kind})`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;
    const marks: RevisionToken[] = [];

    beforeAll(async () => {
      storage = await createStorage(kind);
      usher = await startUsher(storage, { env: { USHER_ROLES: 'gateway' } });
      for (let n = 0; n < 5; n++) {
        const { revision } = await usher.app.database.change(async () => ({ result: null, scopes: [`p:a${n}`] }));
        const [number, nonce] = revision.split('.') as [string, string];
        marks.push({ number: Number(number), nonce });
      }
    });
    afterAll(async () => {
      await usher?.close();
      await storage?.remove();
    });

    const [at, head] = [(n: number) => marks[n] as RevisionToken, () => marks[4] as RevisionToken];
    const scopes = async (mark: RevisionToken, upTo: number, limit = 100) => {
      const changes = await changeHistory(usher.app.database)(mark, upTo, limit);
      return changes?.map((change) => change.scopes.join()) ?? null;
    };

    test('the rows come in order, up to the end asked for, and no more than asked for', async () => {
      expect(await scopes(at(0), head().number)).toEqual(['p:a1', 'p:a2', 'p:a3', 'p:a4']);
      expect(await scopes(at(0), at(2).number)).toEqual(['p:a1', 'p:a2']);
      expect(await scopes(at(0), head().number, 1)).toEqual(['p:a1']);
      expect(await scopes(head(), head().number)).toEqual([]);
    });

    test('a revision of another history, or without its nonce, has none', async () => {
      expect(await scopes({ ...at(1), nonce: '7' }, head().number)).toBeNull();
      expect(await scopes({ ...at(1), nonce: null }, head().number)).toBeNull();
    });

    test('rows that are no longer kept are not passed over', async () => {
      expect((await scopes({ number: 0, nonce: null }, head().number))?.slice(-1)).toEqual(['p:a4']);
      await usher.app.database.change(async (tx) => {
        await sql`delete from policy_change where revision <= ${at(1).number}`.execute(tx.kysely);
        return { result: null, scopes: [] };
      });
      expect(await scopes(at(1), head().number)).toBeNull();
      expect(await scopes({ number: 0, nonce: null }, head().number)).toBeNull();
      expect(await scopes(at(2), head().number)).toEqual(['p:a3', 'p:a4']);
    });
  });
}
