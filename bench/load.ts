/** What the two clients of the load generator share: prepared questions, verdicts, and who is told of an answer. */

/** Questions made ready to send, each with the means to judge its answer. */
export interface Workload {
  readonly size: number;
  /** gRPC: the method's path. HTTP/1.1: the request path. */
  readonly path: string;
  /** HTTP/1.1: POST with a body and a key, unless it says otherwise. */
  readonly method?: 'GET' | 'POST';
  /** HTTP/1.1: the bearer token of question `index`, in place of a key. */
  token?(index: number): string;
  /** The message (gRPC, without its five-byte prefix) or body (HTTP/1.1) of question `index`. */
  body(index: number): Buffer;
  /** Whether `buffer[start, end)` is the right answer to question `index`. */
  isRight(index: number, buffer: Buffer, start: number, end: number): boolean;
  /** What question `index` is and what it must get, for a report of a wrong answer. */
  describe(index: number): string;
}

export const Verdict = { RIGHT: 0, WRONG: 1, FAILED: 2 } as const;
export type Verdict = (typeof Verdict)[keyof typeof Verdict];

export interface Connection {
  /** Queues question `index`; `now` (monotonic ms) is when its latency begins. Goes out with the next `flush`. */
  submit(index: number, now: number): void;
  flush(): void;
  close(): void;
}

export interface Listener {
  /** One answer. `detail` is built only for answers that are wrong or failed. */
  answered(connection: Connection, index: number, latency: number, verdict: Verdict, detail: string): void;
  /** All that one read brought has been handled: the time to flush what `answered` submitted. */
  batchEnd(connection: Connection): void;
  /** The connection broke; nothing more will come from it. */
  broken(connection: Connection, error: Error): void;
}

/** A writer that reuses its buffer while the kernel takes everything at once, as it does on loopback. */
export class Outbox {
  #buffer = Buffer.allocUnsafeSlow(128 * 1024);
  #length = 0;
  readonly #write: (bytes: Buffer) => boolean;

  /** `write` answers whether the bytes are gone, so that their memory may be used again. */
  constructor(write: (bytes: Buffer) => boolean) {
    this.#write = write;
  }

  /** Appends `bytes` and answers where they begin in `buffer`, for patching until the next flush. */
  append(bytes: Buffer): number {
    if (this.#length + bytes.length > this.#buffer.length) this.flush();
    const at = this.#length;
    this.#buffer.set(bytes, at);
    this.#length += bytes.length;
    return at;
  }

  get buffer(): Buffer {
    return this.#buffer;
  }

  flush(): void {
    if (this.#length === 0) return;
    const gone = this.#write(this.#buffer.subarray(0, this.#length));
    this.#length = 0;
    if (!gone) this.#buffer = Buffer.allocUnsafeSlow(this.#buffer.length);
  }
}

/** Collects a stream of reads into whole frames without allocating: bytes stand in `buffer[start, end)`. */
export class Inbox {
  buffer = Buffer.allocUnsafeSlow(512 * 1024);
  start = 0;
  end = 0;

  push(chunk: Uint8Array, length: number): void {
    if (this.end + length > this.buffer.length) this.#makeRoom(length);
    this.buffer.set(length === chunk.length ? chunk : chunk.subarray(0, length), this.end);
    this.end += length;
  }

  consume(count: number): void {
    this.start += count;
    if (this.start === this.end) this.start = this.end = 0;
  }

  #makeRoom(length: number): void {
    const held = this.end - this.start;
    const larger = held + length > this.buffer.length ? Buffer.allocUnsafeSlow((held + length) * 2) : this.buffer;
    this.buffer.copy(larger, 0, this.start, this.end);
    this.buffer = larger;
    this.start = 0;
    this.end = held;
  }
}
