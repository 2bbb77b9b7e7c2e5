/**
 * Lets closed calls die young. node:http2 keeps a session's streams in a Map: once its table has got into V8's old generation, each
 * new table is made there, and those that it has outgrown keep every stream that stood in them, with all that hangs on a call
 * (12 kB), until a full collection. So every call was copied twice and a full collection due after 13,000 of them: a fifth of the
 * CPU (docs/performance.md). A table that forgets in place has none of that.
 *
 * Node has no public way to it. Where its inside, or grpc-js's, is not as it is known here, everything stays as it is.
 */

import type { Http2Server } from 'node:http2';
import { types } from 'node:util';
import type { Server } from '@grpc/grpc-js';

/** Slots of a session: twice the streams that a connection may have open, so that few meet in one. */
const SLOTS = 512;
const FREE = -1;

/** A Map by the numbers of streams, in no order, whose entries leave nothing behind. */
export class StreamTable<Stream> extends Map<number, Stream> {
  readonly #ids = new Int32Array(SLOTS).fill(FREE);
  readonly #streams: (Stream | undefined)[] = Array.from({ length: SLOTS });
  #taken = 0;

  override get size(): number {
    return this.#taken + super.size;
  }

  override get(id: number): Stream | undefined {
    const slot = slotOf(id);
    return this.#ids[slot] === id ? this.#streams[slot] : super.get(id);
  }

  override has(id: number): boolean {
    return this.#ids[slotOf(id)] === id || super.has(id);
  }

  /** A slot that an older stream still has stays its own: whoever comes then stands in the Map beside. */
  override set(id: number, stream: Stream): this {
    const slot = slotOf(id);
    const there = this.#ids[slot];
    if ((there !== FREE && there !== id) || super.has(id)) return super.set(id, stream);
    if (there === FREE) this.#taken++;
    this.#ids[slot] = id;
    this.#streams[slot] = stream;
    return this;
  }

  override delete(id: number): boolean {
    const slot = slotOf(id);
    if (this.#ids[slot] !== id) return super.delete(id);
    this.#ids[slot] = FREE;
    this.#streams[slot] = undefined;
    this.#taken--;
    return true;
  }

  override clear(): void {
    this.#ids.fill(FREE);
    this.#streams.fill(undefined);
    this.#taken = 0;
    super.clear();
  }

  override *entries(): MapIterator<[number, Stream]> {
    for (const id of this.#ids) {
      const stream = id === FREE ? undefined : this.get(id);
      if (stream !== undefined) yield [id, stream];
    }
    yield* super.entries();
  }

  override *keys(): MapIterator<number> {
    for (const [id] of this.entries()) yield id;
  }

  override *values(): MapIterator<Stream> {
    for (const [, stream] of this.entries()) yield stream;
  }

  override [Symbol.iterator](): MapIterator<[number, Stream]> {
    return this.entries();
  }

  override forEach(visit: (stream: Stream, id: number, table: Map<number, Stream>) => void): void {
    for (const [id, stream] of this.entries()) visit(stream, id, this);
  }
}

/** The streams of a connection have odd numbers, one after the other. */
function slotOf(id: number): number {
  return (id >>> 1) % SLOTS;
}

/** Those that have no number yet. A server's have one at once, and each deletion from a Set made a table that stayed. */
export class PendingStreams<Stream> extends Set<Stream> {
  #pending: Stream | undefined;

  override get size(): number {
    return super.size + (this.#pending === undefined ? 0 : 1);
  }

  override has(stream: Stream): boolean {
    return this.#pending === stream || super.has(stream);
  }

  override add(stream: Stream): this {
    if (this.has(stream)) return this;
    if (this.#pending !== undefined) return super.add(stream);
    this.#pending = stream;
    return this;
  }

  override delete(stream: Stream): boolean {
    if (this.#pending !== stream) return super.delete(stream);
    this.#pending = undefined;
    return true;
  }

  override clear(): void {
    this.#pending = undefined;
    super.clear();
  }

  override *values(): SetIterator<Stream> {
    if (this.#pending !== undefined) yield this.#pending;
    yield* super.values();
  }

  override keys(): SetIterator<Stream> {
    return this.values();
  }

  override [Symbol.iterator](): SetIterator<Stream> {
    return this.values();
  }

  override forEach(visit: (stream: Stream, same: Stream, set: Set<Stream>) => void): void {
    for (const stream of this.values()) visit(stream, stream, this);
  }
}

/** For a server that listens: its sessions from now on. Answers whether there was anything to watch. */
export function freeClosedStreams(server: Server): boolean {
  const listening = listenersOf(server);
  for (const one of listening) one.on('session', replaceTables);
  return listening.length > 0;
}

/** The listeners below a server of grpc-js, which has no public way to them; none where its inside is not as it is known here. */
export function listenersOf(server: Server): readonly Http2Server[] {
  const { http2Servers } = server as unknown as { http2Servers?: Map<Http2Server, unknown> };
  return http2Servers === undefined || !types.isMap(http2Servers) ? [] : [...http2Servers.keys()];
}

/** Answers whether the tables were found, empty. */
export function replaceTables(session: object): boolean {
  const symbol = Object.getOwnPropertySymbols(session).find(({ description }) => description === 'state');
  if (symbol === undefined) return false;
  const state = (session as Record<symbol, { streams?: unknown; pendingStreams?: unknown } | undefined>)[symbol];
  const { streams, pendingStreams } = state ?? {};
  // Node's own are no instances of Map and Set, though they are both.
  if (state === undefined || !types.isMap(streams) || !types.isSet(pendingStreams)) return false;
  if (streams.size + pendingStreams.size > 0) return false;
  state.streams = new StreamTable();
  state.pendingStreams = new PendingStreams();
  return true;
}
