import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { describeApplications } from '../notifications/support.ts';
import { WEBHOOK_SECRETS } from '../provider/fixture.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { type IdpDouble, SERVICE_TOKEN, startIdp } from '../support/provider/double.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const PATH = '/api/admin/overview';
const MINE = `
application: { code: mine, name: Mine }
permissions: [{ code: a, type: binary }, { code: b, type: binary }]
roles: [{ code: reader, permissions: { a: allowed } }]
admins: [appadmin@example.com]
assignments:
  - { email: one@example.com, roles: [reader] }
  - { email: two@example.com, roles: [reader] }
overrides: [{ email: two@example.com, resourceType: thing, resourceId: '1', permission: b, granted: true }]
`;
const PANEL = `
application: { code: auth, name: Administration }
assignments: [{ email: entry@example.com, roles: [application_manager] }]
`;

for (const kind of KINDS) {
  describe(`the overview (${kind})`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;
    let idp: IdpDouble;
    let idpIsOpen = true;

    beforeAll(async () => {
      storage = await createStorage(kind);
      idp = await startIdp();
      usher = await startUsher(storage, {
        env: {
          USHER_ROLES: 'gateway,rpc',
          SUPERADMINS: 'root@example.com',
          IDP_API_URL: idp.url,
          IDP_SERVICE_ACCOUNT_TOKEN: SERVICE_TOKEN,
          IDP_WEBHOOK_SECRET: WEBHOOK_SECRETS[0],
        },
      });
      await describeApplications(usher);
      for (const text of [MINE, PANEL]) await usher.app.manifests.apply(text, { actor: 'cli' });
      await usher.app.database.change(async (tx) => {
        await sql`
          with n as (
            insert into notification (application_id, notification_type_id, person_id, subject, payload, status, locale, created_at)
            select t.application_id, t.id, (select min(id) from person), 'x', '{}', given.status, 'en',
                   now() - make_interval(hours => given.hours)
              from (values (1, 'mine', 'failed', 30), (2, 'mine', 'queued', 29), (3, 'shop', 'sent', 2), (4, 'mine', 'sent', 1),
                           (5, 'mine', 'failed', 1), (6, 'shop', 'failed', 0), (7, 'mine', 'queued', 0)) as given (at, app, status, hours)
              join application a on a.code = given.app join notification_type t on t.application_id = a.id and t.code = 'generic'
             order by given.at
            returning id, status)
          insert into delivery (notification_id, channel, content, status, lane, error, due_at)
          select id, 'email', '{}', status, 'x', case when status = 'failed' then 'smtp_rejected' end, null from n
        `.execute(tx.kysely);
        return { result: null, scopes: [] };
      });
    }, 120_000);
    afterAll(async () => {
      await usher?.close();
      if (idpIsOpen) await idp?.close();
      await storage?.remove();
    }, 60_000);

    const read = async (email: string) => {
      const { status, body } = await (await Rest.as(usher, email)).get(PATH);
      expect(status).toBe(200);
      return body.data;
    };
    const hoursAgo = (text: string) => Math.round((Date.now() - Date.parse(text)) / 3_600_000);

    test('an app admin sees their application alone', async () => {
      const { oldestWaiting, revision, ...rest } = await read('appadmin@example.com');
      expect(rest).toEqual({
        counts: { applications: 1, people: 3, morePeople: false, roles: 1, permissions: 2, appAdmins: 1 },
        endingSoon: 0,
        sends: { queued: 1, sent: 1, partial: 0, failed: 1, suppressed: 0 },
        failingBrands: [{ slug: 'default', name: expect.any(String), failures: 1, reason: 'smtp_rejected' }],
      });
      expect(hoursAgo(oldestWaiting)).toBe(29);
      expect(revision).toBe(usher.app.engine.revision);
    });

    test('a panel user without applications sees that there are none', async () => {
      const { revision: _revision, ...rest } = await read('entry@example.com');
      expect(rest).toEqual({
        counts: { applications: 0, people: 0, morePeople: false, roles: 0, permissions: 0, appAdmins: 0 },
        endingSoon: 0,
        sends: { queued: 0, sent: 0, partial: 0, failed: 0, suppressed: 0 },
        oldestWaiting: null,
        failingBrands: [],
      });
    });

    test('a SuperAdmin sees everything, and the provider', async () => {
      const before = await read('root@example.com');
      expect(before).toMatchObject({
        sends: { queued: 1, sent: 2, failed: 2 },
        failingBrands: [{ slug: 'default', failures: 2 }],
        provider: { reachable: true, lastEventAt: null, reconciliation: null },
      });
      expect(before.counts.applications).toBe(4);
      expect(before.counts.appAdmins).toBe(3);
      expect(before.counts.people).toBeGreaterThanOrEqual(6);
      const nobody = await Rest.as(usher);
      const event = { eventType: 'org.renamed' };
      await nobody.post('/api/idp/webhook', event, { 'x-webhook-secret': WEBHOOK_SECRETS[0] });
      expect(hoursAgo((await read('root@example.com')).provider.lastEventAt)).toBe(0);
      await idp.close();
      idpIsOpen = false;
      expect((await read('root@example.com')).provider.reachable).toBe(false);
    });

    test('the state has a tag, and everybody else is refused', async () => {
      const admin = await Rest.as(usher, 'appadmin@example.com');
      const { headers } = await admin.get(PATH);
      const again = await admin.get(PATH, { 'if-none-match': headers.get('etag') ?? '' });
      expect(again.status).toBe(304);
      expect((await (await Rest.as(usher, 'one@example.com')).get(PATH)).status).toBe(403);
    });
  });
}
