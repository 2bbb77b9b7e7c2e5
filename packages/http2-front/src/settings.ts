/** A client's SETTINGS (RFC 9113 section 6.5.2). */

import { ConnectionFault, ErrorCode, MAX_WINDOW, Setting } from './frames.ts';

const MAX_ENTRIES = 32;
const FRAME_SIZES = { least: 16_384, most: 16_777_215 };

/** The settings that change what is sent here, where the client names them. */
export interface ClientSettings {
  initialWindow?: number;
  headerTable?: number;
}

/** Throws ConnectionFault. */
export function readSettings(payload: Buffer): ClientSettings {
  if (payload.length % 6 !== 0) {
    throw new ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, 'SETTINGS with a part of an entry');
  }
  if (payload.length > 6 * MAX_ENTRIES) {
    throw new ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, 'SETTINGS with too many entries');
  }
  const settings: ClientSettings = {};
  for (let at = 0; at < payload.length; at += 6) {
    const value = payload.readUInt32BE(at + 2);
    switch (payload.readUInt16BE(at)) {
      case Setting.HEADER_TABLE_SIZE:
        settings.headerTable = value;
        break;
      case Setting.ENABLE_PUSH:
        if (value > 1) throw new ConnectionFault(ErrorCode.PROTOCOL_ERROR, 'ENABLE_PUSH is neither 0 nor 1');
        break;
      case Setting.INITIAL_WINDOW_SIZE:
        if (value > MAX_WINDOW) throw new ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, 'a window above 2^31 - 1');
        settings.initialWindow = value;
        break;
      case Setting.MAX_FRAME_SIZE:
        if (value < FRAME_SIZES.least || value > FRAME_SIZES.most) {
          throw new ConnectionFault(ErrorCode.PROTOCOL_ERROR, 'MAX_FRAME_SIZE outside its limits');
        }
        break;
      default:
        // Nothing is pushed, and unknown settings must be ignored.
        break;
    }
  }
  return settings;
}
