import { describe, expect, test } from '@jest/globals';
import { KINDS } from '../support/databases.ts';
import { outcome, useRegistry } from '../support/registry.ts';

const PATH = '/api/users/import';
const SHOP = `
application: { code: shop, name: Shop }
permissions: [{ code: "orders:read", type: binary }]
roles: [{ code: ROLE_CLERK, permissions: { "orders:read": allowed } }, { code: boss }]
admins: [nora@example.com]
`;
const KEY = 'the-key-of-an-import-of-people-only';
const ADA = {
  email: 'Ada@Example.com',
  firstName: 'Ada',
  lastName: 'King',
  locale: 'cs',
  timezone: 'europe/prague',
  brand: 'default',
  roles: ['shop/ROLE_CLERK'],
};

for (const kind of KINDS) {
  describe(`the import of people (${kind})`, () => {
    const registry = useRegistry(kind, [SHOP], {
      INTERNAL_API_KEY: `importer:profile+manifest:${KEY},half:manifest:another-key-of-the-manifest-alone,check:check:a-key-that-asks-about-people`,
    });
    const { root } = registry;
    const send = (people: unknown[], { dryRun = false } = {}) => root.post(`${PATH}?dryRun=${dryRun}`, { people });
    const userOf = async (email: string) => (await root.get(`/api/profile/${email}`)).body.data;
    const allowed = async (email: string) =>
      (
        await root.post(
          '/api/check',
          { email, app: 'shop', permission: 'orders:read' },
          { 'x-internal-api-key': 'a-key-that-asks-about-people' },
        )
      ).body.data.allowed;

    test('makes people with everything that the list has, and repeated changes nothing', async () => {
      const dry = await send([ADA, { email: 'ben@example.com' }], { dryRun: true });
      expect([dry.status, dry.body.data]).toEqual([
        200,
        { dryRun: true, created: 2, changed: 0, kept: 0, rolesGiven: 1 },
      ]);
      expect((await root.get('/api/users/ada@example.com')).status).toBe(404);
      const done = await send([ADA, { email: 'ben@example.com' }]);
      expect([done.status, done.body.data]).toEqual([200, { ...dry.body.data, dryRun: false }]);
      expect(await userOf('ada@example.com')).toMatchObject({
        firstName: 'Ada',
        lastName: 'King',
        locale: 'cs',
        timezone: 'Europe/Prague',
        brand: 'default',
      });
      expect(await allowed('ada@example.com')).toBe(true);
      expect((await root.get('/api/users?q=ada%20king')).body.data).toMatchObject([{ displayName: 'Ada King' }]);
      const revision = done.headers.get('usher-revision');
      const again = await send([ADA, { email: 'ben@example.com' }]);
      expect(again.body.data).toEqual({ dryRun: false, created: 0, changed: 0, kept: 2, rolesGiven: 0 });
      expect(again.headers.get('usher-revision')).toBe(revision);
      expect(await registry.audits('user.imported', 'ada@example.com')).toHaveLength(1);
      expect(await registry.audits('assignment.created', 'ada@example.com')).toMatchObject([
        { appCode: 'shop', after: { role: 'ROLE_CLERK' } },
      ]);
    });

    test('takes names only where nobody has changed them, and leaves what the list lacks', async () => {
      await send([{ email: 'cleo@example.com', firstName: 'Cleo', lastName: 'Old' }]);
      expect(
        (await send([{ email: 'cleo@example.com', lastName: 'New', roles: ['shop/boss'] }])).body.data,
      ).toMatchObject({
        changed: 1,
        rolesGiven: 1,
      });
      const cleo = registry.as('cleo');
      expect((await cleo.put('/api/profile/me', { lastName: 'Own', timezone: 'UTC' })).status).toBe(200);
      const after = await send([{ email: 'cleo@example.com', firstName: 'No', lastName: 'No', locale: 'de' }]);
      expect(after.body.data).toMatchObject({ changed: 1, kept: 0 });
      expect(await userOf('cleo@example.com')).toMatchObject({
        firstName: 'Cleo',
        lastName: 'Own',
        locale: 'de',
        timezone: 'UTC',
      });
      const roles = (await root.get('/api/users/cleo@example.com/apps/shop/roles')).body.data;
      expect(roles.map(({ code }: { code: string }) => code)).toEqual(['boss']);
    });

    test('tells every fault at once, and then changes nothing', async () => {
      const answer = await send([
        { email: 'dora@example.com', roles: ['shop/boss'] },
        {
          email: 'no address',
          firstName: ' ',
          locale: 'EN',
          timezone: 'BST',
          brand: 'No Slug',
          roles: ['shop', 'a/b/c'],
        },
        { email: 'DORA@example.com', locale: 'tlh', brand: 'none', roles: ['shop/none', 'nowhere/boss', 'shop/boss'] },
      ]);
      expect(outcome(answer)).toEqual([400, 'VALIDATION_FAILED']);
      const issues: { path: string; message: string }[] = answer.body.details.issues;
      expect(issues.map(({ path }) => path).sort()).toEqual(
        [
          ...['email', 'firstName', 'locale', 'timezone', 'brand', 'roles.0', 'roles.1'].map(
            (field) => `people.1.${field}`,
          ),
          ...['email', 'locale', 'brand', 'roles.0', 'roles.1'].map((field) => `people.2.${field}`),
        ].sort(),
      );
      expect((await root.get('/api/users/dora@example.com')).status).toBe(404);
      expect(outcome(await root.post(PATH, { people: [] }))).toEqual([400, 'VALIDATION_FAILED']);
      expect(outcome(await send([{ email: 'x@example.com', role: 'boss' }]))).toEqual([400, 'VALIDATION_FAILED']);
      const many = Array.from({ length: 501 }, (_, n) => ({ email: `n${n}@example.com` }));
      expect(outcome(await send(many))).toEqual([400, 'VALIDATION_FAILED']);
    });

    test('takes a SuperAdmin, or a key with both scopes', async () => {
      const people = [{ email: 'eve@example.com' }];
      const nora = registry.as('nora');
      expect((await nora.post(PATH, { people })).status).toBe(403);
      const by = (key: string) => nora.post(PATH, { people }, { 'x-internal-api-key': key, authorization: '' });
      expect(outcome(await by('another-key-of-the-manifest-alone'))).toEqual([403, 'KEY_SCOPE']);
      expect((await by('wrong')).status).toBe(401);
      expect([(await by(KEY)).status, (await by(KEY)).body.data.kept]).toEqual([200, 1]);
      expect(await registry.audits('user.imported', 'eve@example.com')).toMatchObject([{ actor: 'key:importer' }]);
    });

    test('two imports of the same people at once end alike', async () => {
      const people = Array.from({ length: 60 }, (_, n) => ({
        email: `twice${n}@example.com`,
        displayName: `Twice ${n}`,
        roles: ['shop/boss', 'shop/boss'],
      }));
      const both = await Promise.all([send(people), send(people.toReversed())]);
      expect(both.map(({ status }) => status)).toEqual([200, 200]);
      const sum = (name: string) => both.reduce((total, { body }) => total + body.data[name], 0);
      expect([sum('created'), sum('rolesGiven'), sum('kept')]).toEqual([60, 60, 60]);
    });
  });
}
