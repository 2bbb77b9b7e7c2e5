/** Bytes that were a good client's once: frames reordered, cut, lying about their length, of another type, with bits turned. */
import { pick, type Random } from '../oracle/world.ts';
import {
  Flag,
  Frame,
  FrameReader,
  frame,
  NOTHING,
  PREFACE,
  ping,
  priority,
  type ReadFrame,
  reset,
  settings,
  uint32,
  windowUpdate,
} from './frames.ts';

/** A frame that may say another length than it has. */
interface Draft {
  type: number;
  flags: number;
  stream: number;
  payload: Buffer;
  lie: number;
}

const IDS = [0, 1, 2, 3, 5, 7, 9, 11, 2 ** 31 - 1, 2 ** 31 - 2];
const NUMBERS = [0, 1, 2, 100, 16_383, 16_384, 65_535, 65_536, 2 ** 24 - 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1];
/** Beginnings of fields, integers and strings of HPACK that are at an edge. */
const HPACK: readonly (readonly number[])[] = [
  [0x80],
  [0xbe],
  [0xbf],
  [0xff, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
  [0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
  [0x20],
  [0x3f, 0xe1, 0x1f],
  [0x3f, 0xe2, 0x1f],
  [0x40, 0, 0],
  [0x40, 0x81, 0xff, 0],
  [0x40, 0x84, 0xff, 0xff, 0xff, 0xff, 0],
  [0x40, 1, 0x61, 0x7f, 0xff, 0xff, 0x03],
  [0x7f, 0x80, 0x80, 0x80, 0x80, 0x10, 0],
  [0x10, 1, 0x3a, 1, 0x61],
  [0x00, 1, 0x0a, 1, 0x0d],
];

function byte(random: Random): number {
  return random(256);
}

function between(random: Random, least: number, most: number): number {
  return least + random(most - least + 1);
}

/** A frame that means something, wherever it comes. */
function interesting(random: Random): Buffer {
  const id = pick(random, IDS);
  return pick(random, [
    () => settings([1 + random(8), pick(random, NUMBERS)]),
    () => settings(...Array.from({ length: random(20) }, (): [number, number] => [random(10), pick(random, NUMBERS)])),
    () => windowUpdate(id, pick(random, NUMBERS)),
    () => reset(id, random(16)),
    () => frame(Frame.PRIORITY, Flag.NONE, id, priority(pick(random, IDS), byte(random), random(2) === 0)),
    () => frame(Frame.GOAWAY, Flag.NONE, 0, Buffer.concat([uint32(id), uint32(random(16))])),
    () => frame(Frame.CONTINUATION, random(2) * Flag.END_HEADERS, id, Buffer.from(pick(random, HPACK))),
    () => frame(Frame.HEADERS, Flag.END_HEADERS | random(2), id, Buffer.from(pick(random, HPACK))),
    () => frame(Frame.DATA, random(2), id, Buffer.alloc(random(30), random(2))),
    () =>
      frame(
        Frame.DATA,
        Flag.PADDED | random(2),
        id,
        Buffer.from([byte(random), ...Array.from({ length: random(9) }, () => 0)]),
      ),
    () => ping(Buffer.alloc(8, byte(random)), random(2)),
    () => frame(Frame.PUSH_PROMISE, Flag.END_HEADERS, id, Buffer.from([0, 0, 0, 2, 0x83])),
    () => frame(byte(random), byte(random), id, Buffer.alloc(random(40), byte(random))),
    () => PREFACE,
  ])();
}

function turnBits(random: Random, bytes: Buffer, most: number): Buffer {
  const copy = Buffer.from(bytes);
  for (let n = between(random, 1, most); n > 0 && copy.length > 0; n--) {
    const at = random(copy.length);
    copy[at] = (copy[at] as number) ^ (1 << random(8));
  }
  return copy;
}

function spliced(random: Random, bytes: Buffer, piece: Buffer): Buffer {
  const at = random(bytes.length + 1);
  const skipped = random(2) === 0 ? 0 : random(bytes.length - at + 1);
  return Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at + skipped)]);
}

/** Changes of one frame. */
const OF_FRAME: readonly ((draft: Draft, random: Random) => void)[] = [
  (draft, random) => {
    draft.payload = turnBits(random, draft.payload, 4);
  },
  (draft, random) => {
    draft.type = random(12);
  },
  (draft, random) => {
    draft.flags = random(2) === 0 ? byte(random) : draft.flags ^ pick(random, [0x1, 0x4, 0x8, 0x20]);
  },
  (draft, random) => {
    draft.stream = pick(random, IDS);
  },
  (draft, random) => {
    draft.payload = draft.payload.subarray(0, random(draft.payload.length + 1));
  },
  (draft, random) => {
    draft.payload = Buffer.concat([draft.payload, Buffer.alloc(random(300), byte(random))]);
  },
  (draft, random) => {
    draft.lie = pick(random, [-5, -1, 1, 2, 9, 100, 16_384, 2 ** 23]);
  },
  (draft, random) => {
    draft.payload = spliced(random, draft.payload, Buffer.from(pick(random, HPACK)));
  },
  (draft, random) => {
    draft.payload = spliced(random, draft.payload, Buffer.from([byte(random), byte(random)]));
  },
];

/** Changes of the order of frames. */
const OF_ORDER: readonly ((frames: Draft[], random: Random) => void)[] = [
  (frames, random) => {
    frames.splice(random(frames.length), 1 + random(3));
  },
  (frames, random) => {
    const at = random(frames.length);
    frames.splice(random(frames.length + 1), 0, { ...(frames[at] as Draft) });
  },
  (frames, random) => {
    const [taken] = frames.splice(random(frames.length), 1);
    frames.splice(random(frames.length + 1), 0, taken as Draft);
  },
  (frames, random) => {
    const at = random(frames.length);
    frames.push(
      ...frames.slice(at, at + 1 + random(6)).map((one) => ({ ...one, stream: one.stream + 2 * random(20) })),
    );
  },
];

function written({ type, flags, stream, payload, lie }: Draft): Buffer {
  const length = Math.min(2 ** 24 - 1, Math.max(0, payload.length + lie));
  return frame(type, flags & 0xff, stream >>> 0, payload, length);
}

/** `bytes`: a preface and whole frames. At least one thing about them is changed. */
export function mutate(random: Random, bytes: Buffer): Buffer {
  const frames: Draft[] = [];
  const draft = ({ type, flags, stream, payload }: ReadFrame): void => {
    frames.push({ type, flags, stream, payload, lie: 0 });
  };
  new FrameReader().read(bytes.subarray(PREFACE.length), draft);
  let extra = NOTHING;
  for (let n = 1 + random(random(4) === 0 ? 12 : 3); n > 0 && frames.length > 0; n--) {
    const kind = random(5);
    if (kind < 3) pick(random, OF_FRAME)(pick(random, frames), random);
    else if (kind === 3) pick(random, OF_ORDER)(frames, random);
    else extra = interesting(random);
  }
  const pieces = frames.map(written);
  pieces.splice(random(pieces.length + 1), 0, extra);
  const preface = random(30) === 0 ? turnBits(random, PREFACE, 2).subarray(random(3)) : PREFACE;
  let all: Buffer = Buffer.concat([preface, ...pieces]);
  if (random(6) === 0) all = turnBits(random, all, 3);
  return random(6) === 0 ? all.subarray(0, random(all.length + 1)) : all;
}
