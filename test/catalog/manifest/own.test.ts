import { describe, expect, test } from '@jest/globals';
import { tryClaim } from '../../../src/persistence/catalog/manifest-read.ts';
import { KINDS } from '../../support/databases.ts';
import { yamlOf } from '../../support/exported.ts';
import { outcome, useRegistry } from '../../support/registry.ts';
import type { Rest } from '../../support/rest.ts';
import { AUTH, BILLING, manifest, PATH, PORTAL, pathOf, SHOP } from './own-world.ts';

for (const kind of KINDS) {
  describe(`a manifest by the application's own administrators (${kind})`, () => {
    const registry = useRegistry(kind, [BILLING, SHOP, PORTAL, AUTH]);
    const { root, audits, allowed } = registry;
    const nora = registry.as('nora');

    const exported = async (code = 'billing'): Promise<string> => await yamlOf(registry.usher.app.manifests, code);
    const all = async (): Promise<string[]> => await Promise.all(['billing', 'shop', 'portal', 'auth'].map(exported));
    const reset = async (): Promise<void> => {
      await registry.usher.app.manifests.apply(BILLING, { actor: 'cli', prune: true });
    };

    test('a dry run answers plan and impact, and the apply bound to it does what was shown', async () => {
      const before = await exported();
      const text = manifest({ roles: [{ code: 'reader', permissions: { 'invoice.read': 'edit' } }] });
      const dry = await nora.post(`${PATH}?dryRun=true`, text);
      expect([dry.status, dry.body.data]).toMatchObject([
        200,
        {
          application: 'billing',
          dryRun: true,
          summary: { create: 0, change: 1, remove: 0 },
          impact: { people: 1, gained: 1, changes: [{ email: 'ben@example.com', from: 'view', to: 'edit' }] },
        },
      ]);
      expect(dry.body.data.result).toMatchObject({ summary: dry.body.data.summary, changes: dry.body.data.changes });
      expect(await exported()).toBe(before);
      expect(await audits('manifest.applied', 'billing')).not.toContainEqual(
        expect.objectContaining({ actor: 'user:nora@example.com' }),
      );

      const bound = { 'usher-if-revision': dry.body.data.impact.revision };
      // Another application never counts.
      expect((await root.post('/api/applications/shop/roles', { code: 'other' })).status).toBe(201);
      const done = await nora.post(PATH, text, bound);
      expect([done.status, done.body.data.changes]).toEqual([200, dry.body.data.changes]);
      expect(await allowed('ben@example.com', 'billing', 'invoice.read', { accessLevel: 'edit' })).toBe(true);
      expect((await audits('manifest.applied', 'billing')).at(-1)).toMatchObject({
        actor: 'user:nora@example.com',
        appCode: 'billing',
      });
      const again = await nora.post(PATH, text);
      expect([again.body.data.changes, again.headers.get('usher-revision')]).toEqual([
        [],
        done.headers.get('usher-revision'),
      ]);
      const other = manifest({ roles: [{ code: 'reader', permissions: {} }] });
      expect(outcome(await nora.post(PATH, other, bound))).toEqual([412, 'STALE']);
      expect(outcome(await nora.post(PATH, other, { 'usher-if-revision': '1.7' }))).toEqual([400, 'UNKNOWN_REVISION']);
      await reset();
    });

    test('a panel user with the level edit applies and prunes, and lines of progress come first', async () => {
      const text = manifest({ roles: [{ code: 'writer' }], entities: [] });
      const { usher } = registry;
      const response = await fetch(`${usher.rest}${PATH}?prune=true`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${await usher.token('edit@example.com')}`,
          'content-type': 'application/yaml',
          accept: 'application/x-ndjson',
        },
        body: JSON.stringify(text),
      });
      const lines = (await response.text()).trim().split('\n');
      expect(JSON.parse(lines[0] ?? '')).toEqual({ progress: { done: 0, total: 4 } });
      expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
        success: true,
        data: { assignmentsEnded: 1, summary: { create: 1, remove: 3 } },
      });
      expect(await allowed('ben@example.com', 'billing', 'invoice.read')).toBe(false);
      await reset();
    });

    test.each<[string, string, number, string | undefined]>([
      ['view', 'billing', 403, 'NO_APPLICATION_LEVEL'],
      ['olga', 'billing', 403, 'NO_APPLICATION_LEVEL'],
      ['ben', 'billing', 403, 'NO_APPLICATION_LEVEL'],
      // A denying override beats the role that manages every application.
      ['shut', 'billing', 403, 'NO_APPLICATION_LEVEL'],
      ['nora', 'nowhere', 403, 'NO_APPLICATION_LEVEL'],
      ['pat', 'nowhere', 403, 'NO_APPLICATION_LEVEL'],
      ['admin', 'nowhere', 404, 'NOT_FOUND'],
      ['admin', 'No Code', 404, 'NOT_FOUND'],
      ['pat', 'billing', 200, undefined],
      ['edit', 'billing', 200, undefined],
      ['nora', 'billing', 200, undefined],
      ['admin', 'billing', 200, undefined],
    ])('%s@example.com applies to %s: %s', async (name, app, status, code) => {
      const before = await all();
      const count = (await audits('manifest.applied.refused')).length;
      for (const query of ['', '?dryRun=true']) {
        const answer = await registry.as(name).post(pathOf(encodeURIComponent(app)) + query, manifest({}, app));
        expect(outcome(answer)).toEqual([status, code]);
      }
      expect(await all()).toEqual(before);
      // The refused write leaves a record, the refused dry run none.
      expect((await audits('manifest.applied.refused')).length).toBe(status === 403 ? count + 1 : count);
    });

    test('in `auth` all but SuperAdmins are refused, whole, even for what is delegated singly', async () => {
      const before = await exported('auth');
      const parts = [
        {},
        { assignments: [{ email: 'new@example.com', roles: ['application_manager'] }] },
        { assignments: [{ email: 'pat@example.com', roles: ['panel_admin'] }] },
        { roles: [{ code: 'mine', permissions: { 'applications.manage': 'edit' } }] },
        { admins: ['pat@example.com'] },
      ];
      for (const name of ['aada', 'pat', 'edit', 'nora']) {
        for (const part of parts) {
          for (const query of ['', '?dryRun=true', '?prune=true']) {
            const answer = await registry.as(name).post(pathOf('auth') + query, manifest(part, 'auth'));
            expect(outcome(answer)).toEqual([403, 'NO_APPLICATION_LEVEL']);
          }
        }
      }
      expect(await exported('auth')).toBe(before);
      const text = { application: { code: 'auth', name: 'Administration' }, roles: [{ code: 'temporary' }] };
      expect((await root.post(pathOf('auth'), text)).status).toBe(200);
      await registry.usher.app.manifests.apply(before, { actor: 'cli', prune: true });
    });

    test.each(['shop', 'auth', 'portal', 'unheard-of'])(
      'a manifest of %s is 400 in the path of another application, and nothing of it is told or changed',
      async (code) => {
        const before = await all();
        const text = manifest({ roles: [{ code: 'mine' }, { code: 'Bad!' }], admins: ['nora@example.com'] }, code);
        for (const query of ['', '?dryRun=true', '?prune=true']) {
          const answer = await nora.post(PATH + query, text);
          expect(outcome(answer)).toEqual([400, 'VALIDATION_FAILED']);
          expect(answer.body.details.issues).toEqual([
            expect.objectContaining({
              path: 'application.code',
              message: 'must be billing, the application in the path',
              line: 1,
            }),
            expect.objectContaining({ path: 'roles.1.code' }),
          ]);
        }
        expect(await all()).toEqual(before);
      },
    );

    describe('what no administrator of the application may write singly', () => {
      const type = { code: 'auth_idp', name: 'Codes' };
      const mail = {
        type: 'auth_idp',
        key: 'password_reset',
        locale: 'en',
        subject: 'Code',
        html: '<p>{{ code }}</p>',
      };
      const plain = { type: 'generic', locale: 'en', subject: 'Hello', html: '<p>Hello</p>' };
      const refusals: [string, string, object, string][] = [
        ['a new type auth_idp', 'billing', { notificationTypes: [type] }, ''],
        ['its first template', 'billing', { notificationTypes: [type], templates: [mail] }, ''],
        ['a renamed type auth_idp', 'portal', { notificationTypes: [{ ...type, name: 'Mine' }] }, ''],
        ['a switch of it', 'portal', { notificationTypes: [{ ...type, emailEnabled: false }] }, ''],
        ['its removal', 'portal', { notificationTypes: [], templates: [] }, '&prune=true'],
        ['other words in its mail', 'portal', { templates: [{ ...mail, html: '<p>Mine {{ code }}</p>' }] }, ''],
        ['another language of its mail', 'portal', { templates: [{ ...mail, locale: 'cs' }] }, ''],
        ['another key of its mails', 'portal', { templates: [{ ...mail, key: 'otp_email' }] }, ''],
        ['the removal of its mail', 'portal', { templates: [plain] }, '&prune=true'],
        [
          'all of that beside harmless parts',
          'portal',
          { roles: [{ code: 'extra' }], templates: [mail, { ...mail, key: 'x' }] },
          '',
        ],
      ];

      test.each(refusals)('%s is refused, whole, with a record', async (_name, app, sections, query) => {
        const before = await all();
        const count = (await audits('manifest.applied.refused', app)).length;
        const text = { application: { code: app, name: 'Renamed' }, ...sections };
        const dry = await nora.post(`${pathOf(app)}?dryRun=true${query}`, text);
        expect(outcome(dry)).toEqual([403, 'FORBIDDEN']);
        expect((await audits('manifest.applied.refused', app)).length).toBe(count);
        const answer = await nora.post(`${pathOf(app)}?dryRun=false${query}`, text);
        expect(outcome(answer)).toEqual([403, 'FORBIDDEN']);
        expect(answer.body.message).toContain('auth_idp');
        expect(await all()).toEqual(before);
        const records = await audits('manifest.applied.refused', app);
        expect([records.length, records.at(-1)]).toEqual([
          count + 1,
          expect.objectContaining({ actor: 'user:nora@example.com', appCode: app }),
        ]);
      });

      test('naming them unchanged is allowed, so that an export can be changed and applied', async () => {
        const { body } = await nora.get(pathOf('portal'), { accept: 'application/json' });
        const text = { ...body.data, roles: [{ code: 'extra' }] };
        const answer = await nora.post(`${pathOf('portal')}?prune=true`, text);
        expect([answer.status, answer.body.data.summary]).toMatchObject([200, { create: 1, change: 0, remove: 0 }]);
      });

      test('a SuperAdmin does all of it by the same path', async () => {
        for (const [, app, sections, query] of refusals) {
          const text = { application: { code: app, name: 'Renamed' }, ...sections };
          expect(outcome(await root.post(`${pathOf(app)}?dryRun=true${query}`, text))).toEqual([200, undefined]);
        }
      });
    });

    /** The same change as a manifest and as single writes: both are carried out, or neither. */
    const idOf = async (rest: Rest, what: string, code: string): Promise<number> =>
      (await rest.get(`/api/applications/billing/${what}`)).body.data.find((one: { code: string }) => one.code === code)
        .id;
    test.each<[string, object, string, (id: typeof idOf) => Promise<[string, string, object?]>]>([
      [
        'strict codes',
        { application: { code: 'billing', name: 'Billing', strictCodes: true } },
        '',
        async () => ['PUT', '/api/applications/billing', { strictCodes: true }],
      ],
      [
        'an entity',
        { entities: [{ code: 'bill', name: 'Bill' }] },
        '',
        async () => ['POST', '/api/applications/billing/entities', { code: 'bill', name: 'Bill' }],
      ],
      [
        'an app admin',
        { admins: ['mallory@example.com'] },
        '',
        async () => ['POST', '/api/users/admins/apps/billing', { email: 'mallory@example.com' }],
      ],
      [
        'the seat of another admin',
        { admins: ['nora@example.com'] },
        '?prune=true',
        async () => ['DELETE', '/api/users/admins/apps/billing/idle@example.com'],
      ],
      [
        'a system type',
        { notificationTypes: [{ code: 'mine', name: 'Mine', system: true }] },
        '',
        async () => [
          'POST',
          '/api/applications/billing/notification-types',
          { code: 'mine', name: 'Mine', system: true },
        ],
      ],
      [
        'the type auth_idp',
        { notificationTypes: [{ code: 'auth_idp', name: 'Mine' }] },
        '',
        async () => ['POST', '/api/applications/billing/notification-types', { code: 'auth_idp', name: 'Mine' }],
      ],
      [
        'another type of a permission in use',
        { permissions: [{ code: 'invoice.read', type: 'binary' }] },
        '',
        async (id) => [
          'PUT',
          `/api/applications/billing/permissions/${await id(root, 'permissions', 'invoice.read')}`,
          { type: 'binary' },
        ],
      ],
      [
        'a role of another application',
        { assignments: [{ email: 'ben@example.com', roles: ['clerk'] }] },
        '',
        async () => ['POST', '/api/users/ben@example.com/apps/billing/roles', { role: 'clerk' }],
      ],
      [
        'an override of an unknown type',
        {
          overrides: [
            {
              email: 'ben@example.com',
              resourceType: 'order',
              resourceId: '1',
              permission: 'invoice.read',
              granted: true,
            },
          ],
        },
        '',
        async () => [
          'PUT',
          '/api/users/ben@example.com/apps/billing/resources/order/1/permissions',
          { permissions: [{ permission: 'invoice.read', granted: true }] },
        ],
      ],
      [
        'a script as a target',
        {
          templates: [{ type: 'generic', key: 'k', locale: 'en', subject: 's', html: '', url: 'javascript:alert(1)' }],
        },
        '',
        async () => [
          'POST',
          '/api/applications/billing/templates',
          { type: 'generic', key: 'k', locale: 'en', subject: 's', html: '', url: 'javascript:alert(1)' },
        ],
      ],
      [
        'a file as a list endpoint',
        { entities: [{ code: 'f', name: 'F', listEndpoint: 'file:///etc/passwd' }] },
        '',
        async () => [
          'POST',
          '/api/applications/billing/entities',
          { code: 'f', name: 'F', listEndpoint: 'file:///etc/passwd' },
        ],
      ],
    ])('%s: a manifest is refused exactly where the single write is', async (_name, sections, query, single) => {
      const [method, path, body] = await single(idOf);
      const together = await nora.post(`${PATH}?dryRun=true${query.replace('?', '&')}`, manifest(sections));
      const singly = await nora.send(method, path, body);
      expect([together.status < 300, outcome(together)[1]]).toEqual([singly.status < 300, outcome(singly)[1]]);
      await reset();
    });

    test('an administrator may give up the last seat, as singly, and then applies nothing more', async () => {
      expect((await nora.post(`${PATH}?prune=true`, manifest({ admins: [] }))).status).toBe(200);
      expect(outcome(await nora.post(PATH, manifest({ admins: ['nora@example.com'] })))).toEqual([
        403,
        'NO_APPLICATION_LEVEL',
      ]);
      await reset();
    });

    test('an inactive administrator is refused', async () => {
      expect((await root.put('/api/users/idle@example.com/active', { active: false })).status).toBe(200);
      expect(outcome(await registry.as('idle').post(PATH, manifest()))).toEqual([403, 'USER_INACTIVE']);
      expect((await root.put('/api/users/idle@example.com/active', { active: true })).status).toBe(200);
    });

    test('the write decides on its own rows, whatever the guard of the route has said', async () => {
      const apply = (email: string, within: string, dryRun = false) =>
        registry.usher.app.manifests.apply(JSON.stringify(manifest({ roles: [{ code: 'x' }] }, within)), {
          actor: { email },
          within,
          dryRun,
        });
      const before = await all();
      for (const dryRun of [false, true]) {
        await expect(apply('olga@example.com', 'billing', dryRun)).rejects.toMatchObject({
          reason: 'NO_APPLICATION_LEVEL',
        });
        await expect(apply('pat@example.com', 'auth', dryRun)).rejects.toMatchObject({
          reason: 'NO_APPLICATION_LEVEL',
        });
        await expect(apply('aada@example.com', 'auth', dryRun)).rejects.toMatchObject({
          reason: 'NO_APPLICATION_LEVEL',
        });
        // Nobody makes an application by this path, not even who may by another.
        await expect(apply('pat@example.com', 'nowhere', dryRun)).rejects.toMatchObject({
          reason: 'NO_APPLICATION_LEVEL',
        });
        await expect(apply('admin@example.com', 'nowhere', dryRun)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      }
      expect(await all()).toEqual(before);
      const record = (await audits('manifest.applied.refused')).findLast(
        ({ actor }) => actor === 'user:olga@example.com',
      );
      expect(record).toMatchObject({ appCode: 'billing', subject: 'billing' });
    });

    // PGlite has one connection: nobody waits there for another transaction.
    if (kind === 'postgresql') {
      test('who loses the seat while the apply waits for its turn applies nothing', async () => {
        const { app } = registry.usher;
        const before = await exported();
        const claimed = Promise.withResolvers<void>();
        const release = Promise.withResolvers<void>();
        const holding = app.database.change(async (tx) => {
          expect(await tryClaim(tx, 'billing')).toBe(true);
          claimed.resolve();
          await release.promise;
          return { result: null, scopes: [] };
        });
        await claimed.promise;
        const waiting = registry.as('idle').post(PATH, manifest({ admins: ['mallory@example.com'] }));
        // Its own guard has passed, and it asks for its turn every tenth of a second.
        await new Promise((resolve) => setTimeout(resolve, 300));
        expect((await nora.delete('/api/users/admins/apps/billing/idle@example.com')).status).toBe(204);
        release.resolve();
        await holding;
        expect(outcome(await waiting)).toEqual([403, 'NO_APPLICATION_LEVEL']);
        await reset();
        expect(await exported()).toBe(before);
      }, 20_000);
    }
  });
}
