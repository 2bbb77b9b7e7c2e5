import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { gatewayRoutes } from '../../src/gateway/routes.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** What mail programs and relays add to links. */
const ADDED = 'utm_source=news&utm_source=mail&fbclid=a%00b&mc_eid=%E0%A4%A';

describe('doors for people', () => {
  let storage: TestStorage;
  let usher: RunningUsher;

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    usher = await startUsher(storage, { env: { SUPERADMINS: 'root@example.com' } });
  }, 60_000);
  afterAll(async () => {
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  test('pages answer the same whatever is added to their address', async () => {
    for (const path of [
      '/',
      '/api/docs',
      '/api/openapi.json',
      '/panel/',
      '/api/notifications/unsubscribe?token=unknown',
    ]) {
      const ask = async (address: string) => {
        const answer = await fetch(usher.rest + address, {
          headers: { accept: 'application/json' },
          redirect: 'manual',
        });
        const text = await answer.text();
        // A refusal names what it refuses.
        return [answer.status, answer.ok || text === '' ? '' : (JSON.parse(text) as { message: string }).message];
      };
      const plain = await ask(path);
      expect([path, await ask(`${path}${path.includes('?') ? '&' : '?'}${ADDED}`)]).toEqual([path, plain]);
    }
  });

  test('what such a door knows is read as strictly as ever, and other doors refuse what they do not know', async () => {
    const status = async (path: string, method = 'GET') => (await fetch(usher.rest + path, { method })).status;
    expect(await status(`/api/notifications/unsubscribe?${ADDED}`)).toBe(400);
    expect(await status('/api/notifications/unsubscribe?token=a&token=b', 'POST')).toBe(400);
    expect(await status('/api/idp/health?utm_source=news')).toBe(400);
    const paths = gatewayRoutes({ production: true })
      .filter(({ forPeople }) => forPeople)
      .map(({ method, path }) => `${method} ${path}`);
    expect(paths.toSorted()).toEqual([
      'get /api/docs',
      'get /api/notifications/unsubscribe',
      'get /api/openapi.json',
      'get /media/:name',
      'post /api/notifications/unsubscribe',
    ]);
  });
});
