import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { FrameReader } from '#http2-front/frame-reader';
import { frame, MAX_PAYLOAD } from '#http2-front/frames';

type Read = [type: number, flags: number, id: number, payload: string];

function reader(): { frames: Read[]; reader: FrameReader } {
  const frames: Read[] = [];
  const made = new FrameReader((type, flags, id, bytes, start, end) => {
    frames.push([type, flags, id, bytes.toString('latin1', start, end)]);
  });
  return { frames, reader: made };
}

const ANY_FRAME = fc.tuple(
  fc.nat(255),
  fc.nat(255),
  fc.nat(2 ** 31 - 1),
  fc.oneof(fc.string({ unit: 'binary-ascii', maxLength: 40 }), fc.constant('x'.repeat(MAX_PAYLOAD))),
);

describe('the reader of frames', () => {
  test('frames are the same however their bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(ANY_FRAME, { maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 30_000 }), { minLength: 1 }),
        (all, cuts) => {
          const bytes = Buffer.concat(
            all.map(([type, flags, id, payload]) => frame(type, flags, id, Buffer.from(payload))),
          );
          const { frames, reader: reading } = reader();
          for (let at = 0, cut = 0; at < bytes.length; cut++) {
            const size = cuts[cut % cuts.length] as number;
            reading.read(bytes.subarray(at, at + size));
            at += size;
          }
          expect(frames).toEqual(all);
        },
      ),
    );
  });

  test('a chunk that is used again afterwards changes nothing that was read', () => {
    const { frames, reader: reading } = reader();
    const bytes = frame(0, 1, 5, Buffer.from('a message'));
    const chunk = Buffer.alloc(12);
    for (let at = 0; at < bytes.length; at += 12) {
      const size = bytes.copy(chunk, 0, at, at + 12);
      reading.read(chunk.subarray(0, size));
      chunk.fill(0xff);
    }
    expect(frames).toEqual([[0, 1, 5, 'a message']]);
  });

  test('a frame above the limit is refused by its length, before its payload comes', () => {
    const { reader: reading } = reader();
    const head = Buffer.from([0, 0x40, 1, 0, 0, 0, 0, 0, 1]);
    expect(() => reading.read(head)).toThrow(expect.objectContaining({ errorCode: 0x6 }));
  });

  test('nothing is read after a stop, not even of the same chunk', () => {
    const seen: number[] = [];
    const reading: FrameReader = new FrameReader((type) => {
      seen.push(type);
      reading.stop();
    });
    reading.read(Buffer.concat([frame(1, 0, 1, Buffer.alloc(3)), frame(2, 0, 1, Buffer.alloc(3))]));
    reading.read(frame(3, 0, 1, Buffer.alloc(3)));
    expect(seen).toEqual([1]);
  });
});
