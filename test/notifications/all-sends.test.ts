import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { describeApplications } from './support.ts';

const SENDS = '/api/admin/notifications';
const PANEL = `
application: { code: auth, name: Administration }
assignments: [{ email: vera@example.com, roles: [application_manager] }]
overrides:
  - { email: vera@example.com, resourceType: application, resourceId: shop, permission: applications.manage, granted: true, accessLevel: view }
`;

interface Given {
  app: string;
  email: string;
  status: string;
  /** Of its mail: the brand, and why it failed. */
  brand?: string;
  error?: string;
  hoursAgo?: number;
  type?: string;
}

for (const kind of KINDS) {
  describe(`sends of all applications (${kind})`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;
    const as = (email: string) => Rest.as(usher, email);

    beforeAll(async () => {
      storage = await createStorage(kind);
      usher = await startUsher(storage, { env: { USHER_ROLES: 'gateway,rpc', SUPERADMINS: 'root@example.com' } });
      await describeApplications(usher);
      await usher.app.manifests.apply(PANEL, { actor: 'cli' });
      const root = await as('root@example.com');
      expect((await root.post('/api/admin/brands', { slug: 'atelier', name: 'Atelier' })).status).toBe(201);
      await insert(usher, [
        { app: 'billing', email: 'old@example.com', status: 'failed', error: 'smtp_rejected', hoursAgo: 30 },
        { app: 'shop', email: 'a@example.com', status: 'sent' },
        { app: 'billing', email: 'a@example.com', status: 'failed', brand: 'atelier', error: 'smtp_rejected' },
        { app: 'shop', email: 'b@example.com', status: 'failed', error: 'no_smtp' },
        { app: 'billing', email: 'b@example.com', status: 'partial', error: 'no_smtp' },
        { app: 'shop', email: 'c@example.com', status: 'queued' },
        { app: 'auth', email: 'c@example.com', status: 'failed', error: 'smtp_rejected', type: 'auth_idp' },
      ]);
    }, 120_000);
    afterAll(async () => {
      await usher?.close();
      await storage?.remove();
    }, 60_000);

    const seen = async (email: string, query = ''): Promise<string[]> => {
      const { status, body } = await (await as(email)).get(SENDS + query);
      expect(status).toBe(200);
      return body.data.map((item: Given & { appCode: string }) => `${item.appCode} ${item.email} ${item.status}`);
    };

    test('everybody sees the sends of their applications, newest first', async () => {
      const billing = [
        'billing b@example.com partial',
        'billing a@example.com failed',
        'billing old@example.com failed',
      ];
      const shop = ['shop c@example.com queued', 'shop b@example.com failed', 'shop a@example.com sent'];
      expect(await seen('nora@example.com')).toEqual(billing);
      expect(await seen('vera@example.com')).toEqual(shop);
      expect(await seen('root@example.com')).toEqual([
        'auth c@example.com failed',
        shop[0],
        billing[0],
        shop[1],
        billing[1],
        shop[2],
        billing[2],
      ]);
      expect((await (await as('plain@example.com')).get(SENDS)).status).toBe(403);
    });

    test('the filters are those of one application, and the application', async () => {
      expect(await seen('root@example.com', '?status=partial')).toEqual(['billing b@example.com partial']);
      expect(await seen('nora@example.com', '?status=failed&email=A@example.com')).toEqual([
        'billing a@example.com failed',
      ]);
      expect(await seen('root@example.com', '?type=auth_idp')).toEqual(['auth c@example.com failed']);
      expect(await seen('nora@example.com', '?type=auth_idp')).toEqual([]);
      expect(await seen('root@example.com', '?type=generic&status=queued')).toEqual(['shop c@example.com queued']);
      expect(await seen('root@example.com', '?email=c@example.com&type=generic')).toEqual([
        'shop c@example.com queued',
      ]);
      expect(await seen('root@example.com', '?appCode=shop&status=sent')).toEqual(['shop a@example.com sent']);
      for (const query of ['?appCode=shop', '?appCode=nowhere', '?email=nobody@example.com']) {
        expect(await seen('nora@example.com', query)).toEqual([]);
      }
      for (const query of ['?status=lost', '?appCode=A', '?cursor=x', '?brand=atelier']) {
        expect((await (await as('root@example.com')).get(SENDS + query)).status).toBe(400);
      }
    });

    test('an item is that of the send log of one application, with its application', async () => {
      const root = await as('root@example.com');
      const { body } = await root.get(`${SENDS}?appCode=billing`);
      const log = await root.get('/api/applications/billing/notifications');
      expect(body.data.map(({ appCode: _appCode, ...item }: { appCode: string }) => item)).toEqual(log.body.data);
      const [newest] = log.body.data;
      const one = await root.get(`/api/applications/billing/notifications/${newest.id}`);
      expect([one.status, one.body.data]).toEqual([200, newest]);
    });

    test('pages hold every send once', async () => {
      for (const query of ['', '&status=failed', '&type=generic']) {
        const root = await as('root@example.com');
        const all = await seen('root@example.com', `?limit=200${query}`);
        const found: string[] = [];
        let cursor: string | null = null;
        do {
          const next: string = cursor === null ? '' : `&cursor=${cursor}`;
          const { body } = await root.get(`${SENDS}?limit=2${query}${next}`);
          found.push(
            ...body.data.map((item: Given & { appCode: string }) => `${item.appCode} ${item.email} ${item.status}`),
          );
          cursor = body.page.nextCursor;
        } while (cursor !== null);
        expect(found).toEqual(all);
      }
    });

    test('outcomes are counted by hour, channel, brand and reason, of what the caller may see', async () => {
      const rows = async (email: string, query = '') => {
        const { status, body } = await (await as(email)).get(`${SENDS}/stats${query}`);
        expect(status).toBe(200);
        expect(body.since).toMatch(/Z$/);
        expect(body.data.every(({ hour }: { hour: string }) => /T\d\d:00:00.000Z$/.test(hour))).toBe(true);
        return body.data
          .map(
            (row: Record<string, string | number | null>) => `${row.channel} ${row.brand} ${row.reason} ${row.count}`,
          )
          .toSorted();
      };
      expect(await rows('nora@example.com')).toEqual([
        'email atelier smtp_rejected 1',
        'email default no_smtp 1',
        'push default null 1',
      ]);
      expect(await rows('nora@example.com', '?hours=48')).toContain('email default smtp_rejected 1');
      expect(await rows('vera@example.com')).toEqual(['email default no_smtp 1', 'email default null 1']);
      expect(await rows('vera@example.com', '?appCode=billing')).toEqual([]);
      expect(await rows('root@example.com')).toEqual([
        'email atelier smtp_rejected 1',
        'email default no_smtp 2',
        'email default null 1',
        'email default smtp_rejected 1',
        'push default null 1',
      ]);
      for (const query of ['?hours=0', '?hours=169', '?hours=x']) {
        expect((await (await as('root@example.com')).get(`${SENDS}/stats${query}`)).status).toBe(400);
      }
    });

    test('a retry takes what its author may edit, and nothing else', async () => {
      const retry = async (email: string, body: unknown) => (await as(email)).post(`${SENDS}/retry`, body);
      expect((await retry('vera@example.com', { appCode: 'shop' })).body.details.code).toBe('NO_APPLICATION_LEVEL');
      const none = { notifications: 0, deliveries: 0, more: false };
      expect((await retry('vera@example.com', {})).body.data).toEqual(none);
      expect((await retry('nora@example.com', { appCode: 'shop' })).body.data).toEqual(none);
      expect((await retry('nora@example.com', { appCode: 'nowhere' })).body.data).toEqual(none);
      expect((await retry('root@example.com', { appCode: 'nowhere' })).body.details.code).toBe('UNKNOWN_REFERENCE');
      expect((await retry('nora@example.com', { brand: 'nothing' })).body.details.code).toBe('UNKNOWN_REFERENCE');
      expect((await retry('root@example.com', { appCode: 'auth' })).body.data).toEqual(none);
      expect((await retry('plain@example.com', {})).status).toBe(403);
      for (const body of [{ status: 'sent' }, { email: 'a@example.com' }]) {
        expect((await retry('root@example.com', body)).status).toBe(400);
      }
      const first = await retry('nora@example.com', { brand: 'atelier' });
      expect([first.status, first.body.data]).toEqual([202, { notifications: 1, deliveries: 1, more: false }]);
      expect(await seen('nora@example.com', '?status=queued')).toEqual(['billing a@example.com queued']);
      expect((await retry('root@example.com', { status: 'partial', type: 'generic' })).body.data).toMatchObject({
        notifications: 1,
      });
      // A delivery that had arrived stays as it is.
      const [partial] = (await (await as('root@example.com')).get(`${SENDS}?email=b@example.com&appCode=billing`)).body
        .data;
      expect(partial.deliveries.map(({ channel, status }: Record<string, string>) => [channel, status])).toEqual([
        ['email', 'queued'],
        ['push', 'sent'],
      ]);
      expect((await retry('root@example.com', {})).body.data).toEqual({ notifications: 2, deliveries: 2, more: false });
      expect((await retry('root@example.com', {})).body.data).toEqual(none);
      expect(await seen('root@example.com', '?status=failed')).toEqual(['auth c@example.com failed']);
    });

    test('a retry leaves a record in each application', async () => {
      const root = await as('root@example.com');
      const { body } = await root.get('/api/admin/audit?action=notification.retried');
      const records = body.data.map((one: { appCode: string; actor: string; after: { deliveries: number } }) => [
        one.appCode,
        one.actor,
        one.after.deliveries,
      ]);
      expect(records.toSorted()).toEqual([
        ['billing', 'user:nora@example.com', 1],
        ['billing', 'user:root@example.com', 1],
        ['billing', 'user:root@example.com', 1],
        ['shop', 'user:root@example.com', 1],
      ]);
    });

    test('at most 10,000 are retried at once, each once, also by several at once', async () => {
      await usher.app.database.change(async (tx) => {
        await sql`
          with n as (
            insert into notification (application_id, notification_type_id, person_id, subject, payload, status, locale)
            select t.application_id, t.id, (select min(id) from person), 's', '{}', 'failed', 'en'
              from notification_type t cross join generate_series(1, 10500)
             where t.code = 'generic' and t.application_id = (select id from application where code = 'billing')
            returning id)
          insert into delivery (notification_id, channel, content, status, lane, error, due_at)
          select id, 'email', '{}', 'failed', 'brand:default', 'no_smtp', null from n`.execute(tx.kysely);
        return { result: null, scopes: [] };
      });
      const root = await as('root@example.com');
      const answers = await Promise.all([1, 2, 3].map(() => root.post(`${SENDS}/retry`, { appCode: 'billing' })));
      const counts = answers.map(({ body }) => body.data.deliveries as number);
      expect(Math.max(...counts)).toBeLessThanOrEqual(10_000);
      const { body } = await root.post(`${SENDS}/retry`, { appCode: 'billing' });
      expect(counts.reduce((sum, count) => sum + count, body.data.deliveries)).toBe(10_500);
      const { rows } = await usher.app.database.read((tx) =>
        sql<{
          status: string;
        }>`select distinct status from delivery where content::text = '{}' and lane = 'brand:default'
          and notification_id in (select id from notification where subject = 's')`.execute(tx.kysely),
      );
      expect(rows).toEqual([{ status: 'queued' }]);
    }, 60_000);
  });
}

/** Notifications with their mail; a partial one also has a push that arrived. */
async function insert(usher: RunningUsher, all: readonly Given[]): Promise<void> {
  await usher.app.database.change(async (tx) => {
    for (const { app, email, status, brand = null, error = null, hoursAgo = 0, type = 'generic' } of all) {
      const { rows } = await sql<{ id: number }>`
        with p as (
          insert into person (email) values (${email}) on conflict (email) do update set email = excluded.email
          returning id)
        insert into notification (application_id, notification_type_id, person_id, subject, payload, status, locale, created_at)
        select t.application_id, t.id, p.id, 'x', '{}', ${status}, 'en', now() - make_interval(hours => ${hoursAgo})
          from p, notification_type t join application a on a.id = t.application_id
         where a.code = ${app} and t.code = ${type}
        returning id`.execute(tx.kysely);
      const id = rows[0]?.id ?? 0;
      const mail = status === 'partial' ? 'failed' : status;
      await sql`
        insert into delivery (notification_id, channel, content, status, lane, error, due_at, brand_id)
        values (${id}, 'email', '{}', ${mail}, 'brand:x', ${error}, null, (select id from brand where slug = ${brand}))`.execute(
        tx.kysely,
      );
      if (status !== 'partial') continue;
      await sql`
        insert into delivery (notification_id, channel, content, status, lane, due_at)
        values (${id}, 'push', '{}', 'sent', 'push:x', null)`.execute(tx.kysely);
    }
    return { result: null, scopes: [] };
  });
}
