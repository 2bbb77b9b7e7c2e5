import { describe, expect, test } from '@jest/globals';
import { unavailable } from '../../src/base/errors.ts';
import type { MemberNeed, ReplicaSource, Revision } from '../../src/engine/types.ts';
import type { Operation } from '../oracle/rows.ts';
import { memberOf, policyOf } from '../oracle/storage.ts';
import { ADA, ask, at, BOB, CACHE, ELSEWHERE, type Fixture, fixture, GRANT, REVOKE, said, settled } from './fakes.ts';
import type { SimulatedDatabase, State } from './model/simulated-database.ts';
import { windowAt } from './model/simulated-replica.ts';

/** A replica that is wherever a test puts it. */
class FakeReplica implements ReplicaSource {
  state!: State;
  failing = false;
  hanging = false;
  asked: (readonly MemberNeed[] | string)[] = [];
  probes = 0;

  async members(since: Revision, needs: readonly MemberNeed[]) {
    this.asked.push(needs);
    await this.#answering();
    return { window: windowAt(this.state, since), answers: needs.map((need) => memberOf(this.state.rows, need)) };
  }

  async policy(since: Revision, app: string) {
    this.asked.push(app);
    await this.#answering();
    return { window: windowAt(this.state, since), policy: policyOf(this.state.rows, app) };
  }

  async changes(since: Revision) {
    this.probes++;
    await this.#answering();
    return windowAt(this.state, since);
  }

  async #answering(): Promise<void> {
    if (this.hanging) await new Promise(() => undefined);
    if (this.failing) throw unavailable('The replica is away.');
  }
}

interface WithReplica extends Fixture {
  replica: FakeReplica;
  database: SimulatedDatabase;
  results: () => Record<string, number>;
  /** A write that this instance knows of, and the replica only with `follow`. */
  write: (...operations: Operation[]) => Promise<void>;
  follow: () => void;
}

/** An engine at revision 1 with a replica that has got as far. */
async function started(ttlMs = CACHE.ttlMs): Promise<WithReplica> {
  const replica = new FakeReplica();
  const made = await fixture({ replica, start: false, cache: { ...CACHE, ttlMs } });
  const { engine, source } = made;
  const { database } = source;
  database.write([ELSEWHERE]);
  const follow = () => {
    replica.state = database.newest;
  };
  follow();
  await engine.start();
  return {
    ...made,
    replica,
    database,
    results: () =>
      Object.fromEntries(Object.entries(engine.counters.replica?.results ?? {}).filter(([, count]) => count > 0)),
    write: async (...operations) => {
      database.write(operations);
      await engine.reach(at(database.head));
    },
    follow,
  };
}

const allowed = { decision: { granted: true } };
const denied = { decision: { granted: false } };

describe('facts from a replica', () => {
  test('the primary is asked for the log alone', async () => {
    const { engine, source, results } = await started();
    expect(await engine.check(ask())).toMatchObject({ ...allowed, revision: said(1) });
    expect(source.calls.every(({ kind }) => kind === 'changes')).toBe(true);
    expect(results()).toEqual({ replica: 2 });
  });

  test('neither the cursor nor the time of the newest reading moves by it', async () => {
    const { engine, source, clock, write } = await started();
    await write(REVOKE);
    source.held = true;
    await clock.advance(200);
    const before = engine.status();
    expect(await engine.check(ask({ email: BOB }))).toMatchObject({ ...denied, revision: said(2) });
    expect(engine.status()).toEqual(before);
  });

  test('what has changed since is asked of the primary in the same load, and only that', async () => {
    const { engine, source, replica, results, write } = await started();
    await write(REVOKE);
    const answers = await Promise.all([engine.check(ask()), engine.check(ask({ email: BOB }))]);
    expect(answers).toMatchObject([
      { ...denied, revision: said(2) },
      { ...denied, revision: said(2) },
    ]);
    expect(replica.asked).toEqual(['shop', [expect.objectContaining({ email: ADA }), expect.anything()]]);
    expect(source.of('members').map(({ needs }) => needs.map(({ email }) => email))).toEqual([[ADA]]);
    expect(source.of('policy')).toEqual([]);
    expect(results()).toEqual({ replica: 1, both: 1 });
    expect(engine.counters.replica?.behind).toBe(1);
  });

  test.each<[string, Operation[]]>([
    ['the person', [{ kind: 'user', email: ADA, active: false }]],
    ['a role of the application', [{ kind: 'delete-role', app: 'shop', role: 'reader' }]],
  ])('what has changed may be %s', async (_, operations) => {
    const { engine, write } = await started();
    await write(...operations);
    expect(await engine.check(ask())).toMatchObject({ ...denied, revision: said(2) });
  });

  test.each(['*', 'a:shop'])('the scope %s names facts of a replica as well', async (scope) => {
    const { engine, database } = await started();
    database.write([REVOKE], [scope]);
    await engine.reach(at(2));
    expect(await engine.check(ask())).toMatchObject({ ...denied, revision: said(2) });
  });

  test('a question with the revision of a write is answered at it, however far behind the replica is', async () => {
    const { engine, source, database } = await started();
    await engine.check(ask());
    database.write([REVOKE]);
    const minRevision = { number: 2, nonce: database.newest.nonce };
    expect(await engine.check(ask(), { minRevision })).toMatchObject({ ...denied, revision: said(2) });
    expect(source.of('members')).toHaveLength(1);
  });

  test('a member of an application that was made anew is not taken from before', async () => {
    const { engine, source, write } = await started();
    await write({ kind: 'delete-app', app: 'shop' });
    await write(
      { kind: 'create-app', app: 'shop' },
      { kind: 'define-permission', app: 'shop', permission: 'read', type: 'tiered', global: false, groupName: null },
    );
    expect(await engine.check(ask({ email: BOB }))).toMatchObject({ ...denied, revision: said(3) });
    expect(source.of('members')).toHaveLength(1);
    expect(source.of('policy')).toHaveLength(1);
  });

  test('a change of the policy leaves members to the replica, once the policy is here', async () => {
    const { engine, source, write } = await started();
    await engine.check(ask());
    await write({ kind: 'permissions-of-role', app: 'shop', role: 'reader', permissions: [] });
    expect(await engine.check(ask())).toMatchObject({ ...denied, revision: said(2) });
    expect(await engine.check(ask({ email: BOB }))).toMatchObject({ ...denied, revision: said(2) });
    expect([source.of('policy').length, source.of('members').length]).toEqual([1, 0]);
    expect(engine.counters.replica?.needs).toEqual({ replica: 2, primary: 0 });
  });

  test('a fact that ran out is read anew from a replica that is older than it', async () => {
    const { engine, source, clock, write } = await started();
    await write(REVOKE);
    await engine.check(ask());
    await write(GRANT);
    await engine.check(ask());
    await clock.advance(31_000);
    await engine.check(ask({ email: BOB }));
    source.calls.length = 0;
    expect(await engine.check(ask({ email: BOB }))).toMatchObject({ ...denied, revision: said(3) });
    // Of what the replica lacks the primary tells, and tells it once.
    expect(await engine.check(ask())).toMatchObject({ ...allowed, revision: said(3) });
    expect(source.of('members')).toHaveLength(1);
  });

  test('an unchanged fact that the primary told at a later revision is renewed by a replica', async () => {
    const { engine, source, replica, clock, write } = await started();
    replica.failing = true;
    await write(ELSEWHERE);
    await engine.check(ask());
    expect(source.of('members')).toHaveLength(1);
    replica.failing = false;
    await clock.advance(31_000);
    await engine.check(ask({ email: BOB }));
    await settled();
    expect(await engine.check(ask())).toMatchObject({ ...allowed, revision: said(2) });
    expect(source.of('members')).toHaveLength(2);
  });

  test('an explanation is read from the primary', async () => {
    const { engine, source, replica } = await started();
    await engine.explain(ask());
    expect(source.of('grounds')).toHaveLength(1);
    expect(replica.asked).toEqual([]);
  });
});

describe('a replica that cannot be used', () => {
  test('one that is ahead is used once the primary shows the commit too', async () => {
    const { engine, source, database, follow, results } = await started();
    database.write([REVOKE]);
    follow();
    expect(await engine.check(ask())).toMatchObject({ ...denied, revision: said(2) });
    expect(source.calls.every(({ kind }) => kind === 'changes')).toBe(true);
    expect(results()).toEqual({ replica: 2 });
  });

  test('one that is ahead of the primary itself is not used', async () => {
    const { engine, source, replica, database, results, logged } = await started();
    replica.state = { ...database.prepare(), rows: { ...database.newest.rows, userRoles: [] } as State['rows'] };
    expect(await engine.check(ask())).toMatchObject({ ...allowed, revision: said(1) });
    expect(source.of('members')).toHaveLength(1);
    expect(results()).toEqual({ ahead: 2 });
    // It will not be for long.
    expect(logged).toEqual([]);
    expect(engine.counters.replica?.paused).toBeNull();
  });

  test('one of another history is not used, and left alone', async () => {
    const { engine, replica, database, results, logged, write } = await started();
    replica.state = { ...database.newest, nonce: 'of-another' };
    expect(await engine.check(ask())).toMatchObject({ ...allowed, revision: said(1) });
    // Policy and member are read at once.
    expect(results()).toEqual({ 'other-history': 2 });
    expect(logged).toEqual([['warn', expect.stringContaining('another history')]]);
    await write(REVOKE);
    expect(await engine.check(ask())).toMatchObject({ ...denied, revision: said(2) });
    expect(results()).toEqual({ 'other-history': 2, paused: 1 });
  });

  test('one that is further behind than changes are remembered is not used', async () => {
    const { engine, database, results, logged } = await started();
    database.write([REVOKE]);
    for (let left = 1024; left > 0; left--) database.write([ELSEWHERE]);
    for (let step = 0; step < 3; step++) await engine.reach(at(database.head));
    expect(await engine.check(ask())).toMatchObject({ ...denied, revision: said(1026) });
    expect(results()).toMatchObject({ 'too-old': 2 });
    expect(logged.at(-1)).toEqual(['warn', expect.stringContaining('too far behind')]);
  });

  test('nothing is compared with a log that was not read since everything was forgotten', async () => {
    const { engine, database, source, follow, results } = await started();
    // A write was made here, and it is not known whether.
    database.write([REVOKE]);
    engine.dropAll();
    expect(await engine.check(ask())).toMatchObject({ ...denied, revision: said(2) });
    expect(source.of('members')).toHaveLength(1);
    expect(results()).toMatchObject({ unproven: 2 });
    // What the primary answered brought the log with it.
    follow();
    expect(await engine.check(ask({ email: BOB }))).toMatchObject({ ...denied, revision: said(2) });
    expect(results()).toEqual({ unproven: 2, replica: 1 });
  });

  test('a reply from before everything was forgotten is not used', async () => {
    const { engine, source, replica, results } = await started();
    const before = replica.members.bind(replica);
    replica.members = async (since, needs) => {
      const reply = await before(since, needs);
      engine.dropAll();
      await engine.reach(at(1));
      return reply;
    };
    expect(await engine.check(ask())).toMatchObject({ ...allowed, revision: said(1) });
    expect(source.of('members').length).toBeGreaterThan(0);
    expect(results().unproven).toBeGreaterThan(0);
  });
});

describe('a replica in trouble', () => {
  test('a dead one fails no check, is left alone, and is tried beside a load after growing pauses', async () => {
    const { engine, source, replica, clock, logged, results } = await started();
    await engine.check(ask({ email: BOB }));
    replica.asked.length = 0;
    replica.failing = true;
    expect(await engine.check(ask())).toMatchObject(allowed);
    expect(replica.asked).toHaveLength(1);
    const check = async (index: number) =>
      expect(await engine.check(ask({ email: `user${index}@example.com` }))).toMatchObject(denied);
    for (let index = 0; index < 10; index++) await check(index);
    expect([replica.asked.length, replica.probes]).toEqual([1, 0]);
    const probedAfter: number[] = [];
    for (let ms = 0; ms < 40_000; ms += 500) {
      await clock.advance(500);
      const before = replica.probes;
      await check(1000 + ms);
      await settled();
      if (replica.probes > before) probedAfter.push(ms + 500);
    }
    expect(probedAfter).toEqual([1000, 3000, 7000, 15_000, 30_000]);
    expect(replica.asked).toHaveLength(1);
    expect(logged).toEqual([['warn', expect.stringContaining('does not answer')]]);
    expect(engine.counters.replica?.paused).toBe('failed');
    replica.failing = false;
    await clock.advance(15_000);
    await check(1);
    await settled();
    expect(logged.at(-1)).toEqual(['info', 'the replica for facts is used again']);
    const asked = source.of('members').length;
    await check(2);
    expect(source.of('members')).toHaveLength(asked);
    expect(results().replica).toBe(3);
    expect(engine.counters.replica?.paused).toBeNull();
    expect(engine.counters.loadFailures).toBe(0);
  });

  test('one that hangs holds up the loads of a quarter of a second, and no others', async () => {
    const { engine, replica, clock } = await started();
    await engine.check(ask({ email: BOB }));
    replica.hanging = true;
    const answer = engine.check(ask());
    await settled();
    let isAnswered = false;
    void answer.then(() => {
      isAnswered = true;
    });
    await clock.advance(249);
    expect(isAnswered).toBe(false);
    await clock.advance(1);
    await settled();
    expect(isAnswered).toBe(true);
    expect(await answer).toMatchObject(allowed);
    // Without time passing.
    expect(await engine.check(ask({ email: 'eve@example.com' }))).toMatchObject(denied);
  });

  test('answers that do not match the needs are those of a replica that fails', async () => {
    const { engine, replica } = await started();
    const before = replica.members.bind(replica);
    replica.members = async (since) => await before(since, []);
    expect(await engine.check(ask())).toMatchObject(allowed);
    expect(engine.counters.replica?.results.failed).toBe(1);
  });

  test('while the primary is away, its facts count from the newest reading of the log, and for half of a TTL', async () => {
    const { engine, source, clock } = await started();
    await engine.check(ask());
    source.failing = unavailable('away');
    await clock.advance(10_000);
    // Proven when the log was read last, some time in the first 300 ms.
    expect(await engine.check(ask({ email: BOB }))).toMatchObject(denied);
    await clock.advance(6000);
    await expect(engine.check(ask({ email: 'eve@example.com' }))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(engine.peekPerson(BOB)).not.toBeNull();
    await clock.advance(15_000);
    expect(engine.peekPerson(BOB)).toBeNull();
    await expect(engine.check(ask({ email: BOB }))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  test('with a TTL that is shorter than a poll the primary is asked', async () => {
    const { engine, source, clock } = await started(100);
    await clock.advance(120);
    expect(await engine.check(ask())).toMatchObject(allowed);
    expect(source.of('members').length).toBeGreaterThan(0);
  });
});
