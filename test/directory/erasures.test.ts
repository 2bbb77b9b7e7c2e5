import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { createLogger } from '../../src/base/telemetry.ts';
import { Erasures } from '../../src/directory/erasures.ts';
import type { Database } from '../../src/persistence/database.ts';
import {
  beginErasure,
  continueErasure,
  countLater,
  isMentioned,
  readErasure,
  removeRecords,
} from '../../src/persistence/directory/erasure.ts';
import { KINDS } from '../support/databases.ts';
import { plansOf, scannedTables } from '../support/plans.ts';
import { Rest } from '../support/rest.ts';
import { asBackend } from './people.ts';
import { useRegistry } from './registry.ts';
import { giveEverything } from './whole-person.ts';

const MIA = 'mia@example.com';
const FEW = { notifications: 3, events: 2, overrides: 2 };

for (const kind of KINDS) {
  describe(`erasure (${kind})`, () => {
    const registry = useRegistry(kind);
    const database = (): Database => registry.usher.app.database;
    const erase = (email: string, query = '', by = 'admin') =>
      registry.who(by).post(`/api/users/${email}/erase${query}`);
    const rowsOf = async <T>(query: ReturnType<typeof sql<T>>): Promise<T[]> =>
      await database().read(async (tx) => (await query.execute(tx.kysely)).rows);

    /** The tables with a row that holds one of these texts anywhere. */
    const tablesHolding = async (...texts: string[]): Promise<string[]> => {
      const tables = await rowsOf(sql<{ name: string }>`
        select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`);
      const holding: string[] = [];
      for (const { name } of tables) {
        const [found] = await rowsOf(sql<{ held: boolean }>`
          select exists (select from ${sql.table(name)} t, unnest(${texts}::text[]) w (text)
            where strpos(replace(to_json(t)::text, 'x' || ${MIA}::text, ''), w.text) > 0) as held`);
        if (found?.held) holding.push(name);
      }
      return holding.toSorted();
    };

    test('a dry run counts what would go and says who loses, and changes nothing', async () => {
      const amounts = kind === 'postgresql' ? { notifications: 1203, events: 900, overrides: 700 } : FEW;
      await giveEverything(database(), MIA, amounts);
      const before = await tablesHolding(MIA);
      const { status, body } = await erase(MIA, '?dryRun=true');
      expect(status).toBe(200);
      const { removed, finishedAt, pseudonym } = body.data.result;
      expect([finishedAt, pseudonym]).toEqual([null, expect.stringMatching(/^erased-[0-9a-f]{32}$/)]);
      expect(removed).toEqual({
        people: 1,
        superadmins: 1,
        appAdmins: 2,
        roles: 1,
        overrides: amounts.overrides,
        profiles: 1,
        accounts: 1,
        applicationPreferences: 1,
        events: amounts.events,
        notificationPreferences: 1,
        pushSubscriptions: 1,
        registrationLocales: 1,
        providerEvents: 1,
        refusedMails: 0,
        notifications: amounts.notifications,
        deliveriesWaiting: 0,
        deliveriesPast: amounts.notifications,
        auditRecords: 8,
      });
      expect(body.data.impact).toMatchObject({ people: 1, gained: 0, everywhere: 'loses' });
      expect(body.data.impact.lost).toBeGreaterThan(0);
      expect(await tablesHolding(MIA)).toEqual(before);
      expect(await registry.allowed(MIA, 'invoice.read')).toBe(true);
      expect(await registry.audits('user.erased')).toEqual([]);
    });

    test('nothing is left of a person, no answer allows anything, and the audit knows a pseudonym', async () => {
      expect(await registry.allowed(MIA, 'invoice.read')).toBe(true);
      const foreseen = (await erase(MIA, '?dryRun=true')).body.data.result;
      const { status, headers, body } = await erase(MIA);
      expect(status).toBe(200);
      expect(headers.get('usher-revision')).toMatch(/./);
      // Its own record, whose subject is the pseudonym already, is not counted.
      expect(body.data.removed).toEqual(foreseen.removed);
      expect(body.data.finishedAt).not.toBeNull();
      expect(await registry.allowed(MIA, 'invoice.read')).toBe(false);
      expect(await registry.allowed(MIA, 'order.read', 'shop')).toBe(false);
      // Caches need the address for as long as the log is kept.
      expect(await tablesHolding(MIA, 'Mia Mal', 'account-of-mia', 'Žofie wrote')).toEqual(['policy_change']);

      const { pseudonym } = body.data;
      expect(await registry.audits('user.erased')).toMatchObject([
        { actor: 'user:admin@example.com', subject: pseudonym, before: null, after: null },
      ]);
      const [made] = await registry
        .audits('role.created')
        .then((all) => all.filter(({ actor }) => actor === `user:${pseudonym}`));
      expect(made).toMatchObject({ subject: 'writer', after: { code: 'writer' } });
      expect((await registry.audits('brand.tested')).map(({ after }) => after)).toEqual([
        { to: pseudonym },
        { to: pseudonym },
      ]);
      expect((await registry.audits('application.deleted'))[0]?.before).toEqual({
        managers: ['other@example.com', pseudonym, `x${MIA}`],
      });
      expect((await registry.audits('user.subject_changed'))[0]).toMatchObject({ subject: pseudonym, after: null });
      expect((await registry.audits('assignment.created')).map(({ subject }) => subject)).toContain(
        `${pseudonym}:reader`,
      );
      expect(await rowsOf(sql`select from person_search where person_id not in (select id from person)`)).toEqual([]);
    });

    test('repeated it answers the receipt again, and an address that was never stored is 404', async () => {
      const first = (await rowsOf(sql<{ removed: unknown }>`select removed from erasure`))[0];
      const again = await erase(MIA);
      expect([again.status, again.body.data.removed]).toEqual([200, first?.removed]);
      expect((await erase(MIA, '?dryRun=true')).body.data.result).toMatchObject({ removed: first?.removed });
      expect(await registry.audits('user.erased')).toHaveLength(1);
      const unknown = await erase('nobody@example.com');
      expect([unknown.status, unknown.body.code]).toEqual([404, 'NOT_FOUND']);
      expect((await erase('nobody@example.com', '?dryRun=true')).status).toBe(404);
    });

    test('the same person comes again as a new one, without rights', async () => {
      const mia = await Rest.as(registry.usher, MIA);
      const profile = await mia.get('/api/profile/me');
      expect(profile.body.data).toMatchObject({ email: MIA, displayName: null });
      expect((await mia.get('/api/profile/me/notifications/inbox')).body.response).toEqual([]);
      expect((await mia.get('/api/users')).status).toBe(403);
      expect((await mia.get('/api/profile/me/access')).body.applications).toEqual([]);
      // And goes again, by the same pseudonym.
      const again = await erase(MIA);
      expect(again.body.data).toMatchObject({ removed: { people: 1, roles: 0, profiles: 1 } });
      expect(new Set((await registry.audits('user.erased')).map(({ subject }) => subject)).size).toBe(1);
    });

    test('whoever is signed in while it happens is answered as a new person', async () => {
      const leo = await Rest.as(registry.usher, 'leo@example.com');
      const asked: [string, string, unknown?][] = [
        ['get', '/api/profile/me/apps/billing'],
        ['put', '/api/profile/me/apps/billing', { showHelp: false }],
        ['post', '/api/profile/me/apps/billing/activity'],
        ['post', '/api/profile/me/apps/billing/logout'],
        ['get', '/api/profile/me/notifications/billing'],
        ['get', '/api/profile/me/push/subscriptions'],
        ['get', '/api/profile/me/access'],
        ['get', '/api/profile/me/admin-status'],
        ['get', '/api/profile/me'],
      ];
      for (const [method, path, body] of asked) {
        await leo.get('/api/profile/me');
        const { status } = await leo.send(method.toUpperCase(), path, body);
        expect((await erase('leo@example.com')).status).toBe(200);
        const after = await leo.send(method.toUpperCase(), path, body);
        expect([path, after.status]).toEqual([path, status]);
      }
    });

    test('the last SuperAdmin stays, and one who erases themselves is not named by their own record', async () => {
      const last = await erase('admin@example.com');
      expect([last.status, last.body.details.code]).toEqual([409, 'LAST_SUPERADMIN']);
      await registry.who('admin').post('/api/users/admins/super', { email: 'zoe@example.com' });
      const zoe = await Rest.as(registry.usher, 'zoe@example.com');
      const gone = await zoe.post('/api/users/zoe@example.com/erase');
      expect(gone.status).toBe(200);
      expect((await registry.audits('user.erased')).at(-1)).toMatchObject({
        actor: `user:${gone.body.data.pseudonym}`,
        subject: gone.body.data.pseudonym,
      });
      expect((await zoe.post('/api/users/ben@example.com/erase')).status).toBe(403);
    });

    test('others are refused, and the refusal is kept; a malformed call is 400', async () => {
      for (const by of ['nora', 'pat', 'viv', 'ben']) {
        expect([by, (await erase('ben@example.com', '', by)).status]).toEqual([by, 403]);
      }
      expect(await registry.audits('user.erased.refused')).toHaveLength(5);
      const admin = registry.who('admin');
      expect((await admin.post('/api/users/no-address/erase')).status).toBe(400);
      expect((await admin.post('/api/users/ben@example.com/erase?now=true')).status).toBe(400);
      expect((await admin.post('/api/users/ben@example.com/erase', { really: true })).status).toBe(400);
      const stale = await admin.post('/api/users/ben@example.com/erase', undefined, { 'usher-if-revision': '1' });
      expect([400, 412]).toContain(stale.status);
      expect(await registry.allowed('ben@example.com', 'invoice.read')).toBe(true);
    });

    test('two at once make one erasure', async () => {
      await giveEverything(database(), 'kit@example.com', { ...FEW, notifications: 1100 });
      await database().change(async ({ kysely }) => {
        await sql`update delivery set status = 'queued', due_at = now() + interval '1 hour' where id in (
          select d.id from delivery d join notification n on n.id = d.notification_id join person p on p.id = n.person_id
          where p.email = 'kit@example.com' order by d.id limit 400)`.execute(kysely);
        return { result: null, scopes: [] };
      });
      const answers = await Promise.all([1, 2, 3].map(() => erase('kit@example.com')));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      for (const { body } of answers) {
        expect(body.data).toEqual(answers[0]?.body.data);
        expect(body.data.removed).toMatchObject({
          people: 1,
          superadmins: 1,
          notifications: 1100,
          auditRecords: 8,
          deliveriesWaiting: 400,
          deliveriesPast: 700,
        });
      }
    });

    test('sends under way leave nothing that belongs to nobody', async () => {
      const send = async (number: number) =>
        await asBackend(registry.usher, 'POST', '/api/internal/notifications', {
          appCode: 'billing',
          recipients: ['tim@example.com', 'ben@example.com'],
          subject: 'Ahoj',
          payload: { number },
          idempotencyKey: `erase-${number}`,
        });
      expect((await send(0)).status).toBe(202);
      const [erased, ...sent] = await Promise.all([
        erase('tim@example.com'),
        ...Array.from({ length: 12 }, (_, index) => send(index + 1)),
      ]);
      expect([erased.status, ...sent.map(({ status }) => status)]).toEqual([200, ...sent.map(() => 202)]);
      expect(erased.body.data.removed.notifications).toBeGreaterThan(0);
      const left = await rowsOf(sql`select n.id from notification n where n.person_id not in (select id from person)`);
      const loose = await rowsOf(
        sql`select d.id from delivery d where d.notification_id not in (select id from notification)`,
      );
      expect([left, loose]).toEqual([[], []]);
      // What came after it is of a new person, and what a repeated send is answered names nobody.
      const repeated = await send(0);
      expect(repeated.body.data.notifications.map(({ email }: { email: string }) => email).toSorted()).toEqual([
        'ben@example.com',
        erased.body.data.pseudonym,
      ]);
      expect((await erase('tim@example.com')).status).toBe(200);
      expect(await tablesHolding('tim@example.com')).toEqual(['policy_change']);
    });

    test('a process that is killed half-way leaves no right, sends nothing, and another one goes on', async () => {
      const email = 'jan@example.com';
      await giveEverything(database(), email, { ...FEW, notifications: 1200 });
      const key = Buffer.alloc(32, 7);
      const erasuresOn = (over: Pick<Database, 'change' | 'read' | 'rehearse'>) =>
        new Erasures({
          database: over as Database,
          secret: { derive: async () => key },
          clock: { after: () => () => undefined },
          log: createLogger('silent'),
        });
      for (const survived of [1, 2, 2]) {
        let writes = 0;
        const dying: Pick<Database, 'change' | 'read' | 'rehearse'> = {
          read: (fn) => database().read(fn),
          rehearse: (fn) => database().rehearse(fn),
          change: (fn) => (++writes > survived ? Promise.reject(new Error('killed')) : database().change(fn)),
        };
        const by = { caller: { email: 'admin@example.com' }, requestId: 'killed-1' };
        await expect(erasuresOn(dying).erase(email, by)).rejects.toThrow('killed');
        expect(await registry.allowed(email, 'invoice.read')).toBe(false);
        expect(await rowsOf(sql`select from person where email = ${email}`)).toEqual([]);
      }
      expect(await erasuresOn(database()).resume()).toBe(0);
      await database().change(async ({ kysely }) => {
        await sql`update erasure set started_at = now() - interval '2 minutes' where finished_at is null`.execute(
          kysely,
        );
        return { result: null, scopes: [] };
      });
      // Two processes that find it at once.
      await Promise.all([erasuresOn(database()).resume(), erasuresOn(database()).resume()]);
      expect(await rowsOf(sql`select from erasure where finished_at is null`)).toEqual([]);
      const [receipt] = await rowsOf(sql<{ removed: unknown }>`select removed from erasure order by id desc limit 1`);
      expect(receipt?.removed).toMatchObject({ people: 1, notifications: 1200, deliveriesPast: 1200 });
      expect(await tablesHolding('Rendered')).toEqual([]);
    });

    test('the audit takes no other change than a pseudonym', async () => {
      const attempts = [
        sql`update audit set action = 'nothing.happened' where id = (select min(id) from audit)`,
        sql`update audit set actor = 'user:erased-0' where id = (select min(id) from audit)`,
        sql`update audit set after = '{}' where id = (select min(id) from audit)`,
        sql`delete from audit`,
      ];
      for (const attempt of attempts) {
        const tried = database().change(async ({ kysely }) => {
          await attempt.execute(kysely);
          return { result: null, scopes: [] };
        });
        await expect(tried).rejects.toThrow();
      }
    });

    if (kind === 'pglite') return;
    test('no table that grows is read whole', async () => {
      const email = 'big@example.com';
      await giveEverything(database(), email, { notifications: 3000, events: 10, overrides: 10 });
      await database().change(async ({ kysely }) => {
        await sql`insert into audit (actor, action, subject)
          select 'user:someone' || i || '@example.com', 'role.created', 'role' || i from generate_series(1, 20000) i`.execute(
          kysely,
        );
        await sql`insert into person (email) select 'user' || i || '@example.com' from generate_series(1, 20000) i`.execute(
          kysely,
        );
        await sql`insert into send_request (application_id, idempotency_key, body_hash, answer, created_at)
          select id, 'key' || i, '', '[]', now() - i * interval '1 second' from application, generate_series(1, 20000) i
          where code = 'billing'`.execute(kysely);
        await sql`analyze`.execute(kysely);
        return { result: null, scopes: [] };
      });
      const plans = await database().rehearse(async (tx) => {
        return await plansOf(tx, async (noting) => {
          const person =
            (await sql<{ id: number }>`select id from person where email = ${email}`.execute(tx.kysely)).rows[0]?.id ??
            0;
          await isMentioned(noting, email);
          await countLater(noting, person, email);
          const removed = await removeRecords(noting, person, email);
          await sql`delete from superadmin where person_id = ${person}`.execute(tx.kysely);
          const id = await beginErasure(noting, { email, pseudonym: 'erased-plan' }, person, removed);
          for (let more = true; more; ) more = await continueErasure(noting, id);
          expect((await readErasure(noting, id)).removed).toMatchObject({ notifications: 3000, auditRecords: 8 });
        });
      });
      expect(plans.length).toBeGreaterThan(20);
      const growing = ['person', 'notification', 'delivery', 'app_event', 'resource_override', 'audit', 'send_request'];
      expect(plans.flatMap(scannedTables).filter((table) => growing.includes(table))).toEqual([]);
    });
  });
}
