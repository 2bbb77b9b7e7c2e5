import { Flag, Frame, frame, MAX_PAYLOAD } from './frames.ts';

/** A header block as HEADERS and, where it is long, CONTINUATION frames. */
export function headersFrames(streamId: number, block: Buffer, flags: number): Buffer {
  if (block.length <= MAX_PAYLOAD) return frame(Frame.HEADERS, flags | Flag.END_HEADERS, streamId, block);
  const frames: Buffer[] = [];
  for (let at = 0; at < block.length; at += MAX_PAYLOAD) {
    const isLast = at + MAX_PAYLOAD >= block.length;
    const type = at === 0 ? Frame.HEADERS : Frame.CONTINUATION;
    const own = (at === 0 ? flags : 0) | (isLast ? Flag.END_HEADERS : 0);
    frames.push(frame(type, own, streamId, block.subarray(at, at + MAX_PAYLOAD)));
  }
  return Buffer.concat(frames);
}
