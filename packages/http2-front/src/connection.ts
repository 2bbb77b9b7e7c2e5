/** One client's connection (RFC 9113, the server's side): its frames, windows and end. The streams are in streams.ts. */

import type { Behind } from './behind.ts';
import { ClientWindows } from './client-windows.ts';
import {
  type ControlHost,
  checkLength,
  checkStream,
  DRAINING,
  KEEPALIVE,
  OUR_SETTINGS,
  readControlFrame,
} from './control-frames.ts';
import { DeadlineTimer } from './deadline-timer.ts';
import { ConnectionFault, ErrorCode, Flag, Frame, goawayFrame, MAX_STREAM_ID } from './frames.ts';
import { GUEST_COST, type Guest } from './guests.ts';
import { HeadReader } from './head-reader.ts';
import { type HeaderBlock, HeaderBlocks } from './header-blocks.ts';
import type { Host } from './host.ts';
import { USUAL_TABLE } from './hpack.ts';
import { Inbound, TURN_BYTES } from './inbound.ts';
import { LazyBehind } from './lazy-behind.ts';
import { Verdict } from './other-calls.ts';
import { Outbound } from './outbound.ts';
import { Patience } from './patience.ts';
import type { Clock, ConnectionGuesses } from './service.ts';
import type { ClientSocket, ConnectionParts, FrontService } from './shared.ts';
import { Phase } from './stream.ts';
import { StreamIds } from './stream-ids.ts';
import { MAX_STREAMS, Streams } from './streams.ts';
import type { UnfinishedShare } from './unfinished.ts';

/** What a connection to grpc-js costs. */
const BEHIND_COST = 65_536;
export class Connection implements Host {
  readonly service: FrontService;
  readonly outbound: Outbound;
  readonly unfinished: UnfinishedShare;
  readonly guesses: ConnectionGuesses | null;
  readonly #inbound: Inbound;
  /** Null once a right was shown. */
  #guest: Guest | null;
  readonly #socket: ClientSocket;
  readonly #clock: Clock;
  readonly #heads: HeadReader;
  readonly #blocks = new HeaderBlocks();
  readonly #streams: Streams;
  readonly #patience: Patience;
  readonly #control: ControlHost = {
    send: (bytes) => this.outbound.frames(bytes),
    onSettings: ({ initialWindow, headerTable }) => {
      this.arrived = true;
      if (headerTable !== undefined && headerTable < USUAL_TABLE) this.outbound.forgetTable();
      if (initialWindow !== undefined) this.#windows.setInitial(initialWindow);
    },
    onDrained: () => this.refuseNew(),
    onGoaway: () => {
      // The client's open calls go on; the connection ends with them.
      if (this.#streams.size === 0) this.#end();
      else this.#lastAccepted = this.#ids.last;
    },
    onStreamFault: (id, errorCode) => this.#streamFault(id, errorCode),
  };
  readonly #behind: LazyBehind;
  readonly #windows: ClientWindows;
  readonly #ids = new StreamIds();
  /** Streams above this one are ignored: the client was told so. */
  #lastAccepted = MAX_STREAM_ID;
  readonly #deadlines: DeadlineTimer;
  #ended = false;
  /** Whether the client's SETTINGS have arrived: it speaks HTTP/2. */
  arrived = false;
  /** Whether the client has answered since the last ping. */
  heard = true;
  /** Monotonic milliseconds since which no stream is open. */
  idleSince: number;

  constructor({ socket, service, clock, proved, closed, turnBytes = TURN_BYTES }: ConnectionParts) {
    this.service = service;
    const address = service.networkOf(socket.remoteAddress ?? 'unknown');
    this.unfinished = service.unfinished.open(address);
    this.guesses = service.guesses?.open() ?? null;
    this.#guest = service.guests.enter(address, { end: () => this.#endGuest(), proved });
    this.#socket = socket;
    this.#clock = clock;
    this.idleSince = clock.monotonic();
    this.#patience = new Patience(this.idleSince);
    this.#heads = new HeadReader({ methodOf: (path) => service.methods.get(path), served: service.served });
    this.#deadlines = new DeadlineTimer(clock, (now) => this.#streams.endLate(now));
    this.outbound = new Outbound(
      socket,
      (stream) => this.#streams.sent(stream),
      (stream, bytes) => {
        if (stream.phase === Phase.PASSED) this.#behind.open?.credit(bytes);
      },
    );
    this.#streams = new Streams(this);
    this.#behind = new LazyBehind(socket, {
      service,
      outbound: this.outbound,
      streams: this.#streams,
      guard: (work) => this.guard(work),
      fail: (errorCode) => this.#fail(errorCode),
    });
    this.#windows = new ClientWindows({
      outbound: this.outbound,
      streams: this.#streams,
      behind: this.#behind,
      spend: (bytes) => this.spend(bytes),
      checkNotIdle: (id) => this.#checkNotIdle(id),
    });
    this.#inbound = new Inbound(socket, turnBytes, this.#guest, {
      onFrame: (type, flags, id, bytes, start, end) => this.#onFrame(type, flags, id, bytes, start, end),
      onReadBegin: () => {
        this.heard = true;
        this.outbound.beginRead();
      },
      onReadEnd: () => {
        this.#behind.open?.flush();
        this.outbound.flush();
        this.#guest?.weigh(this.#weight());
      },
      onHeld: () => this.#guest?.weigh(this.#weight()),
      onFault: (error) => this.#faulted(error),
      onDrain: () => this.#behind.open?.resume(),
      isFull: () => this.outbound.isFull,
      // Like node:http2, which ends the session with the client's side of the socket.
      onEnd: () => this.#end(),
    });
    // A reset by the peer; the close follows.
    socket.on('error', () => {});
    socket.once('close', () => {
      this.#close();
      closed();
    });
    this.outbound.frames(OUR_SETTINGS);
    this.#guest.weigh(GUEST_COST);
  }

  /** Bytes that it makes the service keep, about. */
  #weight(): number {
    const behind = this.#behind.open === null ? 0 : BEHIND_COST;
    const { weight } = this.#streams;
    return GUEST_COST + behind + weight + this.#blocks.held + this.#inbound.held + this.outbound.held;
  }

  get room(): number {
    return this.#guest === null ? Number.POSITIVE_INFINITY : this.service.guests.mostBytes - this.#weight();
  }

  /** Whether a right key was ever shown. */
  get isProven(): boolean {
    return this.#guest === null;
  }

  prove(): void {
    if (this.#guest === null) return;
    this.#guest.prove();
    this.#guest = null;
    this.#heads.remembers = true;
    this.#inbound.welcome();
  }

  #endGuest(): void {
    this.#fail(ErrorCode.ENHANCE_YOUR_CALM);
    this.#socket.destroy();
  }

  get isEnded(): boolean {
    return this.#ended;
  }

  /** Whether a call is open. */
  get isBusy(): boolean {
    return this.#streams.size > 0;
  }

  behind(): Behind {
    return this.#behind.get();
  }

  guard(work: () => void): void {
    if (this.#ended) return;
    try {
      work();
    } catch (error) {
      this.#faulted(error);
    }
  }

  now(): number {
    return this.#clock.monotonic();
  }

  countReset(): void {
    this.#patience.reset(this.now());
  }

  idle(): void {
    this.idleSince = this.now();
    if (this.#lastAccepted !== MAX_STREAM_ID) this.#end();
  }

  watchDeadline(deadline: number): void {
    this.#deadlines.watch(deadline);
  }

  /** Asks the client for a sign of life. */
  ping(): void {
    this.heard = false;
    this.outbound.frames(KEEPALIVE);
  }

  /**
   * Announces the end, and takes new calls until the client must have heard of it (RFC 9113 section 6.8): until it answers the
   * ping behind the announcement, or `refuseNew` is called.
   */
  announceEnd(): void {
    if (this.#ended || this.#lastAccepted !== MAX_STREAM_ID) return;
    this.outbound.frames(goawayFrame(MAX_STREAM_ID, ErrorCode.NO_ERROR));
    this.outbound.frames(DRAINING);
  }

  /** Takes no further calls, and ends with the last one. */
  refuseNew(): void {
    if (this.#ended || this.#lastAccepted !== MAX_STREAM_ID) return;
    this.#lastAccepted = this.#ids.last;
    this.outbound.frames(goawayFrame(this.#ids.last, ErrorCode.NO_ERROR));
    if (this.#streams.size === 0) this.#end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  spend(bytes: number): void {
    this.#inbound.spend(bytes);
  }

  /** Ends what has waited for the rest of a message, or of a block of headers, for longer than `most` milliseconds. */
  endUnfinished(now: number, most: number): void {
    this.guard(() => this.#streams.endUnfinished(now, most));
    if (this.#blocks.isStuck(now, most)) this.#fail(ErrorCode.ENHANCE_YOUR_CALM);
  }

  #onFrame(type: number, flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    if (!this.arrived && (type !== Frame.SETTINGS || (flags & Flag.ACK) !== 0)) {
      throw new ConnectionFault(ErrorCode.PROTOCOL_ERROR, 'the first frame must be SETTINGS');
    }
    if (this.#blocks.expects !== 0 && type !== Frame.CONTINUATION) {
      throw new ConnectionFault(ErrorCode.PROTOCOL_ERROR, 'a frame within a header block');
    }
    switch (type) {
      case Frame.DATA:
        this.#onData(flags, id, bytes, start, end);
        return;
      case Frame.HEADERS: {
        checkStream(id);
        const block = this.#blocks.headers(flags, id, bytes, start, end);
        if (block !== null) this.#onBlock(block);
        return;
      }
      case Frame.CONTINUATION: {
        const block = this.#blocks.continuation(flags, id, bytes.subarray(start, end));
        if (block !== null) this.#onBlock(block);
        return;
      }
      case Frame.WINDOW_UPDATE:
        this.#windows.onUpdate(id, bytes, start, end);
        return;
      case Frame.RST_STREAM:
        this.#onReset(id, bytes, start, end);
        return;
      default:
        this.#patience.idleFrame(this.now());
        readControlFrame(this.#control, type, flags, id, bytes.subarray(start, end));
    }
  }

  #onBlock(block: HeaderBlock): void {
    const { streamId, endStream } = block;
    const read = this.#heads.read(block);
    const stream = this.#streams.get(streamId);
    if (stream !== undefined) {
      if (stream.clientEnded) this.#streams.reset(stream, ErrorCode.STREAM_CLOSED);
      else if (endStream) this.#streams.trailers(stream, read.list);
      else this.#streams.reset(stream, ErrorCode.PROTOCOL_ERROR);
      return;
    }
    if (streamId <= this.#ids.last && (streamId > this.#lastAccepted || this.#streams.wasReset(streamId))) return;
    this.#ids.open(streamId);
    if (streamId > this.#lastAccepted) return;
    if (read.list.tooLong) this.#streams.refuse(streamId, ErrorCode.ENHANCE_YOUR_CALM);
    else if (block.dependsOnItself || read.verdict === Verdict.MALFORMED) {
      this.#streams.refuse(streamId, ErrorCode.PROTOCOL_ERROR);
    } else if (this.#streams.size >= MAX_STREAMS) this.#streams.refuse(streamId, ErrorCode.REFUSED_STREAM);
    else this.#streams.open(streamId, read, endStream);
  }

  #onData(flags: number, id: number, bytes: Buffer, first: number, last: number): void {
    checkStream(id);
    const length = last - first;
    this.outbound.receiveWindow -= length;
    if (this.outbound.receiveWindow < 0) {
      throw new ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, 'more data than the connection was granted');
    }
    let [start, end] = [first, last];
    if ((flags & Flag.PADDED) !== 0) {
      end -= start < end ? (bytes[start] as number) : 0;
      start++;
      if (start > end) throw new ConnectionFault(ErrorCode.PROTOCOL_ERROR, 'DATA that ends within its padding');
    }
    const stream = this.#streams.get(id);
    const endStream = (flags & Flag.END_STREAM) !== 0;
    if (stream === undefined) this.#dataOfClosed(id, length);
    else if (stream.clientEnded) {
      this.outbound.credit(length);
      this.#streams.reset(stream, ErrorCode.STREAM_CLOSED);
    } else {
      if (start === end && !endStream) this.#patience.idleFrame(this.now());
      this.#streams.data(stream, bytes, start, end, length, endStream);
    }
  }

  #dataOfClosed(id: number, length: number): void {
    if (id > this.#ids.last) throw new ConnectionFault(ErrorCode.PROTOCOL_ERROR, 'DATA on a stream not opened');
    if (!this.#streams.wasReset(id) && id <= this.#lastAccepted) {
      if (!this.#streams.wasLeft(id)) {
        throw new ConnectionFault(ErrorCode.STREAM_CLOSED, 'DATA on a stream that is closed');
      }
      // grpc-java resets a call that is cancelled at once before it sends its message.
      this.#patience.idleFrame(this.now());
      this.#streams.tellClosed(id);
    }
    this.outbound.credit(length);
  }

  #onReset(id: number, bytes: Buffer, start: number, end: number): void {
    checkStream(id);
    checkLength(end - start, 4);
    const stream = this.#streams.get(id);
    if (stream === undefined) {
      this.#checkNotIdle(id);
      this.#patience.idleFrame(this.now());
      return;
    }
    const now = this.now();
    this.#streams.resetByClient(stream, bytes.readUInt32BE(start), now);
    this.#patience.reset(now);
  }

  #checkNotIdle(id: number): void {
    if (id > this.#ids.last) throw new ConnectionFault(ErrorCode.PROTOCOL_ERROR, 'a frame of a stream not opened');
  }

  /** An error of one stream, which may not even be open. */
  #streamFault(id: number, errorCode: number): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) this.#streams.refuse(id, errorCode);
    else this.#streams.reset(stream, errorCode);
  }

  #faulted(error: unknown): void {
    const isFault = error instanceof ConnectionFault;
    if (!isFault) this.service.calls.options.log.error({ err: error }, 'gRPC connection failed');
    else this.service.calls.options.log.debug({ reason: error.message }, 'gRPC connection ended');
    this.#fail(isFault ? error.errorCode : ErrorCode.INTERNAL_ERROR);
  }

  #fail(errorCode: number): void {
    if (this.#ended) return;
    this.outbound.frames(goawayFrame(this.#ids.last, errorCode));
    this.#end();
  }

  /** Sends what is left, then the end; the socket is closed when the client has read it, or by the next look at its age. */
  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#inbound.stop();
    this.outbound.flush();
    this.#streams.endAll();
    this.#behind.end();
    // What the client still sends is read and dropped: unread bytes would turn the end into a reset, which may overtake GOAWAY.
    this.#socket.resume();
    this.#socket.end();
  }

  #close(): void {
    this.#ended = true;
    this.#guest?.leave();
    this.#deadlines.cancel();
    this.#inbound.stop();
    this.#streams.endAll();
    this.#behind.end();
  }
}
