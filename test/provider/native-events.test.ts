import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { KINDS } from '../support/databases.ts';
import { sendSigned } from '../support/provider/notifier.ts';
import { Rest } from '../support/rest.ts';
import { useWorld, type World } from './fixture.ts';

const PATH = '/api/idp/events';
const KEYS = ['event-key-canary-one', 'event-key-canary-two'] as const;

interface Event {
  [member: string]: unknown;
  event_type: string;
  aggregateID: string;
  sequence: number;
  event_payload?: Record<string, unknown>;
}
/** As the provider in the field sent them (ZITADEL of July 2026), ids replaced. */
const RECORDED = JSON.parse(readFileSync('test/support/provider/recorded-events.json', 'utf8')) as Record<
  string,
  Event
>;

let users = 0;

/** A user of the provider, with the recorded events as they are about it. */
function user(email = `life${++users}@example.com`, id = `9000000000000${String(++users).padStart(5, '0')}`) {
  return {
    id,
    email,
    event: (type: string, more: Partial<Event> = {}): Event => {
      const recorded = RECORDED[type] ?? { ...(RECORDED['user.deactivated'] as Event), event_type: type };
      const payload = recorded.event_payload;
      const own = payload !== undefined && 'email' in payload && type !== 'user.human.email.changed' ? { email } : {};
      return {
        ...recorded,
        aggregateID: id,
        ...(payload === undefined ? {} : { event_payload: { ...payload, ...own } }),
        ...more,
      };
    },
  };
}

async function post(
  world: World,
  event: unknown,
  key: string = KEYS[0],
  header = 'ZITADEL-Signature',
  t = Math.floor(Date.now() / 1000),
) {
  const body = typeof event === 'string' ? event : JSON.stringify(event);
  const v1 = createHmac('sha256', key).update(`${t}.${body}`).digest('hex');
  const response = await fetch(world.usher.rest + PATH, {
    method: 'POST',
    headers: { 'content-type': 'application/json', [header]: `t=${t},v1=${v1}` },
    body,
  });
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  return { status: response.status, body: (await response.json()) as any };
}

async function applied(world: World, event: unknown): Promise<boolean> {
  const { status, body } = await post(world, event);
  expect([status, body.success]).toEqual([200, true]);
  return body.data.applied;
}

function stored(world: World, email: string) {
  return world.usher.app.database.read((tx) =>
    tx.kysely
      .selectFrom('person as p')
      .innerJoin('profile as f', 'f.personId', 'p.id')
      .select(['p.providerActive as active', 'f.firstName as first', 'f.lastName as last'])
      .select('f.displayName as display')
      .where('p.email', '=', email)
      .executeTakeFirst(),
  );
}

const env = () => ({ IDP_EVENT_SIGNING_KEYS: KEYS.join(',') });

for (const kind of KINDS) {
  describe(`native events of the provider (${kind})`, () => {
    const world = useWorld({ kind, env });
    const events = async () => (await world.root.get('/api/idp/admin/events')).body.data;
    beforeEach(() => {
      world.idp.state.users = [];
      world.idp.oidc.faults.clear();
      world.idp.instead = () => null;
    });

    test('the signature is the credential: each key counts, in either header, and nothing else does', async () => {
      const one = user();
      for (const key of KEYS) expect((await post(world, one.event('user.human.added'), key)).status).toBe(200);
      expect((await post(world, one.event('user.removed'), KEYS[1], 'IDP-Signature')).status).toBe(200);
      const two = user();
      const refused = await post(world, two.event('user.human.added'), 'wrong');
      expect([refused.status, refused.body.details.code]).toEqual([401, 'SIGNATURE_INVALID']);
      for (const age of [-400, 400]) {
        const t = Math.floor(Date.now() / 1000) - age;
        const stale = await post(world, two.event('user.human.added'), KEYS[0], 'ZITADEL-Signature', t);
        expect([stale.status, stale.body.details.code]).toEqual([401, 'SIGNATURE_EXPIRED']);
      }
      expect(await stored(world, two.email)).toBeUndefined();
      expect((await world.root.post(PATH, two.event('user.human.added'))).status).toBe(401);
    });

    test('the recorded life of a user moves what the webhook moves', async () => {
      const { email, event } = user();
      expect(await applied(world, event('user.human.added'))).toBe(true);
      expect(await stored(world, email)).toEqual({ active: true, first: 'Life', last: 'Cycle', display: 'Life Cycle' });
      expect(await applied(world, event('user.human.profile.changed'))).toBe(true);
      expect(await stored(world, email)).toMatchObject({ first: 'Life2', last: 'Cycle2', display: 'L C' });
      expect(await applied(world, event('user.deactivated'))).toBe(true);
      expect(await stored(world, email)).toMatchObject({ active: false });
      expect(await applied(world, event('user.reactivated'))).toBe(true);
      expect(await stored(world, email)).toMatchObject({ active: true });
      expect(await applied(world, event('user.human.email.changed'))).toBe(true);
      expect(await applied(world, event('user.removed'))).toBe(true);
      expect(await stored(world, email)).toMatchObject({ active: false });
      // None of them says whose it is but by the account: the provider was asked nothing.
      expect(world.idp.count('GET', '')).toBe(0);
      const { events: listed } = await events();
      expect(listed[0]).toMatchObject({ source: 'event', eventType: 'user.removed', email, outcome: 'applied' });
    });

    test('the recorded bodies are taken byte for byte, by the header that they came with', async () => {
      const of = (type: string) => sendSigned(world.usher.rest + PATH, JSON.stringify(RECORDED[type]), KEYS[1]);
      const seen: unknown[] = [];
      for (const type of Object.keys(RECORDED)) {
        const { status, body } = await of(type);
        const kept = await stored(world, 'life@example.com');
        seen.push([type, status, body.data.applied, kept?.active, kept?.first]);
      }
      expect(seen).toEqual([
        ['user.human.added', 200, true, true, 'Life'],
        ['user.human.profile.changed', 200, true, true, 'Life2'],
        ['user.deactivated', 200, true, false, 'Life2'],
        ['user.reactivated', 200, true, true, 'Life2'],
        ['user.human.email.changed', 200, true, true, 'Life2'],
        ['user.removed', 200, true, false, 'Life2'],
      ]);
      for (const type of Object.keys(RECORDED)) expect((await of(type)).body.data).toEqual({ applied: false });
      const { emailChanges } = await events();
      expect(emailChanges).toContainEqual(
        expect.objectContaining({ email: 'life@example.com', to: 'new@example.com' }),
      );
    });

    test('events of one user are ordered by sequence, and repeats change nothing', async () => {
      const { email, event } = user();
      await applied(world, event('user.human.added'));
      expect(await applied(world, event('user.reactivated', { sequence: 9 }))).toBe(false);
      expect(await applied(world, event('user.deactivated', { sequence: 8 }))).toBe(false);
      expect(await stored(world, email)).toMatchObject({ active: true });
      expect(await applied(world, event('user.locked', { sequence: 10 }))).toBe(true);
      for (const _ of [1, 2]) expect(await applied(world, event('user.locked', { sequence: 10 }))).toBe(false);
      expect(await applied(world, event('user.human.added'))).toBe(false);
      expect(await stored(world, email)).toMatchObject({ active: false });
      expect(await applied(world, event('user.unlocked', { sequence: 11 }))).toBe(true);
      const late = { sequence: 2, event_payload: { firstName: 'Late' } };
      await applied(world, event('user.human.profile.changed', { sequence: 12, event_payload: { firstName: 'Now' } }));
      expect(await applied(world, event('user.human.profile.changed', late))).toBe(false);
      expect(await stored(world, email)).toMatchObject({ active: true, first: 'Now' });
    });

    test('a user of whom no event has told is asked for by id', async () => {
      const { id, email, event } = user();
      world.idp.state.users = [{ id, email, profile: { givenName: 'A', familyName: 'B', displayName: '' } }];
      expect(await applied(world, event('user.deactivated'))).toBe(true);
      expect(await stored(world, email)).toMatchObject({ active: false });
    });

    test('an event whose person cannot be found is kept, and applied once the person is', async () => {
      const { id, email, event } = user();
      expect(await applied(world, event('user.deactivated'))).toBe(false);
      let { unresolved } = await events();
      expect(unresolved).toMatchObject([{ subject: id, eventType: 'user.deactivated', reason: 'NOT_FOUND', tries: 1 }]);
      // The provider's API is away: it is kept all the same.
      world.idp.instead = () => ({ status: 503, body: {} });
      expect(await applied(world, event('user.deactivated'))).toBe(false);
      ({ unresolved } = await events());
      expect(unresolved).toMatchObject([{ reason: 'IDP_UNREACHABLE', tries: 2 }]);
      world.idp.instead = () => null;
      // Its creation comes late, and brings along what was kept.
      expect(await applied(world, event('user.human.added'))).toBe(true);
      expect(await stored(world, email)).toMatchObject({ active: false });
      expect((await events()).unresolved).toEqual([]);
    });

    test('a comparison looks again for the people of kept events', async () => {
      const { id, email, event } = user();
      await applied(world, event('user.deactivated'));
      world.idp.state.users = [
        { id, email, profile: { givenName: 'A', familyName: 'B', displayName: '' }, state: 'USER_STATE_INACTIVE' },
      ];
      const people = await world.usher.app.database.read((tx) => tx.kysely.selectFrom('person').selectAll().execute());
      for (const one of people) {
        if (one.email !== email) world.idp.state.users.push({ id: `x${one.id}`, email: one.email, profile: NAMES });
      }
      expect((await world.root.post('/api/idp/reconcile', { brakePercent: 100 })).status).toBe(200);
      expect((await events()).unresolved).toEqual([]);
      expect(await stored(world, email)).toMatchObject({ active: false });
    });

    test('a changed address is noted, and makes nobody', async () => {
      const { email, event } = user();
      await applied(world, event('user.human.added'));
      const changed = event('user.human.email.changed', { event_payload: { email: `new-${email}` } });
      expect(await applied(world, changed)).toBe(true);
      expect(await applied(world, changed)).toBe(false);
      expect(await stored(world, `new-${email}`)).toBeUndefined();
      expect((await events()).emailChanges).toContainEqual({ email, to: `new-${email}`, at: expect.any(String) });
      expect(await world.audits('user.email_changed_at_provider')).toContainEqual(
        expect.objectContaining({ actor: 'idp', subject: email, after: { email: `new-${email}` } }),
      );
      // Later events are about the same person.
      expect(await applied(world, event('user.deactivated', { sequence: 7 }))).toBe(true);
      expect(await stored(world, email)).toMatchObject({ active: false });
    });

    test('a person is active while one of the users with their address is', async () => {
      const one = user();
      const two = user(one.email);
      await applied(world, one.event('user.human.added'));
      await applied(world, two.event('user.human.added', { resourceOwner: '700' }));
      expect(await applied(world, two.event('user.deactivated'))).toBe(false);
      expect(await stored(world, one.email)).toMatchObject({ active: true });
      expect(await applied(world, one.event('user.removed'))).toBe(true);
      expect(await stored(world, one.email)).toMatchObject({ active: false });
      await applied(world, two.event('user.reactivated', { sequence: 6, created_at: '2026-11-28T03:00:00Z' }));
      expect(await stored(world, one.email)).toMatchObject({ active: true });
    });

    test('what cannot be stored is left out and noted, and only type and user are demanded', async () => {
      const { email, event } = user();
      await applied(world, event('user.human.added'));
      for (const [path, value] of [
        ['event_payload.firstName', 'n'.repeat(1001)],
        ['event_payload.lastName', 'a\0b'],
        ['resourceOwner', 7],
        ['created_at', 'yesterday'],
        ['sequence', 'four'],
      ] as const) {
        const [first = '', second] = path.split('.');
        const payload = second === undefined ? {} : { event_payload: { [second]: value } };
        const changed = event('user.human.profile.changed', { sequence: 20, ...payload });
        if (second === undefined) (changed as Record<string, unknown>)[first] = value;
        expect([path, (await post(world, changed)).status]).toEqual([path, 200]);
        expect([path, (await events()).events[0].leftOut]).toEqual([path, [path]]);
      }
      expect(await stored(world, email)).toMatchObject({ active: true });
      const other = await post(world, { ...event('user.human.added'), event_type: 'user.human.mfa.otp.added' });
      expect([other.status, other.body.data]).toEqual([200, { applied: false }]);
      for (const body of ['', '{', '[]', '{}', '{"event_type":"user.removed"}', '{"event_type":7}']) {
        expect([body, (await post(world, body)).status]).toEqual([body, 400]);
      }
    });
  });
}

const NAMES = { givenName: 'A', familyName: 'B', displayName: '' };

describe('native events without a key', () => {
  const world = useWorld();

  test('there is no such endpoint without a key', async () => {
    expect((await post(world, user().event('user.human.added'))).status).toBe(404);
    const plain = await Rest.as(world.usher);
    expect((await plain.post(PATH, {})).status).toBe(404);
  });
});
