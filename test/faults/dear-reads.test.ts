import { type ClientRequest, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { fillApplication } from '../support/many-rows.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** Exports whose callers leave, on a service with other people on it. */
const EXPORTS = 40;
const POOL = 10;
const MOST = POOL / 2;

describe.each(KINDS)('exports without their callers (%s)', (kind) => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let me: Rest;
  let watch: pg.Client | undefined;

  beforeAll(async () => {
    storage = await createStorage(kind);
    const env = { DATABASE_POOL_SIZE: String(POOL), SUPERADMINS: 'root0@example.com' };
    usher = await startUsher(storage, { env });
    await fillApplication(usher.app.database, 'shop', 60_000);
    const admins = Array.from({ length: 10 }, (_, n) => `root${n}@example.com`);
    const text = JSON.stringify({ application: { code: 'shop' }, admins });
    await usher.app.manifests.apply(text, { actor: 'cli' });
    me = await Rest.as(usher, 'ann@example.com');
    if (storage.url !== null) {
      watch = new pg.Client({ connectionString: storage.url });
      await watch.connect();
    }
  }, 120_000);
  afterAll(async () => {
    await watch?.end();
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  /** Connections of the service that are at work, as the server counts them. */
  async function busy(): Promise<number> {
    const counted = await watch?.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity
        where datname = current_database() and application_name = 'usher/2' and state <> 'idle' and query ilike '%page%'`,
    );
    return counted?.rows[0]?.n ?? 0;
  }

  async function begin(callers: number): Promise<ClientRequest[]> {
    const tokens = await Promise.all(Array.from({ length: callers }, (_, n) => usher.token(`root${n}@example.com`)));
    return Array.from({ length: EXPORTS }, (_, n) => {
      const headers = { authorization: `Bearer ${tokens[n % callers]}` };
      const asked = request(`${usher.rest}/api/applications/shop/manifest`, { headers, agent: false });
      asked.on('error', () => undefined);
      asked.on('response', (answer) => answer.resume());
      asked.end();
      return asked;
    });
  }

  for (const callers of [1, 10]) {
    test(`forty exports of ${callers}: half of the connections stay free, and all end with their callers`, async () => {
      const { dearReads } = usher.app;
      const asked = await begin(callers);
      while (dearReads.callers === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      // Beside them everybody else is served.
      for (let n = 0; n < 5; n++) {
        expect((await me.get('/api/profile/me')).status).toBe(200);
        expect(dearReads.inside).toBeLessThanOrEqual(MOST);
        expect(await busy()).toBeLessThanOrEqual(MOST);
      }
      for (const one of asked) one.destroy();
      const left = performance.now();
      while (dearReads.callers > 0 || (await busy()) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
      // Half a minute of work is left of them; a second is much for what takes milliseconds.
      expect(performance.now() - left).toBeLessThan(1000);
      expect((await me.get('/api/profile/me')).status).toBe(200);
    }, 60_000);
  }

  test('a third export of a caller is told to come again', async () => {
    const asked = await begin(1);
    while (usher.app.dearReads.callers === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const root = await Rest.as(usher, 'root0@example.com');
    const answer = await root.get('/api/applications/shop/manifest');
    expect([answer.status, answer.headers.get('retry-after'), answer.body.code]).toEqual([429, '2', 'RATE_LIMITED']);
    for (const one of asked) one.destroy();
  }, 60_000);
});
