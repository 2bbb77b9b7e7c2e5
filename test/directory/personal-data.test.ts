import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { PersonalData } from '../../src/directory/personal-data.ts';
import { PersonalDataFile } from '../../src/gateway/routes/personal-data.ts';
import {
  nextEvents,
  nextNotifications,
  nextOverrides,
  readPersonalRecord,
} from '../../src/persistence/directory/personal-data.ts';
import { KINDS } from '../support/databases.ts';
import { plansOf, scannedTables } from '../support/plans.ts';
import { Rest } from '../support/rest.ts';
import { useRegistry } from './registry.ts';
import { type Amounts, giveEverything } from './whole-person.ts';

const MIA = 'mia@example.com';

for (const kind of KINDS) {
  describe(`a person's data (${kind})`, () => {
    const amounts: Amounts =
      kind === 'postgresql'
        ? { notifications: 20_000, events: 1000, overrides: 1000 }
        : { notifications: 1000, events: 410, overrides: 410 };
    const registry = useRegistry(kind, ({ usher }) => giveEverything(usher.app.database, MIA, amounts));
    const exportOf = (by: string, email: string) => registry.who(by).get(`/api/users/${email}/export`);

    test('all of it comes as one file that its schema describes, without keys', async () => {
      const { status, headers, body } = await exportOf('admin', MIA);
      expect(status).toBe(200);
      expect(headers.get('content-disposition')).toBe('attachment; filename="usher-personal-data.json"');
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(headers.get('cache-control')).toBe('no-store');
      const file = PersonalDataFile.parse(body);

      expect(file.person).toMatchObject({ email: MIA, blocked: false, registeredAt: '2026-01-01T00:00:00.000Z' });
      expect(file.person.superadminSince).not.toBeNull();
      expect(file.person.profile).toMatchObject({ firstName: 'Mia', locale: 'cs' });
      expect(file.person.accounts).toContainEqual({
        issuer: 'https://idp.example.com',
        subject: 'account-of-mia',
        signsIn: true,
        organization: 'organization-of-mia',
        seenAt: expect.any(String),
      });
      expect(file.person.applications.map(({ code }) => code)).toEqual(['billing', 'shop']);
      expect(file.person.applications[0]).toMatchObject({
        adminSince: expect.any(String),
        roles: [{ code: 'reader', since: expect.any(String) }],
        preferences: { lastLoginAt: '2026-02-02T00:00:00.000Z', loginCount: 7 },
      });
      expect(file.person.notificationPreferences).toMatchObject([
        { appCode: 'billing', type: 'generic', email: false, push: null },
      ]);
      expect(file.person.pushSubscriptions).toMatchObject([{ deviceLabel: 'Phone', lastUsedAt: null }]);
      expect(file.person.registrationLocales).toMatchObject([{ orgId: 'org-1', locale: 'cs' }]);
      expect(file.person.providerEvents).toMatchObject([{ source: 'webhook', outcome: 'applied' }]);
      expect(JSON.stringify(body)).not.toMatch(/key-of-browser|auth-of-browser|vapid-of-browser|p256dh/);

      expect(file.overrides).toHaveLength(amounts.overrides);
      expect(new Set(file.overrides.map(({ resourceId }) => resourceId)).size).toBe(amounts.overrides);
      expect(file.overrides.find(({ resourceId }) => resourceId === '2')).toMatchObject({
        granted: false,
        accessLevel: null,
      });
      expect(file.overrides.find(({ resourceId }) => resourceId === '3')).toMatchObject({
        granted: true,
        accessLevel: 'edit',
      });
      expect(file.events.map(({ at }) => at)).toEqual(file.events.map(({ at }) => at).toSorted());
      expect(file.events).toHaveLength(amounts.events);
      expect(file.notifications.map(({ subject }) => subject)).toEqual(
        Array.from({ length: amounts.notifications }, (_, index) => `Subject ${index + 1}`),
      );
      expect(file.notifications[0]).toMatchObject({
        payload: { number: 1 },
        createdAt: '2026-03-03T10:00:00.000Z',
        deliveries: [{ channel: 'email', status: 'sent', content: { to: MIA, subject: 'Rendered' } }],
      });
      expect(file.audit.map(({ action }) => action).toSorted()).toEqual(
        [
          'assignment.created',
          'assignment.created',
          'brand.tested',
          'override.replaced',
          'role.created',
          'user.subject_changed',
        ].toSorted(),
      );
    });

    test('a person takes their own along, and one of whom little is stored too', async () => {
      const { status, body } = await registry.who('sam').get('/api/profile/me/export');
      expect(status).toBe(200);
      const file = PersonalDataFile.parse(body);
      expect(file.person).toMatchObject({ email: 'sam@example.com', superadminSince: null });
      expect(file.person.applications).toMatchObject([{ code: 'shop', adminSince: null, preferences: null }]);
      expect([file.overrides, file.events, file.notifications]).toEqual([[], [], []]);
      // Only mentioned: without a profile.
      expect((await exportOf('admin', 'dan@example.com')).body.person.email).toBe('dan@example.com');
      // A new person has a profile by asking.
      const lea = await Rest.as(registry.usher, 'lea@example.com');
      expect((await lea.get('/api/profile/me/export')).body.person.profile).not.toBeNull();
    });

    test('others are refused, and an address that is not known is 404', async () => {
      for (const by of ['nora', 'ben', 'pat', 'viv']) {
        expect([by, (await exportOf(by, MIA)).status]).toEqual([by, 403]);
      }
      expect((await exportOf('admin', 'nobody@example.com')).status).toBe(404);
      expect((await exportOf('admin', 'no-address')).status).toBe(400);
      expect((await registry.who('admin').get(`/api/users/${MIA}/export?limit=1`)).status).toBe(400);
    });

    test('what arrives while it is read is left out, and a person who vanishes breaks it off', async () => {
      const { database } = registry.usher.app;
      const email = 'ada@example.com';
      const give = { notifications: 450, events: 1, overrides: 1 };
      await giveEverything(database, email, give);
      const pieces = (await new PersonalData(database).export(email))[Symbol.asyncIterator]();
      let text = String((await pieces.next()).value);
      await database.change(async ({ kysely }) => {
        await sql`insert into notification (application_id, notification_type_id, person_id, subject, payload, status, locale)
          select application_id, notification_type_id, person_id, 'late', '{}', 'sent', 'en' from notification n
          where n.person_id = (select id from person where email = ${email}) limit 1`.execute(kysely);
        return { result: null, scopes: [] };
      });
      for (let next = await pieces.next(); !next.done; next = await pieces.next()) {
        expect(next.value.length).toBeLessThan(400_000);
        text += next.value;
      }
      expect(PersonalDataFile.parse(JSON.parse(text)).notifications).toHaveLength(450);

      const broken = await new PersonalData(database).export(email);
      const read = async () => {
        for await (const piece of broken) {
          if (!piece.startsWith('{')) continue;
          await database.change(async ({ kysely }) => {
            await sql`delete from person where email = ${email}`.execute(kysely);
            return { result: null, scopes: [`u:${email}`, `m:billing:${email}`, `m:shop:${email}`] };
          });
        }
      };
      await expect(read()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    });

    if (kind === 'pglite') return;
    test('no table that grows is read whole', async () => {
      const { database } = registry.usher.app;
      await database.change(async ({ kysely }) => {
        await sql`insert into person (email) select 'user' || i || '@example.com' from generate_series(1, 20000) i`.execute(
          kysely,
        );
        await sql`analyze`.execute(kysely);
        return { result: null, scopes: [] };
      });
      const plans = await database.read(async (tx) => {
        const id = (await readPersonalRecord(tx, MIA))?.id ?? 0;
        return await plansOf(tx, async (noting) => {
          await readPersonalRecord(noting, MIA);
          await nextOverrides(noting, id, [0, '', '', 0]);
          await nextEvents(noting, id, 0, 1e9);
          await nextNotifications(noting, id, 0, 1e9);
        });
      });
      expect(plans).toHaveLength(4);
      const growing = ['person', 'notification', 'delivery', 'app_event', 'resource_override'];
      expect(plans.flatMap(scannedTables).filter((table) => growing.includes(table))).toEqual([]);
    });
  });
}
