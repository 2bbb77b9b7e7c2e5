import { describe, expect, test } from '@jest/globals';
import type { Engine } from '../../src/engine/engine.ts';
import { keepQuestion } from '../../src/engine/grounds.ts';
import type { Operation } from '../oracle/rows.ts';
import { ADA, ask, at, BOB, type Fixture, fixture, GRANT, REVOKE, settled } from './fakes.ts';

/** How far the clock of the database is ahead of the monotonic one here. */
const AHEAD = 1_700_000_000_000;
const RECORD = { resourceType: 'order', resourceId: '7' };
const SUBJECT = { email: ADA, app: 'shop', resourceType: '', resourceId: '' };
const NEED = SUBJECT;

/** Ada reads orders by a role with that window, in ms from the start of the test. */
function reader(window: { startsAt?: number; endsAt?: number }): Operation {
  const at = (ms: number | undefined) => (ms === undefined ? undefined : AHEAD + 1000 + ms);
  const [startsAt, endsAt] = [at(window.startsAt), at(window.endsAt)];
  const windows = [{ ...(startsAt === undefined ? {} : { startsAt }), ...(endsAt === undefined ? {} : { endsAt }) }];
  return { kind: 'roles-of-user', app: 'shop', email: ADA, roles: ['reader'], windows };
}

/** The clock of a test starts at 1000. */
async function timed(...operations: readonly Operation[]): Promise<Fixture> {
  const made = await fixture();
  made.source.instant = () => AHEAD + made.clock.time;
  await made.engine.reach(at(made.source.database.write(operations)));
  return made;
}

/** Every way in which an engine decides from what it holds, without waiting. */
const PEEKS: [string, (engine: Engine) => boolean | null][] = [
  ['a check', (engine) => engine.peek(ask())?.granted ?? null],
  ['a bulk question', (engine) => engine.peekBulk(SUBJECT, ['read'])?.[0]?.granted ?? null],
  ['a batch', (engine) => engine.peekBatch([keepQuestion(ask())])?.[0]?.granted ?? null],
  [
    'an effective question',
    (engine) => engine.peekEffective(SUBJECT)?.find(({ code }) => code === 'read')?.granted ?? null,
  ],
  [
    'a guard of reads',
    (engine) => {
      const member = engine.peekMember('shop', ADA);
      return member === null ? null : member.roleIds.length > 0;
    },
  ],
];

describe.each(PEEKS)('a grant that ends, and %s', (_, peek) => {
  test('counts until 10 ms before its end, whatever the tick says, and is read again then', async () => {
    const { engine, clock } = await timed(reader({ endsAt: 2000 }));
    await engine.check(ask());
    await clock.advance(1950);
    expect(peek(engine)).toBe(true);
    // No timer runs: the tick is as old as that.
    clock.time += 39;
    expect(peek(engine)).toBe(true);
    clock.time += 1;
    expect(peek(engine)).toBeNull();
    clock.time += 10;
    expect((await engine.check(ask())).decision.granted).toBe(false);
    expect(peek(engine)).toBe(false);
  });
});

describe('grants that begin and end', () => {
  test('a grant does not count before its beginning, and does from then on', async () => {
    const { engine, source, clock } = await timed(reader({ startsAt: 500 }));
    expect((await engine.check(ask())).decision.granted).toBe(false);
    const kept = keepQuestion(ask());
    expect(engine.peekKept(kept)?.granted).toBe(false);
    await clock.advance(500);
    expect(engine.peekKept(kept)).toBeNull();
    expect((await engine.check(ask())).decision.granted).toBe(true);
    // From here on it is like any other.
    expect(engine.peekKept(kept)?.granted).toBe(true);
    expect(engine.recall(`${ADA}:shop:read::` as Parameters<Engine['recall']>[0])).not.toBeNull();
    expect(source.of('members')).toHaveLength(2);
  });

  test('what is decided from a fact with a boundary is not stored', async () => {
    const { engine } = await timed(reader({ endsAt: 20_000 }));
    for (let n = 0; n < 3; n++) expect((await engine.check(ask())).decision.granted).toBe(true);
    expect(engine.sizes().decisions).toBe(0);
    expect(engine.counters.decisionHits).toBe(0);
  });

  test('a parsed question that a boundary concerns looks for its facts each time', async () => {
    const { engine, clock } = await timed(reader({ endsAt: 2000 }));
    await engine.check(ask());
    const kept = keepQuestion(ask());
    expect(engine.peekKept(kept)?.granted).toBe(true);
    clock.time += 1990;
    expect(engine.peekKept(kept)).toBeNull();
    expect(engine.peekBatch([kept])).toBeNull();
  });

  test('a fact with a boundary is read ahead, and not kept for that', async () => {
    const { engine, source, clock } = await timed(reader({ endsAt: 29_000 }));
    await engine.check(ask());
    const kept = keepQuestion(ask());
    for (let n = 0; n < 28; n++) {
      await clock.advance(990);
      expect(engine.peekKept(kept)?.granted).toBe(true);
    }
    // Twice: each time two fifths of a life were over.
    expect(source.of('members')).toHaveLength(3);
    await clock.advance(1270);
    expect(engine.peekKept(kept)).toBeNull();
  });

  test('during an outage a grant ends as it would have ended', async () => {
    const { engine, source, clock } = await timed(reader({ endsAt: 2000 }));
    await engine.check(ask());
    source.failing = new Error('away');
    await clock.advance(1989);
    expect((await engine.check(ask())).decision.granted).toBe(true);
    await clock.advance(1);
    await expect(engine.check(ask())).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  test.each([3, 9, 10])('with %i ms left a question is answered by what was read for it', async (left) => {
    const { engine, source, clock } = await timed(reader({ endsAt: 2000 }));
    clock.time += 2000 - left;
    expect((await engine.check(ask())).decision.granted).toBe(true);
    clock.time += 1;
    expect((await engine.check(ask())).decision.granted).toBe(true);
    // Each reads for itself.
    expect(source.of('members')).toHaveLength(2);
  });

  test('a decision that was cached before its grant had an end is ended by the write', async () => {
    const { engine, source, clock } = await timed(GRANT);
    await engine.check(ask());
    const kept = keepQuestion(ask());
    expect(engine.peekKept(kept)?.granted).toBe(true);
    await engine.reach(at(source.database.write([reader({ endsAt: 100 })])));
    expect(engine.peekKept(kept)).toBeNull();
    expect((await engine.check(ask())).decision.granted).toBe(true);
    await clock.advance(100);
    expect(engine.peek(ask())).toBeNull();
    expect((await engine.check(ask())).decision.granted).toBe(false);
  });

  test('facts of two statements, one of which has passed its boundary, are read again', async () => {
    const { engine, source, clock } = await timed(
      reader({ endsAt: 100 }),
      {
        kind: 'overrides-of-user',
        app: 'shop',
        email: ADA,
        ...RECORD,
        overrides: [{ permission: 'read', granted: false, accessLevel: null, endsAt: AHEAD + 1000 + 101 }],
      },
      { kind: 'roles-of-user', app: 'shop', email: BOB, roles: [] },
    );
    await engine.check(ask({ email: BOB }));
    await clock.advance(80);
    source.held = true;
    const before = source.of('members').length;
    const onRecord = engine.check(ask(RECORD));
    await settled();
    const other = engine.check(ask({ ...RECORD, resourceId: '8' }));
    await settled();
    const [first, second] = source.of('members').slice(before);
    // The role counts here, and the denial of the record; that is over when the first statement is executed.
    second?.read();
    clock.time += 25;
    first?.read();
    await second?.deliver();
    expect((await other).decision.granted).toBe(true);
    await first?.deliver();
    // At no instant did the role count without the denial.
    source.held = false;
    for (const call of source.of('members').slice(before + 2)) await call.deliver();
    expect((await onRecord).decision.granted).toBe(false);
  });

  test('a question whose facts were read by several statements again and again is answered all the same', async () => {
    const { engine, source, clock } = await timed(reader({ endsAt: 100 }));
    await engine.check(ask({ email: BOB }));
    // For so long that five attempts are over.
    source.instant = () => AHEAD + 1000 + 97;
    source.held = true;
    const statements = () => source.of('members');
    let next = statements().length;
    const answers: Promise<unknown>[] = [];
    const onRecord = engine.check(ask(RECORD));
    for (let n = 0; n < 10; n++) {
      await settled();
      const first = statements()[next++];
      clock.time += 1;
      answers.push(engine.check(ask({ ...RECORD, resourceId: `other ${n}` })));
      await settled();
      const second = statements()[next++];
      clock.time += 1;
      await second?.deliver();
      await first?.deliver();
    }
    await statements()[next]?.deliver();
    expect((await onRecord).decision.granted).toBe(true);
    expect(await Promise.all(answers)).toHaveLength(10);
    expect(engine.counters.boundariesPassed).toBeGreaterThanOrEqual(10);
  });
});

test('a decision of a batch is made anew where its grant ended while the rest was read', async () => {
  const { engine, source, clock } = await timed(reader({ endsAt: 500 }));
  await engine.check(ask());
  clock.time += 1;
  source.held = true;
  const batch = engine.batch([ask(), ask({ email: BOB })]);
  await settled();
  clock.time += 500;
  source.held = false;
  const reading = source.of('members').length;
  await source.of('members').at(-1)?.deliver();
  expect((await batch).decisions.map(({ granted }) => granted)).toEqual([false, false]);
  expect(source.of('members')).toHaveLength(reading + 1);
});

describe('facts with a boundary for other engines', () => {
  test('say what is left when the question arrives', async () => {
    const { engine, source, clock } = await timed(reader({ endsAt: 2000 }));
    const boundaries = async () => (await engine.served.members(0, [NEED], 30_000)).answers[0]?.boundaries;
    expect(await boundaries()).toEqual({ person: null, member: 1990, overrides: null });
    await clock.advance(1500);
    expect(await boundaries()).toMatchObject({ member: 490 });
    expect(source.of('members')).toHaveLength(1);
  });

  test('are read anew where they end soon, so that the asker need not ask twice', async () => {
    const { engine, source, clock } = await timed(reader({ endsAt: 2000 }));
    const answer = async () => await engine.served.members(0, [NEED], 30_000);
    await answer();
    await clock.advance(1941);
    expect(await answer()).toMatchObject({ ageMs: 0, answers: [{ boundaries: { member: 49 } }] });
    await clock.advance(55);
    expect(await answer()).toMatchObject({ ageMs: 0, answers: [{ boundaries: { member: 0 } }] });
    await clock.advance(4);
    expect(await answer()).toMatchObject({ answers: [{ member: { roleIds: [] }, boundaries: { member: null } }] });
    expect(source.of('members')).toHaveLength(4);
  });
});

test('an unchanged fact that is read again takes the boundary of that reading', async () => {
  const { engine, source, clock } = await timed(reader({ endsAt: 2000 }));
  await engine.check(ask());
  // As after a failover to a server whose clock is behind by two seconds.
  source.instant = () => AHEAD + clock.time - 2000;
  await clock.advance(1990);
  expect((await engine.check(ask())).decision.granted).toBe(true);
  await clock.advance(1990);
  expect(engine.peek(ask())?.granted).toBe(true);
  await engine.reach(at(source.database.write([REVOKE])));
  expect((await engine.check(ask())).decision.granted).toBe(false);
});
