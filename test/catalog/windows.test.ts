import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { KINDS } from '../support/databases.ts';
import { outcome, useRegistry } from '../support/registry.ts';

/** Grants with a beginning and an end, as administrators set and see them (docs/reference/time.md). */

const MANIFEST = `
application: { code: shop, name: Shop }
entities: [{ code: page, name: Page }]
permissions:
  - { code: pages, type: tiered }
  - { code: look, type: binary }
roles:
  - { code: reader, permissions: { pages: view } }
  - { code: writer, permissions: { pages: edit } }
admins: [nora@example.com]
`;

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const at = (ms: number): string => new Date(Date.now() + ms).toISOString();
const ALWAYS = { startsAt: null, endsAt: null };

for (const kind of KINDS) {
  describe(`grants in time (${kind})`, () => {
    const registry = useRegistry(kind, [MANIFEST]);
    const { root, audits } = registry;
    const nora = registry.as('nora');
    const roles = (email: string) => `/api/users/${email}/apps/shop/roles`;
    const page = (email: string) => `/api/users/${email}/apps/shop/resources/page/1/permissions`;
    const SEATS = '/api/users/admins/apps/shop';
    const held = async (email: string) =>
      (await nora.get(roles(email))).body.data.map(({ code, startsAt, endsAt }: Record<string, unknown>) => ({
        code,
        startsAt,
        endsAt,
      }));

    /** Moves the grants of a person into the past, as time would. Their rows stay until somebody removes them. */
    const moved = async (email: string, columns: string): Promise<void> => {
      await registry.usher.app.database.change(async ({ kysely }) => {
        for (const table of ['user_role', 'app_admin', 'resource_override']) {
          await sql`update ${sql.table(table)} set ${sql.raw(columns)}
            where person_id = (select id from person where email = ${email})`.execute(kysely);
        }
        return { result: null, scopes: ['*'] };
      });
    };
    const end = (email: string) =>
      moved(email, `starts_at = null, ends_at = statement_timestamp() - interval '1 millisecond'`);

    test('a role is given with a window, which the answers carry', async () => {
      const window = { startsAt: at(-DAY), endsAt: at(DAY) };
      const made = await nora.post(roles('ada@example.com'), { role: 'reader', ...window });
      expect([made.status, made.body.data]).toEqual([201, expect.objectContaining({ code: 'reader', ...window })]);
      expect(await held('ada@example.com')).toEqual([{ code: 'reader', ...window }]);
      expect(await audits('assignment.created', 'ada@example.com')).toMatchObject([
        { after: { role: 'reader', ...window } },
      ]);
      // Another zone is the same instant, to the millisecond.
      const other = await nora.post(roles('ada@example.com'), {
        role: 'writer',
        endsAt: '2030-01-01T01:30:00.1239+01:30',
      });
      expect(other.body.data).toMatchObject({ code: 'writer', startsAt: null, endsAt: '2030-01-01T00:00:00.123Z' });
    });

    test('a role that is held keeps a window that is not sent, null clears it, and another one changes it', async () => {
      const [email, window] = ['bea@example.com', { startsAt: at(-DAY), endsAt: at(DAY) }];
      await nora.post(roles(email), { role: 'reader', ...window });
      const kept = await nora.post(roles(email), { role: 'reader' });
      expect([kept.status, kept.body.data]).toEqual([200, expect.objectContaining(window)]);
      const same = await nora.post(roles(email), { role: 'reader', endsAt: window.endsAt });
      expect([same.status, same.headers.get('usher-revision')]).toEqual([200, kept.headers.get('usher-revision')]);
      const longer = at(2 * DAY);
      const changed = await nora.post(roles(email), { role: 'reader', endsAt: longer });
      expect([changed.status, changed.body.data]).toEqual([
        200,
        expect.objectContaining({ ...window, endsAt: longer }),
      ]);
      expect(changed.headers.get('usher-revision')).not.toBe(kept.headers.get('usher-revision'));
      const cleared = await nora.post(roles(email), { role: 'reader', startsAt: null, endsAt: null });
      expect([cleared.status, cleared.body.data]).toEqual([200, expect.objectContaining(ALWAYS)]);
      expect(await audits('assignment.changed', email)).toMatchObject([
        { before: { role: 'reader', ...window }, after: { role: 'reader', ...window, endsAt: longer } },
        { before: { role: 'reader', ...window, endsAt: longer }, after: { role: 'reader' } },
      ]);
    });

    test('a set by codes or ids keeps the windows of what is held, and its items change them', async () => {
      const [email, endsAt] = ['cleo@example.com', at(DAY)];
      await nora.post(roles(email), { role: 'reader', endsAt });
      await nora.put(roles(email), { roles: ['writer', 'reader'] });
      expect(await held(email)).toEqual([
        { code: 'reader', startsAt: null, endsAt },
        { code: 'writer', ...ALWAYS },
      ]);
      const ids = (await nora.get(roles(email))).body.data.map(({ id }: { id: number }) => id);
      await nora.put(roles(email), { roleIds: ids });
      expect((await held(email))[0]).toEqual({ code: 'reader', startsAt: null, endsAt });
      const startsAt = at(HOUR);
      const changed = await nora.put(roles(email), {
        roles: [
          { role: 'writer', startsAt },
          { role: 'reader', endsAt: null },
        ],
      });
      expect(
        changed.body.data.map(({ code, ...one }: Record<string, unknown>) => [code, one.startsAt, one.endsAt]),
      ).toEqual([
        ['reader', null, null],
        ['writer', startsAt, null],
      ]);
      expect((await nora.get(roles(email))).headers.get('etag')).toBe(changed.headers.get('etag'));
      const twice = await nora.put(roles(email), { roles: ['reader', { role: 'reader', startsAt }] });
      expect([outcome(twice), twice.body.details.issues[0].path]).toEqual([[400, 'VALIDATION_FAILED'], 'roles.1']);
    });

    test('an override and a seat are given windows likewise', async () => {
      const [email, endsAt] = ['dan@example.com', at(DAY)];
      const put = await nora.put(page(email), { permissions: [{ permission: 'pages', granted: true, endsAt }] });
      expect(put.body.data.permissions).toMatchObject([{ code: 'pages', startsAt: null, endsAt }]);
      const kept = await nora.put(page(email), { permissions: [{ permission: 'pages', granted: false }] });
      expect(kept.body.data.permissions).toMatchObject([{ granted: false, startsAt: null, endsAt }]);
      expect((await nora.get(`/api/users/${email}/apps/shop/resources`)).body.data).toMatchObject([{ endsAt }]);
      expect((await nora.get(`/api/applications/shop/overrides?email=${email}`)).body.data).toMatchObject([{ endsAt }]);
      const seat = await nora.post(SEATS, { email, endsAt });
      expect([seat.status, seat.body.data]).toEqual([201, expect.objectContaining({ email, startsAt: null, endsAt })]);
      const cleared = await nora.post(SEATS, { email, endsAt: null });
      expect([cleared.status, cleared.body.data]).toEqual([200, expect.objectContaining(ALWAYS)]);
      expect((await nora.get(SEATS)).body.data).toContainEqual(expect.objectContaining({ email, ...ALWAYS }));
    });

    test('a role is given to many people with windows', async () => {
      const { id } = (await nora.get('/api/applications/shop/roles')).body.data[0];
      const path = `/api/applications/shop/roles/${id}/users`;
      const [first, endsAt] = [['eve@example.com', { email: 'fay@example.com', endsAt: at(DAY) }], at(2 * DAY)];
      expect((await nora.post(path, { add: first })).body.data).toEqual({ added: 2, removed: 0 });
      const again = await nora.post(path, { add: ['fay@example.com', { email: 'eve@example.com', endsAt }] });
      expect(again.body.data).toEqual({ added: 0, changed: 1, removed: 0 });
      const { data } = (await nora.get(path)).body;
      const ends = Object.fromEntries(data.map((one: { email: string; endsAt: string }) => [one.email, one.endsAt]));
      expect(ends).toMatchObject({
        'eve@example.com': endsAt,
        'fay@example.com': first[1] instanceof Object ? first[1].endsAt : '',
      });
      const twice = await nora.post(path, { add: ['eve@example.com', { email: 'EVE@example.com', endsAt }] });
      expect([outcome(twice), twice.body.details.issues[0].path]).toEqual([[400, 'VALIDATION_FAILED'], 'add.1']);
    });

    const WRONG: [name: string, window: object, field: string][] = [
      ['no time', { endsAt: 'Friday' }, 'endsAt'],
      ['no zone', { endsAt: '2030-01-01T00:00:00' }, 'endsAt'],
      ['a date alone', { startsAt: '2030-01-01' }, 'startsAt'],
      ['a day that is not', { endsAt: '2027-02-30T00:00:00Z' }, 'endsAt'],
      ['a number', { endsAt: 1_800_000_000_000 }, 'endsAt'],
      ['the past', { endsAt: at(-1000) }, 'endsAt'],
      ['more than ten years', { endsAt: at(3660 * DAY) }, 'endsAt'],
      ['an end at the beginning', { startsAt: '2030-01-01T00:00:00Z', endsAt: '2030-01-01T01:00:00+01:00' }, 'endsAt'],
      ['an end before the beginning', { startsAt: at(2 * DAY), endsAt: at(DAY) }, 'endsAt'],
    ];
    test.each(WRONG)('%s is refused at every door, with the path', async (_name, window, field) => {
      const email = 'gil@example.com';
      const { id } = (await nora.get('/api/applications/shop/roles')).body.data[0];
      const answers = [
        [await nora.post(roles(email), { role: 'reader', ...window }), field],
        [await nora.put(roles(email), { roles: ['writer', { role: 'reader', ...window }] }), `roles.1.${field}`],
        [
          await nora.put(page(email), { permissions: [{ permission: 'pages', granted: true, ...window }] }),
          `permissions.0.${field}`,
        ],
        [await nora.post(SEATS, { email, ...window }), field],
        [
          await nora.post(`/api/applications/shop/roles/${id}/users`, { add: [{ email, ...window }] }),
          `add.0.${field}`,
        ],
      ] as const;
      for (const [answer, path] of answers) {
        expect([outcome(answer), answer.body.details.issues[0].path]).toEqual([[400, 'VALIDATION_FAILED'], path]);
      }
      expect(await held(email)).toEqual([]);
    });

    test('a beginning behind the end that stands is refused by its own field', async () => {
      const email = 'hal@example.com';
      await nora.post(roles(email), { role: 'reader', endsAt: at(DAY) });
      const refused = await nora.post(roles(email), { role: 'reader', startsAt: at(2 * DAY) });
      expect([outcome(refused), refused.body.details.issues[0].path]).toEqual([[400, 'VALIDATION_FAILED'], 'startsAt']);
    });

    test('a grant that has ended is not held though its row is there, and is given anew', async () => {
      const email = 'ida@example.com';
      await nora.post(roles(email), { role: 'reader', startsAt: at(-DAY), endsAt: at(DAY) });
      await nora.put(page(email), { permissions: [{ permission: 'pages', granted: true, endsAt: at(DAY) }] });
      await nora.post(SEATS, { email, endsAt: at(DAY) });
      await end(email);
      expect(await held(email)).toEqual([]);
      expect((await nora.get(page(email))).body.data.permissions).toEqual([]);
      expect((await nora.get(SEATS)).body.data.map((one: { email: string }) => one.email)).not.toContain(email);
      expect((await root.get('/api/users?appCode=shop&q=ida')).body.data).toEqual([]);
      expect(outcome(await nora.delete(`${roles(email)}/reader`))).toEqual([404, 'NOT_FOUND']);
      expect(outcome(await nora.delete(`${SEATS}/${email}`))).toEqual([404, 'NOT_FOUND']);
      // The fields sent, and no others.
      const startsAt = at(-HOUR);
      const again = await nora.post(roles(email), { role: 'reader', startsAt });
      expect([again.status, again.body.data]).toEqual([201, expect.objectContaining({ startsAt, endsAt: null })]);
      const seat = await nora.post(SEATS, { email });
      expect([seat.status, seat.body.data]).toEqual([201, expect.objectContaining(ALWAYS)]);
      const put = await nora.put(page(email), { permissions: [{ permission: 'pages', granted: true }] });
      expect(put.body.data.permissions).toMatchObject([ALWAYS]);
      expect(await registry.allowed(email, 'shop', 'pages')).toBe(true);
    });

    test('extending a role whose end has passed makes it anew, and a revision', async () => {
      const email = 'jan@example.com';
      await nora.post(roles(email), { role: 'reader', endsAt: at(DAY) });
      await end(email);
      const before = (await nora.get(roles(email))).headers.get('etag');
      const endsAt = at(DAY);
      const made = await nora.put(roles(email), { roles: [{ role: 'reader', endsAt }] });
      expect([made.status, made.headers.get('etag') === before]).toEqual([200, false]);
      expect(made.headers.get('usher-revision')).toMatch(/^\d+\./);
      expect(await held(email)).toEqual([{ code: 'reader', startsAt: null, endsAt }]);
      expect(await registry.allowed(email, 'shop', 'pages')).toBe(true);
    });

    test('access has the roles that count, and the windows of all that are held', async () => {
      const [email, startsAt, endsAt] = ['kim@example.com', at(DAY), at(2 * DAY)];
      await nora.put(roles(email), {
        roles: [
          { role: 'reader', endsAt },
          { role: 'writer', startsAt },
        ],
      });
      await nora.put(page(email), { permissions: [{ permission: 'look', granted: true, startsAt }] });
      const [shop] = (await nora.get(`/api/users/${email}/access`)).body.data.applications;
      expect(shop).toMatchObject({
        level: 'member',
        roles: ['reader'],
        roleWindows: [
          { code: 'reader', startsAt: null, endsAt },
          { code: 'writer', startsAt, endsAt: null },
        ],
        permissions: [{ code: 'pages', accessLevel: 'view' }],
        overrides: [{ permission: 'look', startsAt, endsAt: null }],
      });
      const [detail] = (await nora.get(`/api/users/${email}`)).body.data.applications;
      expect(detail.roles).toEqual(['reader']);
    });

    test('people and overrides are found by what ends soon, and the overview counts it', async () => {
      const [soon, later] = ['lia@example.com', 'max@example.com'];
      const before = (await nora.get('/api/admin/overview')).body.data.endingSoon;
      await nora.post(roles(soon), { role: 'reader', endsAt: at(2 * DAY) });
      await nora.put(page(later), { permissions: [{ permission: 'pages', granted: true, endsAt: at(20 * DAY) }] });
      const found = async (query: string): Promise<string[]> =>
        (await nora.get(`/api/users?appCode=shop&q=example&${query}`)).body.data
          .map(({ email }: { email: string }) => email)
          .filter((one: string) => one === soon || one === later);
      expect(await found('endingWithinDays=1')).toEqual([]);
      expect(await found('endingWithinDays=3')).toEqual([soon]);
      expect(await found('endingWithinDays=365')).toEqual([soon, later]);
      const overrides = async (days: number): Promise<string[]> =>
        (await nora.get(`/api/applications/shop/overrides?endingWithinDays=${days}`)).body.data.map(
          ({ email }: { email: string }) => email,
        );
      expect(await overrides(19)).not.toContain(later);
      expect(await overrides(21)).toContain(later);
      for (const days of ['0', '366', 'x']) {
        expect((await nora.get(`/api/users?appCode=shop&endingWithinDays=${days}`)).status).toBe(400);
        expect((await nora.get(`/api/applications/shop/overrides?endingWithinDays=${days}`)).status).toBe(400);
      }
      expect(outcome(await root.get('/api/users?endingWithinDays=7'))).toEqual([400, 'VALIDATION_FAILED']);
      expect((await nora.get('/api/admin/overview')).body.data.endingSoon).toBe(before + 1);
    });

    test('a dry run compares at its instant, and says when something begins or ends next', async () => {
      const [email, startsAt, endsAt] = ['ned@example.com', at(HOUR), at(2 * HOUR)];
      const rehearse = async (body: object) => (await nora.post(`${roles(email)}?dryRun=true`, body)).body.data.impact;
      expect(await rehearse({ role: 'reader' })).toMatchObject({ people: 1, gained: 1, nextBoundary: null });
      expect(await rehearse({ role: 'reader', startsAt, endsAt })).toMatchObject({ people: 0, nextBoundary: startsAt });
      expect(await rehearse({ role: 'reader', endsAt })).toMatchObject({ people: 1, nextBoundary: endsAt });
      expect(await held(email)).toEqual([]);
    });

    test('an end or a beginning since a revision makes a write that depends on it stale', async () => {
      for (const [email, columns] of [
        ['ola@example.com', `ends_at = statement_timestamp() + interval '40 milliseconds'`],
        ['pia@example.com', `starts_at = statement_timestamp() + interval '40 milliseconds'`],
      ] as const) {
        await nora.post(roles(email), { role: 'reader', endsAt: at(DAY) });
        await moved(email, columns);
        const { revision } = (await nora.post(`${roles(email)}?dryRun=true`, { role: 'writer' })).body.data.impact;
        const write = () => nora.post(roles(email), { role: 'writer' }, { 'usher-if-revision': revision });
        await new Promise((resolve) => setTimeout(resolve, 60));
        expect([email, outcome(await write())]).toEqual([email, [412, 'STALE']]);
      }
    });

    test('an administrator whose seat has just ended writes nothing more', async () => {
      const email = 'quin@example.com';
      await nora.post(SEATS, { email });
      const quin = registry.as('quin');
      expect((await quin.post(roles('rex@example.com'), { role: 'reader' })).status).toBe(201);
      await end(email);
      expect(outcome(await quin.post(roles('rex@example.com'), { role: 'writer' }))).toEqual([
        403,
        'NO_APPLICATION_LEVEL',
      ]);
      expect((await quin.get(roles('rex@example.com'))).status).toBe(403);
    });

    test('while the upgrade is unfinished no window is set, and clearing and taking away go on', async () => {
      const email = 'sam@example.com';
      const setRules = (rules: number) =>
        registry.usher.app.database.change(async ({ kysely }) => {
          await sql`update setting set value = to_jsonb(${rules}::int) where key = 'rules'`.execute(kysely);
          return { result: null, scopes: [] };
        });
      await nora.put(roles(email), {
        roles: [
          { role: 'reader', startsAt: at(-DAY), endsAt: at(DAY) },
          { role: 'writer', endsAt: at(DAY) },
        ],
      });
      await setRules(1);
      try {
        const { id } = (await nora.get('/api/applications/shop/roles')).body.data[0];
        const refused = [
          await nora.post(roles(email), { role: 'reader', endsAt: at(2 * DAY) }),
          await nora.put(roles(email), { roles: ['reader', { role: 'writer', startsAt: at(-DAY) }] }),
          await nora.put(page(email), { permissions: [{ permission: 'pages', granted: false, endsAt: at(DAY) }] }),
          await nora.post(SEATS, { email, startsAt: at(DAY) }),
          await nora.post(`/api/applications/shop/roles/${id}/users`, {
            add: [{ email: 'tom@example.com', endsAt: at(DAY) }],
          }),
        ];
        for (const answer of refused) {
          expect(outcome(answer)).toEqual([409, 'UPGRADE_UNFINISHED']);
          expect(answer.body.message).toContain('migrate --finish');
        }
        expect((await nora.post(roles(email), { role: 'reader', startsAt: null })).status).toBe(200);
        expect((await nora.delete(`${roles(email)}/writer`)).status).toBe(204);
        expect((await nora.post(roles(email), { role: 'writer' })).status).toBe(201);
      } finally {
        await setRules(2);
      }
    });

    test('the last SuperAdmin is protected as ever, and has no window', async () => {
      const { data } = (await root.get('/api/users/admins/super')).body;
      const last = data[0].email;
      expect(outcome(await root.delete(`/api/users/admins/super/${last}`))).toEqual([409, 'LAST_SUPERADMIN']);
      expect(outcome(await root.post('/api/users/admins/super', { email: last, endsAt: at(DAY) }))).toEqual([
        400,
        'VALIDATION_FAILED',
      ]);
    });

    test('what leaves, goes or is taken along has its windows', async () => {
      const [email, startsAt, endsAt] = ['uma@example.com', at(-DAY), at(DAY)];
      await nora.post(roles(email), { role: 'reader', startsAt, endsAt });
      await nora.post(roles(email), { role: 'writer', endsAt });
      await nora.put(page(email), { permissions: [{ permission: 'pages', granted: true, endsAt }] });
      await nora.post(SEATS, { email, endsAt });
      const data = (await root.get(`/api/users/${email}/export`)).body;
      const [shop] = data.person.applications;
      expect(shop).toMatchObject({
        adminWindow: { startsAt: null, endsAt },
        roles: [{ code: 'reader', startsAt, endsAt }, { code: 'writer' }],
      });
      expect(data.overrides).toMatchObject([{ permission: 'pages', startsAt: null, endsAt }]);
      const done = await root.post(`/api/users/${email}/offboard`, { handOverTo: 'vera@example.com' });
      expect([done.status, done.body.details?.code]).toEqual([400, 'UNKNOWN_REFERENCE']);
      await nora.post(roles('vera@example.com'), { role: 'reader' });
      expect(
        (await root.post(`/api/users/${email}/offboard`, { handOverTo: 'vera@example.com' })).body.data,
      ).toMatchObject({
        removed: { appAdmins: 1, roles: 2, overrides: 1 },
        handedOver: ['shop'],
      });
      // For as long as it was to be.
      expect((await nora.get(SEATS)).body.data).toContainEqual(
        expect.objectContaining({ email: 'vera@example.com', endsAt }),
      );
      const record = (await audits('user.offboarded', email)).find(({ appCode }) => appCode === 'shop');
      expect(record?.before).toMatchObject({
        windows: [
          { role: null, endsAt },
          { role: 'reader', startsAt, endsAt },
          { role: 'writer', endsAt },
        ],
      });
    });

    test('an erasure counts what was held, and takes all of it', async () => {
      const email = 'wim@example.com';
      await nora.post(roles(email), { role: 'reader', endsAt: at(DAY) });
      await end(email);
      await nora.post(roles(email), { role: 'writer', endsAt: at(DAY) });
      const erased = await root.post(`/api/users/${email}/erase`, {});
      expect([erased.status, erased.body.data.removed]).toEqual([200, expect.objectContaining({ roles: 1 })]);
    });
  });
}
