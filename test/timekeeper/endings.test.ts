import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { wordsOf } from '../../src/notifications/ending-words.ts';
import { until } from '../delivery/rows.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { countOf, write } from './world.ts';

const MANIFEST = `
application: { code: shop, name: The Shop }
permissions: [{ code: ticket.read, type: tiered }]
roles: [{ code: reader, name: Reader }, { code: seller }]
admins: [olga@example.com]
`;

interface Sent {
  subject: string;
  body: string;
  locale: string;
  type: string;
  payload: { grants: object[] };
}

describe.each(KINDS)('people are told that a grant ends soon (%s)', (kind) => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let root: Rest;
  let count = 0;

  beforeAll(async () => {
    storage = await createStorage(kind);
    usher = await startUsher(storage, { env: { USHER_ROLES: 'gateway,rpc' } });
    await usher.app.manifests.apply(MANIFEST, { actor: 'cli' });
    root = await Rest.as(usher, 'admin@example.com');
  }, 120_000);
  afterAll(async () => {
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  /** A new person with a profile in that language. */
  const person = async (locale: string | null = null): Promise<string> => {
    const email = `e${++count}@example.com`;
    const rest = await Rest.as(usher, email);
    expect((await rest.get('/api/profile/me')).status).toBe(200);
    expect((await rest.put('/api/profile/me', { locale, timezone: 'Europe/Prague' })).status).toBe(200);
    return email;
  };
  /** Roles that run out in so many days, of a grant made ten days ago: as the database had them if ten days had passed. */
  const give = async (email: string, roles: readonly string[], days: number) => {
    await write(usher.app.database, async ({ kysely }) => {
      await sql`insert into user_role (person_id, application_id, role_id, created_at, ends_at)
        select p.id, r.application_id, r.id, now() - interval '10 days', now() + make_interval(days => 5)
          from person p, role r where p.email = ${email} and r.code = any(${[...roles]}::text[])`.execute(kysely);
      await later(kysely, email, 5 - days);
    });
  };
  /** So many days pass for what this person holds. */
  const later = async (kysely: Parameters<Parameters<typeof write>[1]>[0]['kysely'], email: string, days: number) => {
    const whose = sql`person_id = (select id from person where email = ${email})`;
    await sql`create temporary table kept on commit drop as select * from grant_moment where ${whose}`.execute(kysely);
    for (const table of ['user_role', 'resource_override', 'app_admin']) {
      await sql`update ${sql.table(table)} set ends_at = ends_at - make_interval(days => ${days}::int) where ${whose}`.execute(
        kysely,
      );
    }
    await sql`delete from grant_moment where ${whose}`.execute(kysely);
    await sql`insert into grant_moment select * from kept`.execute(kysely);
    await sql`update grant_moment set at = at - make_interval(days => ${days}::int) where ${whose}`.execute(kysely);
  };
  const inboxOf = async (email: string): Promise<Sent[]> =>
    (await (await Rest.as(usher, email)).get('/api/profile/me/notifications/inbox')).body.response ?? [];
  const told = (email: string, number = 1) =>
    until(
      () => inboxOf(email),
      ({ length }) => length >= number,
    );
  /** Nothing is due any more. */
  const quiet = () =>
    until(
      () =>
        usher.app.database.read(async (tx) => {
          const { rows } = await sql`select from grant_moment where what = 'warning' and at <= now()`.execute(
            tx.kysely,
          );
          return rows.length;
        }),
      (due) => due === 0,
    );

  test('what falls due together is one message, once, in the words of the service', async () => {
    const [ann, jana] = [await person(), await person('cs')];
    await write(usher.app.database, async ({ kysely }) => {
      for (const email of [ann]) {
        await sql`insert into resource_override
            (person_id, application_id, resource_type, resource_id, permission_id, tiered, level, created_at, ends_at)
          select p.id, c.application_id, 'ticket', record, c.id, true, level, now() - interval '10 days', now() + interval '5 days'
            from person p, permission c, (values ('42', 2), ('43', 0)) o (record, level)
           where p.email = ${email} and c.code = 'ticket.read'`.execute(kysely);
        await sql`insert into app_admin (person_id, application_id, created_at, ends_at)
          select p.id, a.id, now() - interval '10 days', now() + interval '5 days' from person p, application a
           where p.email = ${email} and a.code = 'shop'`.execute(kysely);
      }
    });
    await give(ann, ['reader', 'seller'], 2);
    await give(jana, ['reader'], 2);
    const [one, ...others] = await told(ann);
    expect(others).toEqual([]);
    expect(one).toMatchObject({ type: 'generic', locale: 'en', subject: 'Your access to The Shop ends soon' });
    const end = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const of = { role: null, resourceType: null, resourceId: null, endsAt: end };
    // The denial is no grant.
    expect(one?.payload.grants).toHaveLength(4);
    expect(one?.payload.grants).toEqual(
      expect.arrayContaining([
        { ...of, kind: 'app_admin' },
        { ...of, kind: 'override', resourceType: 'ticket', resourceId: '42' },
        { ...of, kind: 'role', role: 'reader' },
        { ...of, kind: 'role', role: 'seller' },
      ]),
    );
    expect(one?.body).toMatch(/Role Reader: until \d+ \w+ 2\d{3}/);
    expect(one?.body).toContain('ticket 42: until');
    const [czech] = await told(jana);
    expect(czech).toMatchObject({ locale: 'cs', subject: 'Váš přístup k aplikaci The Shop brzy skončí' });
    await quiet();
    expect([await inboxOf(ann), await inboxOf(jana)].map(({ length }) => length)).toEqual([1, 1]);
  });

  test('an extension begins anew, and what ends later is not told yet', async () => {
    const email = await person();
    await give(email, ['reader'], 2);
    await told(email);
    await write(usher.app.database, async ({ kysely }) => {
      await sql`update user_role set ends_at = now() + interval '6 days'
        where person_id = (select id from person where email = ${email})`.execute(kysely);
    });
    await quiet();
    expect(await inboxOf(email)).toHaveLength(1);
    await write(usher.app.database, ({ kysely }) => later(kysely, email, 4));
    await told(email, 2);
    // Made or changed with less than three days left: not told.
    await write(usher.app.database, async ({ kysely }) => {
      await sql`update user_role set ends_at = now() + interval '2 days'
        where person_id = (select id from person where email = ${email})`.execute(kysely);
    });
    await quiet();
    expect([(await inboxOf(email)).length, await countOf(usher.app.database, 'grant_moment')]).toEqual([2, 0]);
  });

  test('the template access-ending has the words, and the built-in ones stand in where it cannot be rendered', async () => {
    const templates = '/api/applications/shop/templates';
    const html = '{% for g in grants %}<p>{{ g.kind }} {{ g.role }}</p>{% endfor %}';
    const made = { type: 'generic', key: 'access-ending', locale: 'en', subject: '{{ app.name }}: soon over', html };
    const { status, body } = await root.post(templates, made);
    expect(status).toBe(201);
    const [ann, ben] = [await person(), await person()];
    await give(ann, ['reader'], 2);
    expect((await told(ann))[0]).toMatchObject({ subject: 'The Shop: soon over', body: 'role reader' });
    const path = `${templates}/${body.data.id}`;
    expect((await root.put(path, { requiredVariables: ['nowhere'] })).status).toBe(200);
    await give(ben, ['reader'], 2);
    expect((await told(ben))[0]).toMatchObject({ subject: 'Your access to The Shop ends soon' });
    expect((await root.send('DELETE', path)).status).toBe(204);
  });

  test('tellEndings switches it, and what fell due meanwhile is not told later', async () => {
    const { body } = await root.get('/api/applications/shop');
    expect(body.data.tellEndings).toBe(true);
    expect((await root.put('/api/applications/shop', { tellEndings: false })).body.data.tellEndings).toBe(false);
    const email = await person();
    await give(email, ['reader'], 2);
    await quiet();
    expect((await root.put('/api/applications/shop', { tellEndings: true })).status).toBe(200);
    await quiet();
    expect(await inboxOf(email)).toEqual([]);
  });

  test('a role given until an instant is over in the audit soon after it, by the hand of the system', async () => {
    const email = await person();
    const endsAt = new Date(Date.now() + 1500).toISOString();
    const given = await root.post(`/api/users/${email}/apps/shop/roles`, { role: 'reader', endsAt });
    expect([given.status, given.body.data.endsAt]).toEqual([201, endsAt]);
    const audits = async (): Promise<{ at: string; actor: string; before: object }[]> =>
      (await root.get(`/api/applications/shop/audit?action=assignment.ended&subject=${email}`)).body.data;
    const [ended] = await until(audits, ({ length }) => length > 0);
    expect(ended).toMatchObject({ actor: 'system', before: { role: 'reader', startsAt: null, endsAt } });
    expect(Date.parse(ended?.at ?? '')).toBeGreaterThanOrEqual(Date.parse(endsAt));
    expect((await root.send('DELETE', `/api/users/${email}/apps/shop/roles/reader`)).status).toBe(404);
  });

  test('what is taken away before is not told', async () => {
    const email = await person();
    await write(usher.app.database, async ({ kysely }) => {
      await sql`insert into user_role (person_id, application_id, role_id, ends_at)
        select p.id, r.application_id, r.id, now() + interval '8 days' from person p, role r
         where p.email = ${email} and r.code = 'reader'`.execute(kysely);
    });
    expect(await countOf(usher.app.database, 'grant_moment')).toBe(1);
    const path = `/api/users/${email}/apps/shop/roles/reader`;
    expect((await root.send('DELETE', path)).status).toBe(204);
    expect(await countOf(usher.app.database, 'grant_moment')).toBe(0);
  });
});

test('the words have the time of the zone, with its name', () => {
  const grant = {
    kind: 'app_admin' as const,
    appName: 'Shop',
    role: null,
    roleName: null,
    resourceType: '',
    resourceId: '',
  };
  const endsAt = new Date('2026-12-04T17:00:00Z');
  const { body } = wordsOf([{ ...grant, endsAt }], 'en', 'Europe/Prague');
  expect(body).toContain('Administrator of the application: until 4 December 2026 at 18:00 CET');
  expect(wordsOf([{ ...grant, endsAt }], 'cs', 'UTC').body).toContain(
    'Správa aplikace: do 4. prosince 2026 v 17:00 UTC',
  );
});
