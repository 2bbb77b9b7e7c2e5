import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { forgetAccount } from '../../src/persistence/people/accounts.ts';
import { personIdOf } from '../../src/persistence/people/people.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import type { Rest, RestAnswer } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { asToken, prepareBrands, rowsOf, seconds } from './people.ts';

const MANIFEST = `
application: { code: billing, name: Billing }
permissions: [{ code: invoice.read, type: binary }]
admins: [nora@example.com, new@example.com, race@example.com, door@example.com]
`;

/** One request to each kind of door that takes a bearer token. */
const DOORS: readonly [string, (rest: Rest) => Promise<RestAnswer>][] = [
  ['own profile', (rest) => rest.get('/api/profile/me')],
  ['change of it', (rest) => rest.put('/api/profile/me', { theme: 'dark' })],
  ['preferences', (rest) => rest.get('/api/profile/me/apps')],
  ['bootstrap', (rest) => rest.get('/api/profile/me/apps/billing')],
  ['change of preferences', (rest) => rest.put('/api/profile/me/apps/billing', { showHelp: false })],
  ['activity', (rest) => rest.post('/api/profile/me/apps/billing/activity')],
  ['logout', (rest) => rest.post('/api/profile/me/apps/billing/logout')],
  ['check', (rest) => rest.post('/api/profile/me/check', { app: 'billing', permission: 'invoice.read' })],
  ['bulk', (rest) => rest.post('/api/profile/me/check/bulk', { app: 'billing', permissions: ['invoice.read'] })],
  ['effective', (rest) => rest.post('/api/profile/me/check/effective', { app: 'billing' })],
  ["somebody's profile", (rest) => rest.get('/api/profile/nora@example.com')],
  ['administrative read', (rest) => rest.get('/api/applications/billing/roles')],
  [
    'administrative write',
    (rest) => rest.post('/api/applications/billing/roles', { code: `r-${Math.random()}`.replace('.', '') }),
  ],
];

describe.each([true, false])('one account per address (auth.bindSubject: %s)', (bound) => {
  let storage: TestStorage;
  let usher: RunningUsher;

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    usher = await startUsher(storage, { env: { AUTH_BIND_SUBJECT: String(bound) } });
    await prepareBrands(usher.app.database);
    await usher.app.manifests.apply(MANIFEST, { actor: 'cli' });
  }, 60_000);
  afterAll(async () => {
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  const as = (email: string, sub: string) => asToken(usher, email, { sub });
  const kept = async (email: string) =>
    (
      await rowsOf(
        usher.app.database,
        sql<{
          subject: string | null;
        }>`select a.user_id as subject from person_account a join person p on p.id = a.person_id where p.email = ${email} and a.signs_in`,
      )
    )[0]?.subject;
  const audits = async (email: string, action = 'user.subject_changed') =>
    await rowsOf(
      usher.app.database,
      sql<{ before: object; after: object }>`select actor, before, after from audit
        where action = ${action} and subject = ${email} order by id`,
    );
  const clear = (email: string) =>
    usher.app.database.change(async (tx) => {
      const person = await personIdOf(tx, email);
      return { result: person === null ? null : await forgetAccount(tx, person), scopes: [] };
    });

  if (bound) {
    test('another account is refused at every listener, with nothing changed, until a SuperAdmin unbinds the first', async () => {
      const [first, other] = [await as('nora@example.com', 'one'), await as('nora@example.com', 'two')];
      for (const [, ask] of DOORS) expect((await ask(first)).status).toBeLessThan(300);
      const before = (await first.get('/api/profile/me')).body;
      for (const [door, ask] of DOORS) {
        const answer = await ask(other);
        expect([door, answer.status, answer.body.details?.code]).toEqual([door, 403, 'IDENTITY_CONFLICT']);
      }
      expect((await first.get('/api/profile/me')).body).toEqual(before);
      expect(await kept('nora@example.com')).toBe('one');
      // Told once, however often it comes.
      expect(await audits('nora@example.com', 'user.subject_changed.refused')).toEqual([
        {
          actor: 'user:nora@example.com',
          before: { issuer: 'urn:usher:local', subject: 'one' },
          after: { issuer: 'urn:usher:local', subject: 'two' },
        },
      ]);

      expect((await clear('nora@example.com')).result).toEqual({ issuer: 'urn:usher:local', subject: 'one' });
      expect((await clear('nora@example.com')).result).toBeNull();
      expect((await other.get('/api/applications/billing/roles')).status).toBe(200);
      expect(await kept('nora@example.com')).toBe('two');
      // The one before is out at once: nothing that was remembered lets it in.
      for (const [door, ask] of DOORS) expect([door, (await ask(first)).status]).toEqual([door, 403]);
      expect((await other.get('/api/profile/me')).status).toBe(200);
    });

    test.each(DOORS.filter(([door]) => !['check', 'bulk', 'effective'].includes(door)))(
      'the first account is bound at any entry: %s',
      async (door, ask) => {
        await clear('door@example.com');
        expect((await ask(await as('door@example.com', `first at ${door}`))).status).toBeLessThan(300);
        expect(await kept('door@example.com')).toBe(`first at ${door}`);
        expect((await ask(await as('door@example.com', 'second'))).status).toBe(403);
      },
    );

    test.each(DOORS)('a refusal leaves one audit record at any entry: %s', async (door, ask) => {
      const email = 'nora@example.com';
      await clear(email);
      expect((await (await as(email, 'owner')).get('/api/profile/me')).status).toBe(200);
      const action = 'user.subject_changed.refused';
      const before = (await audits(email, action)).length;
      const stranger = await as(email, `stranger at ${door}`);
      for (let times = 0; times < 3; times++) expect((await ask(stranger)).status).toBe(403);
      expect((await audits(email, action)).slice(before)).toEqual([
        {
          actor: `user:${email}`,
          before: { issuer: 'urn:usher:local', subject: 'owner' },
          after: { issuer: 'urn:usher:local', subject: `stranger at ${door}` },
        },
      ]);
      // Another account is another matter, also between two of the first.
      for (const sub of ['third', `stranger at ${door}`, 'third']) await ask(await as(email, `${sub}/${door}`));
      expect((await audits(email, action)).length - before).toBe(3);
    });

    test('another account is refused before the rest of its request is read', async () => {
      const email = 'order@example.com';
      await (await as(email, 'owner')).get('/api/profile/me');
      const stranger = await as(email, 'stranger');
      const answers = [
        await stranger.put('/api/profile/me', { nonsense: true }),
        await stranger.get('/api/profile/me/apps/no-such-application'),
        await stranger.put('/api/profile/me/apps/no-such-application', { nonsense: true }),
        await stranger.post('/api/profile/me/apps/no-such-application/activity'),
        await stranger.post('/api/profile/me/apps/no-such-application/logout'),
      ];
      for (const { status, body } of answers) expect([status, body.details?.code]).toEqual([403, 'IDENTITY_CONFLICT']);
      expect(await audits(email, 'user.subject_changed.refused')).toHaveLength(1);
    });

    test('unbinding records the account that was bound', async () => {
      const email = 'cleared@example.com';
      await (await as(email, 'one')).get('/api/profile/me');
      const admin = await as('admin@example.com', 'admin');
      expect((await admin.delete(`/api/users/${email}/subject`)).status).toBe(204);
      expect((await admin.delete(`/api/users/${email}/subject`)).status).toBe(204);
      expect(await audits(email, 'user.subject_cleared')).toEqual([
        { actor: 'user:admin@example.com', before: { issuer: 'urn:usher:local', subject: 'one' }, after: null },
      ]);
    });

    test('one of two concurrent first accounts is bound, and the other refused', async () => {
      const rests = await Promise.all(
        Array.from({ length: 20 }, (_, index) => as('race@example.com', `s${index % 2}`)),
      );
      const answers = await Promise.all(
        rests.map((rest, index) =>
          index % 3 ? rest.get('/api/profile/me') : rest.get('/api/applications/billing/roles'),
        ),
      );
      const winner = await kept('race@example.com');
      expect(answers.map(({ status }, index) => [index, status])).toEqual(
        rests.map((_, index) => [index, `s${index % 2}` === winner ? 200 : 403]),
      );
    });

    test("an inactive user's account is not bound", async () => {
      await usher.app.database.change(async (tx) => {
        await sql`insert into person (email, blocked) values ('gone@example.com', true)`.execute(tx.kysely);
        return { result: null, scopes: ['u:gone@example.com'] };
      });
      const gone = await as('gone@example.com', 'one');
      expect((await gone.get('/api/profile/me/apps')).body.details.code).toBe('USER_INACTIVE');
      expect(await kept('gone@example.com')).toBeUndefined();
    });
  } else {
    test.each(DOORS.filter(([door]) => !['check', 'bulk', 'effective'].includes(door)))(
      'another account is admitted and recorded in the audit: %s',
      async (door, ask) => {
        const email = 'nora@example.com';
        const owner = await as(email, `one of ${door}`);
        await owner.get('/api/profile/me');
        const before = (await audits(email)).length;
        expect((await ask(await as(email, `two of ${door}`))).status).toBeLessThan(300);
        expect(await kept(email)).toBe(`two of ${door}`);
        const told = await audits(email);
        expect(told.slice(before)).toEqual([
          {
            actor: `user:${email}`,
            before: { issuer: 'urn:usher:local', subject: `one of ${door}` },
            after: { issuer: 'urn:usher:local', subject: `two of ${door}` },
          },
        ]);
        // And back again.
        await ask(owner);
        expect(await audits(email)).toHaveLength(before + 2);
        expect(await kept(email)).toBe(`one of ${door}`);
      },
    );

    test('each change of account is recorded, at alternating entries', async () => {
      const email = 'race@example.com';
      const [one, two] = [await as(email, 'one'), await as(email, 'two')];
      const [mine, list] = ['/api/profile/me', '/api/profile/me/apps'];
      await one.get(mine);
      const turns: [Rest, string][] = [
        [one, list],
        [two, list],
        [one, mine],
        [two, list],
        [one, list],
        [two, mine],
        [two, list],
      ];
      for (const [rest, path] of turns) expect((await rest.get(path)).status).toBe(200);
      expect((await audits(email)).map(({ after }) => (after as { subject: string }).subject)).toEqual([
        'two',
        'one',
        'two',
        'one',
        'two',
      ]);
    });

    test('a check records a changed account, and creates nothing else', async () => {
      const email = 'checking@example.com';
      await (await as(email, 'one')).get('/api/profile/me');
      const other = await as(email, 'two');
      const question = { app: 'billing', permission: 'invoice.read' };
      expect((await other.post('/api/profile/me/check', question)).status).toBe(200);
      // It is recorded behind the answer's back.
      while ((await audits(email)).length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
      expect(await audits(email)).toEqual([
        {
          actor: `user:${email}`,
          before: { issuer: 'urn:usher:local', subject: 'one' },
          after: { issuer: 'urn:usher:local', subject: 'two' },
        },
      ]);
      expect(await kept(email)).toBe('two');
    });
  }

  const MAKING = DOORS.filter(([door]) => !['check', 'bulk', 'effective'].includes(door));
  test.each(MAKING)(
    'a first call creates the profile, and a newer token brings names, at any entry: %s',
    async (door, ask) => {
      const email = `${door.replaceAll(/[^a-z]/g, '')}.${bound}@example.com`;
      await usher.app.manifests.apply(`application: { code: billing, name: Billing }\nadmins: [${email}]\n`, {
        actor: 'cli',
      });
      const names = async () =>
        await rowsOf(
          usher.app.database,
          sql`select f.first_name, f.display_name from profile f join person p on p.id = f.person_id where p.email = ${email}`,
        );
      const now = seconds();
      const token = (name: string, iat: number) =>
        asToken(usher, email, { sub: 'one', given_name: name, name, iat, exp: now + 600 });
      await ask(await token('First', now - 60));
      expect(await names()).toEqual([{ firstName: 'First', displayName: 'First' }]);
      await ask(await token('Second', now - 30));
      expect(await names()).toEqual([{ firstName: 'Second', displayName: 'Second' }]);
      await ask(await token('Older', now - 45));
      expect(await names()).toEqual([{ firstName: 'Second', displayName: 'Second' }]);
    },
  );

  test.each([
    ['PUT', '/api/profile/me/notifications/preferences/1', { email: false }],
    ['PUT', '/api/profile/me/notifications/preferences/bulk', { updates: [{ notificationTypeId: 1, email: false }] }],
    ['POST', '/api/profile/me/push/subscribe', { subscription: { endpoint: 'https://x.example.com', keys: {} } }],
    ['POST', '/api/profile/me/notifications/inbox/read-all', {}],
    ['GET', '/api/profile/me/notifications/inbox', undefined],
    ['GET', '/api/languages', undefined],
    ['GET', '/api/applications/billing/i18n/en', undefined],
  ])('%s %s as the first call creates the profile', async (method, path, body) => {
    const words = path.split(/[^a-z]+/).filter((word) => word !== '');
    const address = `${words.slice(-3).join('.')}.${method.toLowerCase()}.${bound}@example.com`;
    await (await as(address, 'first')).send(method, path, body);
    expect(await kept(address)).toBe('first');
  });

  test('checks write nothing', async () => {
    const rest = await as('checker@example.com', 'one');
    expect((await rest.post('/api/profile/me/check', { app: 'billing', permission: 'invoice.read' })).body).toEqual({
      allowed: false,
    });
    expect(await rowsOf(usher.app.database, sql`select 1 from person where email = 'checker@example.com'`)).toEqual([]);
  });
});
