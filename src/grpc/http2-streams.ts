/**
 * Lets closed calls die young. node:http2 keeps a session's streams in a Map: once its table is in V8's old generation, each new
 * table is made there too, and outgrown tables keep every stream they held, with all of its call (12 kB), until a full
 * collection. Every call was copied twice and a full collection was due after 13,000 of them: a fifth of the CPU
 * (docs/evidence/performance.md). A table that deletes in place avoids all of that.
 *
 * Node has no public interface for it. Where the internals of node or grpc-js differ from those known here, nothing is replaced.
 */

import type { Http2Server } from 'node:http2';
import { types } from 'node:util';
import type { Server } from '@grpc/grpc-js';

/** Slots of a session: twice the streams that a connection may have open, so that collisions are rare. */
const SLOTS = 512;
const FREE = -1;

/** A Map by stream number, unordered, whose deleted entries leave no garbage. */
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

  /** An older stream keeps its slot; a colliding one goes to the underlying Map. */
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

/** The streams of a connection have odd numbers in sequence. */
function slotOf(id: number): number {
  return (id >>> 1) % SLOTS;
}

/** Streams without a number yet. A server's get theirs at once, and each deletion from a Set made a table that stayed. */
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

/** Replaces the tables of a listening server's future sessions. Returns whether it found a listener. */
export function freeClosedStreams(server: Server): boolean {
  const listening = listenersOf(server);
  for (const one of listening) one.on('session', replaceTables);
  return listening.length > 0;
}

/** The listeners of a grpc-js server, which has no public interface for them; none where its internals differ from those known here. */
export function listenersOf(server: Server): readonly Http2Server[] {
  const { http2Servers } = server as unknown as { http2Servers?: Map<Http2Server, unknown> };
  return http2Servers === undefined || !types.isMap(http2Servers) ? [] : [...http2Servers.keys()];
}

/** Returns whether the tables were found, and found empty. */
export function replaceTables(session: object): boolean {
  const symbol = Object.getOwnPropertySymbols(session).find(({ description }) => description === 'state');
  if (symbol === undefined) return false;
  const state = (session as Record<symbol, { streams?: unknown; pendingStreams?: unknown } | undefined>)[symbol];
  const { streams, pendingStreams } = state ?? {};
  // Node's tables come from another realm: they are not instances of this one's Map and Set.
  if (state === undefined || !types.isMap(streams) || !types.isSet(pendingStreams)) return false;
  if (streams.size + pendingStreams.size > 0) return false;
  state.streams = new StreamTable();
  state.pendingStreams = new PendingStreams();
  return true;
}
