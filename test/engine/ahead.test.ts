import { describe, expect, test } from '@jest/globals';
import type { EngineOptions } from '../../src/engine/engine.ts';
import { keepQuestion } from '../../src/engine/grounds.ts';
import { Level, Source } from '../../src/engine/types.ts';
import { applyTo } from '../oracle/rows.ts';
import { ADA, ask, at, CACHE, type Fixture, fixture, REVOKE, settled } from './fakes.ts';

const TTL = 10_000;
/** As long as a fact is used, for which nothing is subtracted at random: the TTL less one tick. */
const LIFE = TTL - 100;
const VIEW = { granted: true, level: Level.VIEW, source: Source.ROLE, tiered: true };
const RECORD = { resourceType: 'order', resourceId: '7' };
const email = (index: number) => `user${index}@example.com`;

const shop = (options: Partial<EngineOptions> = {}) => fixture({ cache: { ...CACHE, ttlMs: TTL }, ...options });

/** Asks every 100 ms for a while; how often the cache alone did not answer. */
async function asking({ engine, clock }: Fixture, ms: number, question = ask()): Promise<number> {
  let refused = 0;
  for (let passed = 0; passed < ms; passed += 100) {
    if (engine.peek(question) === null) refused++;
    await clock.advance(100);
  }
  return refused;
}

/** An engine in which Ada's facts were read `ago` ms ago, with statements held from now on. */
async function warm(ago: number): Promise<Fixture> {
  const made = await shop();
  await made.engine.check(ask());
  await made.clock.advance(ago);
  made.source.held = true;
  return made;
}

describe('facts in use', () => {
  test.each([
    ['a question', {}],
    ['a question about a record', RECORD],
  ])('%s that is asked again and again never meets a fact that has expired', async (_, about) => {
    const made = await shop();
    await made.engine.check(ask(about));
    expect(await asking(made, 5 * TTL, ask(about))).toBe(0);
    // Each is read again when it is due, and not for each question.
    expect(made.source.of('members').length).toBeGreaterThan(10);
    expect(made.source.of('members').length).toBeLessThan(15);
    expect(made.source.of('policy').length).toBeLessThan(15);
  });

  test.each(['check', 'kept question', 'batch', 'bulk', 'effective'] as const)(
    'a %s notes what is due, too',
    async (kind) => {
      const made = await shop();
      const { engine, source, clock } = made;
      await engine.check(ask());
      const kept = keepQuestion(ask());
      const peek = {
        check: () => engine.peek(ask()),
        'kept question': () => engine.peekKept(kept),
        batch: () => engine.peekBatch([kept]),
        bulk: () => engine.peekBulk(ask(), ['read']),
        effective: () => engine.peekEffective(ask()),
      }[kind];
      expect(peek()).not.toBeNull();
      await clock.advance(LIFE / 2 + 100);
      expect(peek()).not.toBeNull();
      await clock.advance(100);
      expect([source.of('members').length, source.of('policy').length]).toEqual([2, 2]);
    },
  );

  test('an outage at any moment finds half of a life left', async () => {
    for (let after = 0; after <= 2 * TTL; after += 700) {
      const made = await shop();
      await made.engine.check(ask());
      await asking(made, after);
      made.source.failing = new Error('away');
      expect([after, await asking(made, LIFE / 2)]).toEqual([after, 0]);
    }
  });

  test('what no question uses once it is due is not read again', async () => {
    const made = await shop();
    await made.engine.check(ask());
    await asking(made, 0.4 * LIFE - 200);
    await made.clock.advance(2 * TTL);
    expect(made.source.of('members')).toHaveLength(1);
    expect(made.engine.peek(ask())).toBeNull();
  });

  test('what a change or a miss came to first is not read again', async () => {
    const { engine, source, clock } = await shop();
    await engine.check(ask());
    await clock.advance(LIFE / 2 + 100);
    engine.peek(ask());
    await engine.reach(at(source.database.write([REVOKE])));
    await clock.advance(200);
    // The policy was due as well.
    expect(source.of('members')).toHaveLength(1);
    expect(engine.counters.ahead.outcomes).toMatchObject({ read: 1, overtaken: 1 });
  });
});

describe('a read ahead', () => {
  test('a change that comes during the read wins', async () => {
    const { engine, source, clock } = await warm(LIFE / 2 + 100);
    expect(engine.peek(ask())).toEqual(VIEW);
    await clock.advance(100);
    await source.of('policy').at(-1)?.deliver();
    const read = source.of('members').at(-1);
    read?.read();
    source.held = false;
    await engine.reach(at(source.database.write([REVOKE])));
    await read?.deliver();
    expect(engine.counters.factsLeftOut).toBe(1);
    expect(engine.peek(ask())).toBeNull();
    expect((await engine.check(ask())).decision.granted).toBe(false);
  });

  test('nothing read before everything was forgotten is stored', async () => {
    const { engine, source, clock } = await warm(LIFE / 2 + 100);
    engine.peek(ask());
    await clock.advance(100);
    await source.of('policy').at(-1)?.deliver();
    const read = source.of('members').at(-1);
    read?.read();
    engine.dropAll();
    await read?.deliver();
    expect(engine.sizes()).toMatchObject({ persons: 0, members: 0 });
  });

  test('a fact that changed without a word in the log ends the decisions made from it', async () => {
    const made = await shop();
    const { engine, source } = made;
    await engine.check(ask());
    const { newest } = source.database;
    Object.assign(newest, { rows: applyTo(newest.rows, REVOKE) });
    await asking(made, LIFE / 2 + 300);
    expect(engine.peek(ask())?.granted).toBe(false);
  });

  test('facts live for the TTL from when its statement was sent', async () => {
    const made = await warm(LIFE / 2 + 100);
    const { engine, source, clock } = made;
    engine.peek(ask());
    await clock.advance(100);
    const sentAt = clock.time;
    clock.time += 3000; // sent 3 s before it is answered
    await source.of('policy').at(-1)?.deliver();
    source.held = false;
    await source.of('members').at(-1)?.deliver();
    source.failing = new Error('away');
    await asking(made, sentAt + LIFE - 100 - clock.time);
    expect(engine.peek(ask())).toEqual(VIEW);
    await clock.advance(300);
    expect(engine.peek(ask())).toBeNull();
  });

  test('a failure leaves facts as they are, and is repeated after a pause, doubled up to four times', async () => {
    const made = await shop();
    const { engine, source, clock } = made;
    const from = clock.time;
    await engine.check(ask());
    source.failing = new Error('away');
    expect(await asking(made, LIFE - 100)).toBe(0);
    await clock.advance(200);
    expect(engine.peek(ask())).toBeNull();
    expect(clock.time - from).toBeLessThanOrEqual(TTL + 100);
    // After 4, 4.5, 5.5 and 7.5 s, about: each fails by its policy, which is the first to be read.
    expect(source.of('policy')).toHaveLength(5);
    expect(source.of('members')).toHaveLength(1);
    expect(engine.counters.ahead.outcomes).toMatchObject({ read: 0, failed: 4 });
    source.failing = undefined;
    await engine.check(ask());
    expect(await asking(made, 2 * TTL)).toBe(0);
  });

  test('a question that comes to lack the same fact joins it', async () => {
    const { engine, source, clock } = await warm(LIFE / 2 + 100);
    engine.peek(ask());
    await clock.advance(100);
    await source.of('policy').at(-1)?.deliver();
    clock.time += LIFE / 2;
    source.held = false;
    await engine.check(ask({ app: 'other', email: 'else@example.com' }));
    const before = source.of('members').length;
    source.held = true;
    const answer = engine.check(ask());
    await settled();
    expect(source.of('members')).toHaveLength(before);
    source.held = false;
    await source.of('members').at(1)?.deliver();
    expect((await answer).decision).toEqual(VIEW);
  });

  test('what a question is reading is left to it', async () => {
    const { engine, source, clock } = await shop();
    await engine.check(ask(RECORD));
    await clock.advance(LIFE / 2 + 100);
    engine.peek(ask(RECORD));
    source.held = true;
    const need = { email: ADA, app: 'shop', ...RECORD };
    const answer = engine.served.members(0, [need], 0);
    await clock.advance(100);
    await source.of('policy').at(-1)?.deliver();
    expect(source.of('members')).toHaveLength(2);
    await source.of('members').at(-1)?.deliver();
    expect((await answer).answers).toHaveLength(1);
  });
});

describe('what reading ahead may take', () => {
  test('it waits while no connection but one is free, and while a question waits', async () => {
    const { engine, source, clock } = await warm(LIFE / 2 + 100);
    source.parallelism = 3;
    engine.peek(ask());
    const others: Promise<unknown>[] = [];
    for (const index of [1, 2]) {
      others.push(engine.check(ask({ email: email(index) })));
      await settled();
    }
    const busy = source.calls.length;
    await clock.advance(200);
    expect(source.of('policy')).toHaveLength(1);
    await source.of('members').at(-1)?.deliver();
    expect(source.calls.length).toBeGreaterThanOrEqual(busy);
    await clock.advance(200);
    expect(source.of('policy')).toHaveLength(2);
    source.held = false;
    for (const call of source.calls) await call.deliver();
    await Promise.all(others);
  });

  test('a database with one connection is never read ahead', async () => {
    const made = await shop();
    made.source.parallelism = 1;
    await made.engine.check(ask());
    await asking(made, LIFE - 100);
    expect(made.source.of('members')).toHaveLength(1);
    await made.clock.advance(200);
    expect(made.engine.peek(ask())).toBeNull();
  });

  test('each turn is four statements of 64 at most, one after the other', async () => {
    const { engine, source, clock } = await shop();
    const questions = Array.from({ length: 900 }, (_, index) => ask({ email: email(index) }));
    for (const question of questions) await engine.check(question);
    source.calls.length = 0;
    await clock.advance(LIFE / 2 + 100);
    for (const question of questions) engine.peek(question);
    await clock.advance(100);
    expect(source.of('policy')).toHaveLength(1);
    expect(source.of('members').map(({ needs }) => needs.length)).toEqual([64, 64, 64]);
    await clock.advance(100);
    expect(source.of('members')).toHaveLength(7);
    source.held = true;
    await clock.advance(300);
    expect(source.of('members')).toHaveLength(8);
  });

  test('of what waits there is a bound, and what is left out is noted again', async () => {
    const cache = { ...CACHE, ttlMs: TTL, persons: 6000, members: 6000 };
    const { engine, source, clock } = await fixture({ cache });
    const questions = Array.from({ length: 5000 }, (_, index) => ask({ email: email(index) }));
    await Promise.all(questions.map((question) => engine.check(question)));
    await clock.advance(LIFE / 2 + 100);
    for (const question of questions) engine.peek(question);
    expect(engine.counters.ahead.outcomes['left-out']).toBe(5000 - 4096);
    for (let turn = 0; turn < 30; turn++) {
      await clock.advance(100);
      for (const question of questions) engine.peek(question);
    }
    expect(engine.counters.ahead.outcomes.read).toBe(5001);
    expect(source.calls.length).toBeLessThan(200);
  });

  test('a closed engine reads nothing', async () => {
    const { engine, source, clock } = await shop();
    await engine.check(ask());
    await clock.advance(LIFE / 2 + 100);
    engine.peek(ask());
    await engine.close();
    await clock.advance(TTL);
    expect(source.of('members')).toHaveLength(1);
  });
});
