import { describe, expect, test } from '@jest/globals';
import { Level, Source } from '../../src/engine/types.ts';
import { ADA, ask, at, BOB, CACHE, fixture, GRANT, REVOKE, said, settled } from './fakes.ts';

const VIEW = { granted: true, level: Level.VIEW, source: Source.ROLE, tiered: true };
const DENIED = { granted: false, level: Level.NONE, source: Source.NONE, tiered: true };

describe('answers', () => {
  test('the first question reads policy and member, and the second is answered at once', async () => {
    const { engine, source } = await fixture();
    expect(engine.peek(ask())).toBeNull();
    expect(await engine.check(ask())).toEqual({ decision: VIEW, revision: said(0) });
    expect(engine.peek(ask())).toEqual(VIEW);
    expect(source.of('members')).toHaveLength(1);
    expect(source.of('policy')).toHaveLength(1);
    expect(engine.counters).toMatchObject({ decisionHits: 1, decisionMisses: 1, policyLoads: 1, memberLoads: 1 });
  });

  test('other permissions and roles of the same person come from cached facts', async () => {
    const { engine, source } = await fixture();
    await engine.check(ask());
    expect(engine.peek(ask({ permission: 'pay' }))).toEqual(DENIED);
    expect(engine.peek(ask({ permission: 'constructor' }))).toEqual(DENIED);
    expect(source.of('members')).toHaveLength(1);
  });

  test('an unknown application is denied, and has no effective permissions', async () => {
    const { engine } = await fixture();
    expect((await engine.check(ask({ app: 'constructor' }))).decision).toEqual(DENIED);
    expect((await engine.effective({ email: ADA, app: '__proto__', resourceType: '', resourceId: '' })).items).toEqual(
      [],
    );
  });

  test('bulk answers in order, caches each decision, and uses cached ones', async () => {
    const { engine, source } = await fixture();
    const subject = { email: ADA, app: 'shop', resourceType: '', resourceId: '' };
    const { decisions, revision } = await engine.bulk(subject, ['pay', 'read', 'unknown', 'read']);
    expect(decisions).toEqual([DENIED, VIEW, DENIED, VIEW]);
    expect(revision).toEqual(said(0));
    expect(engine.sizes().decisions).toBe(3);
    expect(engine.counters).toMatchObject({ decisionHits: 1, decisionMisses: 3 });
    await engine.bulk(subject, ['pay', 'read']);
    expect(engine.counters).toMatchObject({ decisionHits: 3, decisionMisses: 3 });
    expect(source.of('members')).toHaveLength(1);
  });

  test('effective sorts by group, nulls last, then code, and caches no decision', async () => {
    const { engine } = await fixture();
    const { items, revision } = await engine.effective({ email: ADA, app: 'shop', resourceType: '', resourceId: '' });
    expect(items).toEqual([
      { code: 'pay', tiered: false, groupName: 'money', global: true, level: 0, granted: false, source: 0 },
      { code: 'read', tiered: true, groupName: null, global: false, level: 2, granted: true, source: 1 },
    ]);
    expect(revision).toEqual(said(0));
    expect(engine.sizes().decisions).toBe(0);
  });

  test('effective is at hand once its facts are cached, until one of them changes', async () => {
    const { engine, source } = await fixture();
    const subject = { email: ADA, app: 'shop', resourceType: '', resourceId: '' };
    expect(engine.peekEffective(subject)).toBeNull();
    const { items } = await engine.effective(subject);
    expect(engine.peekEffective(subject)).toEqual(items);
    expect(engine.peekEffective({ ...subject, resourceType: 'order', resourceId: '1' })).toBeNull();
    source.database.write([{ kind: 'roles-of-user', app: 'shop', email: ADA, roles: [] }]);
    await engine.reach({ number: source.database.head, nonce: null });
    expect(engine.peekEffective(subject)).toBeNull();
    expect((await engine.effective(subject)).items.map(({ granted }) => granted)).toEqual([false, false]);
    engine.dropAll();
    expect(engine.peekEffective(subject)).toBeNull();
  });

  test('an override applies to the requested resource, and is loaded for it', async () => {
    const { engine, source } = await fixture();
    const order = { resourceType: 'order', resourceId: '7' };
    const overrides = [{ permission: 'read', granted: false, accessLevel: null }];
    source.database.write([{ kind: 'overrides-of-user', app: 'shop', email: ADA, ...order, overrides }]);
    await engine.reach(at(1));
    expect((await engine.check(ask(order))).decision).toMatchObject({ granted: false, source: Source.OVERRIDE });
    expect((await engine.check(ask({ ...order, resourceId: '8' }))).decision).toEqual(VIEW);
    expect((await engine.check(ask())).decision).toEqual(VIEW);
    expect(source.of('members').map(({ needs }) => needs[0]?.resourceId)).toEqual(['7', '8']);
  });

  test('guards of reads get people and members', async () => {
    const { engine, source } = await fixture();
    source.database.write([
      { kind: 'superadmin', email: BOB, is: true },
      { kind: 'app-admin', app: 'shop', email: BOB, is: true },
    ]);
    expect(await engine.person(BOB, { minRevision: at(1) })).toEqual({
      person: { email: BOB, active: true, superadmin: true },
      revision: said(1),
    });
    expect((await engine.member('shop', BOB)).member).toMatchObject({ admin: true, appId: 1 });
    expect((await engine.member('shop', ADA)).member.admin).toBe(false);
  });

  test('guards get cached facts without waiting, and never overtaken ones', async () => {
    const { engine, source } = await fixture();
    expect([engine.peekPerson(BOB), engine.peekMember('shop', BOB)]).toEqual([null, null]);
    const { member } = await engine.member('shop', BOB);
    expect(engine.peekMember('shop', BOB)).toEqual(member);
    expect(engine.peekPerson(BOB)).toEqual({ email: BOB, active: true, superadmin: false });
    source.database.write([{ kind: 'superadmin', email: BOB, is: true }]);
    await engine.reach(at(1));
    expect(engine.peekPerson(BOB)).toBeNull();
    await engine.person(BOB);
    expect(engine.peekPerson(BOB)?.superadmin).toBe(true);
    engine.clear();
    expect([engine.peekPerson(BOB), engine.peekMember('shop', BOB)]).toEqual([null, null]);
  });

  test('an administrator of a deleted application does not administer its successor', async () => {
    const { engine, source } = await fixture();
    source.database.write([{ kind: 'app-admin', app: 'shop', email: ADA, is: true }]);
    await engine.reach(at(1));
    expect((await engine.member('shop', ADA)).member.admin).toBe(true);
    source.database.write([
      { kind: 'delete-app', app: 'shop' },
      { kind: 'create-app', app: 'shop' },
    ]);
    await engine.reach(at(2));
    expect(engine.peek(ask())).toBeNull();
    expect((await engine.member('shop', ADA)).member.admin).toBe(false);
    expect((await engine.check(ask())).decision).toEqual(DENIED);
  });

  test('overrides in a deleted application do not apply to its successor', async () => {
    const { engine, source } = await fixture();
    const order = { resourceType: 'order', resourceId: '7' };
    await engine.check(ask(order));
    source.database.write([
      { kind: 'delete-app', app: 'shop' },
      { kind: 'create-app', app: 'shop' },
    ]);
    await engine.reach(at(1));
    // The member alone is read anew; what is held of the order is older than the application.
    await engine.check(ask());
    expect(engine.peek(ask(order))).toBeNull();
    expect((await engine.check(ask(order))).decision).toEqual(DENIED);
  });
});

describe('freshness', () => {
  test('a reached write is in the next answer', async () => {
    const { engine, source } = await fixture();
    await engine.check(ask());
    source.database.write([REVOKE]);
    expect(engine.peek(ask())).toEqual(VIEW); // nobody has been told yet
    await engine.reach(at(1));
    expect(engine.cursor).toBe(1);
    expect(engine.peek(ask())).toBeNull();
    expect(await engine.check(ask())).toEqual({ decision: DENIED, revision: said(1) });
  });

  test('polling finds a write within 300 ms, with or without NOTIFY', async () => {
    const { engine, source, clock } = await fixture();
    clock.fraction = 0.999;
    await engine.check(ask());
    source.database.write([REVOKE]);
    await clock.advance(300);
    expect((await engine.check(ask())).decision).toEqual(DENIED);
  });

  test('a notification finds a write at once', async () => {
    const { engine, source } = await fixture();
    await engine.check(ask());
    source.database.write([REVOKE]);
    source.wake();
    await settled();
    expect(engine.cursor).toBe(1);
  });

  test('minRevision waits for its revision, and an unknown one is refused', async () => {
    const { engine, source } = await fixture();
    await engine.check(ask());
    source.database.write([REVOKE]);
    expect(await engine.check(ask(), { minRevision: at(1) })).toEqual({ decision: DENIED, revision: said(1) });
    const syncs = source.of('changes').length;
    await expect(engine.check(ask(), { minRevision: at(2) })).rejects.toMatchObject({ reason: 'UNKNOWN_REVISION' });
    expect(source.of('changes')).toHaveLength(syncs + 2);
  });

  test('a reply read before a commit and received after it is discarded', async () => {
    const { engine, source } = await fixture();
    source.held = true;
    const answer = engine.check(ask());
    await settled();
    for (const call of source.calls.slice(1)) call.read();
    source.database.write([REVOKE]);
    const reached = engine.reach(at(1));
    await source.of('changes')[1]?.deliver();
    await reached;
    await source.of('policy')[0]?.deliver();
    await source.of('members')[0]?.deliver();
    expect(engine.counters.factsLeftOut).toBe(1);
    expect(source.of('members')).toHaveLength(2);
    await source.of('members')[1]?.deliver();
    expect(await answer).toEqual({ decision: DENIED, revision: said(1) });
  });

  test('a question after a known write does not join an earlier load', async () => {
    const { engine, source } = await fixture();
    await engine.check(ask({ email: BOB })); // the policy is there
    source.held = true;
    const early = engine.check(ask());
    await settled();
    source.calls.at(-1)?.read();
    source.database.write([REVOKE]);
    const reached = engine.reach(at(1));
    await source.calls.at(-1)?.deliver();
    await reached;
    const late = engine.check(ask());
    await settled();
    const [, joined] = source.of('members');
    await joined?.deliver();
    await source.of('members')[2]?.deliver();
    expect(await late).toEqual({ decision: DENIED, revision: said(1) });
    expect(await early).toEqual({ decision: DENIED, revision: said(1) });
    expect(source.of('members')).toHaveLength(3);
  });

  test('bulk and effective are of one revision, whatever happens between their loads', async () => {
    const { engine, source } = await fixture();
    source.held = true;
    const subject = { email: ADA, app: 'shop', resourceType: '', resourceId: '' };
    const bulk = engine.bulk(subject, ['read', 'pay']);
    const effective = engine.effective(subject);
    await settled();
    await source.of('policy')[0]?.deliver();
    source.of('members')[0]?.read();
    source.database.write([
      {
        kind: 'permissions-of-role',
        app: 'shop',
        role: 'reader',
        permissions: [{ permission: 'pay', accessLevel: 'allowed' }],
      },
    ]);
    source.wake();
    await source.of('changes').at(-1)?.deliver(); // the policy is gone again
    await source.of('members')[0]?.deliver();
    await source.of('policy')[1]?.deliver();
    const { decisions, revision } = await bulk;
    expect(revision).toEqual(said(1));
    expect(decisions.map(({ granted }) => granted)).toEqual([false, true]);
    expect((await effective).items.map(({ granted }) => granted)).toEqual([true, false]);
  });

  test('facts that change faster than they can be read give no answer', async () => {
    const { engine, source } = await fixture();
    await engine.check(ask({ email: BOB }));
    source.held = true;
    const answer = engine.check(ask()).catch((error: unknown) => error);
    for (let attempt = 1; attempt <= 6; attempt++) {
      await settled();
      const load = source.of('members').at(-1);
      load?.read();
      const revision = source.database.write([attempt % 2 ? REVOKE : GRANT]);
      const reached = engine.reach(at(revision));
      await source.calls.at(-1)?.deliver();
      await reached;
      await load?.deliver();
    }
    expect(await answer).toMatchObject({ code: 'UNAVAILABLE' });
    expect(source.of('members')).toHaveLength(6);
  });
});

describe('time', () => {
  test('facts live for the TTL from when their statement was sent', async () => {
    const { engine, source, clock } = await fixture({ cache: { ...CACHE, ttlMs: 10_000 } });
    source.held = true;
    const answer = engine.check(ask());
    await settled();
    clock.time += 4000; // sent 4 s before it is answered
    for (const call of source.calls) await call.deliver();
    await answer;
    source.held = false;
    source.failing = new Error('away');
    await clock.advance(5800);
    expect(engine.peek(ask())).toEqual(VIEW);
    await clock.advance(200);
    expect(engine.peek(ask())).toBeNull();
  });

  test('a decision expires with its first fact', async () => {
    const { engine, source, clock } = await fixture({ cache: { ...CACHE, ttlMs: 10_000 } });
    await engine.check(ask({ email: BOB })); // reads the policy
    await clock.advance(4500);
    await engine.check(ask()); // and now the member
    source.failing = new Error('away');
    await clock.advance(5300);
    expect(engine.peek(ask())).toEqual(VIEW);
    await clock.advance(200);
    expect(engine.peek(ask())).toBeNull();
  });

  test('lifetimes are up to a tenth shorter at random, so that not everything expires at once', async () => {
    const { engine, clock } = await fixture({ cache: { ...CACHE, ttlMs: 10_000 } });
    clock.fraction = 0.9;
    await engine.check(ask());
    await clock.advance(9100);
    expect(engine.peek(ask())).toBeNull();
  });

  test('a TTL shorter than a round trip caches nothing, and questions are still answered', async () => {
    const { engine, source, clock } = await fixture({ cache: { ...CACHE, ttlMs: 1 } });
    for (let i = 0; i < 3; i++) {
      expect((await engine.check(ask())).decision).toEqual(VIEW);
      await clock.advance(5);
    }
    expect(source.of('members')).toHaveLength(3);
  });
});

describe('clearing the cache', () => {
  test('clear returns the number of decisions, and everything is read again', async () => {
    const { engine, source } = await fixture();
    await engine.bulk({ email: ADA, app: 'shop', resourceType: '', resourceId: '' }, ['read', 'pay']);
    expect(engine.clear()).toBe(2);
    expect(engine.clear()).toBe(0);
    expect(engine.sizes()).toEqual({ decisions: 0, policies: 0, persons: 0, members: 0 });
    await engine.check(ask());
    expect(source.of('members')).toHaveLength(2);
  });

  test('clear counts only valid decisions: not ended and not expired', async () => {
    const { engine, source, clock } = await fixture({ cache: { ...CACHE, ttlMs: 10_000 } });
    const subject = { app: 'shop', resourceType: '', resourceId: '' };
    await engine.bulk({ ...subject, email: ADA }, ['read', 'pay']);
    await engine.bulk({ ...subject, email: BOB }, ['read', 'pay']);
    source.database.write([], [`m:shop:${ADA}`]);
    await engine.reach(at(1));
    expect(engine.clear()).toBe(2);
    await engine.bulk({ ...subject, email: BOB }, ['read', 'pay']);
    await clock.advance(11_000);
    expect(engine.clear()).toBe(0);
  });

  test('a cluster-wide clear empties this instance and leaves nothing to count', async () => {
    const { engine, source } = await fixture();
    await engine.bulk({ email: ADA, app: 'shop', resourceType: '', resourceId: '' }, ['read', 'pay']);
    source.database.write([], ['*']);
    await engine.reach(at(1));
    expect(engine.sizes()).toEqual({ decisions: 0, policies: 0, persons: 0, members: 0 });
    expect(engine.counters.drops).toBe(1);
    expect(engine.clear()).toBe(0);
    expect((await engine.check(ask())).decision).toEqual(VIEW);
  });

  test('loads in progress at a clear are discarded, and not joined', async () => {
    const { engine, source } = await fixture();
    source.held = true;
    const early = engine.check(ask());
    await settled();
    for (const call of source.calls) call.read();
    engine.dropAll();
    const late = engine.check(ask());
    await settled();
    expect(source.of('members')).toHaveLength(2);
    for (const call of source.calls.slice()) await call.deliver();
    expect((await late).decision).toEqual(VIEW);
    expect((await early).decision).toEqual(VIEW);
    expect(source.of('members')).toHaveLength(2);
  });
});
