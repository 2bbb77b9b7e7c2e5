import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { record } from '../../src/persistence/audit.ts';
import type { Tx } from '../../src/persistence/database.ts';
import { applyNames, ensureProfile } from '../../src/persistence/directory/profiles.ts';
import { findUserIds } from '../../src/persistence/directory/users.ts';
import { ensurePeople, idsOf } from '../../src/persistence/people/people.ts';
import {
  addSuperadmin,
  listSuperadmins,
  refuseLastSuperadmin,
  removeSuperadmin,
  seedSuperadmins,
} from '../../src/persistence/people/superadmins.ts';
import { claimSetting, getSetting, putSetting } from '../../src/persistence/settings.ts';
import { forEachDatabase } from '../support/databases.ts';
import { personId } from '../support/rows.ts';

forEachDatabase('people', (fixture, kind) => {
  const quietly = <T>(fn: (tx: Tx) => Promise<T>) =>
    fixture.database.change(async (tx) => ({ result: await fn(tx), scopes: [] })).then(({ result }) => result);

  test('every address has one row, for all callers in any order', async () => {
    const emails = Array.from({ length: 40 }, (_, i) => `p${i}@example.com`);
    const orders = [emails, emails.toReversed(), [...emails.slice(20), ...emails.slice(0, 20)], ['p1@example.com']];
    const answers = await Promise.all(orders.map((order) => quietly((tx) => ensurePeople(tx, order))));
    const [first] = answers;
    expect(first?.size).toBe(40);
    for (const [index, answer] of answers.entries()) {
      expect([...answer.keys()].toSorted()).toEqual(orders[index]?.toSorted());
      for (const [email, id] of answer) expect(id).toBe(first?.get(email));
    }
  });

  test('more than a thousand addresses are created at once, with repetitions and known ones', async () => {
    const emails = Array.from({ length: 2500 }, (_, i) => `many${i % 2300}@example.com`);
    await quietly((tx) => ensurePeople(tx, emails.slice(0, 50)));
    const ids = await quietly((tx) => ensurePeople(tx, emails));
    expect(ids.size).toBe(2300);
    expect(new Set(ids.values()).size).toBe(2300);
    expect(await fixture.database.read((tx) => idsOf(tx, [...emails, 'nobody@example.com']))).toEqual(ids);
    expect(await quietly((tx) => ensurePeople(tx, []))).toEqual(new Map());
  });

  test('people are found by their current names as soon as the names are known', async () => {
    const found = async (search: string) => {
      const filter = { search, active: null, apps: null };
      const { ids } = await fixture.database.read((tx) => findUserIds(tx, filter, { limit: 9, after: null }));
      return ids;
    };
    const called = (id: number, displayName: string | null) =>
      quietly((tx) => applyNames(tx, id, { names: { displayName }, at: new Date(), rule: 'always' }));
    const mentioned = (await quietly((tx) => ensurePeople(tx, ['mentioned@found.example']))).get(
      'mentioned@found.example',
    ) as number;
    expect(await found('ED@FOUND')).toEqual([mentioned]);
    const first = { email: 'mentioned@found.example', names: { displayName: 'Ivana Čapková' } };
    expect(await quietly((tx) => ensureProfile(tx, first))).toEqual({ id: mentioned, created: true });
    const { id: made } = await quietly((tx) =>
      ensureProfile(tx, { email: 'made@found.example', names: { displayName: 'Xaver 50%_\\' } }),
    );
    for (const [search, ids] of [
      ['ana Č', [mentioned]],
      ['ivana', [mentioned]],
      ['Čapková', [mentioned]],
      ['% 50', []],
      ['R 50%_\\', [made]],
      ['@found.', [mentioned, made]],
      // Not from the end of the address into the name.
      ['exampleivana', []],
      ['e\nIvana', []],
    ] as const) {
      expect([search, await found(search)]).toEqual([search, ids]);
    }
    await called(made, 'Zuzana');
    await called(mentioned, null);
    expect([await found('xaver'), await found('zuzana'), await found('ivana')]).toEqual([[], [made], []]);
    expect(await found('d@found')).toEqual([mentioned]);
  });

  test('a setting is stored, replaced, and claimed by only one caller', async () => {
    await quietly((tx) => putSetting(tx, 'colour', ['red', { deep: null }]));
    await quietly((tx) => putSetting(tx, 'colour', 'blue "\\ ž'));
    expect(await fixture.database.read((tx) => getSetting(tx, 'colour'))).toBe('blue "\\ ž');
    expect(await fixture.database.read((tx) => getSetting(tx, 'none'))).toBeUndefined();
    const claims = await Promise.all([1, 2, 3].map((i) => quietly((tx) => claimSetting(tx, 'claimed', i))));
    expect(claims.filter((claimed) => claimed)).toHaveLength(1);
    expect(await fixture.database.read((tx) => getSetting(tx, 'claimed'))).toBe(claims.indexOf(true) + 1);
  });

  test('an audit record has actor and action, masks secrets, and cannot be changed', async () => {
    await quietly((tx) =>
      record(tx, {
        actor: 'user:ann@example.com',
        action: 'brand.updated',
        appCode: 'crm',
        subject: 'acme',
        before: { smtp: { host: 'mail', password: 'canary-1', hasPassword: true } },
        after: [{ apiKey: 'canary-2', name: 'x' }],
        requestId: 'request-1',
      }),
    );
    await quietly((tx) => record(tx, { actor: 'system', action: 'thing.happened' }));
    const rows = await fixture.database.read((tx) => tx.kysely.selectFrom('audit').selectAll().orderBy('id').execute());
    expect(rows).toMatchObject([
      {
        at: expect.any(Date),
        actor: 'user:ann@example.com',
        action: 'brand.updated',
        appCode: 'crm',
        subject: 'acme',
        before: { smtp: { host: 'mail', password: '***', hasPassword: true } },
        after: [{ apiKey: '***', name: 'x' }],
        requestId: 'request-1',
      },
      { actor: 'system', appCode: null, subject: null, before: null, after: null, requestId: null },
    ]);
    for (const statement of [sql`update audit set actor = 'cli'`, sql`delete from audit`]) {
      await expect(quietly((tx) => statement.execute(tx.kysely))).rejects.toMatchObject({ sqlState: '23001' });
    }
  });

  test('SuperAdmins are seeded once from the configuration, and an emptied list stays empty', async () => {
    const { database } = fixture;
    const none = await database.change((tx) => seedSuperadmins(tx, []));
    expect(none.result).toEqual([]);
    const seeded = await Promise.all(
      [1, 2].map(() => database.change((tx) => seedSuperadmins(tx, ['a@x.cz', 'b@x.cz']))),
    );
    expect(seeded.flatMap(({ result }) => result)).toEqual(['a@x.cz', 'b@x.cz']);
    await database.change(async (tx) => {
      await tx.kysely.deleteFrom('superadmin').execute();
      return { result: 0, scopes: ['*'] };
    });
    await database.change((tx) => seedSuperadmins(tx, ['a@x.cz', 'c@x.cz']));
    expect(await database.read(listSuperadmins)).toEqual([]);
  });

  test('SuperAdmins are added, listed and removed, and a repetition makes no revision', async () => {
    const { database } = fixture;
    const first = await database.change((tx) => addSuperadmin(tx, 'zoe@x.cz'));
    const again = await database.change((tx) => addSuperadmin(tx, 'zoe@x.cz'));
    const { changes } = await database.facts.changes(first.number - 1);
    expect([first.result, again.result, again.revision]).toEqual([true, false, first.revision]);
    expect(changes).toMatchObject([{ revision: first.number, scopes: ['u:zoe@x.cz'] }]);
    await database.change((tx) => addSuperadmin(tx, 'adam@x.cz'));
    const listed = await database.read(listSuperadmins);
    expect(listed).toEqual([
      { email: 'adam@x.cz', active: true, createdAt: expect.any(Date) },
      { email: 'zoe@x.cz', active: true, createdAt: expect.any(Date) },
    ]);
    expect((await database.change((tx) => removeSuperadmin(tx, 'nobody@x.cz'))).result).toBe(false);
    expect((await database.change((tx) => removeSuperadmin(tx, 'zoe@x.cz'))).result).toBe(true);
    expect((await database.change((tx) => removeSuperadmin(tx, 'zoe@x.cz'))).result).toBe(false);
  });

  test('the last active SuperAdmin stays when the others are removed', async () => {
    const { database } = fixture;
    await expect(database.change((tx) => removeSuperadmin(tx, 'adam@x.cz'))).rejects.toMatchObject({
      reason: 'LAST_SUPERADMIN',
      httpStatus: 409,
    });
    // An inactive second one does not count, and may go.
    await database.change(async (tx) => {
      const { scopes } = await addSuperadmin(tx, 'away@x.cz');
      const id = await personId(tx, 'away@x.cz');
      await tx.kysely.updateTable('person').set({ blocked: true }).where('id', '=', id).execute();
      return { result: 0, scopes };
    });
    const refused = (email: string) =>
      database.change(async (tx) => ({ result: await refuseLastSuperadmin(tx, email), scopes: [] }));
    await expect(refused('adam@x.cz')).rejects.toMatchObject({ reason: 'LAST_SUPERADMIN' });
    await expect(refused('away@x.cz')).resolves.toMatchObject({ result: undefined });
    await expect(refused('nobody@x.cz')).resolves.toMatchObject({ result: undefined });
    await database.change((tx) => removeSuperadmin(tx, 'away@x.cz'));
    expect(await database.read(listSuperadmins)).toMatchObject([{ email: 'adam@x.cz' }]);
  });

  test('one of two SuperAdmins who remove each other concurrently stays', async () => {
    const { database, storage } = fixture;
    const other = kind === 'postgresql' ? await storage.open() : database;
    for (let round = 0; round < 5; round++) {
      await database.change((tx) => addSuperadmin(tx, 'eve@x.cz'));
      const outcomes = await Promise.allSettled([
        database.change((tx) => removeSuperadmin(tx, 'adam@x.cz')),
        other.change((tx) => removeSuperadmin(tx, 'eve@x.cz')),
      ]);
      expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      expect(await database.read(listSuperadmins)).toHaveLength(1);
      await database.change((tx) => addSuperadmin(tx, 'adam@x.cz'));
    }
  });
});
