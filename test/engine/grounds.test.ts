import { describe, expect, test } from '@jest/globals';
import { keepQuestion } from '../../src/engine/grounds.ts';
import { Level, Source } from '../../src/engine/types.ts';
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

describe('a question that is kept', () => {
  test('a kept question is answered without looking for facts that it holds', async () => {
    const { engine, source } = await fixture();
    const kept = keepQuestion(ask());
    expect(engine.peekBatch([kept])).toBeNull();
    await engine.check(kept.question);
    expect(engine.peekBatch([kept])).toEqual([VIEW]);
    const { held } = kept;
    expect(held).not.toBeNull();
    expect(engine.peekBatch([kept, null])).toHaveLength(2);
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
      engine.peekBatch([kept]);
      await engine.reach(at(source.database.write([write])));
      expect(engine.peekBatch([kept])).toBeNull();
      await engine.check(kept.question);
      expect(engine.peekBatch([kept])).toMatchObject([{ level }]);
    }
  });

  test('a kept question follows the policy of its application', async () => {
    const { engine, source } = await fixture();
    const kept = keepQuestion(ask());
    await engine.check(kept.question);
    engine.peekBatch([kept]);
    await engine.reach(at(source.database.write([{ kind: 'delete-permission', app: 'shop', permission: 'read' }])));
    expect(engine.peekBatch([kept])).toBeNull();
    await engine.check(ask({ email: BOB })); // reads the policy alone
    expect(engine.peekBatch([kept])).toMatchObject([{ granted: false }]);
  });

  test('a kept question holds no facts of an application that was deleted and made again', async () => {
    const { engine, source } = await fixture();
    const kept = keepQuestion(ask());
    await engine.check(kept.question);
    engine.peekBatch([kept]);
    await engine.reach(
      at(
        source.database.write([
          { kind: 'delete-app', app: 'shop' },
          { kind: 'create-app', app: 'shop' },
        ]),
      ),
    );
    await engine.check(ask({ email: BOB }));
    expect(engine.peekBatch([kept])).toBeNull();
  });

  test('the person and the member that a kept question holds expire', async () => {
    const { engine, source, clock } = await fixture({ cache: { ...CACHE, ttlMs: 10_000 } });
    const kept = keepQuestion(ask());
    await engine.check(kept.question);
    await clock.advance(6000);
    await engine.reach(at(source.database.write([DEFINE])));
    await engine.check(ask({ email: BOB })); // the policy is newer than the member now
    await clock.advance(3800);
    expect(engine.peekBatch([kept])).toEqual([VIEW]);
    await clock.advance(200);
    expect(engine.peekBatch([kept])).toBeNull();
  });

  test('the overrides that a kept question holds expire', async () => {
    const { engine, source, clock } = await fixture({ cache: { ...CACHE, ttlMs: 10_000 } });
    const kept = keepQuestion(ask(RECORD));
    await engine.check(kept.question);
    await clock.advance(6000);
    await engine.reach(at(source.database.write([DEFINE])));
    await engine.check(ask({ email: ADA, ...RECORD, resourceId: '8' })); // renews the member, not the overrides of the first
    await clock.advance(3800);
    expect(engine.peekBatch([kept])).toEqual([VIEW]);
    await clock.advance(200);
    expect(engine.peekBatch([kept])).toBeNull();
  });

  test('unknown codes of kept questions are counted each time', async () => {
    const { engine } = await fixture();
    const kept = keepQuestion(ask({ permission: 'no.such' }));
    await engine.check(kept.question);
    for (let i = 0; i < 3; i++) engine.peekBatch([kept]);
    expect([...engine.unknownCodes.counts()]).toEqual([{ app: 'shop', kind: 'permission', count: 4 }]);
  });

  test('clearing the cache ends what a kept question holds', async () => {
    const { engine } = await fixture();
    const kept = keepQuestion(ask());
    await engine.check(kept.question);
    engine.peekBatch([kept]);
    engine.dropAll();
    await engine.check(ask({ email: BOB }));
    expect(engine.peekBatch([kept])).toBeNull();
  });
});
