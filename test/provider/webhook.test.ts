import { describe, expect, test } from '@jest/globals';
import { KINDS } from '../support/databases.ts';
import type { RestAnswer } from '../support/rest.ts';
import { useWorld, WEBHOOK_SECRETS, type World } from './fixture.ts';

const WEBHOOK = '/api/idp/webhook';
const SECRET = { 'x-webhook-secret': WEBHOOK_SECRETS[0] };

type Names = { firstName?: string | null; lastName?: string | null; displayName?: string | null };
interface Sent extends Names {
  orgId?: string;
  eventId?: string;
  occurredAt?: string;
}

function tell(world: World, eventType: string, email: string, sent: Sent = {}): Promise<RestAnswer> {
  const { orgId = '100', eventId, occurredAt, ...names } = sent;
  const body = { eventType, orgId, user: { email, ...names }, eventId, occurredAt };
  return world.nobody.send('POST', WEBHOOK, body, SECRET);
}

async function applied(answer: Promise<RestAnswer>): Promise<boolean> {
  const { status, body } = await answer;
  expect([status, body.success]).toEqual([200, true]);
  return body.data.applied;
}

/** A user's record as the database has it; undefined when there is none. */
function stored(world: World, email: string) {
  return world.usher.app.database.read((tx) =>
    tx.kysely
      .selectFrom('person as p')
      .innerJoin('profile as f', 'f.personId', 'p.id')
      .select(['p.providerActive as active', 'p.blocked', 'f.firstName as first', 'f.lastName as last'])
      .where('p.email', '=', email)
      .executeTakeFirst(),
  );
}

async function allowed(world: World, email: string): Promise<boolean> {
  const { body } = await world.nobody.post('/api/check', { email, app: 'billing', permission: 'invoice.read' });
  return body.data.allowed;
}

function preferences(world: World, email: string): Promise<string[]> {
  return world.usher.app.database.read(async (tx) => {
    const rows = await tx.kysely
      .selectFrom('app_preference as f')
      .innerJoin('person as p', 'p.id', 'f.personId')
      .innerJoin('application as a', 'a.id', 'f.applicationId')
      .select('a.code')
      .where('p.email', '=', email)
      .orderBy('a.code')
      .execute();
    return rows.map(({ code }) => code);
  });
}

const at = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 10, minute)).toISOString();

const MANIFEST = (email: string) => `
application: { code: billing, name: Billing }
permissions: [{ code: invoice.read, type: binary }]
roles: [{ code: reader, permissions: { invoice.read: allowed } }]
assignments: [{ email: ${email}, roles: [reader] }]
`;

const options = { env: () => ({ IDP_ORG_TO_APP: '{"100":"billing","200":"nowhere"}' }) };

for (const kind of KINDS) {
  describe(`the webhook (${kind})`, () => {
    const world = useWorld({ kind, ...options });

    test('the webhook requires one of its secrets, and others learn nothing', async () => {
      const body = { eventType: 'user.created', orgId: '100', user: { email: 'eve@example.com' } };
      for (const headers of [{}, { 'x-webhook-secret': 'wrong' }, { 'x-webhook-secret': WEBHOOK_SECRETS.join(',') }]) {
        const answer = await world.nobody.send('POST', WEBHOOK, body, headers as Record<string, string>);
        expect([answer.status, answer.body.code]).toEqual([401, 'UNAUTHENTICATED']);
        expect(answer.headers.get('www-authenticate')).not.toBeNull();
      }
      const browser = await world.nobody.send('POST', WEBHOOK, body, { ...SECRET, origin: 'https://evil.example.com' });
      expect([browser.status, browser.body.details.code]).toEqual([403, 'BROWSER_NOT_ALLOWED']);
      expect(await stored(world, 'eve@example.com')).toBeUndefined();
      for (const secret of WEBHOOK_SECRETS) {
        expect((await world.nobody.send('POST', WEBHOOK, body, { 'x-webhook-secret': secret })).status).toBe(200);
      }
    });

    test('a user is created, deactivated, reactivated and removed, and checks follow at once', async () => {
      const email = 'ada@example.com';
      await world.usher.app.manifests.apply(MANIFEST(email), { actor: 'cli' });
      expect(await applied(tell(world, 'user.created', email, { firstName: 'Ada', lastName: 'Lovelace' }))).toBe(true);
      expect(await stored(world, email)).toMatchObject({ active: true, first: 'Ada', last: 'Lovelace' });
      expect(await allowed(world, email)).toBe(true);
      for (const [event, active] of [
        ['user.deactivated', false],
        ['user.reactivated', true],
        ['user.removed', false],
      ] as const) {
        const answer = await tell(world, event, email);
        expect([answer.body.data.applied, answer.headers.get('usher-revision')]).toEqual([true, expect.any(String)]);
        expect([event, await allowed(world, email)]).toEqual([event, active]);
        // Told again it changes nothing.
        expect(await applied(tell(world, event, email))).toBe(false);
      }
      expect(await stored(world, email)).toMatchObject({ active: false, first: 'Ada' });
      const actors = (await world.audits('user.deactivated')).filter(({ subject }) => subject === email);
      expect(actors).toMatchObject([{ actor: 'idp', after: { active: false } }]);
    });

    test('a creation neither reactivates a user nor changes names', async () => {
      const email = 'bob@example.com';
      await tell(world, 'user.deactivated', email, { firstName: 'Bob' });
      for (const occurredAt of [undefined, at(30)]) {
        const sent = { firstName: 'Robert', ...(occurredAt === undefined ? {} : { occurredAt }) };
        await applied(tell(world, 'user.created', email, sent));
        expect(await stored(world, email)).toMatchObject({ active: false, first: 'Bob' });
      }
    });

    test.each([
      ['user.created', true],
      ['user.updated', true],
      ['user.reactivated', true],
      ['user.deactivated', false],
      ['user.removed', false],
    ])('%s creates the record of an unknown user, active: %s', async (event, active) => {
      const email = `${event}@example.com`;
      expect(await applied(tell(world, event, email, { firstName: 'New', lastName: 'User' }))).toBe(true);
      expect(await stored(world, email)).toEqual({ active, blocked: false, first: 'New', last: 'User' });
    });

    test('a known event, and one before the last change of state, change nothing', async () => {
      const email = 'cleo@example.com';
      expect(await applied(tell(world, 'user.deactivated', email, { occurredAt: at(10), eventId: 'e-1' }))).toBe(true);
      expect(await applied(tell(world, 'user.reactivated', email, { occurredAt: at(9) }))).toBe(false);
      expect(await stored(world, email)).toMatchObject({ active: false });
      expect(await applied(tell(world, 'user.reactivated', email, { occurredAt: at(11), eventId: 'e-2' }))).toBe(true);
      // The same number, whatever it says now.
      expect(await applied(tell(world, 'user.deactivated', email, { occurredAt: at(12), eventId: 'e-2' }))).toBe(false);
      expect(await applied(tell(world, 'user.deactivated', email, { eventId: 'e-1' }))).toBe(false);
      expect(await stored(world, email)).toMatchObject({ active: true });
      // A clock that runs ahead does not make all that follows late.
      await tell(world, 'user.reactivated', email, { occurredAt: '2099-01-01T00:00:00Z' });
      await tell(world, 'user.deactivated', email, { occurredAt: new Date(Date.now() + 50).toISOString() });
      expect(await stored(world, email)).toMatchObject({ active: false });
    });

    test('an eventId is known for 24 hours, for every user', async () => {
      const deactivated = () => tell(world, 'user.deactivated', 'wilma@example.com', { eventId: 'window' });
      const age = (seconds: number) =>
        world.usher.app.database.change(async (tx) => {
          const at = new Date(Date.now() - seconds * 1000);
          await tx.kysely.updateTable('seen_event').set({ at }).where('key', '=', 'window').execute();
          return { result: null, scopes: [] };
        });
      expect(await applied(deactivated())).toBe(true);
      await tell(world, 'user.reactivated', 'wilma@example.com');
      await age(24 * 3600 - 60);
      expect(await applied(deactivated())).toBe(false);
      expect(await applied(tell(world, 'user.created', 'wendy@example.com', { eventId: 'window' }))).toBe(false);
      expect(await stored(world, 'wendy@example.com')).toBeUndefined();
      expect(await stored(world, 'wilma@example.com')).toMatchObject({ active: true });
      await age(24 * 3600 + 60);
      expect(await applied(deactivated())).toBe(true);
      expect(await stored(world, 'wilma@example.com')).toMatchObject({ active: false });
      expect(await applied(deactivated())).toBe(false);
    });

    test('user.updated synchronizes names, and an older update does not overwrite a newer one', async () => {
      const email = 'dora@example.com';
      await tell(world, 'user.created', email, { firstName: 'Dora', lastName: 'Old', occurredAt: at(1) });
      expect(await applied(tell(world, 'user.updated', email, { lastName: 'New', occurredAt: at(3) }))).toBe(true);
      expect(await applied(tell(world, 'user.updated', email, { lastName: 'Between', occurredAt: at(2) }))).toBe(false);
      // What is not sent, null or empty stays.
      await tell(world, 'user.updated', email, { firstName: null, lastName: '', occurredAt: at(4) });
      expect(await stored(world, email)).toMatchObject({ first: 'Dora', last: 'New' });
      expect(await applied(tell(world, 'user.updated', email, { lastName: 'Last' }))).toBe(true);
      expect(await stored(world, email)).toMatchObject({ first: 'Dora', last: 'Last' });
    });

    test("an administrator's block and the provider's state are separate flags", async () => {
      const email = 'finn@example.com';
      await tell(world, 'user.created', email);
      await world.usher.app.database.change(async (tx) => {
        await tx.kysely.updateTable('person').set({ blocked: true }).where('email', '=', email).execute();
        return { result: null, scopes: [`u:${email}`] };
      });
      await tell(world, 'user.deactivated', email);
      await tell(world, 'user.reactivated', email);
      expect(await stored(world, email)).toMatchObject({ active: true, blocked: true });
    });

    test('a creation in an organization of an application adds its preferences, once', async () => {
      const email = 'gina@example.com';
      await tell(world, 'user.updated', email);
      expect(await preferences(world, email)).toEqual([]);
      expect(await applied(tell(world, 'user.created', email, { orgId: '100' }))).toBe(true);
      expect(await applied(tell(world, 'user.created', email, { orgId: '100' }))).toBe(false);
      expect(await preferences(world, email)).toEqual(['billing']);
      // An unknown application, or an organization without one, gets nothing.
      await tell(world, 'user.created', email, { orgId: '200' });
      await tell(world, 'user.created', email, { orgId: '300' });
      expect(await preferences(world, email)).toEqual(['billing']);
      await world.usher.app.database.change(async (tx) => {
        const { id } = await tx.kysely
          .selectFrom('application')
          .select('id')
          .where('code', '=', 'auth')
          .executeTakeFirstOrThrow();
        await tx.kysely.insertInto('organization').values({ orgId: '300', applicationId: id }).execute();
        return { result: null, scopes: [] };
      });
      await tell(world, 'user.created', email, { orgId: '300' });
      expect(await preferences(world, email)).toEqual(['auth', 'billing']);
    });

    test('unknown events are ignored, and invalid ones are reported and change nothing', async () => {
      const send = (body: unknown) => world.nobody.send('POST', WEBHOOK, body, SECRET);
      expect((await send({ eventType: 'user.locked', user: { id: 7 } })).body.data).toEqual({ applied: false });
      const rich = { eventType: 'user.created', orgId: '9', user: { email: 'HANA@example.com', phone: '1' }, more: {} };
      expect((await send(rich)).body.data).toEqual({ applied: true });
      expect(await stored(world, 'hana@example.com')).toMatchObject({ active: true });
      for (const [body, field] of [
        [{}, 'eventType'],
        [{ eventType: 7 }, 'eventType'],
        [{ eventType: 'user.created' }, 'user'],
        [{ eventType: 'user.created', user: {} }, 'user.email'],
        [{ eventType: 'user.created', user: { email: 'no address' } }, 'user.email'],
        [{ eventType: 'user.created', user: { email: 'ivo@exämple.com' } }, 'user.email'],
      ] as const) {
        const answer = await send(body);
        expect([answer.status, answer.body.details.issues[0].path]).toEqual([400, field]);
      }
      expect(await stored(world, 'ivo@example.com')).toBeUndefined();
    });

    test('a member that cannot be stored is left out and noted, and its event takes effect', async () => {
      const email = 'olga@example.com';
      const send = (body: unknown) => world.nobody.send('POST', WEBHOOK, body, SECRET);
      const newest = async () => (await world.root.get('/api/idp/admin/events')).body.data.events[0];
      let isActive = false;
      for (const [path, values] of Object.entries(UNSTORABLE)) {
        for (const value of values) {
          for (const eventType of [
            'user.reactivated',
            'user.updated',
            'user.created',
            'user.deactivated',
            'user.removed',
          ]) {
            const names = { firstName: 'Olga', lastName: 'Nova', displayName: 'Olga N.' };
            const body = JSON.stringify({ eventType, orgId: '9', user: { email, ...names } });
            const answer = await send(set(JSON.parse(body), path, value));
            const said = [path, value, eventType].map(String).join(' ').slice(0, 80);
            const state = { 'user.reactivated': true, 'user.deactivated': false }[eventType];
            isActive = state ?? (eventType === 'user.removed' ? false : isActive);
            expect([said, answer.status]).toEqual([said, 200]);
            expect([said, (await newest()).leftOut]).toEqual([said, [path]]);
            if (eventType !== 'user.created' && eventType !== 'user.updated') {
              expect([said, (await stored(world, email))?.active]).toEqual([said, isActive]);
            }
          }
        }
      }
      expect(await stored(world, email)).toMatchObject({ first: 'Olga', last: 'Nova' });
      expect((await world.root.get('/api/users?q=Olga')).body.data.map((one: { email: string }) => one.email)).toEqual([
        email,
      ]);
    });
  });
}

/** Values of each member that cannot be stored. */
const UNSTORABLE: Readonly<Record<string, readonly unknown[]>> = {
  ...Object.fromEntries(
    ['user.firstName', 'user.lastName', 'user.displayName'].map((path) => [
      path,
      ['n'.repeat(201), 'n'.repeat(1001), 'a\0b', 'a\nb', 'a\ud800', 7, true, {}, ['Ada']],
    ]),
  ),
  orgId: [7, {}, 'o'.repeat(201), 'o\0'],
  eventId: [7, '', {}, 'e'.repeat(201), 'e\0'],
  occurredAt: ['yesterday', 7, '2026-02-30T10:00:00Z', '2026-01-01T10:00:00', {}],
};

function set(body: Record<string, unknown>, path: string, value: unknown): unknown {
  const [first = '', second] = path.split('.');
  if (second === undefined) return { ...body, [first]: value };
  return { ...body, [first]: { ...(body[first] as object), [second]: value } };
}

function* orders<T>(items: readonly T[]): Generator<T[]> {
  if (items.length === 0) yield [];
  for (const [index, item] of items.entries()) {
    for (const rest of orders(items.toSpliced(index, 1))) yield [item, ...rest];
  }
}

describe('five events in all orders, each sent twice', () => {
  const world = useWorld(options);
  const TOLD: readonly (readonly [string, Sent])[] = [
    ['user.created', { firstName: 'Ada', lastName: 'Byron', orgId: '100', occurredAt: at(1) }],
    ['user.updated', { firstName: 'Ada', lastName: 'Lovelace', occurredAt: at(2) }],
    ['user.deactivated', { firstName: 'Ada', lastName: 'Byron', occurredAt: at(3) }],
    ['user.reactivated', { firstName: 'Ada', lastName: 'Byron', occurredAt: at(4) }],
    ['user.removed', { firstName: 'Ada', lastName: 'Byron', occurredAt: at(5) }],
  ];

  const run = async (name: string, order: (index: number) => readonly (readonly [string, Sent])[], count: number) => {
    const states: Record<string, unknown>[] = [];
    for (let from = 0; from < count; from += 8) {
      const batch = Array.from({ length: Math.min(8, count - from) }, (_, at) => from + at);
      await Promise.all(
        batch.map(async (index) => {
          const email = `${name}-${index}@example.com`;
          for (const [event, sent] of order(index)) {
            const told = sent.eventId === undefined ? sent : { ...sent, eventId: `${name}-${index}-${sent.eventId}` };
            // The second one comes while the first may still be under way.
            const answers = await Promise.all([tell(world, event, email, told), tell(world, event, email, told)]);
            expect(answers.map(({ status }) => status)).toEqual([200, 200]);
          }
          states[index] = { ...(await stored(world, email)), preferences: await preferences(world, email) };
        }),
      );
    }
    return states;
  };

  test("events with times all end alike, in the provider's last state", async () => {
    await world.usher.app.manifests.apply(MANIFEST('x@example.com'), { actor: 'cli' });
    const all = [...orders(TOLD)];
    expect(all).toHaveLength(120);
    const end = { active: false, blocked: false, first: 'Ada', last: 'Lovelace', preferences: ['billing'] };
    for (const state of await run('timed', (index) => all[index] ?? [], all.length)) expect(state).toEqual(end);
  }, 120_000);

  test("events without times end in the last state sent, creations aside, with the update's names", async () => {
    const told = TOLD.map(([event, sent], index) => {
      const { occurredAt: _, ...words } = sent;
      return [event, { ...words, eventId: `${index}` }] as const;
    });
    const all = [...orders(told)];
    expect(all).toHaveLength(120);
    const words = new Map([
      ['user.deactivated', false],
      ['user.reactivated', true],
      ['user.removed', false],
    ]);
    const states = await run('untimed', (index) => all[index] ?? [], all.length);
    for (const [index, order] of all.entries()) {
      const events = order.map(([event]) => event);
      const last = events.findLast((event) => words.has(event)) ?? '';
      const { active, last: lastName } = states[index] ?? {};
      expect([events, active, lastName]).toEqual([events, words.get(last), 'Lovelace']);
    }
  }, 120_000);
});
