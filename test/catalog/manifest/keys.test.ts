import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { KEY_SCOPES } from '../../../src/identity/api-keys.ts';
import { createStorage, type TestStorage } from '../../support/databases.ts';
import { Rest } from '../../support/rest.ts';
import { type RunningUsher, startUsher } from '../../support/usher.ts';

const keyOf = (scope: string) => `the-internal-key-for-${scope}-only`;
const PATH = '/api/manifests/apply';
const SHOP = { application: { code: 'shop', name: 'Shop' }, roles: [{ code: 'clerk' }] };

describe('manifests by an internal API key', () => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let nobody: Rest;
  let root: Rest;

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    const keys = KEY_SCOPES.map((scope) => `${scope}-key:${scope}:${keyOf(scope)}`);
    usher = await startUsher(storage, { env: { INTERNAL_API_KEY: [...keys, 'a-bare-key-with-all-scopes'].join(',') } });
    nobody = await Rest.as(usher);
    root = await Rest.as(usher, 'admin@example.com');
  }, 60_000);
  afterAll(async () => {
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  const by = (scope: string, more: Record<string, string> = {}) => ({ 'x-internal-api-key': keyOf(scope), ...more });
  const audits = async (actor: string) =>
    (await root.get(`/api/admin/audit?actor=${encodeURIComponent(actor)}`)).body.data.map(
      ({ action, subject }: { action: string; subject: string }) => `${action} ${subject}`,
    );

  test('a key with scope `manifest` plans, applies and exports, and appears in the audit', async () => {
    const dry = await nobody.post(`${PATH}?dryRun=true`, SHOP, by('manifest'));
    expect([dry.status, dry.body.data.dryRun, dry.body.data.summary.create]).toEqual([200, true, 2]);
    expect((await root.get('/api/applications/shop')).status).toBe(404);
    const applied = await nobody.post(PATH, SHOP, by('manifest'));
    expect([applied.status, applied.headers.get('usher-revision')]).toEqual([200, expect.stringMatching(/^\d+/)]);
    expect(await audits('key:manifest-key')).toEqual(
      expect.arrayContaining(['manifest.applied shop', 'application.created shop', 'role.created clerk']),
    );
    const exported = await nobody.get(
      '/api/applications/shop/manifest',
      by('manifest', { accept: 'application/json' }),
    );
    expect(exported.body.data).toMatchObject({ application: { code: 'shop' }, roles: [{ code: 'clerk' }] });
    const missing = await nobody.get('/api/applications/nowhere/manifest', by('manifest'));
    expect([missing.status, missing.body.code]).toEqual([404, 'NOT_FOUND']);
  });

  test('a manifest key may apply to `auth`, like a SuperAdmin', async () => {
    const panel = {
      application: { code: 'auth' },
      assignments: [{ email: 'pat@example.com', roles: ['panel_admin'] }],
    };
    expect((await nobody.post(PATH, panel, by('manifest'))).status).toBe(200);
    expect(
      (await nobody.get('/api/applications/auth/manifest', by('manifest', { accept: 'application/json' }))).status,
    ).toBe(200);
  });

  test.each(KEY_SCOPES.filter((scope) => scope !== 'manifest'))(
    'a key with scope `%s` is refused with KEY_SCOPE',
    async (scope) => {
      for (const answer of [
        await nobody.post(PATH, SHOP, by(scope)),
        await nobody.post(`${PATH}?dryRun=true`, SHOP, by(scope)),
        await nobody.get('/api/applications/shop/manifest', by(scope)),
      ]) {
        expect([answer.status, answer.body.details]).toEqual([403, { code: 'KEY_SCOPE', scope: 'manifest' }]);
      }
    },
  );

  test('a key without scopes has every scope', async () => {
    const headers = { 'x-internal-api-key': 'a-bare-key-with-all-scopes' };
    expect((await nobody.post(`${PATH}?dryRun=true`, SHOP, headers)).status).toBe(200);
  });

  test('a wrong key is 401, even with a valid token', async () => {
    const headers = { 'x-internal-api-key': 'a-key-that-nobody-was-given' };
    for (const rest of [nobody, root]) {
      expect((await rest.post(PATH, SHOP, headers)).status).toBe(401);
      expect((await rest.get('/api/applications/shop/manifest', headers)).status).toBe(401);
    }
    expect((await nobody.post(PATH, SHOP)).status).toBe(401);
  });

  test('a 401 states which kind of credential was refused, or both when none was sent', async () => {
    const key = 'ApiKey realm="usher", header="x-internal-api-key"';
    const wrong = { 'x-internal-api-key': 'a-key-that-nobody-was-given' };
    const challenge = async (rest: Rest, headers: Record<string, string> = {}) => {
      const { status, headers: got } = await rest.post(PATH, SHOP, headers);
      return [status, got.get('www-authenticate')];
    };
    expect(await challenge(nobody)).toEqual([401, `Bearer realm="usher", ${key}`]);
    expect(await challenge(nobody, { authorization: 'Bearer x.y.z' })).toEqual([
      401,
      'Bearer realm="usher", error="invalid_token"',
    ]);
    expect(await challenge(nobody, wrong)).toEqual([401, key]);
    expect(await challenge(root, wrong)).toEqual([401, key]);
  });

  test('a manifest key is refused from browsers, where a SuperAdmin is admitted', async () => {
    const origin = { origin: 'https://elsewhere.example' };
    const refused = await nobody.post(PATH, SHOP, by('manifest', origin));
    expect([refused.status, refused.body.details]).toEqual([403, { code: 'BROWSER_NOT_ALLOWED' }]);
    expect((await nobody.get('/api/applications/shop/manifest', by('manifest', origin))).body.details).toEqual({
      code: 'BROWSER_NOT_ALLOWED',
    });
    expect((await root.post(`${PATH}?dryRun=true`, SHOP, origin)).status).toBe(200);
  });

  test('a key with scope `manifest` allows nothing else', async () => {
    expect((await nobody.get('/api/applications', by('manifest'))).status).toBe(401);
    expect((await nobody.post('/api/check', {}, by('manifest'))).status).toBe(403);
  });
});
