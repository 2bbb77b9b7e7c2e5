/** Frames of a client that carry no call: SETTINGS, PING, GOAWAY, PRIORITY. */

import { ConnectionFault, ErrorCode, Flag, Frame, frame, SETTINGS_ACK, Setting, settingsFrame } from './frames.ts';
import { MAX_HEADER_LIST } from './hpack.ts';
import { type ClientSettings, readSettings } from './settings.ts';
import { MAX_STREAMS } from './streams.ts';

export const OUR_SETTINGS: Buffer = settingsFrame([
  [Setting.MAX_CONCURRENT_STREAMS, MAX_STREAMS],
  [Setting.MAX_HEADER_LIST_SIZE, MAX_HEADER_LIST],
]);

const KEEPALIVE_BYTES = Buffer.from('alive?\0\0', 'latin1');
const DRAINING_BYTES = Buffer.from('ending\0\0', 'latin1');
/** Our pings. The answer to the second says that the client has read what was sent before it. */
export const KEEPALIVE: Buffer = frame(Frame.PING, Flag.NONE, 0, KEEPALIVE_BYTES);
export const DRAINING: Buffer = frame(Frame.PING, Flag.NONE, 0, DRAINING_BYTES);

/** The connection, as these frames change it. */
export interface ControlHost {
  send(frames: Buffer): void;
  onSettings(settings: ClientSettings): void;
  /** The client has answered `DRAINING`. */
  onDrained(): void;
  onGoaway(): void;
  /** An error of one stream, which may not even be open. */
  onStreamFault(id: number, errorCode: number): void;
}

/** Throws ConnectionFault. Unknown frames are ignored (RFC 9113 section 5.5). */
export function readControlFrame(host: ControlHost, type: number, flags: number, id: number, payload: Buffer): void {
  switch (type) {
    case Frame.SETTINGS:
      checkConnection(id);
      if ((flags & Flag.ACK) !== 0) checkLength(payload.length, 0);
      else {
        const settings = readSettings(payload);
        host.send(SETTINGS_ACK);
        host.onSettings(settings);
      }
      return;
    case Frame.PING:
      checkConnection(id);
      checkLength(payload.length, 8);
      if ((flags & Flag.ACK) === 0) host.send(frame(Frame.PING, Flag.ACK, 0, payload));
      else if (payload.equals(DRAINING_BYTES)) host.onDrained();
      return;
    case Frame.GOAWAY:
      checkConnection(id);
      if (payload.length < 8) throw new ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, 'GOAWAY that is too short');
      host.onGoaway();
      return;
    case Frame.PRIORITY:
      checkStream(id);
      if (payload.length !== 5) host.onStreamFault(id, ErrorCode.FRAME_SIZE_ERROR);
      else if ((payload.readUInt32BE() & 0x7fffffff) === id) host.onStreamFault(id, ErrorCode.PROTOCOL_ERROR);
      return;
    case Frame.PUSH_PROMISE:
      throw new ConnectionFault(ErrorCode.PROTOCOL_ERROR, 'a client cannot push');
    default:
      return;
  }
}

/** Frames of a stream. Streams of clients have odd numbers. */
export function checkStream(id: number): void {
  if (id % 2 === 0) throw new ConnectionFault(ErrorCode.PROTOCOL_ERROR, `a frame of stream ${id}`);
}

export function checkLength(length: number, expected: number): void {
  if (length !== expected) throw new ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, `a frame of ${length} bytes`);
}

/** Frames of the whole connection. */
function checkConnection(id: number): void {
  if (id !== 0) throw new ConnectionFault(ErrorCode.PROTOCOL_ERROR, 'a frame of the connection on a stream');
}
