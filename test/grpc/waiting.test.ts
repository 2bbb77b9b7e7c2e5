import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  call,
  closeDoors,
  encodeCheck,
  failureOf,
  openClient,
  openDoor,
  openRaw,
  QUESTION,
  refusalOf,
  SUBJECT,
} from './support.ts';

afterEach(closeDoors);

/** Until the condition holds; the test's own limit ends a wait in vain. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

const never = new Promise<never>(() => {});

describe('a waiting call', () => {
  test("a waiting call ends at its caller's deadline", async () => {
    const door = await openDoor();
    door.engine.warm = false;
    door.engine.gate = never;
    const client = openClient(door.port);
    // Connected first, so that the deadline passes while the engine is at it.
    await call(client, 'Check', { ...QUESTION, email: 'nobody' });
    const deadline = Date.now() + 1000;
    const ended = Promise.all(
      [
        call(client, 'Check', QUESTION, { deadline }),
        call(client, 'BulkCheck', { ...SUBJECT, permissions: ['edit'] }, { deadline }),
        call(client, 'Effective', SUBJECT, { deadline }),
      ].map(failureOf),
    );
    await until(() => door.engine.waits === 3);
    for (const { code } of await ended) expect(code).toBe(status.DEADLINE_EXCEEDED);
    await until(() => door.metrics.calls().length === 4);
    for (const method of ['Check', 'BulkCheck', 'Effective']) {
      expect(door.metrics.calls()).toContainEqual({ method, status: 'DEADLINE_EXCEEDED', count: 1 });
    }
  });

  test('a waiting call ends when its caller hangs up', async () => {
    const door = await openDoor();
    door.engine.warm = false;
    door.engine.gate = never;
    const running = call(openClient(door.port), 'Check', QUESTION);
    await until(() => door.engine.waits === 1);
    running.cancel();
    expect((await failureOf(running)).code).toBe(status.CANCELLED);
    await until(() => door.metrics.calls().length === 1);
    expect(door.metrics.calls()).toEqual([{ method: 'Check', status: 'CANCELLED', count: 1 }]);
  });

  test('a waiting call ends when its connection breaks', async () => {
    const door = await openDoor();
    door.engine.warm = false;
    door.engine.gate = never;
    const raw = openRaw(door.port);
    void raw.check(encodeCheck()).catch(() => {});
    await until(() => door.engine.waits === 1);
    raw.close();
    await until(() => door.metrics.calls().length === 1);
    expect(door.metrics.calls()).toEqual([{ method: 'Check', status: 'CANCELLED', count: 1 }]);
  });

  test('a waiting call without a deadline ends after the longest time for a call', async () => {
    const door = await openDoor({ times: { deadlineMs: 40 } });
    door.engine.warm = false;
    door.engine.gate = never;
    const client = openClient(door.port);
    const refusal = await refusalOf(call(client, 'Check', QUESTION, { metadata: { 'x-request-id': 'request-0002' } }));
    expect(refusal).toMatchObject({ status: status.DEADLINE_EXCEEDED, reason: 'DEADLINE_EXCEEDED', retrySeconds: 1n });
    expect(refusal.trailers.get('x-request-id')).toEqual(['request-0002']);
    expect(door.metrics.calls()).toEqual([{ method: 'Check', status: 'DEADLINE_EXCEEDED', count: 1 }]);
  });

  test('each of many waiting calls ends at its own time', async () => {
    const door = await openDoor({ times: { deadlineMs: 150 } });
    door.engine.warm = false;
    door.engine.gate = never;
    const client = openClient(door.port);
    await call(client, 'Check', { ...QUESTION, email: 'nobody' });
    const took: number[] = [];
    const calls: Promise<unknown>[] = [];
    for (let i = 0; i < 4; i++) {
      const began = performance.now();
      calls.push(
        failureOf(call(client, 'Check', QUESTION)).then(({ code }) => {
          expect(code).toBe(status.DEADLINE_EXCEEDED);
          took.push(performance.now() - began);
        }),
      );
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    await Promise.all(calls);
    for (const ms of took) expect(ms).toBeGreaterThan(140);
    // The third began when the first had not yet ended: a timer for the first alone would leave it waiting for ever.
    expect(took).toHaveLength(4);
  });

  test('a denial that waits for a revision is bounded, too', async () => {
    const door = await openDoor({ times: { deadlineMs: 40 } });
    door.engine.reach = () => never;
    const refusal = await refusalOf(
      call(openClient(door.port), 'Check', { ...QUESTION, email: 'nobody', minRevision: '8' }),
    );
    expect(refusal.reason).toBe('DEADLINE_EXCEEDED');
  });

  test('an answer or failure after the end is dropped', async () => {
    const door = await openDoor({ times: { deadlineMs: 30 } });
    door.engine.warm = false;
    const client = openClient(door.port);
    for (const failure of [undefined, new Error('late')]) {
      let open = () => {};
      door.engine.gate = new Promise<void>((resolve) => {
        open = resolve;
      });
      expect((await failureOf(call(client, 'Check', QUESTION))).code).toBe(status.DEADLINE_EXCEEDED);
      door.engine.failure = failure;
      open();
      await new Promise((resolve) => setImmediate(resolve));
    }
    door.engine.failure = undefined;
    door.engine.warm = true;
    await call(client, 'Check', QUESTION);
    expect(door.metrics.calls()).toEqual([
      { method: 'Check', status: 'OK', count: 1 },
      { method: 'Check', status: 'DEADLINE_EXCEEDED', count: 2 },
    ]);
  });

  test('waiting calls do not delay immediate ones', async () => {
    const door = await openDoor();
    door.engine.gate = never;
    const client = openClient(door.port);
    const waiting = Array.from({ length: 50 }, () => call(client, 'Effective', SUBJECT));
    await until(() => door.engine.waits === 50);
    const { message } = await call(client, 'Check', QUESTION);
    expect(message.allowed).toBe(true);
    for (const one of waiting) one.cancel();
    await Promise.allSettled(waiting);
  });
});
