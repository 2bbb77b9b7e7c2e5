/**
 * A gRPC client for load and nothing else: HTTP/2 frames (RFC 9113) written by hand onto a socket. Each question's frames
 * are made once; sending one is a copy and two stream ids. It costs a tenth of node:http2's client, so that one core of
 * generator can saturate one core of server, and it reads as much of every answer as it takes to judge it.
 */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { HpackDecoder } from '#http2-front/hpack';
import { requestHeaders, TIMEOUT, TRACEPARENT, type Varied } from './hpack.ts';
import { type Connection, Inbox, type Listener, Outbox, Verdict, type Workload } from './load.ts';
import { framed, PREFIX } from './wire.ts';

const Type = { DATA: 0, HEADERS: 1, RST_STREAM: 3, SETTINGS: 4, PING: 6, GOAWAY: 7, WINDOW_UPDATE: 8, CONTINUATION: 9 };
const END_STREAM = 0x1;
const ACK = 0x1;
const END_HEADERS = 0x4;
const PADDED = 0x8;
const FRAME = 9;
/** Streams are told apart by id modulo this: more than can ever be open at once. */
const SLOTS = 1 << 16;
const WINDOW = 0x7fffffff;

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(FRAME);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

interface Template {
  bytes: Buffer;
  /** Where the DATA frame begins. */
  dataAt: number;
  /** What it takes from the connection's window. */
  cost: number;
  /** Where the value stands that each call has another one of, and which; 0 without one. */
  variedAt: number;
  varied: Varied | null;
}

function template(headers: Buffer, body: Buffer, varied: Varied | null): Template {
  const first = frame(Type.HEADERS, END_HEADERS, 0, headers);
  const message = framed(body);
  const second = frame(Type.DATA, END_STREAM, 0, message);
  const variedAt = varied === null ? 0 : first.length - varied[1].length;
  return { bytes: Buffer.concat([first, second]), dataAt: first.length, cost: message.length, variedAt, varied };
}

/** Microseconds, between ten and twenty seconds: no answer comes late. */
function writeTimeout(buffer: Buffer, at: number, id: number): void {
  let rest = 10_000_000 + ((id * 7919) % 10_000_000);
  for (let digit = 7; digit >= 0; digit--) {
    buffer[at + digit] = 0x30 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
}

/** Another trace in each call, and one in a hundred sampled. */
function writeTrace(buffer: Buffer, at: number, id: number): void {
  let rest = id;
  for (let digit = 34; digit >= 24; digit--) {
    buffer[at + digit] = 0x30 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
  // Streams of a client have odd numbers.
  buffer[at + TRACEPARENT.length - 1] = id % 200 === 1 ? 0x31 : 0x30;
}

export type Variety = 'timeouts' | 'traces';

function fieldOf(variety: Variety | undefined): Varied | null {
  if (variety === undefined) return null;
  return variety === 'traces' ? ['traceparent', TRACEPARENT] : ['grpc-timeout', TIMEOUT];
}

/** The frames of a workload for one authority and key; shared by all connections. */
export class GrpcFrames {
  readonly workload: Workload;
  readonly #headers: { first: Buffer; next: Buffer };
  readonly #templates: (Template | undefined)[] = [];

  /** `variety`: each call has a deadline, or a trace, and another one than the calls around it. */
  constructor(workload: Workload, authority: string, key: string | undefined, variety?: Variety) {
    this.workload = workload;
    const varied = fieldOf(variety);
    this.#headers = requestHeaders(workload.path, authority, key, varied);
    for (let i = 0; i < workload.size; i++) {
      this.#templates.push(template(this.#headers.next, workload.body(i), varied));
    }
  }

  first(index: number): Template {
    return template(this.#headers.first, this.workload.body(index), null);
  }

  next(index: number): Template {
    return this.#templates[index] as Template;
  }
}

export class GrpcConnection implements Connection {
  readonly #socket: Socket;
  readonly #frames: GrpcFrames;
  readonly #listener: Listener;
  readonly #inbox = new Inbox();
  readonly #outbox: Outbox;
  readonly #hpack = new HpackDecoder();
  readonly #question = new Int32Array(SLOTS).fill(-1);
  readonly #sentAt = new Float64Array(SLOTS);
  readonly #verdict = new Uint8Array(SLOTS);
  readonly #detail = new Map<number, string>();
  readonly #partial = new Map<number, Buffer>();
  readonly #waiting: { index: number; now: number }[] = [];
  #streamId = 1;
  #open = 0;
  /** SETTINGS_MAX_CONCURRENT_STREAMS: what is asked beyond it waits here, as in any client. */
  #mostOpen = Number.POSITIVE_INFINITY;
  #window = 65_535;
  #received = 0;
  #status = '';
  #message = '';
  #closed = false;

  private constructor(socket: Socket, frames: GrpcFrames, listener: Listener) {
    this.#socket = socket;
    this.#frames = frames;
    this.#listener = listener;
    this.#outbox = new Outbox((bytes) => {
      socket.write(bytes);
      return socket.writableLength === 0;
    });
    this.#outbox.append(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1'));
    // SETTINGS_ENABLE_PUSH 0 and SETTINGS_INITIAL_WINDOW_SIZE: the server never waits for us.
    const settings = Buffer.concat([Buffer.from([0, 2, 0, 0, 0, 0, 0, 4]), uint32(WINDOW)]);
    this.#outbox.append(frame(Type.SETTINGS, 0, 0, settings));
    this.#outbox.append(frame(Type.WINDOW_UPDATE, 0, 0, uint32(WINDOW - 65_535)));
    this.#outbox.flush();
  }

  /** Connects; rejects when nobody listens. With `ca`, the certificate of an authority, by TLS. */
  static open(port: number, frames: GrpcFrames, listener: Listener, ca?: string): Promise<GrpcConnection> {
    return new Promise((resolve, reject) => {
      let connection: GrpcConnection | undefined;
      const options = {
        port,
        host: '127.0.0.1',
        noDelay: true,
        // Node hands every read over in this buffer: nothing is allocated for it.
        onread: {
          buffer: Buffer.allocUnsafeSlow(64 * 1024),
          callback: (length: number, chunk: Uint8Array) => {
            connection?.received(chunk, length);
            return true;
          },
        },
      };
      const socket = ca === undefined ? connect(options) : connectTls({ ...options, ca, ALPNProtocols: ['h2'] });
      socket.once('error', reject);
      socket.once(ca === undefined ? 'connect' : 'secureConnect', () => {
        const opened = new GrpcConnection(socket, frames, listener);
        connection = opened;
        socket.off('error', reject);
        socket.on('error', (error) => opened.#break(error));
        socket.on('close', () => opened.#break(new Error('the server closed the connection')));
        resolve(opened);
      });
    });
  }

  submit(index: number, now: number): void {
    const first = this.#streamId === 1;
    const template = first ? this.#frames.first(index) : this.#frames.next(index);
    if (template.cost > this.#window || this.#open >= this.#mostOpen) {
      this.#waiting.push({ index, now });
      return;
    }
    this.#open++;
    this.#window -= template.cost;
    const id = this.#streamId;
    this.#streamId += 2;
    const slot = (id >> 1) & (SLOTS - 1);
    if (this.#question[slot] !== -1) throw new Error(`stream ${id - 2 * SLOTS} is still open`);
    this.#question[slot] = index;
    this.#sentAt[slot] = now;
    this.#verdict[slot] = Verdict.FAILED;
    const at = this.#outbox.append(template.bytes);
    this.#outbox.buffer.writeUInt32BE(id, at + 5);
    this.#outbox.buffer.writeUInt32BE(id, at + template.dataAt + 5);
    if (template.variedAt !== 0) {
      const write = template.varied?.[0] === 'traceparent' ? writeTrace : writeTimeout;
      write(this.#outbox.buffer, at + template.variedAt, id);
    }
  }

  flush(): void {
    this.#outbox.flush();
  }

  close(): void {
    this.#closed = true;
    this.#socket.destroy();
  }

  /** Handles one read. */
  received(chunk: Uint8Array, length: number): void {
    const now = performance.now();
    const inbox = this.#inbox;
    inbox.push(chunk, length);
    try {
      while (inbox.end - inbox.start >= FRAME) {
        const size = inbox.buffer.readUIntBE(inbox.start, 3);
        if (inbox.end - inbox.start < FRAME + size) break;
        this.#frame(inbox.buffer, inbox.start, size, now);
        inbox.consume(FRAME + size);
      }
    } catch (error) {
      this.#break(error as Error);
      return;
    }
    this.#replenish();
    this.#listener.batchEnd(this);
  }

  #frame(buffer: Buffer, at: number, size: number, now: number): void {
    const flags = buffer[at + 4] as number;
    const stream = buffer.readUInt32BE(at + 5);
    const start = at + FRAME;
    switch (buffer[at + 3]) {
      case Type.DATA:
        this.#data(buffer, start, start + size, flags, stream);
        return;
      case Type.HEADERS:
        this.#headers(buffer, start, start + size, flags, stream, now);
        return;
      case Type.SETTINGS:
        if (!(flags & ACK)) this.#settings(buffer, start, start + size);
        return;
      case Type.PING:
        if (!(flags & ACK)) {
          this.#outbox.append(frame(Type.PING, ACK, 0, Buffer.from(buffer.subarray(start, start + size))));
          // Also between slices, where nobody else flushes.
          this.flush();
        }
        return;
      case Type.WINDOW_UPDATE:
        if (stream === 0) this.#window += buffer.readUInt32BE(start);
        this.#submitWaiting();
        return;
      case Type.RST_STREAM:
        this.#detail.set(stream, `stream reset, code ${buffer.readUInt32BE(start)}`);
        this.#finish(stream, Verdict.FAILED, now);
        return;
      case Type.GOAWAY:
        throw new Error(
          `the server sent GOAWAY, code ${buffer.readUInt32BE(start + 4)}: ${buffer.toString('latin1', start + 8, start + size)}`,
        );
      case Type.CONTINUATION:
        throw new Error('the generator reads no CONTINUATION frames');
      default:
    }
  }

  #data(buffer: Buffer, start: number, end: number, flags: number, stream: number): void {
    if (flags & PADDED) throw new Error('the generator reads no padded frames');
    this.#received += end - start;
    const held = this.#partial.get(stream);
    if (held === undefined && end - start >= PREFIX && end - start === PREFIX + buffer.readUInt32BE(start + 1)) {
      this.#judge(stream, buffer, start + PREFIX, end);
      return;
    }
    if (end === start) return;
    const message = Buffer.concat([held ?? Buffer.alloc(0), buffer.subarray(start, end)]);
    this.#partial.set(stream, message);
    if (message.length >= PREFIX && message.length === PREFIX + message.readUInt32BE(1)) {
      this.#judge(stream, message, PREFIX, message.length);
    }
  }

  #judge(stream: number, buffer: Buffer, start: number, end: number): void {
    const slot = (stream >> 1) & (SLOTS - 1);
    const index = this.#question[slot] as number;
    const right = buffer[start - PREFIX] === 0 && this.#frames.workload.isRight(index, buffer, start, end);
    this.#verdict[slot] = right ? Verdict.RIGHT : Verdict.WRONG;
    if (!right) this.#detail.set(stream, `answer ${buffer.toString('hex', start, end)}`);
  }

  #headers(buffer: Buffer, start: number, end: number, flags: number, stream: number, now: number): void {
    if (!(flags & END_HEADERS) || flags & PADDED || flags & 0x20) throw new Error('headers in a shape not foreseen');
    this.#status = '';
    const { names, values } = this.#hpack.decode(buffer, start, end);
    for (let i = 0; i < names.length; i++) {
      if (names[i] === 'grpc-status') this.#status = values[i] as string;
      else if (names[i] === 'grpc-message') this.#message = values[i] as string;
    }
    if (!(flags & END_STREAM)) return;
    const slot = (stream >> 1) & (SLOTS - 1);
    if (this.#status === '0') {
      this.#finish(stream, this.#verdict[slot] as Verdict, now);
    } else {
      this.#detail.set(stream, `grpc-status ${this.#status || 'missing'} ${decodeURIComponent(this.#message)}`);
      this.#finish(stream, Verdict.FAILED, now);
    }
  }

  #finish(stream: number, verdict: Verdict, now: number): void {
    const slot = (stream >> 1) & (SLOTS - 1);
    const index = this.#question[slot] as number;
    if (index === -1) return;
    this.#question[slot] = -1;
    this.#open--;
    if (this.#partial.size > 0) this.#partial.delete(stream);
    let detail = '';
    if (verdict !== Verdict.RIGHT) {
      detail = `${this.#frames.workload.describe(index)}: ${this.#detail.get(stream) ?? 'no message'}`;
      this.#detail.delete(stream);
    }
    this.#listener.answered(this, index, now - (this.#sentAt[slot] as number), verdict, detail);
    if (this.#waiting.length > 0) this.#submitWaiting();
  }

  #settings(buffer: Buffer, start: number, end: number): void {
    for (let at = start; at < end; at += 6) {
      const id = buffer.readUInt16BE(at);
      const value = buffer.readUInt32BE(at + 2);
      if (id === 1 && value < 4096) throw new Error('the server keeps too small a header table for the generator');
      if (id === 3) this.#mostOpen = value;
      if (id === 4 && value < 65_535) throw new Error('the server gives streams too small a window for the generator');
    }
    this.#outbox.append(frame(Type.SETTINGS, ACK, 0, Buffer.alloc(0)));
  }

  #submitWaiting(): void {
    for (const { index, now } of this.#waiting.splice(0)) this.submit(index, now);
  }

  /** Gives back the connection's receive window long before it is used up. */
  #replenish(): void {
    if (this.#received < 1 << 29) return;
    this.#outbox.append(frame(Type.WINDOW_UPDATE, 0, 0, uint32(this.#received)));
    this.#received = 0;
  }

  #break(error: Error): void {
    if (this.#closed) return;
    this.close();
    this.#listener.broken(this, error);
  }
}
