import { expect, test } from '@jest/globals';
import type { Behind } from '#http2-front/behind';
import { Flag, Frame, INITIAL_WINDOW } from '#http2-front/frames';
import { Passing, type PassingHost } from '#http2-front/passing';
import { NO_HEADERS, Stream } from '#http2-front/stream';

/** What grpc-js would be given: the bytes of each stream, and which of them has ended. */
function passing() {
  const given = new Map<number, number>();
  const ended: number[] = [];
  let streams = 0;
  const behind = {
    open: () => ++streams,
    write: () => undefined,
    credit: () => undefined,
    writeFrame(type: number, flags: number, id: number, _bytes: Buffer, start: number, end: number) {
      if (type !== Frame.DATA) return;
      given.set(id, (given.get(id) ?? 0) + end - start);
      if ((flags & Flag.END_STREAM) !== 0) ended.push(id);
    },
  };
  const made = new Passing({ behind: () => behind as unknown as Behind } as PassingHost);
  /** A call whose message is whole. */
  const pass = (id: number, bytes: number): Stream => {
    const stream = new Stream(id, null, { index: -1, authorize: null, many: false }, NO_HEADERS, 0);
    stream.clientEnded = true;
    stream.body = Buffer.alloc(bytes);
    stream.bodyLength = bytes;
    made.pass(stream);
    return stream;
  };
  return { made, pass, ended, given: (id: number) => given.get(id) ?? 0 };
}

test('grpc-js is given what it has room for, over all streams and for each, and the rest when it has room again', () => {
  const { made, pass, ended, given } = passing();
  pass(1, 100_000);
  pass(3, 10);
  expect([given(1), given(2), ended]).toEqual([INITIAL_WINDOW, 0, []]);
  made.onWindowUpdate(0, 1000);
  // The first has no room of its own yet.
  expect([given(1), given(2), ended]).toEqual([INITIAL_WINDOW, 10, [2]]);
  made.onWindowUpdate(1, 50_000);
  expect(given(1)).toBe(INITIAL_WINDOW + 990);
  made.onWindowUpdate(0, 100_000);
  expect([given(1), ended]).toEqual([100_000, [2, 1]]);
});

test('a larger room for each stream from its beginning counts for those that are open', () => {
  const { made, pass, ended, given } = passing();
  pass(1, 100_000);
  made.onWindowUpdate(0, 100_000);
  expect(given(1)).toBe(INITIAL_WINDOW);
  made.onInitialWindow(99_999);
  expect([given(1), ended]).toEqual([99_999, []]);
  made.onWindowUpdate(1, 1);
  expect([given(1), ended]).toEqual([100_000, [1]]);
});
