import { describe, expect, test } from '@jest/globals';
import { ADA, BOB, ELSEWHERE, fixture, GRANT, REVOKE } from './fakes.ts';

const NEED = { email: ADA, app: 'shop', resourceType: '', resourceId: '' };
const ON_RECORD = { ...NEED, resourceType: 'order', resourceId: '7' };

describe('facts for other engines', () => {
  test('are given from the caches, with the log after the revision that the asker names', async () => {
    const { engine, source } = await fixture();
    source.database.write([ELSEWHERE]);
    await engine.tail.sync();
    const first = await engine.served.members(0, [NEED, ON_RECORD], 1000);
    const statements = source.of('members').length;
    const again = await engine.served.members(0, [NEED, ON_RECORD], 1000);
    expect(source.of('members')).toHaveLength(statements);
    expect(again.answers).toEqual(first.answers);
    expect(again.answers[1]?.overrides).toMatchObject({ resourceId: '7', levels: [] });
    expect(again.window).toMatchObject({ head: 1, changes: [{ revision: 1, scopes: ['u:bob@example.com'] }] });
  });

  test('carry their age, and are read anew where they are too old', async () => {
    const { engine, source, clock } = await fixture();
    await engine.served.members(0, [NEED], 1000);
    await clock.advance(600);
    expect(await engine.served.members(0, [NEED], 1000)).toMatchObject({ ageMs: 600 });
    expect(source.of('members')).toHaveLength(1);
    await clock.advance(600);
    expect(await engine.served.members(0, [NEED], 1000)).toMatchObject({ ageMs: 0 });
    expect(source.of('members')).toHaveLength(2);
    expect(await engine.served.policy(0, 'shop', 1000)).toMatchObject({ ageMs: 0 });
    await clock.advance(100);
    expect(await engine.served.policy(0, 'shop', 1000)).toMatchObject({ ageMs: 100, policy: { app: 'shop' } });
  });

  test('are as old as the oldest of them', async () => {
    const { engine, clock } = await fixture();
    const served = async (maxAgeMs: number, ...needs: (typeof NEED)[]) =>
      (await engine.served.members(0, needs, maxAgeMs)).ageMs;
    const bob = { ...NEED, email: BOB };
    await served(1000, ON_RECORD);
    await clock.advance(100);
    expect([await served(0, NEED), await served(1000, ON_RECORD)]).toEqual([0, 100]);
    await clock.advance(100);
    // The person alone is read anew, and not what they are in the application.
    expect([await served(0, { ...NEED, app: '' }), await served(1000, NEED)]).toEqual([0, 100]);
    expect(await served(0, bob)).toBe(0);
    expect([await served(1000, bob, NEED), await served(1000, NEED, bob)]).toEqual([100, 100]);
  });

  test('are of the revision that a change made, as soon as it is known', async () => {
    const { engine, source } = await fixture();
    const held = (await engine.served.members(0, [NEED], 1000)).answers[0];
    source.database.write([REVOKE]);
    await engine.tail.sync();
    const after = await engine.served.members(0, [NEED], 1000);
    expect([held?.member.roleIds.length, after.answers[0]?.member.roleIds.length, after.window.head]).toEqual([
      1, 0, 1,
    ]);
  });

  test('come with the log from storage where it is no longer remembered', async () => {
    const { engine, source } = await fixture();
    source.database.write([GRANT]);
    await engine.tail.sync();
    engine.dropAll();
    const reply = await engine.served.members(0, [NEED], 1000);
    expect(reply.window).toMatchObject({ head: 1, changes: [{ revision: 1 }] });
    expect(reply.ageMs).toBeUndefined();
  });

  test('the log is told from memory, and read where it must be fresh or the asker is ahead', async () => {
    const { engine, source, clock } = await fixture();
    const reads = () => source.of('changes').length;
    const before = reads();
    await clock.advance(100);
    expect(await engine.served.changes(0, false)).toMatchObject({ head: 0, changes: [], ageMs: 100 });
    expect(reads()).toBe(before);
    expect(await engine.served.changes(0, true)).toMatchObject({ head: 0, ageMs: 0 });
    expect(reads()).toBe(before + 1);
    source.database.write([ELSEWHERE]);
    expect(await engine.served.changes(1, false)).toMatchObject({ head: 1, changes: [] });
    // Nobody made that one: the asker follows another history.
    expect(await engine.served.changes(9, false)).toMatchObject({ head: 1, sinceNonce: null });
  });

  test('are unavailable before the log was followed, and after the end', async () => {
    const { engine } = await fixture({ start: false });
    await expect(engine.served.members(0, [NEED], 0)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(engine.served.changes(0, false)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});
