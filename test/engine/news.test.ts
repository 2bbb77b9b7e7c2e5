import { describe, expect, test } from '@jest/globals';
import type { LogNews } from '../../src/engine/types.ts';
import { ask, at, ELSEWHERE, type Fixture, fixture, REVOKE, settled } from './fakes.ts';

/** A fixture at revision 1, so that its history has a name; and the log after it, as it is told without a question. */
async function followed(): Promise<Fixture & { news: (since?: number) => LogNews; reads: () => number }> {
  const made = await fixture();
  const { engine, source } = made;
  source.database.write([ELSEWHERE]);
  await engine.reach(at(1));
  return {
    ...made,
    news: (since = 1) => ({ since, ...source.database.window(since, 1000) }),
    reads: () => source.of('changes').length,
  };
}

describe('changes that are told', () => {
  test('end what they name, without a read of the log', async () => {
    const { engine, source, news, reads } = await followed();
    await engine.check(ask());
    const before = reads();
    source.database.write([REVOKE]);
    source.wake(news());
    expect([engine.cursor, engine.peek(ask())]).toEqual([2, null]);
    expect(reads()).toBe(before);
    expect((await engine.check(ask())).decision.granted).toBe(false);
  });

  test('say nothing about now', async () => {
    const { engine, source, clock, news } = await followed();
    source.held = true;
    await clock.advance(400);
    source.database.write([ELSEWHERE]);
    source.wake(news());
    expect(engine.cursor).toBe(2);
    expect(engine.status().lastSyncAgeMs).toBeGreaterThanOrEqual(400);
  });

  test('that come twice, or late, change nothing', async () => {
    const { engine, source, news, reads } = await followed();
    source.database.write([ELSEWHERE]);
    const first = news();
    source.database.write([REVOKE]);
    source.wake(news());
    const before = reads();
    source.wake(first);
    source.wake(first);
    expect([engine.cursor, reads()]).toEqual([3, before]);
  });

  test.each<[string, (news: LogNews) => LogNews | undefined]>([
    ['that begin after what is known', (news) => ({ ...news, since: 2, sinceNonce: news.changes[0]?.nonce ?? null })],
    ['of another history', (news) => ({ ...news, sinceNonce: 'another' })],
    ['of which one is missing', (news) => ({ ...news, changes: news.changes.slice(1) })],
    ['that cannot be told', () => undefined],
  ])('%s only make it look', async (_, changed) => {
    const { engine, source, news, reads } = await followed();
    source.database.write([ELSEWHERE]);
    source.database.write([REVOKE]);
    source.held = true;
    const before = reads();
    source.wake(changed(news()));
    expect([engine.cursor, reads()]).toEqual([1, before + 1]);
    source.held = false;
    await source.calls.at(-1)?.deliver();
    await settled();
    expect(engine.cursor).toBe(3);
  });

  test('of another history than what is known in between only make it look', async () => {
    const { engine, source, news } = await followed();
    source.database.write([ELSEWHERE]);
    await engine.reach(at(2));
    const other = { ...news(), head: 3, headNonce: 'other' };
    const changes = [2, 3].map((revision) => ({ revision, nonce: `other ${revision}`, scopes: ['*'] }));
    source.wake({ ...other, changes });
    await settled();
    expect(engine.cursor).toBe(2);
  });
});
