/** A client that writes bytes of its own making to a gRPC port and writes down what comes back, stream by stream. */
import net from 'node:net';
import { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import tls from 'node:tls';
import { HpackDecoder } from '#http2-front/hpack';
import {
  Flag,
  Frame,
  FrameReader,
  frame,
  PREFACE,
  ping,
  type ReadFrame,
  settings,
  uint32,
  windowUpdate,
} from './frames.ts';
import type { Field } from './hpack.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
  /** PEM of the authority that signed the port's certificate; without one the port speaks cleartext. */
  readonly ca?: string | undefined;
}

/** What came back on a stream. */
export interface StreamEnd {
  /** Each HEADERS block in order. */
  readonly blocks: (readonly Field[])[];
  data: Buffer;
  /** How it ended: by END_STREAM, by RST_STREAM with a code, or not. */
  end: string;
  /** The code of a reset after the end, which tells the client to send no more. */
  rest?: number;
}

/** How the connection ended, if it did. */
export interface ConnectionEnd {
  goaway: number | undefined;
  closed: boolean;
}

/** A header block that is not whole. */
interface Block {
  readonly stream: number;
  readonly flags: number;
  readonly parts: Buffer[];
}

/** How a client gives windows for answers: `wide`, the protocol's initial ones, or so many bytes at a time. */
export type Windows = 'wide' | 'initial' | number;

const INITIAL = 65_535;
const WIDE = 2 ** 30;
/** Given to an answer whose stream had no window, when its headers are there. */
const FIRST_WINDOW = 5;

export class Peer {
  readonly socket: Duplex;
  readonly streams = new Map<number, StreamEnd>();
  readonly connection: ConnectionEnd = { goaway: undefined, closed: false };
  readonly #reader = new FrameReader();
  readonly #hpack = new HpackDecoder();
  readonly #windows: Windows;
  readonly #send = { connection: INITIAL, initial: INITIAL, streams: new Map<number, number>() };
  /** Called after each read. */
  readonly #waiting = new Set<() => void>();
  #block: Block | undefined;
  #pongs = 0;
  /** Frames that wait while others are written in segments. */
  #answers: Buffer[] | undefined;
  /** What could not be read: a fault of the server. */
  unreadable: string | undefined;

  /** `to`: a port, or a connection to one. */
  constructor(to: Address | Duplex, windows: Windows = 'wide') {
    this.#windows = windows;
    this.socket = to instanceof Duplex ? to : open(to);
    this.socket.on('data', (chunk: Buffer) => this.#read(chunk));
    this.socket.on('error', () => undefined);
    this.socket.on('end', () => this.#close());
    this.socket.on('close', () => this.#close());
  }

  /** Preface and SETTINGS as this client's windows need them. */
  hello(): Buffer {
    return Peer.helloFor(this.#windows);
  }

  static helloFor(windows: Windows): Buffer {
    const initial = windows === 'wide' ? WIDE : windows === 'initial' ? INITIAL : windows;
    const wide = windows === 'initial' ? [] : [windowUpdate(0, WIDE - INITIAL)];
    return Buffer.concat([PREFACE, settings([0x2, 0], [0x4, initial]), ...wide]);
  }

  write(bytes: Buffer): void {
    if (!this.socket.destroyed && this.socket.writable) this.socket.write(bytes);
  }

  /** Writes whole frames in segments; what this client has to answer meanwhile waits until the last one. */
  async writeCut(bytes: Buffer, size: () => number): Promise<void> {
    this.#answers = [];
    for (let at = 0; at < bytes.length; ) {
      const end = at + size();
      this.write(bytes.subarray(at, end));
      at = end;
      await nextTurn();
    }
    const answers = this.#answers;
    this.#answers = undefined;
    for (const answer of answers) this.write(answer);
  }

  /** Whether the server has given room for so many bytes of DATA. */
  hasRoom(stream: number, bytes: number): boolean {
    const window = this.#send.streams.get(stream) ?? 0;
    return bytes <= this.#send.connection && bytes <= window + this.#send.initial;
  }

  /** Whether `bytes` of DATA may be sent now; if so they are accounted for. */
  take(stream: number, bytes: number): boolean {
    if (!this.hasRoom(stream, bytes)) return false;
    this.#send.connection -= bytes;
    this.#send.streams.set(stream, (this.#send.streams.get(stream) ?? 0) - bytes);
    return true;
  }

  /** Resolves when the stream is over, or the connection, or after the time. */
  async ended(stream: number, mostMs: number): Promise<void> {
    await this.until(() => this.end(stream) !== undefined || this.connection.closed, mostMs);
  }

  /** Resolves once `holds`, or after the time; says which. */
  async until(holds: () => boolean, mostMs: number): Promise<boolean> {
    if (holds()) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(holds()), mostMs);
    const look = (): void => {
      if (holds()) resolve(true);
    };
    this.#waiting.add(look);
    const held = await promise;
    clearTimeout(timer);
    this.#waiting.delete(look);
    return held;
  }

  /** Resolves when all that was written before has been read by the other side, or when the connection is over. */
  async roundTrip(mostMs: number): Promise<boolean> {
    const isOver = this.ping();
    return await this.until(isOver, mostMs);
  }

  /** Asks for a sign of life; says whether it was given, or never will be. */
  ping(): () => boolean {
    const before = this.#pongs;
    this.write(ping(Buffer.from('answered')));
    return () => this.#pongs > before || this.connection.closed;
  }

  end(stream: number): string | undefined {
    return this.streams.get(stream)?.end || undefined;
  }

  destroy(): void {
    this.socket.destroy();
  }

  #answer(bytes: Buffer): void {
    if (this.#answers === undefined) this.write(bytes);
    else this.#answers.push(bytes);
  }

  #close(): void {
    this.connection.closed = true;
    for (const look of this.#waiting) look();
  }

  #read(chunk: Buffer): void {
    try {
      this.#reader.read(chunk, (received) => this.#frame(received));
    } catch (error) {
      this.unreadable ??= String(error);
      this.socket.destroy();
    }
    for (const look of this.#waiting) look();
  }

  #frame({ type, flags, stream, payload }: ReadFrame): void {
    if (this.#block !== undefined && type !== Frame.CONTINUATION) throw new Error('a frame within a header block');
    if (type === Frame.SETTINGS) this.#settings(flags, payload);
    else if (type === Frame.PING) {
      if (flags & Flag.ACK) this.#pongs += payload.equals(Buffer.from('answered')) ? 1 : 0;
      else this.#answer(ping(Buffer.from(payload), Flag.ACK));
    } else if (type === Frame.GOAWAY) this.connection.goaway = payload.readUInt32BE(4);
    else if (type === Frame.WINDOW_UPDATE) this.#grant(stream, payload.readUInt32BE(0));
    else if (type === Frame.RST_STREAM) this.#onReset(stream, payload.readUInt32BE(0));
    else if (type === Frame.HEADERS) this.#headers(stream, flags, unpadded(flags, payload));
    else if (type === Frame.CONTINUATION) this.#continue(stream, flags, payload);
    else if (type === Frame.DATA) this.#data(stream, flags, payload);
    else if (type === Frame.PUSH_PROMISE) throw new Error('a promise');
  }

  #settings(flags: number, payload: Buffer): void {
    if (flags & Flag.ACK) return;
    for (let at = 0; at < payload.length; at += 6) {
      if (payload.readUInt16BE(at) === 0x4) this.#send.initial = payload.readUInt32BE(at + 2);
    }
    this.#answer(frame(Frame.SETTINGS, Flag.ACK, 0));
  }

  #grant(stream: number, increment: number): void {
    if (stream === 0) this.#send.connection += increment;
    else this.#send.streams.set(stream, (this.#send.streams.get(stream) ?? 0) + increment);
  }

  #onReset(stream: number, code: number): void {
    const at = this.#at(stream);
    if (at.end === 'ended') at.rest = code;
    else at.end ||= `reset ${code}`;
  }

  #at(stream: number): StreamEnd {
    const known = this.streams.get(stream);
    if (known !== undefined) return known;
    const fresh: StreamEnd = { blocks: [], data: Buffer.alloc(0), end: '' };
    this.streams.set(stream, fresh);
    return fresh;
  }

  #headers(stream: number, flags: number, payload: Buffer): void {
    this.#block = { stream, flags, parts: [flags & Flag.PRIORITY ? payload.subarray(5) : payload] };
    if (flags & Flag.END_HEADERS) this.#endBlock();
  }

  #continue(stream: number, flags: number, payload: Buffer): void {
    if (this.#block?.stream !== stream) throw new Error('a continuation of nothing');
    this.#block.parts.push(payload);
    if (flags & Flag.END_HEADERS) this.#endBlock();
  }

  #endBlock(): void {
    const { stream, flags, parts } = this.#block as Block;
    this.#block = undefined;
    const block = Buffer.concat(parts);
    const { names, values } = this.#hpack.decode(block, 0, block.length);
    const fields: Field[] = names.map((name, place) => [name, values[place] as string]);
    const at = this.#at(stream);
    if (at.end === 'ended') throw new Error(`headers after the end of stream ${stream}`);
    at.blocks.push(fields);
    if (flags & Flag.END_STREAM) at.end ||= 'ended';
    else if (this.#windows === 0) this.#answer(windowUpdate(stream, FIRST_WINDOW));
  }

  #data(stream: number, flags: number, payload: Buffer): void {
    const at = this.#at(stream);
    if (at.end === 'ended') throw new Error(`data after the end of stream ${stream}`);
    at.data = Buffer.concat([at.data, unpadded(flags, payload)]);
    if (flags & Flag.END_STREAM) at.end ||= 'ended';
    if (payload.length === 0) return;
    const back = uint32(payload.length);
    this.#answer(frame(Frame.WINDOW_UPDATE, 0, 0, back));
    if (!(flags & Flag.END_STREAM)) this.#answer(frame(Frame.WINDOW_UPDATE, 0, stream, back));
  }
}

function unpadded(flags: number, payload: Buffer): Buffer {
  return flags & Flag.PADDED ? payload.subarray(1, payload.length - payload.readUInt8(0)) : payload;
}

function open({ host, port, ca }: Address): net.Socket {
  // Each segment leaves as it is written.
  if (ca === undefined) return net.connect({ host, port, noDelay: true });
  return tls.connect({ host, port, ca, ALPNProtocols: ['h2'] }).setNoDelay(true);
}
