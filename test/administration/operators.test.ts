import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const CHECK = 'the-key-of-the-shop-for-checks';
const NOTIFY = 'the-key-of-the-mailer-for-sends';
const env = {
  INTERNAL_API_KEY: `shop:check+watch:${CHECK},mailer:notify:${NOTIFY}`,
  SUPERADMINS: 'root@example.com',
  IDP_WEBHOOK_SECRET: 'the-secret-of-the-webhook-here',
};
const QUESTION = { email: 'ann@example.com', app: 'auth', permission: 'panel.access' };

for (const kind of KINDS) {
  describe(`keys and configuration (${kind})`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;

    beforeAll(async () => {
      storage = await createStorage(kind);
      usher = await startUsher(storage, { env });
    }, 60_000);
    afterAll(async () => {
      await usher?.close();
      await storage?.remove();
    }, 60_000);

    const check = async (key: string) => {
      const rest = await Rest.as(usher);
      return await rest.post('/api/check', QUESTION, { 'x-internal-api-key': key });
    };
    const uses = async (): Promise<Record<string, string | null>> => {
      const root = await Rest.as(usher, 'root@example.com');
      const { body } = await root.get('/api/admin/keys');
      return Object.fromEntries(
        body.data.map(({ name, lastUsedAt }: { name: string; lastUsedAt: string | null }) => [name, lastUsedAt]),
      );
    };

    test('keys are listed by name and scope, never by value', async () => {
      const root = await Rest.as(usher, 'root@example.com');
      const { status, body, headers } = await root.get('/api/admin/keys');
      expect(status).toBe(200);
      expect(body.data).toEqual([
        { name: 'shop', scopes: ['check', 'watch'], apps: null, lastUsedAt: null },
        { name: 'mailer', scopes: ['notify'], apps: null, lastUsedAt: null },
      ]);
      expect(JSON.stringify(body)).not.toMatch(/the-key-of/);
      const again = await root.get('/api/admin/keys', { 'if-none-match': headers.get('etag') ?? '' });
      expect([again.status, again.body]).toEqual([304, undefined]);
    });

    test('a use counts from when a call is let in, and a refused call does not', async () => {
      const before = Date.now();
      expect((await check(NOTIFY)).status).toBe(403);
      expect((await check(CHECK)).status).toBe(200);
      const { shop, mailer } = await uses();
      expect(mailer).toBeNull();
      expect(Math.abs(Date.parse(shop ?? '') - before)).toBeLessThan(10_000);
      // Listing is no use.
      expect((await uses()).shop).toBe(shop);
    });

    test('a use survives a restart', async () => {
      const { shop } = await uses();
      expect((await check(CHECK)).status).toBe(200);
      await usher.close();
      usher = await startUsher(storage, { env });
      const after = await uses();
      expect(Date.parse(after.shop ?? '')).toBeGreaterThanOrEqual(Date.parse(shop ?? ''));
      expect(after.mailer).toBeNull();
    });

    test('the configuration in effect is shown with its sources, and without its secrets', async () => {
      const root = await Rest.as(usher, 'root@example.com');
      const { body } = await root.get('/api/admin/config');
      const of = (key: string) => body.data.find((value: { key: string }) => value.key === key);
      expect(of('superadmins')).toEqual({
        key: 'superadmins',
        variable: 'SUPERADMINS',
        value: ['root@example.com'],
        source: 'environment',
      });
      expect(of('internal.apiKeys')).toMatchObject({ value: ['***', '***'] });
      expect(of('idp.webhookSecret')).toMatchObject({ value: ['***'] });
      expect(of('cache.ttlMs')).toMatchObject({ value: 30_000, source: 'default' });
      for (const secret of [CHECK, NOTIFY, env.IDP_WEBHOOK_SECRET]) expect(JSON.stringify(body)).not.toContain(secret);
    });

    test('only SuperAdmins see keys and configuration', async () => {
      const ann = await Rest.as(usher, 'ann@example.com');
      for (const path of ['/api/admin/keys', '/api/admin/config']) expect((await ann.get(path)).status).toBe(403);
    });
  });
}
