import { describe, expect, test } from '@jest/globals';
import { unavailable } from '../../src/base/errors.ts';
import { Follower } from '../../src/engine/follower.ts';
import { ADA, ask, at, BOB, ELSEWHERE, fixture, GRANT, REVOKE, said, settled } from './fakes.ts';

describe('the change log', () => {
  test('an unrelated write moves the cursor and keeps facts and decisions', async () => {
    const { engine, source } = await fixture();
    await engine.check(ask());
    source.database.write([ELSEWHERE]);
    await engine.reach(at(1));
    expect(engine.peek(ask())).not.toBeNull();
    expect(engine.cursor).toBe(1);
  });

  test.each([
    ['u:ada@example.com', true],
    ['u:bob@example.com', false],
    ['p:shop', true],
    ['p:other', false],
    ['m:shop:ada@example.com', true],
    ['m:shop:bob@example.com', false],
    ['m:other:ada@example.com', false],
    ['a:shop', true],
    ['a:sho', false],
    ['a:other', false],
    ['*', true],
    ['x:something new', true],
    ['p:shop:read', true],
    ['m:shop', true],
    ['p:', true],
    ['', true],
    ['ADA', true],
  ])("the scope %s affects Ada's permissions in the shop: %s", async (scope, ends) => {
    const { engine, source } = await fixture();
    await engine.check(ask());
    source.database.write([], [scope]);
    await engine.reach(at(1));
    expect(engine.peek(ask()) === null).toBe(ends);
    expect(engine.cursor).toBe(1);
  });

  test('the same scopes discard facts that were read before', async () => {
    for (const scope of ['m:shop:ada@example.com', 'a:shop', '*']) {
      const { engine, source } = await fixture();
      await engine.check(ask({ email: BOB }));
      source.held = true;
      const answer = engine.check(ask());
      await settled();
      const load = source.calls.at(-1);
      load?.read();
      source.database.write([], [scope]);
      const reached = engine.reach(at(1));
      await source.calls.at(-1)?.deliver();
      await reached;
      source.held = false;
      await load?.deliver();
      await answer;
      expect([scope, engine.counters.factsLeftOut > 0]).toEqual([scope, true]);
    }
  });

  test('a load brings the log along and needs no other read', async () => {
    const { engine, source } = await fixture();
    await engine.check(ask());
    source.database.write([REVOKE]);
    await engine.check(ask({ email: BOB }));
    expect(engine.cursor).toBe(1);
    expect(engine.peek(ask())).toBeNull();
  });

  test('more changes than a statement returns drop everything once', async () => {
    const { engine, source } = await fixture();
    await engine.check(ask());
    for (let i = 0; i < 1001; i++) source.database.write([ELSEWHERE]);
    await engine.reach(at(1001));
    expect(engine.cursor).toBe(1001);
    expect(engine.peek(ask())).toBeNull();
    expect(engine.counters).toMatchObject({ drops: 1, restores: 0 });
    await engine.check(ask());
    source.database.write([REVOKE]);
    expect((await engine.check(ask(), { minRevision: at(1002) })).decision.granted).toBe(false);
  });

  test('a gap in the log drops everything', async () => {
    const { engine, source } = await fixture();
    await engine.check(ask());
    source.database.write([REVOKE]);
    source.database.write([ELSEWHERE]);
    source.window = (_since, window) => ({
      ...window,
      changes: window.changes.filter(({ revision }) => revision !== 1),
    });
    await engine.reach(at(2));
    expect(engine.counters.drops).toBe(1);
    expect(engine.peek(ask())).toBeNull();
  });

  test('changes beyond the remembered ones discard facts read before them', async () => {
    class Forgetful extends Follower {
      constructor(options: ConstructorParameters<typeof Follower>[0]) {
        super({ ...options, recent: 2 });
      }
    }
    const { engine, source } = await fixture({ parts: { Follower: Forgetful } });
    await engine.check(ask({ email: BOB }));
    source.held = true;
    const answer = engine.check(ask());
    await settled();
    const load = source.calls.at(-1);
    load?.read();
    for (const operation of [REVOKE, ELSEWHERE, ELSEWHERE]) source.database.write([operation]);
    const reached = engine.reach(at(3));
    await source.calls.at(-1)?.deliver();
    await reached;
    source.held = false;
    await load?.deliver();
    expect(await answer).toMatchObject({ decision: { granted: false }, revision: said(3) });
    expect(engine.counters.factsLeftOut).toBe(2);
  });
});

describe('a changed history', () => {
  test('a head that went back moves the cursor back, and questions are answered at once', async () => {
    const { engine, source, logged } = await fixture();
    for (const operation of [GRANT, ELSEWHERE, REVOKE]) source.database.write([operation]);
    await engine.reach(at(3));
    expect((await engine.check(ask())).decision.granted).toBe(false);
    source.database.restore(0, 1);
    await engine.reach(at(1));
    expect(engine.cursor).toBe(1);
    expect(await engine.check(ask())).toMatchObject({ decision: { granted: true }, revision: said(1) });
    expect(engine.counters.restores).toBe(1);
    expect(logged.map(([level]) => level)).toEqual(['warn']);
  });

  test('a changed row at the cursor is another history, even when new writes have caught up', async () => {
    const { engine, source } = await fixture();
    source.database.write([GRANT]);
    source.database.write([ELSEWHERE]);
    await engine.reach(at(2));
    expect((await engine.check(ask())).decision.granted).toBe(true);
    source.database.restore(0, 1);
    source.database.write([REVOKE]);
    source.database.write([ELSEWHERE]);
    source.wake();
    await settled();
    expect(engine.peek(ask())).toBeNull();
    expect(await engine.check(ask())).toMatchObject({ decision: { granted: false }, revision: said(3) });
    expect(engine.counters.restores).toBe(1);
  });

  test('a cursor past a write in another history does not acknowledge it', async () => {
    const { engine, source } = await fixture();
    for (let i = 0; i < 5; i++) source.database.write([ELSEWHERE]);
    await engine.reach(at(5));
    expect((await engine.check(ask())).decision.granted).toBe(true);
    source.database.restore(0, 1);
    await engine.reach(at(source.database.write([REVOKE])));
    expect(engine.cursor).toBe(2);
    expect((await engine.check(ask())).decision.granted).toBe(false);
  });

  test('a reply sent before the cursor moved reveals another history by its rows', async () => {
    const { engine, source } = await fixture();
    await engine.check(ask({ email: BOB }));
    source.held = true;
    const answer = engine.check(ask());
    await settled();
    const load = source.calls.at(-1); // since 0
    source.database.write([GRANT]);
    const reached = engine.reach(at(1));
    await source.calls.at(-1)?.deliver();
    await reached;
    source.database.restore(0, 0);
    source.database.write([REVOKE]);
    source.held = false;
    await load?.deliver(); // head 1, as known, but another row 1
    expect(engine.counters.restores).toBe(1);
    expect((await answer).decision.granted).toBe(false);
  });

  test('after more changes than fit, facts wait until their history is known', async () => {
    const { engine, source } = await fixture();
    await engine.check(ask());
    for (let i = 0; i < 1001; i++) source.database.write([ELSEWHERE]);
    source.held = true;
    const answer = engine.check(ask({ email: BOB }));
    await settled();
    await source.of('members').at(-1)?.deliver(); // too many: forgotten, and not taken
    expect(engine.sizes()).toMatchObject({ policies: 0, persons: 0 });
    source.held = false;
    for (const kind of ['policy', 'members'] as const) await source.of(kind).at(-1)?.deliver();
    expect(await answer).toMatchObject({ revision: said(1001) });
  });

  test('a row pruned after a quiet week is not a restore', async () => {
    const { engine, source, logged } = await fixture();
    source.database.write([GRANT]);
    await engine.reach(at(1));
    await engine.check(ask());
    source.database.write([REVOKE]);
    source.database.prune(1);
    await engine.reach(at(2));
    expect(engine.peek(ask())).toBeNull();
    expect(engine.counters.restores).toBe(0);
    expect(logged.map(([level]) => level)).toEqual(['info']);
    expect((await engine.check(ask())).decision.granted).toBe(false);
  });
});

describe('reach and sync', () => {
  test('facts dropped during a read of the log are read again', async () => {
    const { engine, source } = await fixture();
    source.database.write([REVOKE]);
    source.held = true;
    const reached = engine.reach(at(1));
    await settled();
    engine.dropAll();
    await source.calls.at(-1)?.deliver();
    expect(engine.cursor).toBe(0); // discarded
    await source.calls.at(-1)?.deliver();
    await reached;
    expect(engine.cursor).toBe(1);
  });

  test('a reply from before a drop is discarded, so an acknowledged write is in the next answer', async () => {
    const { engine, source } = await fixture();
    await engine.check(ask({ email: BOB }));
    source.held = true;
    const early = engine.check(ask());
    await settled();
    const load = source.of('members').at(-1);
    load?.read();
    source.database.write([REVOKE]);
    engine.dropAll(); // reach failed; the write is acknowledged all the same
    source.held = false;
    await load?.deliver();
    expect(await early).toMatchObject({ decision: { granted: false }, revision: said(1) });
  });

  test('concurrent callers share the read that begins after their call', async () => {
    const { engine, source } = await fixture();
    source.held = true;
    const first = engine.reach(at(0));
    source.database.write([REVOKE]);
    const others = Array.from({ length: 50 }, () => engine.reach(at(1)));
    await source.calls.at(-1)?.deliver();
    await first;
    await source.calls.at(-1)?.deliver();
    await Promise.all(others);
    expect(source.of('changes')).toHaveLength(3); // start, first, the others
  });

  test('a failed read fails its waiters, and not the next read', async () => {
    const { engine, source } = await fixture();
    source.held = true;
    const first = engine.reach(at(1)).catch((error: unknown) => error);
    const second = engine.reach(at(0));
    const away = unavailable('away');
    await source.calls.at(-1)?.fail(away);
    await source.calls.at(-1)?.deliver();
    expect(await first).toBe(away);
    await second;
  });

  test('a burst of notifications is one read at once, and then at most one every 20 ms', async () => {
    const { engine, source, clock } = await fixture();
    const reads = () => source.of('changes').length - 1;
    const notified = async () => {
      source.database.write([ELSEWHERE]);
      source.wake();
      await settled();
    };
    await notified();
    expect([reads(), engine.cursor]).toEqual([1, 1]);
    for (let ms = 1; ms < 150; ms++) {
      await clock.advance(1);
      await notified();
    }
    expect(reads()).toBe(8);
    // What was told last is read as well, though nothing follows it.
    await clock.advance(20);
    expect([reads(), engine.cursor]).toEqual([9, 150]);
    await clock.advance(20);
    expect(reads()).toBe(9);
    await notified();
    expect([reads(), engine.cursor]).toEqual([10, 151]);
  });

  test('who waits for a revision does not wait for the end of these 20 ms', async () => {
    const { engine, source } = await fixture();
    source.wake();
    await settled();
    source.database.write([REVOKE]);
    source.wake();
    await settled();
    expect(engine.cursor).toBe(0);
    await engine.reach(at(1));
    expect(engine.cursor).toBe(1);
    source.database.write([GRANT]);
    expect(await engine.check(ask(), { minRevision: at(2) })).toMatchObject({ decision: { granted: true } });
  });

  test('a standby that lacks a revision is read until it has it', async () => {
    const { engine, source, clock } = await fixture();
    source.window = (_since, window) => ({ ...window, standby: true });
    const answer = engine.check(ask(), { minRevision: at(1) });
    await clock.advance(1000);
    expect(source.of('changes').length).toBeGreaterThan(40);
    source.database.write([REVOKE]);
    await clock.advance(20);
    expect(await answer).toMatchObject({ decision: { granted: false }, revision: said(1) });
    // The one that it has is another one.
    const other = { number: 1, nonce: 'of another history' };
    await expect(engine.reach(other)).rejects.toMatchObject({ reason: 'UNKNOWN_REVISION' });
  });

  test('a revision that a standby does not receive in five seconds is UNAVAILABLE, and unknown once it is the primary', async () => {
    const { engine, source, clock } = await fixture();
    source.window = (_since, window) => ({ ...window, standby: true });
    const refused = expect(engine.reach(at(1))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('standby'),
    });
    await clock.advance(5100);
    await refused;
    const promoted = expect(engine.reach(at(1))).rejects.toMatchObject({ reason: 'UNKNOWN_REVISION' });
    await clock.advance(100);
    source.window = undefined;
    await clock.advance(100);
    await promoted;
  });

  test('polls do not pile up during a hanging read, and continue after it', async () => {
    const { engine, source, clock } = await fixture();
    source.held = true;
    await clock.advance(4000);
    expect(source.of('changes')).toHaveLength(2);
    await clock.advance(1500); // given up after five seconds
    expect(source.of('changes').length).toBeGreaterThan(2);
    expect(engine.counters.syncFailures).toBe(1);
  });

  test('`reach` gives up when every read is discarded', async () => {
    const { engine, source } = await fixture();
    const changes = source.changes.bind(source);
    source.changes = async (since) => {
      const window = await changes(since);
      engine.dropAll();
      return window;
    };
    await expect(engine.reach(at(0))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  test('close waits for a read in progress and then stops reading', async () => {
    const { engine, source, clock } = await fixture();
    source.held = true;
    const reached = engine.reach(at(0)).catch((error: unknown) => error);
    const closed = engine.close();
    await source.calls.at(-1)?.deliver();
    await closed;
    await reached;
    source.wake();
    await clock.advance(1000);
    expect(source.of('changes')).toHaveLength(2);
    await expect(engine.reach(at(0))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(engine.person(ADA)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});
