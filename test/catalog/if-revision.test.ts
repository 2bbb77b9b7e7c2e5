import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { PANEL_MANAGE as MANAGE } from '../../src/administration/panel.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { outcome, useRegistry } from '../support/registry.ts';
import { Rest, type RestAnswer } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const MANIFEST = `
application: { code: billing, name: Billing }
permissions: [{ code: report.send, type: binary }, { code: invoice.read, type: tiered }]
roles: [{ code: reader, permissions: { invoice.read: view } }]
assignments: [{ email: ben@example.com, roles: [reader] }]
`;
const SHOP = `
application: { code: shop, name: Shop }
permissions: [{ code: order.read, type: binary }]
roles: [{ code: clerk, permissions: { order.read: allowed } }]
`;
const STALE = [412, 'STALE'];

for (const kind of KINDS) {
  describe(`usher-if-revision (${kind})`, () => {
    const registry = useRegistry(kind, [MANIFEST, SHOP]);
    const { root } = registry;

    const revisionOf = ({ status, body }: RestAnswer): string => {
      expect([status, body]).toMatchObject([200, { success: true }]);
      return body.data.impact.revision;
    };
    const holding = (revision: string) => ({ 'usher-if-revision': revision });
    const idOf = async (what: string, code: string): Promise<number> => {
      const { body } = await root.get(`/api/applications/billing/${what}`);
      return body.data.find((one: { code: string }) => one.code === code).id;
    };
    const done = ({ status }: RestAnswer): boolean => status >= 200 && status < 300;

    test("a change of a permission's type is STALE when an app admin was added since the dry run", async () => {
      const path = `/api/applications/billing/permissions/${await idOf('permissions', 'report.send')}`;
      const tiered = { type: 'tiered' };
      const first = await root.put(`${path}?dryRun=true`, tiered);
      // A SuperAdmin has the highest level of either type.
      expect(first.body.data.impact).toMatchObject({ people: 0, gained: 0, lost: 0 });
      expect(done(await root.post('/api/users/admins/apps/billing', { email: 'zoe@example.com' }))).toBe(true);
      expect(outcome(await root.put(path, tiered, holding(revisionOf(first))))).toEqual(STALE);
      const second = await root.put(`${path}?dryRun=true`, tiered);
      expect(second.body.data.impact).toMatchObject({
        gained: 1,
        changes: [{ email: 'zoe@example.com', permission: 'report.send', from: 'allowed', to: 'edit' }],
      });
      expect(done(await root.put('/api/users/zoe@example.com/active', { active: false }))).toBe(true);
      expect(outcome(await root.put(path, tiered, holding(revisionOf(second))))).toEqual(STALE);
    });

    test('a change to a person without access in the application does not make its writes STALE', async () => {
      expect(done(await root.put('/api/users/otto@example.com/apps/shop/roles', { roles: ['clerk'] }))).toBe(true);
      const path = `/api/applications/billing/roles/${await idOf('roles', 'reader')}/permissions`;
      const revision = revisionOf(await root.put(`${path}?dryRun=true`, { permissions: [] }));
      expect(done(await root.put('/api/users/otto@example.com/active', { active: false }))).toBe(true);
      expect(done(await root.put('/api/users/otto@example.com/active', { active: true }))).toBe(true);
      expect(done(await root.put(path, { permissions: [] }, holding(revision)))).toBe(true);
    });

    test('the deletion of an application is STALE when someone got a panel level on it since the dry run', async () => {
      expect(done(await root.post('/api/applications', { code: 'attic', name: 'Attic' }))).toBe(true);
      const path = '/api/applications/attic';
      const revision = revisionOf(await root.delete(`${path}?dryRun=true`));
      const managed = '/api/users/otto@example.com/apps/auth/resources/application/attic/permissions';
      const level = { permissions: [{ permission: MANAGE, granted: true, accessLevel: 'edit' }] };
      expect(done(await root.put(managed, level))).toBe(true);
      const send = (of: string) => root.send('DELETE', path, undefined, holding(of));
      expect(outcome(await send(revision))).toEqual(STALE);
      expect(done(await send(revisionOf(await root.delete(`${path}?dryRun=true`))))).toBe(true);
    });

    test('a write about a person in all applications is STALE when an application in which they had access was deleted', async () => {
      expect(done(await root.post('/api/applications', { code: 'loft', name: 'Loft' }))).toBe(true);
      expect(done(await root.post('/api/users/admins/apps/loft', { email: 'ben@example.com' }))).toBe(true);
      const path = '/api/users/ben@example.com/active';
      const revision = revisionOf(await root.put(`${path}?dryRun=true`, { active: false }));
      expect(done(await root.delete('/api/applications/loft'))).toBe(true);
      expect(outcome(await root.put(path, { active: false }, holding(revision)))).toEqual(STALE);
    });

    test('a write about a person in all applications is not STALE for a new application, or for the access of others', async () => {
      const path = '/api/users/ben@example.com/active';
      const revision = revisionOf(await root.put(`${path}?dryRun=true`, { active: false }));
      expect(done(await root.post('/api/applications', { code: 'barn', name: 'Barn' }))).toBe(true);
      expect(done(await root.put('/api/users/dora@example.com/apps/billing/roles', { roles: ['reader'] }))).toBe(true);
      expect(done(await root.put(path, { active: false }, holding(revision)))).toBe(true);
      expect(outcome(await root.put(path, { active: true }, holding(revision)))).toEqual(STALE);
      expect(done(await root.put(path, { active: true }))).toBe(true);
    });

    test('a revision of another history is unknown, a pruned one is STALE, and a dry run accepts the header', async () => {
      const path = '/api/users/ben@example.com/apps/billing/roles';
      const revision = revisionOf(await root.put(`${path}?dryRun=true`, { roles: [] }));
      const [number, nonce = ''] = revision.split('.');
      const other = holding(`${number}.${nonce === '1' ? '2' : '1'}`);
      expect(outcome(await root.put(path, { roles: [] }, other))).toEqual([400, 'UNKNOWN_REVISION']);
      expect(outcome(await root.put(`${path}?dryRun=true`, { roles: [] }, other))).toEqual([400, 'UNKNOWN_REVISION']);
      expect(outcome(await root.put(`${path}?dryRun=true`, { roles: [] }, holding(revision)))[0]).toBe(200);

      expect(done(await root.put('/api/users/dora@example.com/apps/shop/roles', { roles: ['clerk'] }))).toBe(true);
      await registry.usher.app.database.change(async (tx) => {
        await sql`delete from policy_change where revision = ${Number(number)}`.execute(tx.kysely);
        return { result: null, scopes: [] };
      });
      expect(outcome(await root.put(path, { roles: [] }, holding(revision)))).toEqual(STALE);
      expect(outcome(await root.put(`${path}?dryRun=true`, { roles: [] }, holding(revision)))).toEqual(STALE);
    });

    test('a write that fails both if-match and usher-if-revision is STALE, and a dry run treats if-match like the write', async () => {
      const path = '/api/users/ben@example.com/apps/billing/roles';
      const { headers } = await root.get(path);
      const etag = headers.get('etag') ?? '';
      const dry = await root.put(`${path}?dryRun=true`, { roles: [] }, { 'if-match': etag });
      expect(dry.status).toBe(200);
      expect(outcome(await root.put(`${path}?dryRun=true`, { roles: [] }, { 'if-match': '"other"' }))).toEqual(STALE);
      const both = { ...holding(revisionOf(dry)), 'if-match': '"other"' };
      expect(outcome(await root.put(path, { roles: [] }, both))).toEqual(STALE);
      expect(done(await root.put(path, { roles: [] }, { ...both, 'if-match': etag }))).toBe(true);
    });
  });
}

describe('a write that insists on a revision while another one is made', () => {
  let storage: TestStorage;
  let usher: RunningUsher;
  /** Runs at the end of the next write, when only its number is missing. */
  let atTheEnd: (() => Promise<void>) | undefined;

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    const hit = async (name: string): Promise<void> => {
      if (name !== 'before-log') return;
      const run = atTheEnd;
      atTheEnd = undefined;
      await run?.();
    };
    usher = await startUsher(storage, { parts: { failpoints: { hit } } });
    await usher.app.manifests.apply(MANIFEST, { actor: 'cli' });
  }, 60_000);
  afterAll(async () => {
    await usher?.close();
    await storage?.remove();
  });

  test('a write with usher-if-revision blocks another write from its last read of the log until its commit', async () => {
    const root = Rest.later(() => usher, 'admin@example.com');
    const [{ id }] = (await root.get('/api/applications/billing/roles')).body.data;
    const path = `/api/applications/billing/roles/${id}/permissions`;
    const dry = await root.put(`${path}?dryRun=true`, { permissions: [] });
    let other: Promise<RestAnswer> | undefined;
    let early = false;
    atTheEnd = async () => {
      // It locks no row that the first one holds.
      other = root.put('/api/users/ben@example.com/active', { active: false });
      const ended = other.then(() => true);
      early = await Promise.race([ended, new Promise<false>((resolve) => setTimeout(resolve, 1000, false))]);
    };
    const done = await root.put(
      path,
      { permissions: [] },
      { 'usher-if-revision': dry.body.data.impact.revision as string },
    );
    expect([done.status, (await other)?.status, early]).toEqual([200, 200, false]);
  });

  test('of equal writes at once with one usher-if-revision one is carried out', async () => {
    const root = Rest.later(() => usher, 'admin@example.com');
    const [{ id }] = (await root.get('/api/applications/billing/roles')).body.data;
    const grants = `/api/applications/billing/roles/${id}/permissions`;
    const person = (email: string) => `/api/users/${email}/active`;
    const writes: [string, unknown][] = [
      [person('ben@example.com'), { active: false }],
      [person('ben@example.com'), { active: true }],
      [grants, { permissions: [{ permission: 'report.send', accessLevel: 'allowed' }] }],
    ];
    await root.put(person('ben@example.com'), { active: true });
    for (const [path, body] of writes) {
      const dry = await root.put(`${path}?dryRun=true`, body);
      const headers = { 'usher-if-revision': dry.body.data.impact.revision as string };
      const answers = await Promise.all(Array.from({ length: 8 }, () => root.put(path, body, headers)));
      const statuses = answers.map(({ status }) => status).toSorted((one, other) => one - other);
      expect([path, statuses]).toEqual([path, [200, ...Array<number>(7).fill(412)]]);
    }
  });
});
