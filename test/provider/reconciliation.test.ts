import { beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Reconciliation } from '../../src/gen/api.ts';
import { KINDS } from '../support/databases.ts';
import type { Call, Instead } from '../support/provider/double.ts';
import type { UserRow } from '../support/provider/state.ts';
import type { Rest, RestAnswer } from '../support/rest.ts';
import { useWorld, WEBHOOK_SECRETS, type World } from './fixture.ts';

const PATH = '/api/idp/reconcile';
const USERS = '/v2/users';

const MANIFEST = `
application: { code: billing, name: Billing }
permissions: [{ code: invoice.read, type: binary }]
roles: [{ code: reader, permissions: { invoice.read: allowed } }]
`;

function user(email: string, more: Partial<UserRow> = {}): UserRow {
  const profile = { givenName: 'Ada', familyName: 'Lovelace', displayName: 'Ada Lovelace' };
  return { id: `id-${email}`, email, profile, createdAt: '2026-01-01T08:00:00Z', ...more };
}

function tell(world: World, eventType: string, email: string, occurredAt?: string): Promise<RestAnswer> {
  const body = {
    eventType,
    orgId: '1',
    user: { email, firstName: 'Ada', lastName: 'Lovelace', displayName: 'Ada Lovelace' },
    occurredAt,
  };
  return world.nobody.send('POST', '/api/idp/webhook', body, { 'x-webhook-secret': WEBHOOK_SECRETS[0] });
}

/** Everything about people that a comparison could change. */
async function state(world: World) {
  const { rows } = await world.usher.app.database.read(({ kysely }) =>
    sql<{ email: string; active: boolean; first: string | null; display: string | null; apps: number }>`
      select p.email, p.provider_active as active, f.first_name as first, f.display_name as display,
        (select count(*)::int from app_preference l where l.person_id = p.id) as apps
      from person p left join profile f on f.person_id = p.id order by p.email`.execute(kysely),
  );
  return Object.fromEntries(rows.map(({ email, ...row }) => [email, row]));
}

async function allowed(world: World, email: string): Promise<boolean> {
  const { body } = await world.nobody.post('/api/check', { email, app: 'billing', permission: 'invoice.read' });
  return body.data.allowed;
}

/** People of whom both sides say the same. */
async function settled(world: World, emails: readonly string[]): Promise<void> {
  world.idp.state.users.push(...emails.map((email) => user(email)));
  await Promise.all(emails.map((email) => tell(world, 'user.created', email, '2026-01-01T08:00:00Z')));
  await Promise.all(emails.map((email) => tell(world, 'user.updated', email, '2026-08-09T11:39:03.765Z')));
}

const isList = ({ path, body }: Call) => path === USERS && body.query !== undefined;
const isQuestion = ({ path, body }: Call) => path === USERS && body.queries?.length === 1;
/** Of a refusal or outage of the provider. */
const TROUBLE: Instead = { status: 503, body: { code: 14, message: 'unavailable' } };
const NOTHING = { created: 0, updated: 0, deactivated: 0, reactivated: 0, removed: 0 };

for (const kind of KINDS) {
  describe(`reconciliation (${kind})`, () => {
    const world = useWorld({ kind, env: () => ({ IDP_ORG_TO_APP: '{"200":"billing"}' }) });
    const change = (statement: ReturnType<typeof sql>) =>
      world.usher.app.database.change(async ({ kysely }) => {
        await statement.execute(kysely);
        return { result: null, scopes: ['*'] };
      });
    const run = (query = '', body?: unknown) => world.root.post(`${PATH}${query}`, body);

    beforeEach(async () => {
      Object.assign(world.idp, { instead: () => null });
      world.idp.state.users.length = 0;
      world.idp.calls.length = 0;
      await change(sql`delete from person where email like '%@people.example.com'`);
      await world.usher.app.manifests.apply(MANIFEST, { actor: 'cli' });
      await settled(
        world,
        Array.from({ length: 12 }, (_, i) => `p${i}@people.example.com`),
      );
    });

    async function drift(): Promise<void> {
      const { users } = world.idp.state;
      const at = (email: string) => users.find((one) => one.email === email) as UserRow;
      const changed = { changedAt: '2026-09-01T10:00:00Z' };
      Object.assign(at('p1@people.example.com'), { state: 'USER_STATE_INACTIVE', ...changed });
      users.splice(users.indexOf(at('p2@people.example.com')), 1);
      await tell(world, 'user.deactivated', 'p3@people.example.com', '2026-08-20T10:00:00Z');
      Object.assign(at('p3@people.example.com'), changed);
      Object.assign(at('p4@people.example.com'), {
        profile: { givenName: 'Augusta', familyName: 'King', displayName: 'Augusta King' },
        ...changed,
      });
      Object.assign(at('p5@people.example.com'), { org: '200' });
      Object.assign(at('p6@people.example.com'), { state: 'USER_STATE_LOCKED', ...changed });
      users.push(user('new@people.example.com', { org: '200' }), user('', { id: 'service', machine: true }));
      users.push(user('gone@people.example.com', { state: 'USER_STATE_INACTIVE' }));
    }

    test('what the webhook has lost is found and applied, and then there is nothing more', async () => {
      await drift();
      const before = await state(world);
      const people = ['p1', 'p2', 'p4', 'p5'].map((name) => `${name}@people.example.com`);
      for (const email of people) {
        await world.usher.app.manifests.apply(`${MANIFEST}assignments: [{ email: ${email}, roles: [reader] }]`, {
          actor: 'cli',
        });
        expect(await allowed(world, email)).toBe(true);
      }
      const found = { created: 2, updated: 1, deactivated: 2, reactivated: 1, removed: 1 };
      const rehearsed = await run('?dryRun=true', { brakePercent: 50 });
      expect([rehearsed.status, rehearsed.body.data]).toMatchObject([
        200,
        { outcome: 'done', dryRun: true, users: 13, found, applied: NOTHING },
      ]);
      const { changes } = rehearsed.body.data as Reconciliation;
      expect(changes.map(({ email, event }) => `${event} ${email.split('@')[0]}`).sort()).toEqual([
        'user.created new',
        'user.created p5',
        'user.deactivated gone',
        'user.deactivated p1',
        'user.reactivated p3',
        'user.removed p2',
        'user.updated p4',
      ]);
      expect(await state(world)).toEqual(before);

      const { status, body } = await run('', { brakePercent: 50 });
      expect([status, body.data]).toMatchObject([200, { outcome: 'done', dryRun: false, found, applied: found }]);
      const names = { first: 'Ada', apps: 0 };
      expect(await state(world)).toMatchObject({
        'p0@people.example.com': { ...names, active: true, display: 'Ada Lovelace' },
        'p1@people.example.com': { active: false },
        'p2@people.example.com': { active: false },
        'p3@people.example.com': { active: true },
        'p4@people.example.com': { active: true, first: 'Augusta', display: 'Augusta King' },
        'p5@people.example.com': { active: true, apps: 1 },
        'p6@people.example.com': { active: true },
        'new@people.example.com': { active: true, first: 'Ada', apps: 1 },
        'gone@people.example.com': { active: false },
      });
      expect(await Promise.all(people.map((email) => allowed(world, email)))).toEqual([false, false, true, true]);
      const events = (await world.root.get('/api/idp/admin/events')).body.data.events as { source: string }[];
      expect(events.filter(({ source }) => source === 'reconciliation')).toHaveLength(7);
      expect((await world.audits('idp.reconciled')).at(-1)).toMatchObject({
        actor: 'user:admin@example.com',
        after: found,
      });
      expect((await world.audits('user.removed')).at(-1)).toMatchObject({ actor: 'idp', subject: people[1] });

      const again = await run();
      expect(again.body.data).toMatchObject({ outcome: 'done', found: NOTHING, applied: NOTHING, changes: [] });
      const overview = await world.root.get('/api/admin/overview');
      expect(overview.body.data.provider.reconciliation).toMatchObject({
        outcome: 'done',
        dryRun: false,
        found: NOTHING,
      });
      // A late event from before what the provider said does not wake anybody.
      await tell(world, 'user.reactivated', 'p1@people.example.com', '2026-08-25T10:00:00Z');
      expect(await state(world)).toMatchObject({ 'p1@people.example.com': { active: false } });
      // A later one does.
      await tell(world, 'user.reactivated', 'p1@people.example.com', '2026-09-01T10:00:01Z');
      expect(await state(world)).toMatchObject({ 'p1@people.example.com': { active: true } });
    });

    test('only SuperAdmins may, and bad input changes nothing', async () => {
      await drift();
      const before = await state(world);
      const refused: [Rest, string, unknown, number, string][] = [
        [world.nobody, '', undefined, 401, 'UNAUTHENTICATED'],
        [world.plain, '', undefined, 403, 'FORBIDDEN'],
        [world.root, '?dryRun=yes', undefined, 400, 'BAD_REQUEST'],
        [world.root, '?dry=true', undefined, 400, 'BAD_REQUEST'],
        [world.root, '', { brakePercent: 101 }, 400, 'BAD_REQUEST'],
        [world.root, '', { brakePercent: '50' }, 400, 'BAD_REQUEST'],
        [world.root, '', { brake: 50 }, 400, 'BAD_REQUEST'],
        [world.root, '', [], 400, 'BAD_REQUEST'],
      ];
      for (const [who, query, body, status, code] of refused) {
        const answer = await who.post(`${PATH}${query}`, body);
        expect([query, body, answer.status, answer.body.code]).toEqual([query, body, status, code]);
      }
      const { body } = await run('', { brakePercent: 101 });
      expect(body.details.issues).toMatchObject([{ path: 'brakePercent' }]);
      expect(await state(world)).toMatchObject(before);
      expect(world.idp.calls).toEqual([]);
    });

    test('the brake: nothing is done, and everybody is told', async () => {
      for (const one of world.idp.state.users.slice(0, 4)) one.state = 'USER_STATE_INACTIVE';
      const before = await state(world);
      const { status, body } = await run();
      expect([status, body.code, body.details]).toMatchObject([
        409,
        'CONFLICT',
        { code: 'RECONCILIATION_BRAKED', deactivations: 4, allowed: 1, percent: 10 },
      ]);
      expect(await state(world)).toEqual(before);
      expect(world.idp.calls.filter(isQuestion)).toEqual([]);
      const rehearsed = await run('?dryRun=true');
      expect([rehearsed.status, rehearsed.body.data.outcome]).toEqual([200, 'braked']);
      const overview = await world.root.get('/api/admin/overview');
      expect(overview.body.data.provider.reconciliation).toMatchObject({
        outcome: 'braked',
        found: { deactivated: 4 },
      });
      const metrics = await (await fetch(`${world.usher.rest}/metrics`)).text();
      expect(metrics).toMatch(/^usher_idp_drift\{event="deactivated"\} 4$/m);
      expect(metrics).toMatch(/^usher_idp_reconciliations_total\{outcome="braked"\} [1-9]/m);
      expect((await run('', { brakePercent: 40 })).body.data.applied).toMatchObject({ deactivated: 4 });
    });

    const whole = async (at: number): Promise<Instead> => {
      const all = world.idp.state.users.slice(at, at + 5);
      const result = all.map(({ id, email }) => ({
        userId: id,
        state: 'USER_STATE_ACTIVE',
        human: { email: { email } },
      }));
      return { status: 200, body: { details: { totalResult: String(world.idp.state.users.length) }, result } };
    };

    test.each<[string, (call: Call) => Promise<Instead>]>([
      ['stands still', () => whole(0)],
      ['ends half-way', ({ body }) => whole(Number(body.query.offset) >= 5 ? 1000 : 0)],
      [
        'fails in the middle',
        async ({ body }) =>
          body.query.offset === '0' ? await whole(0) : { ...TROUBLE, headers: { 'retry-after': '3600' } },
      ],
      [
        'is refused in the middle',
        async ({ body }) =>
          body.query.offset === '0' ? await whole(0) : { status: 403, body: { code: 7, message: 'no' } },
      ],
      ['needs other credentials', async () => ({ status: 401, body: { code: 16, message: 'Errors.Token.Invalid' } })],
      ['is away', async () => TROUBLE],
      ['is no list', async () => ({ status: 200, body: { result: [{ id: 1 }] } })],
      ['is empty of a sudden', async () => ({ status: 200, body: { details: { totalResult: '12' } } })],
    ])('a list that %s proves nothing', async (_name, instead) => {
      await drift();
      const before = await state(world);
      world.idp.instead = (call) => (isList(call) ? instead(call) : null);
      const { status, body } = await run('', { brakePercent: 100 });
      expect([status, body.code]).toEqual([502, 'UPSTREAM_FAILED']);
      expect(await state(world)).toEqual(before);
      const overview = await world.root.get('/api/admin/overview');
      expect(overview.body.data.provider.reconciliation).toMatchObject({
        outcome: 'failed',
        reason: body.details.code,
      });
    });

    test('a short page, a busy provider and one lost answer are got over', async () => {
      let answered = 0;
      world.idp.instead = async (call) => {
        if (!isList(call)) return null;
        const turn = answered++;
        if (turn === 1)
          return { status: 429, body: { code: 8, message: 'slow down' }, headers: { 'retry-after': '1' } };
        if (turn === 2) return { ...TROUBLE, headers: { 'retry-after': '0' } };
        return await whole(Number(call.body.query.offset));
      };
      const started = performance.now();
      const { status, body } = await run('', { brakePercent: 100 });
      expect([status, body.data]).toMatchObject([200, { users: 12, found: NOTHING }]);
      expect(performance.now() - started).toBeGreaterThan(1000);
      expect(answered).toBe(5);
    });

    test('who is missing in the list is asked for, and stays when they are there', async () => {
      const lost = new Set(['p4@people.example.com', 'p5@people.example.com']);
      world.idp.instead = (call) => {
        if (!isList(call)) return null;
        const users = world.idp.state.users.filter(({ email }) => !lost.has(email));
        const result = users.map(({ id, email }) => ({
          userId: id,
          state: 'USER_STATE_ACTIVE',
          human: { email: { email } },
        }));
        return { status: 200, body: { details: { totalResult: String(users.length) }, result } };
      };
      const { body } = await run('', { brakePercent: 100 });
      expect(body.data).toMatchObject({ brake: { deactivations: 2 }, found: NOTHING, applied: NOTHING });
      expect(world.idp.calls.filter(isQuestion)).toHaveLength(2);
      // An answer about somebody else, or that is no answer, is no proof either.
      world.idp.state.users.splice(4, 1);
      const list = world.idp.instead;
      const strange: Instead[] = [
        { status: 200, body: { details: { totalResult: '1' } } },
        { status: 200, body: { result: [{ userId: 'x', human: { email: { email: 'other@example.com' } } }] } },
        { status: 200, body: [] },
        { status: 404, body: { code: 5, message: 'Not Found' } },
      ];
      for (const odd of strange) {
        world.idp.instead = (call) => (isQuestion(call) ? odd : list(call));
        expect((await run('', { brakePercent: 100 })).status).toBe(502);
        expect((await state(world))['p4@people.example.com']).toMatchObject({ active: true });
      }
    }, 60_000);

    test('a user with one address in two organizations is active while one of them is', async () => {
      const { users } = world.idp.state;
      users.push(user('p1@people.example.com', { id: 'second', state: 'USER_STATE_INACTIVE' }));
      expect((await run('', { brakePercent: 100 })).body.data).toMatchObject({ found: NOTHING });
      for (const one of users) if (one.email.startsWith('p1@')) one.state = 'USER_STATE_INACTIVE';
      expect((await run('', { brakePercent: 100 })).body.data.applied).toMatchObject({ deactivated: 1 });
    });

    test('an event that arrives between question and change wins', async () => {
      await drift();
      let arrived = 0;
      world.idp.instead = async (call) => {
        const email = isQuestion(call) ? call.body.queries[0].emailQuery.emailAddress : '';
        if (email === 'p3@people.example.com') {
          // Active when it was asked for, and deactivated before that is applied.
          arrived++;
          await tell(world, 'user.deactivated', email);
        }
        return null;
      };
      await run('', { brakePercent: 100 });
      expect(arrived).toBe(1);
      expect((await state(world))['p3@people.example.com']).toMatchObject({ active: false });
    });

    test('who is erased between question and change stays erased', async () => {
      await drift();
      let erased = 0;
      world.idp.instead = async (call) => {
        const email = isQuestion(call) ? call.body.queries[0].emailQuery.emailAddress : '';
        if (email === 'p3@people.example.com') erased = (await world.root.post(`/api/users/${email}/erase`)).status;
        return null;
      };
      await run('', { brakePercent: 100 });
      expect(erased).toBe(200);
      expect((await state(world))['p3@people.example.com']).toBeUndefined();
    });

    test('an erased person stays erased', async () => {
      expect((await world.root.post('/api/users/p7@people.example.com/erase')).status).toBe(200);
      expect((await run()).body.data).toMatchObject({ found: NOTHING });
      expect((await state(world))['p7@people.example.com']).toBeUndefined();
    });

    test('two at once: one runs, the other is refused', async () => {
      await drift();
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      world.idp.instead = async (call) => {
        if (isList(call)) await held;
        return null;
      };
      const first = run('', { brakePercent: 100 });
      while (world.idp.calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      const second = await run('', { brakePercent: 100 });
      release();
      expect([second.status, second.body.details.code]).toEqual([409, 'RECONCILIATION_RUNNING']);
      expect((await first).body.data.applied).toMatchObject({ removed: 1 });
    });

    test('a killed run is waited for, and not for ever', async () => {
      const left = (age: string) => sql`insert into setting (key, value, updated_at)
        values ('idp.lock:reconciliation', '"a killed one"', now() - ${age}::interval)`;
      await change(left('2 minutes'));
      expect((await run()).body.details.code).toBe('RECONCILIATION_RUNNING');
      await change(sql`delete from setting where key = 'idp.lock:reconciliation'`);
      await change(left('4 minutes'));
      expect((await run()).status).toBe(200);
      expect((await run()).status).toBe(200);
    });

    test('a run that ends in the middle leaves whole events, and the next one goes on', async () => {
      await drift();
      let questions = 0;
      world.idp.instead = (call) => (isQuestion(call) && ++questions > 2 ? { status: 401, body: { code: 16 } } : null);
      expect((await run('', { brakePercent: 100 })).status).toBe(502);
      world.idp.instead = () => null;
      const { body } = await run('', { brakePercent: 100 });
      const done = body.data.applied as typeof NOTHING;
      expect(done.deactivated + done.reactivated + done.removed).toBe(2);
      expect((await run()).body.data).toMatchObject({ found: NOTHING });
    });
  });
}

describe('reconciliation without a provider', () => {
  const world = useWorld({ env: () => ({ IDP_API_URL: undefined, IDP_SERVICE_ACCOUNT_TOKEN: undefined }) });

  test('is refused', async () => {
    const { status, body } = await world.root.post(PATH);
    expect([status, body.details.code]).toEqual([503, 'IDP_NOT_CONFIGURED']);
  });
});
