import { expect, test } from '@jest/globals';
import { forEachDatabase } from '../support/databases.ts';

forEachDatabase('change', (fixture) => {
  test('commits', async () => {
    const { revision } = await fixture.database.change(async () => ({ result: 1, scopes: ['*'] }));
    expect(revision).toBe(1);
  });
});
