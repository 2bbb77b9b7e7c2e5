import { describe, expect, test } from '@jest/globals';
import type { Engine } from '../../src/engine/engine.ts';
import { type KeptQuestion, keepQuestion } from '../../src/engine/grounds.ts';
import { type Decision, Level, Source } from '../../src/engine/types.ts';
import type { Operation } from '../oracle/rows.ts';
import { ADA, ask, at, BOB, CACHE, fixture, GRANT, REVOKE } from './fakes.ts';

const VIEW = { granted: true, level: Level.VIEW, source: Source.ROLE, tiered: true };
const RECORD = { resourceType: 'order', resourceId: '7' };
/** Ends the facts about the application, and no others. */
const DEFINE: Operation = {
  kind: 'define-permission',
  app: 'shop',
  permission: 'ship',
  type: 'binary',
  global: false,
  groupName: null,
};

/** Each way in which a caller asks a question that it keeps. */
const WAYS: [string, (engine: Engine, kept: KeptQuestion) => Decision | null][] = [
  ['in a batch', (engine, kept) => engine.peekBatch([kept])?.[0] ?? null],
  ['by itself', (engine, kept) => engine.peekKept(kept)],
];

describe.each(WAYS)('a question that is kept, asked %s', (_way, peek) => {
  test('a kept question is answered without looking for facts that it holds', async () => {
    const { engine, source } = await fixture();
    const kept = keepQuestion(ask());
    expect(peek(engine, kept)).toBeNull();
    await engine.check(kept.question);
    expect(peek(engine, kept)).toEqual(VIEW);
    const { held } = kept;
    expect(held).not.toBeNull();
    expect(peek(engine, kept)).toEqual(VIEW);
    expect(kept.held).toBe(held);
    expect(source.of('members')).toHaveLength(1);
  });

  test('a kept question follows what its person is given and loses', async () => {
    const { engine, source } = await fixture();
    const kept = keepQuestion(ask());
    await engine.check(kept.question);
    for (const [write, level] of [
      [REVOKE, Level.NONE],
      [GRANT, Level.VIEW],
    ] as const) {
      peek(engine, kept);
      await engine.reach(at(source.database.write([write])));
      expect(peek(engine, kept)).toBeNull();
      await engine.check(kept.question);
      expect(peek(engine, kept)).toMatchObject({ level });
    }
  });

  test('a kept question follows the policy of its application', async () => {
    const { engine, source } = await fixture();
    const kept = keepQuestion(ask());
    await engine.check(kept.question);
    peek(engine, kept);
    await engine.reach(at(source.database.write([{ kind: 'delete-permission', app: 'shop', permission: 'read' }])));
    expect(peek(engine, kept)).toBeNull();
    await engine.check(ask({ email: BOB })); // reads the policy alone
    // A code that is unknown by now is left to the check.
    expect(peek(engine, kept)?.granted ?? false).toBe(false);
  });

  test('a kept question holds no facts of an application that was deleted and made again', async () => {
    const { engine, source } = await fixture();
    const kept = keepQuestion(ask());
    await engine.check(kept.question);
    peek(engine, kept);
    await engine.reach(
      at(
        source.database.write([
          { kind: 'delete-app', app: 'shop' },
          { kind: 'create-app', app: 'shop' },
        ]),
      ),
    );
    await engine.check(ask({ email: BOB }));
    expect(peek(engine, kept)).toBeNull();
  });

  test('the person and the member that a kept question holds expire', async () => {
    const { engine, source, clock } = await fixture({ cache: { ...CACHE, ttlMs: 10_000 } });
    const kept = keepQuestion(ask());
    await engine.check(kept.question);
    // So late that the policy is not due when they expire.
    await clock.advance(8000);
    await engine.reach(at(source.database.write([DEFINE])));
    await engine.check(ask({ email: BOB })); // the policy is newer than the member now
    source.failing = new Error('away');
    await clock.advance(1800);
    expect(peek(engine, kept)).toEqual(VIEW);
    await clock.advance(200);
    expect(peek(engine, kept)).toBeNull();
  });

  test('the overrides that a kept question holds expire', async () => {
    const { engine, source, clock } = await fixture({ cache: { ...CACHE, ttlMs: 10_000 } });
    const kept = keepQuestion(ask(RECORD));
    await engine.check(kept.question);
    // So late that nothing else is due when they expire.
    await clock.advance(8000);
    await engine.reach(at(source.database.write([DEFINE])));
    await engine.check(ask({ email: ADA, ...RECORD, resourceId: '8' })); // renews the member, not the overrides of the first
    source.failing = new Error('away');
    await clock.advance(1800);
    expect(peek(engine, kept)).toEqual(VIEW);
    await clock.advance(200);
    expect(peek(engine, kept)).toBeNull();
  });

  test('clearing the cache ends what a kept question holds', async () => {
    const { engine } = await fixture();
    const kept = keepQuestion(ask());
    await engine.check(kept.question);
    peek(engine, kept);
    engine.dropAll();
    await engine.check(ask({ email: BOB }));
    expect(peek(engine, kept)).toBeNull();
  });
});

describe('unknown codes', () => {
  test('unknown codes of kept questions are counted each time in a batch, and by itself left to the check', async () => {
    const { engine } = await fixture();
    const kept = keepQuestion(ask({ permission: 'no.such' }));
    await engine.check(kept.question);
    for (let i = 0; i < 3; i++) engine.peekBatch([kept]);
    expect(engine.peekKept(kept)).toBeNull();
    expect([...engine.unknownCodes.counts()]).toEqual([{ app: 'shop', kind: 'permission', count: 4 }]);
  });
});
