/** What a client grants: for its connection, for a stream, and for each stream from its beginning (RFC 9113 section 6.9). */

import { checkLength } from './control-frames.ts';
import { ConnectionFault, ErrorCode } from './frames.ts';
import type { LazyBehind } from './lazy-behind.ts';
import type { Outbound } from './outbound.ts';
import { Phase } from './stream.ts';
import type { Streams } from './streams.ts';

/** In bytes read: to look at a stream whose answer waits. A few bytes can ask for that of all streams. */
const LOOK_COST = 16;

/** The client's connection. */
export interface WindowsHost {
  readonly outbound: Outbound;
  readonly streams: Streams;
  readonly behind: LazyBehind;
  /** Something costs as much as reading that many bytes. */
  spend(bytes: number): void;
  /** Throws ConnectionFault for a stream that was never opened. */
  checkNotIdle(id: number): void;
}

export class ClientWindows {
  readonly #host: WindowsHost;

  constructor(host: WindowsHost) {
    this.#host = host;
  }

  /** A WINDOW_UPDATE frame. Throws ConnectionFault. */
  onUpdate(id: number, bytes: Buffer, start: number, end: number): void {
    const { outbound, streams } = this.#host;
    checkLength(end - start, 4);
    const increment = bytes.readUInt32BE(start) & 0x7fffffff;
    if (id === 0) {
      this.#host.spend(LOOK_COST * outbound.grow(increment));
      return;
    }
    const stream = streams.get(id);
    if (stream === undefined) this.#host.checkNotIdle(id);
    else if (stream.phase === Phase.PASSED) streams.passing.grant(stream, increment);
    else if (increment === 0) streams.reset(stream, ErrorCode.PROTOCOL_ERROR);
    else {
      streams.grant(stream, increment);
      this.#host.spend(LOOK_COST * outbound.pumpAll());
    }
  }

  /** The client's SETTINGS_INITIAL_WINDOW_SIZE. Throws ConnectionFault. */
  setInitial(size: number): void {
    const { outbound, streams } = this.#host;
    if (size === outbound.initialWindow) return;
    if (!streams.allowInitialWindow(size)) {
      throw new ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, 'a window above 2^31 - 1');
    }
    outbound.initialWindow = size;
    this.#host.behind.open?.setInitialWindow(size);
    this.#host.spend(LOOK_COST * (streams.size + outbound.pumpAll()));
  }
}
