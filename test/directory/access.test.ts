import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { Level } from '../../src/engine/types.ts';
import type { Access } from '../../src/gen/api.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type AppRows, insertApplication, insertOverride, insertUserRole, personId } from '../support/rows.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const ROOT = 'root@example.com';
const ADA = 'ada@example.com';
const BOSS = 'boss@example.com';
const STRANGER = 'stranger@example.com';

/** GET /api/profile/me/access and GET /api/users/:email/access. */
for (const kind of KINDS) {
  describe(`the access of a person (${kind})`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;
    let shop: AppRows;

    beforeAll(async () => {
      storage = await createStorage(kind);
      usher = await startUsher(storage, { env: { SUPERADMINS: ROOT } });
      await usher.app.database.change(async (tx) => {
        const shape = {
          permissions: { pages: { tiered: true }, pay: {}, settings: { tiered: true, global: true }, unheld: {} },
          roles: { reader: { pages: Level.VIEW }, editor: { pages: Level.EDIT, settings: Level.VIEW } },
        };
        shop = await insertApplication(tx, 'shop', shape);
        const bare = await insertApplication(tx, 'bare', { permissions: { look: {} } });
        await insertApplication(tx, 'nothing', shape);
        await insertUserRole(tx, shop, ADA, 'reader');
        await insertUserRole(tx, shop, ADA, 'editor');
        const page = { type: 'page', permission: 'pages', tiered: true };
        await insertOverride(tx, shop, ADA, { ...page, id: '7', level: Level.NONE });
        await insertOverride(tx, shop, ADA, { ...page, id: 'a:%', level: Level.VIEW });
        await insertOverride(tx, bare, ADA, { type: 'page', permission: 'look', id: '1', level: Level.ALLOWED });
        const ids = new Map<string, number>();
        for (const email of [ADA, BOSS, STRANGER]) ids.set(email, await personId(tx, email));
        const seat = (email: string, app: AppRows) =>
          tx.kysely
            .insertInto('app_admin')
            .values({ personId: ids.get(email) as number, applicationId: app.id })
            .execute();
        await seat(BOSS, shop);
        const other = await insertApplication(tx, 'other');
        await seat(STRANGER, other);
        await sql`insert into app_preference (person_id, application_id, first_login_at, last_login_at)
          values (${ids.get(ADA)}, ${other.id}, '2026-03-01T08:00:00Z', '2026-03-02T08:00:00Z')`.execute(tx.kysely);
        return { result: null, scopes: ['*'] };
      });
    }, 120_000);

    afterAll(async () => {
      await usher?.close();
      await storage?.remove();
    }, 60_000);

    const own = async (email: string) => await (await Rest.as(usher, email)).get('/api/profile/me/access');
    const seen = async (reader: string, email: string) =>
      await (await Rest.as(usher, reader)).get(`/api/users/${encodeURIComponent(email)}/access`);
    const data = async (reader: string, email: string) => {
      const { status, body } = await seen(reader, email);
      expect(status).toBe(200);
      return (body as { data: { applications: { code: string }[] } & Record<string, unknown> }).data;
    };

    const ALWAYS = { startsAt: null, endsAt: null };
    const none = { roles: [], roleWindows: [], permissions: [], overrides: [], moreOverrides: 0, lastLoginAt: null };
    const SHOP = {
      code: 'shop',
      name: 'shop',
      level: 'member',
      roles: ['editor', 'reader'],
      roleWindows: [],
      permissions: [
        { code: 'pages', accessLevel: 'edit', source: 'role' },
        { code: 'settings', accessLevel: 'view', source: 'role' },
      ],
      overrides: [
        { resourceType: 'page', resourceId: '7', permission: 'pages', granted: false, accessLevel: null, ...ALWAYS },
        { resourceType: 'page', resourceId: 'a:%', permission: 'pages', granted: true, accessLevel: 'view', ...ALWAYS },
      ],
      moreOverrides: 0,
      lastLoginAt: null,
    };

    test('access lists the applications with a role, an override, an administrator seat or a login, with the levels held without a record', async () => {
      const answer = await own(ADA);
      expect(answer).toMatchObject({
        status: 200,
        body: {
          email: ADA,
          active: true,
          isSuperAdmin: false,
          applications: [
            {
              ...none,
              code: 'bare',
              level: 'member',
              overrides: [
                {
                  resourceType: 'page',
                  resourceId: '1',
                  permission: 'look',
                  granted: true,
                  accessLevel: 'allowed',
                  ...ALWAYS,
                },
              ],
            },
            { ...none, code: 'other', level: 'member', lastLoginAt: '2026-03-02T08:00:00.000Z' },
            SHOP,
          ],
        },
      });
      expect(answer.headers.get('usher-revision')).toBe(usher.app.engine.revision);
      expect((await own(BOSS)).body).toMatchObject({
        applications: [
          {
            code: 'shop',
            level: 'app_admin',
            roles: [],
            roleWindows: [],
            permissions: [
              { code: 'pages', accessLevel: 'edit', source: 'app_admin' },
              { code: 'pay', accessLevel: 'allowed', source: 'app_admin' },
              { code: 'settings', accessLevel: 'edit', source: 'app_admin' },
              { code: 'unheld', accessLevel: 'allowed', source: 'app_admin' },
            ],
          },
        ],
      });
      expect((await own(ROOT)).body).toMatchObject({ isSuperAdmin: true });
    });

    test('access equals Effective in each application', async () => {
      for (const email of [ADA, BOSS, STRANGER]) {
        for (const { code, permissions } of ((await own(email)).body as Access).applications) {
          const subject = { email, app: code, resourceType: '', resourceId: '' };
          const { items } = await usher.app.engine.effective(subject);
          const held = items.filter(({ granted }) => granted).map((item) => item.code);
          expect(permissions.map((permission) => permission.code)).toEqual(held.toSorted());
        }
      }
    });

    test('access is limited to the applications that an administrator may view, and does not reveal SuperAdmins', async () => {
      expect((await data(ROOT, ADA)).isSuperAdmin).toBe(false);
      expect((await data(ROOT, ADA)).applications.map(({ code }) => code)).toEqual(['bare', 'other', 'shop']);
      expect(await data(BOSS, ADA)).toEqual({ email: ADA, active: true, applications: [SHOP] });
      expect((await data(STRANGER, ADA)).applications.map(({ code }) => code)).toEqual(['other']);
    });

    test('access refuses administrators who share no application with the person, known or unknown', async () => {
      for (const email of [BOSS, 'never-mentioned@example.com']) {
        expect(await seen(STRANGER, email)).toMatchObject({
          status: 403,
          body: { details: { code: 'NO_APPLICATION_LEVEL' } },
        });
      }
      expect((await seen(ROOT, 'never-mentioned@example.com')).status).toBe(404);
      expect((await seen(ADA, ADA)).status).toBe(403);
    });

    test('access is 304 for a reader with the current state, and sent in full to others', async () => {
      const boss = await Rest.as(usher, BOSS);
      for (const [reader, path] of [
        [boss, `/api/users/${ADA}/access`],
        [await Rest.as(usher, ADA), '/api/profile/me/access'],
        [boss, '/api/applications/shop'],
        [boss, `/api/applications/shop/roles/${shop.roles.reader}/permissions`],
        [boss, `/api/users/${ADA}/apps/shop/roles`],
        [boss, `/api/users/${ADA}/apps/shop/resources/page/7/permissions`],
      ] as const) {
        const full = await reader.get(path);
        const etag = full.headers.get('etag') ?? '';
        expect([path, full.status, etag]).toEqual([path, 200, expect.stringMatching(/^"[\w-]+"$/)]);
        for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
          const same = await reader.get(path, { 'if-none-match': known });
          expect([path, known, same.status, same.body]).toEqual([path, known, 304, undefined]);
          for (const name of ['etag', 'usher-revision', 'cache-control', 'x-content-type-options']) {
            expect([path, name, same.headers.get(name)]).toEqual([path, name, full.headers.get(name)]);
          }
          expect(same.headers.get('content-type')).toBeNull();
        }
        for (const other of ['"other"', etag.slice(1, -1), '']) {
          expect((await reader.get(path, { 'if-none-match': other })).body).toEqual(full.body);
        }
      }
      expect(
        await (await Rest.as(usher, ADA)).get(`/api/users/${BOSS}/access`, { 'if-none-match': '*' }),
      ).toMatchObject({
        status: 403,
        body: { success: false },
      });
    });

    test('access has an ETag that changes with the content, and is as fresh as requested', async () => {
      const before = await seen(BOSS, ADA);
      expect((await seen(BOSS, ADA)).headers.get('etag')).toBe(before.headers.get('etag'));
      const { revision } = await usher.app.database.change(async (tx) => {
        await insertUserRole(tx, shop, BOSS, 'reader');
        await sql`delete from user_role where role_id = ${shop.roles.editor} and application_id = ${shop.id}`.execute(
          tx.kysely,
        );
        return { result: null, scopes: ['a:shop'] };
      });
      const root = await Rest.as(usher, ROOT);
      const after = await root.get(`/api/users/${ADA}/access`, { 'usher-min-revision': revision });
      expect(after.headers.get('usher-revision')).toBe(revision);
      expect((await seen(BOSS, ADA)).headers.get('etag')).not.toBe(before.headers.get('etag'));
      for (const wrong of ['x', '999999.1']) {
        expect(await root.get(`/api/users/${ADA}/access`, { 'usher-min-revision': wrong })).toMatchObject({
          status: 400,
          body: { details: { code: 'UNKNOWN_REVISION' } },
        });
      }
    });

    test('access lists the first 200 overrides of an application and counts the rest', async () => {
      await usher.app.database.change(async (tx) => {
        await sql`insert into resource_override
            (person_id, application_id, resource_type, resource_id, permission_id, tiered, level)
          select ${await personId(tx, 'many@example.com')}, ${shop.id}, 'page', lpad(i::text, 4, '0'),
            ${shop.permissions.pages}, true, 2 from generate_series(1, 250) i`.execute(tx.kysely);
        return { result: null, scopes: ['m:shop:many@example.com'] };
      });
      const [{ overrides, moreOverrides } = { overrides: [], moreOverrides: 0 }] = (
        await data(ROOT, 'many@example.com')
      ).applications as unknown as (typeof SHOP)[];
      expect([overrides.length, overrides[0]?.resourceId, overrides.at(-1)?.resourceId]).toEqual([200, '0001', '0200']);
      expect(moreOverrides).toBe(50);
    });

    test('access of an inactive person is empty', async () => {
      await usher.app.database.change(async (tx) => {
        await sql`update person set blocked = true where email = ${ADA}`.execute(tx.kysely);
        return { result: null, scopes: [`u:${ADA}`] };
      });
      const [application] = (await data(BOSS, ADA)).applications;
      expect(application).toMatchObject({ code: 'shop', roles: ['reader'], permissions: [] });
      expect((await own(ADA)).status).toBe(403);
    });
  });
}
