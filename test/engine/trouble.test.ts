import { describe, expect, test } from '@jest/globals';
import { UsherError, unavailable } from '../../src/base/errors.ts';
import { Level, Source } from '../../src/engine/types.ts';
import { ADA, ask, at, ELSEWHERE, fixture, REVOKE, settled } from './fakes.ts';

const VIEW = { granted: true, level: Level.VIEW, source: Source.ROLE, tiered: true };
const DENIED = { granted: false, level: Level.NONE, source: Source.NONE, tiered: true };

describe('trouble is never an answer', () => {
  const away = unavailable('the database is away');

  test('start fails when the database is unavailable', async () => {
    const { engine, source } = await fixture({ start: false });
    source.failing = away;
    await expect(engine.start()).rejects.toBe(away);
    expect(engine.status()).toMatchObject({ ready: false });
  });

  test('questions before the start and after the end are refused', async () => {
    const { engine, source, clock } = await fixture({ start: false });
    await expect(engine.check(ask())).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await engine.start();
    await engine.check(ask());
    await engine.close();
    expect(engine.peek(ask())).toBeNull();
    await expect(engine.check(ask())).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(source.unlistened).toBe(1);
    expect(clock.timers).toBe(0);
    expect(engine.status().ready).toBe(false);
  });

  test('a failed load is UNAVAILABLE for all who wait, and is not remembered', async () => {
    const { engine, source } = await fixture();
    source.failing = away;
    const answers = await Promise.allSettled([engine.check(ask()), engine.check(ask()), engine.person(ADA)]);
    expect(answers.map((answer) => answer.status === 'rejected' && answer.reason)).toEqual([away, away, away]);
    expect(engine.sizes()).toEqual({ decisions: 0, policies: 0, persons: 0, members: 0 });
    source.failing = undefined;
    expect((await engine.check(ask())).decision).toEqual(VIEW);
  });

  test('an unknown error of the source is UNAVAILABLE, too', async () => {
    const { engine, source } = await fixture();
    source.failing = new TypeError('a defect of the source');
    const error = await engine.check(ask()).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(UsherError);
    expect(error).toMatchObject({ code: 'UNAVAILABLE', cause: source.failing });
  });

  test('a source that never settles is given up after five seconds, and its late reply is harmless', async () => {
    const { engine, source, clock } = await fixture();
    source.held = true;
    const answer = engine.check(ask()).catch((error: unknown) => error);
    await settled();
    await clock.advance(5000);
    expect(await answer).toMatchObject({ code: 'UNAVAILABLE' });
    for (const call of source.calls) await call.deliver();
    source.held = false;
    expect((await engine.check(ask())).decision).toEqual(VIEW);
  });

  test('a reply with the wrong number of answers is refused', async () => {
    const { engine, source } = await fixture();
    const members = source.members.bind(source);
    source.members = async (...args) => ({ ...(await members(...args)), answers: [] });
    await expect(engine.check(ask())).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  test('during an outage answers continue for the TTL, then are UNAVAILABLE, and recover with the database', async () => {
    const { engine, source, clock, logged } = await fixture();
    await engine.check(ask());
    source.failing = away;
    await clock.advance(29_000);
    expect(engine.peek(ask())).toEqual(VIEW);
    expect(engine.status().ready).toBe(true);
    await clock.advance(1100);
    expect(engine.peek(ask())).toBeNull();
    await expect(engine.check(ask())).rejects.toBe(away);
    expect(engine.status().ready).toBe(false);
    expect(engine.status().lastSyncAgeMs).toBeGreaterThan(30_000);
    source.failing = undefined;
    source.database.write([REVOKE]);
    await clock.advance(300);
    expect(engine.status().ready).toBe(true);
    expect((await engine.check(ask())).decision).toEqual(DENIED);
    expect(logged).toEqual([
      ['warn', 'change log not readable'],
      ['info', 'change log readable again'],
    ]);
  });

  test('a source that cannot listen is polled', async () => {
    const { engine, source, clock, logged } = await fixture({ start: false });
    source.listen = () => Promise.reject(new Error('no LISTEN through this pooler'));
    await engine.start();
    source.database.write([ELSEWHERE]);
    await clock.advance(300);
    expect(engine.cursor).toBe(1);
    expect(logged).toContainEqual(['warn', 'change notifications unavailable; polling instead']);
  });
});

describe('callers that leave', () => {
  test('a deadline ends the wait, not the load', async () => {
    const { engine, source } = await fixture();
    source.held = true;
    const leaving = new AbortController();
    const left = engine.check(ask(), { signal: leaving.signal }).catch((error: unknown) => error);
    const stays = engine.check(ask());
    await settled();
    leaving.abort();
    expect(await left).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    for (const call of source.calls) await call.deliver();
    expect((await stays).decision).toEqual(VIEW);
    expect(source.of('members')).toHaveLength(1);
  });

  test('a load whose callers all left ends by itself, even in failure', async () => {
    const { engine, source } = await fixture();
    source.held = true;
    const reason = new UsherError('RATE_LIMITED', 'no more for you');
    const left = engine.check(ask(), { signal: AbortSignal.abort(reason) });
    await expect(left).rejects.toBe(reason);
    await settled();
    for (const call of source.calls) await call.fail(unavailable('gone'));
    expect(engine.sizes().decisions).toBe(0);
    expect(engine.peek(ask())).toBeNull();
  });

  test('a deadline ends the wait for a revision, too', async () => {
    const { engine, source } = await fixture();
    source.held = true;
    const leaving = new AbortController();
    const left = engine.check(ask(), { minRevision: at(7), signal: leaving.signal });
    leaving.abort();
    await expect(left).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  });
});
