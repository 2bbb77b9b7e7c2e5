import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { administer, editorOf } from '../../src/administration/administer.ts';
import { DryRun } from '../../src/administration/dry-run.ts';
import { PANEL_MANAGE as MANAGE, PANEL_ADMIN } from '../../src/administration/panel.ts';
import { asksForDryRun } from '../../src/gateway/route/dry-run.ts';
import { parseQuery } from '../../src/gateway/route/inputs.ts';
import { KINDS } from '../support/databases.ts';
import { outcome, useRegistry } from '../support/registry.ts';
import { Rest } from '../support/rest.ts';

const MANIFEST = `
application: { code: billing, name: Billing }
entities: [{ code: invoice, name: Invoice }]
permissions: [{ code: invoice.read, type: tiered }]
roles: [{ code: reader, permissions: { invoice.read: view } }]
admins: [nora@example.com]
assignments: [{ email: ben@example.com, roles: [reader] }]
`;
const REQUEST_ID = '0b0e8f2e-0000-4000-8000-00000000d01a';
const ROLES = '/api/applications/billing/roles';

test('a query requests a dry run exactly when its parameters say so', () => {
  const part = fc.constantFrom(
    'dryRun',
    'true',
    'false',
    '=',
    '&',
    '?',
    '+',
    '%',
    '%64',
    'dr%79Run',
    'tr%75e',
    '%00',
    '%ff',
    '#',
  );
  const query = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(query, (search) => {
      const { values, issues } = parseQuery(search);
      // Where there are issues both ways lead to 400: only what is carried out must agree.
      if (issues.length === 0) expect(asksForDryRun(`/x?${search}`)).toBe(values.dryRun === 'true');
    }),
    { numRuns: 5000, examples: [['dryRun=true'], ['dr%79Run=tr%75e'], ['?dryRun=true'], ['dryRun=true#']] },
  );
});

for (const kind of KINDS) {
  describe(`answers to dry runs (${kind})`, () => {
    const registry = useRegistry(kind, [MANIFEST]);
    const { root } = registry;
    const roleId = async (): Promise<number> => (await root.get(ROLES)).body.data[0].id;

    test('a dry run is refused like its write, with the same reason', async () => {
      const role = `${ROLES}/${await roleId()}`;
      const none = { permissions: [] };
      const refusals: [status: number, who: Rest, method: string, path: string, body?: unknown, type?: string][] = [
        [401, await Rest.as(registry.usher), 'PUT', `${role}/permissions`, none],
        [403, registry.as('ben'), 'PUT', `${role}/permissions`, none],
        [403, registry.as('nora'), 'DELETE', '/api/applications/billing'],
        [403, registry.as('nora'), 'PUT', '/api/users/ben@example.com/active', { active: false }],
        [404, root, 'PUT', `${ROLES}/999999/permissions`, none],
        [404, root, 'POST', '/api/applications/nowhere/roles', { code: 'x' }],
        [404, root, 'DELETE', '/api/applications/nowhere'],
        [404, root, 'PUT', '/api/users/nobody@example.com/active', { active: false }],
        [404, root, 'DELETE', '/api/users/admins/super/nobody@example.com'],
        [405, root, 'PATCH', `${role}/permissions`, none],
        [
          400,
          root,
          'PUT',
          `${role}/permissions`,
          { permissions: [{ permission: 'invoice.read', accessLevel: 'allowed' }] },
        ],
        [400, root, 'PUT', `${role}/permissions`, { wrong: true }],
        [415, root, 'PUT', `${role}/permissions`, none, 'text/plain'],
        [409, root, 'POST', ROLES, { code: 'reader' }],
        [409, root, 'DELETE', '/api/users/admins/super/admin@example.com'],
        [409, root, 'PUT', '/api/users/admin@example.com/active', { active: false }],
      ];
      for (const [status, who, method, path, body, type] of refusals) {
        const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
        const dry = await who.send(method, `${path}?dryRun=true`, body, headers);
        const real = await who.send(method, path, body, headers);
        expect([method, path, status, ...outcome(dry)]).toEqual([method, path, real.status, ...outcome(real)]);
        expect([method, path, dry.status, dry.body.message]).toEqual([method, path, status, real.body.message]);
      }
    });

    test('the guard also refuses a dry run inside its transaction', async () => {
      const by = { caller: { email: 'ben@example.com' }, requestId: REQUEST_ID, dryRun: new DryRun() };
      const about = { app: 'billing', action: 'role.changed', guard: editorOf('billing') };
      const write = () => Promise.resolve({ result: null, scopes: [] });
      await expect(administer(registry.usher.app.database, by, about, write)).rejects.toMatchObject({
        reason: 'NO_APPLICATION_LEVEL',
      });
    });

    test('HEAD refuses dryRun like GET, and OPTIONS ignores it', async () => {
      expect((await root.send('OPTIONS', `${ROLES}?dryRun=true`)).status).toBe(204);
      expect((await root.send('GET', `${ROLES}?dryRun=true`)).status).toBe(400);
      expect((await root.send('HEAD', `${ROLES}?dryRun=true`)).status).toBe(400);
    });

    test('a dry run answers 200 where its write answers 201 or 204, with a request id and no location', async () => {
      const made = await root.post(`${ROLES}?dryRun=true`, { code: 'fresh' }, { 'x-request-id': REQUEST_ID });
      expect([made.status, made.headers.get('x-request-id'), made.headers.get('location')]).toEqual([
        200,
        REQUEST_ID,
        null,
      ]);
      const gone = await root.delete('/api/applications/billing?dryRun=true');
      expect([gone.status, gone.body.data.result]).toEqual([200, null]);
    });

    test('a dry run lists up to 1,000 changes completely, and the first by e-mail of 1,001', async () => {
      const people = Array.from({ length: 1001 }, (_, index) => `p${String(index).padStart(4, '0')}@example.com`);
      const manifest = (count: number) =>
        JSON.stringify({
          application: { code: 'many', name: 'Many' },
          permissions: [{ code: 'a.b', type: 'binary' }],
          roles: [{ code: 'all', permissions: {} }],
          assignments: people.slice(0, count).map((email) => ({ email, roles: ['all'] })),
        });
      const given = { permissions: [{ permission: 'a.b', accessLevel: 'allowed' }] };
      for (const count of [1000, 1001]) {
        await registry.usher.app.manifests.apply(manifest(count), { actor: 'cli' });
        const [{ id }] = (await root.get('/api/applications/many/roles')).body.data;
        const { impact } = (await root.put(`/api/applications/many/roles/${id}/permissions?dryRun=true`, given)).body
          .data;
        expect(impact).toMatchObject({ people: count, gained: count, lost: 0, truncated: count > 1000 });
        expect(impact.changes.map(({ email }: { email: string }) => email)).toEqual(people.slice(0, 1000));
      }
    }, 60_000);

    test("a caller who may not view the panel's application does not see who loses a level in it", async () => {
      const panel = '/api/users/mia@example.com/apps/auth';
      expect((await root.put(`${panel}/roles`, { roles: [PANEL_ADMIN] })).status).toBe(200);
      const denied = { permissions: [{ permission: MANAGE, granted: false }] };
      expect((await root.put(`${panel}/resources/application/auth/permissions`, denied)).status).toBe(200);
      const level = { permissions: [{ permission: MANAGE, granted: true, accessLevel: 'edit' }] };
      const otto = '/api/users/otto@example.com/apps/auth/resources/application/billing/permissions';
      expect((await root.put(otto, level)).status).toBe(200);
      const appsOf = async (who: Rest): Promise<string[]> => {
        const { status, body } = await who.delete('/api/applications/billing?dryRun=true');
        expect([status, body]).toMatchObject([200, {}]);
        return [...new Set<string>(body.data.impact.changes.map(({ app }: { app: string }) => app))].toSorted();
      };
      expect(await appsOf(root)).toEqual(['auth', 'billing']);
      expect(await appsOf(registry.as('mia'))).toEqual(['billing']);
    });

    test('a global permission shows its dormant overrides when it stops being global', async () => {
      const path = '/api/users/ben@example.com/apps/billing/resources/invoice/7/permissions';
      const denied = { permissions: [{ permission: 'invoice.read', granted: false }] };
      expect((await root.put(path, denied)).status).toBe(200);
      const permissions = '/api/applications/billing/permissions';
      const [{ id }] = (await root.get(permissions)).body.data;
      const change = { email: 'ben@example.com', permission: 'invoice.read', resourceType: 'invoice', resourceId: '7' };
      const made = await root.put(`${permissions}/${id}?dryRun=true`, { global: true });
      expect(made.body.data.impact).toMatchObject({
        gained: 1,
        lost: 0,
        changes: [{ ...change, from: null, to: 'view' }],
      });
      expect((await root.put(`${permissions}/${id}`, { global: true })).status).toBe(200);
      const ended = await root.put(`${permissions}/${id}?dryRun=true`, { global: false });
      expect(ended.body.data.impact).toMatchObject({
        gained: 0,
        lost: 1,
        changes: [{ ...change, from: 'view', to: null }],
      });
    });
  });
}
