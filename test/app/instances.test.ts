import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { accept, insertType } from '../delivery/rows.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

describe('two instances on one database', () => {
  let storage: TestStorage;
  let here: RunningUsher;
  let there: RunningUsher;

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    here = await startUsher(storage);
    there = await startUsher(storage);
  }, 60_000);

  afterAll(async () => {
    await Promise.all([here?.close(), there?.close()]);
    await storage?.remove();
  }, 60_000);

  const post = async (usher: RunningUsher, path: string, body?: object, headers: Record<string, string> = {}) => {
    const response = await fetch(usher.rest + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-internal-api-key': usher.app.localKey ?? '', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { data } = (await response.json()) as { data: { entries?: number; message?: string } };
    return { data, revision: response.headers.get('usher-revision') ?? '' };
  };

  const held = async (usher: RunningUsher): Promise<string | undefined> => {
    const metrics = await (await fetch(`${usher.rest}/metrics`)).text();
    return /^usher_cache_entries\{kind="decisions"\} (\d+)$/m.exec(metrics)?.[1];
  };

  test('instances without a configured secret key share the one that the first start created', async () => {
    const { app, type } = await insertType(here.app.database, 'letters');
    const [notification = 0] = await accept(here.app.database, { app, type }, [{ to: 'ada@example.com' }]);
    const person = await here.app.database.read(async (tx) => {
      const rows = tx.kysely.selectFrom('notification').select('personId').where('id', '=', notification);
      return (await rows.executeTakeFirstOrThrow()).personId;
    });
    const link = new URL(await here.app.unsubscriptions.link({ base: there.rest, person, type }));
    expect((await fetch(link)).status).toBe(200);
    expect((await fetch(link, { method: 'POST' })).ok).toBe(true);
    link.searchParams.set('token', `${link.searchParams.get('token')?.slice(0, -2)}AA`);
    expect((await fetch(link, { method: 'POST' })).ok).toBe(false);
  });

  test('clearing the cache everywhere drops and does not count the decisions of the other instance', async () => {
    for (const n of [1, 2, 3, 4, 5]) {
      await post(there, '/api/check', { email: `p${n}@example.com`, app: 'auth', permission: 'panel.access' });
    }
    expect(await held(there)).toBe('5');
    const { revision } = await post(here, '/api/check/cache/clear?everywhere=true');
    // The other instance has followed as soon as it can answer at that revision; a question it refuses makes no decision.
    const question = { email: 'not an address', app: 'auth', permission: 'panel.access' };
    await post(there, '/api/check', question, { 'usher-min-revision': revision });
    expect(await held(there)).toBe('0');
    expect((await post(there, '/api/check/cache/clear')).data.entries).toBe(0);
  });
});
