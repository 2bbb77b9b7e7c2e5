import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Database } from '../../src/persistence/database.ts';
import { requireRules } from '../../src/persistence/rules.ts';
import { getSetting, putSetting } from '../../src/persistence/settings.ts';
import { createStorage, forEachDatabase, type TestStorage } from '../support/databases.ts';

/** The rules of a database (docs/reference/time.md#upgrade). */

const setRules = (database: Database, rules: unknown) =>
  database.change(async (tx) => {
    await putSetting(tx, 'rules', rules);
    return { result: undefined, scopes: [] };
  });

forEachDatabase('what needs the present rules', (fixture) => {
  test('it is refused while the upgrade is unfinished, and names the command', async () => {
    const requiring = () => fixture.database.read(requireRules);
    await requiring();
    await setRules(fixture.database, 1);
    await expect(requiring()).rejects.toMatchObject({ reason: 'UPGRADE_UNFINISHED', httpStatus: 409, grpcStatus: 9 });
    await expect(requiring()).rejects.toThrow('migrate --finish');
    await setRules(fixture.database, 2);
    await requiring();
  });
});

let storage: TestStorage;

beforeAll(async () => {
  storage = await createStorage('pglite');
}, 60_000);

afterAll(async () => {
  await storage.remove();
});

test('an embedded database ends its upgrade at the start', async () => {
  const before = await storage.open();
  await setRules(before, 1);
  await before.close();
  const after = await storage.open();
  expect(await after.read((tx) => getSetting(tx, 'rules'))).toBe(2);
}, 60_000);
