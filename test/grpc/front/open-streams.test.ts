import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { OpenStreams } from '#http2-front/open-streams';
import { Stream } from '#http2-front/stream';

const stream = (id: number) =>
  new Stream(id, null, null, { names: [], values: [], tooLong: false, repeated: false }, 0);

describe('the open streams of a connection', () => {
  test('are those of a map, whatever is opened and closed', () => {
    const steps = fc.array(fc.oneof(fc.constant('open' as const), fc.nat(20)), { maxLength: 60 });
    fc.assert(
      fc.property(steps, (taken) => {
        const open = new OpenStreams();
        const expected = new Map<number, Stream>();
        const all: Stream[] = [];
        for (const step of taken) {
          if (step === 'open') {
            const opened = stream(2 * all.length + 1);
            all.push(opened);
            open.add(opened);
            expected.set(opened.id, opened);
          } else {
            const closed = all[step % Math.max(1, all.length)];
            if (closed !== undefined) expect(open.delete(closed)).toBe(expected.delete(closed.id));
          }
          expect(open.size).toBe(expected.size);
          expect([...open.values()]).toEqual([...expected.values()]);
          for (const { id } of all) expect(open.get(id)).toBe(expected.get(id));
        }
      }),
    );
  });

  test('may be closed while all of them are looked at', () => {
    const open = new OpenStreams();
    const streams = [1, 3, 5, 7].map(stream);
    for (const one of streams) open.add(one);
    const seen: number[] = [];
    for (const { id } of open.values()) {
      seen.push(id);
      for (const one of streams.filter((other) => other.id !== 5)) open.delete(one);
    }
    expect(seen).toEqual([1, 5]);
    expect(open.size).toBe(1);
    open.clear();
    expect([...open.values()]).toEqual([]);
    expect(open.get(5)).toBeUndefined();
  });
});
