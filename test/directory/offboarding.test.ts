import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Database } from '../../src/persistence/database.ts';
import { KINDS } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { useRegistry } from './registry.ts';
import { giveEverything } from './whole-person.ts';

const MIA = 'mia@example.com';
const NORA = 'nora@example.com';

for (const kind of KINDS) {
  describe(`offboarding (${kind})`, () => {
    const registry = useRegistry(kind, ({ usher }) =>
      giveEverything(usher.app.database, MIA, { notifications: 3, events: 2, overrides: 4 }),
    );
    const database = (): Database => registry.usher.app.database;
    const offboard = (email: string, body?: unknown, query = '', by = 'admin') =>
      registry.who(by).post(`/api/users/${email}/offboard${query}`, body);
    const rightsOf = async (email: string) =>
      await database().read(async ({ kysely }) => {
        const { rows } = await sql<Record<string, number>>`
          select (select count(*)::int from user_role where person_id = p.id) as roles,
            (select count(*)::int from resource_override where person_id = p.id) as overrides,
            (select count(*)::int from app_admin where person_id = p.id) as admins,
            (select count(*)::int from superadmin where person_id = p.id) as superadmins,
            (select count(*)::int from notification where person_id = p.id) as notifications
          from person p where p.email = ${email}`.execute(kysely);
        return rows[0];
      });

    test('a dry run says who loses and who gains, and changes nothing', async () => {
      const { status, body } = await offboard(MIA, { handOverTo: NORA }, '?dryRun=true');
      expect(status).toBe(200);
      const { result, impact } = body.data;
      // She administers billing already.
      expect(result).toEqual({
        email: MIA,
        removed: { superadmins: 1, appAdmins: 2, roles: 1, overrides: 4 },
        handedOver: ['shop'],
      });
      expect(impact).toMatchObject({ people: 2, gained: 1, everywhere: 'loses' });
      expect(impact.changes).toContainEqual(
        expect.objectContaining({ email: NORA, app: 'shop', permission: 'order.read', from: null, to: 'allowed' }),
      );
      expect(await rightsOf(MIA)).toMatchObject({ roles: 1, overrides: 4, admins: 2, superadmins: 1 });
      expect(await registry.allowed(MIA, 'invoice.read')).toBe(true);
      expect(await registry.audits('user.offboarded')).toEqual([]);
    });

    test('who may not, and what is wrong', async () => {
      for (const by of ['nora', 'pat', 'viv', 'ben']) {
        expect([by, (await offboard(MIA, {}, '', by)).status]).toEqual([by, 403]);
      }
      expect(await registry.audits('user.offboarded.refused')).toHaveLength(4);
      await registry.who('admin').put('/api/users/dan@example.com/active', { active: false });
      for (const [body, status, code] of [
        [{ handOverTo: MIA }, 400, 'VALIDATION_FAILED'],
        [{ handOverTo: 'dan@example.com' }, 400, 'VALIDATION_FAILED'],
        [{ handOverTo: 'nobody@example.com' }, 400, 'UNKNOWN_REFERENCE'],
        [{ handOverTo: 'no-address' }, 400, 'VALIDATION_FAILED'],
        [{ keep: true }, 400, 'VALIDATION_FAILED'],
        [[], 400, 'VALIDATION_FAILED'],
      ] as const) {
        const answer = await offboard(MIA, body);
        expect([body, answer.status, answer.body.details?.code]).toEqual([body, status, code]);
      }
      expect((await offboard('nobody@example.com')).status).toBe(404);
      expect(await rightsOf(MIA)).toMatchObject({ roles: 1, overrides: 4, admins: 2, superadmins: 1 });
    });

    test('a person who leaves is blocked and has nothing, their applications are in other hands, their data stays', async () => {
      const mia = await Rest.as(registry.usher, MIA);
      expect((await mia.get('/api/users')).status).toBe(200);
      const [first, second] = await Promise.all([
        offboard(MIA, { handOverTo: NORA }),
        offboard(MIA, { handOverTo: NORA }),
      ]);
      expect([first.status, second.status]).toEqual([200, 200]);
      const removed = [first, second].map(({ body }) => body.data.removed.roles).toSorted((a, b) => a - b);
      expect(removed).toEqual([0, 1]);

      expect(await rightsOf(MIA)).toEqual({ roles: 0, overrides: 0, admins: 0, superadmins: 0, notifications: 3 });
      expect(await registry.allowed(MIA, 'invoice.read')).toBe(false);
      expect((await mia.get('/api/users')).status).toBe(403);
      expect(await registry.allowed(NORA, 'order.read', 'shop')).toBe(true);
      const user = (await registry.who('admin').get(`/api/users/${MIA}`)).body.data;
      expect(user).toMatchObject({ displayName: 'Mia Malá', active: false, blocked: true, appAdminFor: [] });

      const audits = await registry.audits('user.offboarded');
      expect(audits.map(({ appCode, subject, before, after }) => ({ appCode, subject, before, after }))).toEqual([
        {
          appCode: 'billing',
          subject: MIA,
          before: { admin: true, roles: ['reader'], overrides: 4 },
          after: {},
        },
        {
          appCode: 'shop',
          subject: MIA,
          before: { admin: true, roles: [], overrides: 0 },
          after: { handedOverTo: NORA },
        },
        {
          appCode: null,
          subject: MIA,
          before: { superadmins: 1, appAdmins: 2, roles: 1, overrides: 4 },
          after: { blocked: true, handedOverTo: NORA, handedOver: ['shop'] },
        },
      ]);
      const again = await offboard(MIA, { handOverTo: NORA });
      expect(again.body.data).toEqual({
        email: MIA,
        removed: { superadmins: 0, appAdmins: 0, roles: 0, overrides: 0 },
        handedOver: [],
      });
      expect(await registry.audits('user.offboarded')).toHaveLength(3);
    });

    test('two who hand over to each other do not both leave', async () => {
      await giveEverything(database(), 'ann@example.com', { notifications: 0, events: 0, overrides: 1 });
      await giveEverything(database(), 'bob@example.com', { notifications: 0, events: 0, overrides: 1 });
      const answers = await Promise.all([
        offboard('ann@example.com', { handOverTo: 'bob@example.com' }),
        offboard('bob@example.com', { handOverTo: 'ann@example.com' }),
      ]);
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400]);
    });

    test('the last SuperAdmin stays; a person who is erased is not named as a successor', async () => {
      const others = (await registry.who('admin').get('/api/users/admins/super')).body.data;
      for (const { email } of others) if (email !== 'admin@example.com') await offboard(email);
      const last = await offboard('admin@example.com');
      expect([last.status, last.body.details.code]).toEqual([409, 'LAST_SUPERADMIN']);
      const { body } = await registry.who('admin').post(`/api/users/${NORA}/erase`);
      const named = (await registry.audits('user.offboarded')).map(({ after }) => JSON.stringify(after));
      expect(named.filter((text) => text.includes(NORA))).toEqual([]);
      expect(named.filter((text) => text.includes(body.data.pseudonym)).length).toBeGreaterThan(0);
    });
  });
}
