/** Ends a call that waited, and that the front answers. */

import type { Reply, Status } from './service.ts';
import type { Stream } from './stream.ts';

/** The streams of the call's connection. */
interface Late {
  answerLate(stream: Stream, message: Buffer): void;
  failLate(stream: Stream, status: Status): void;
}

export class StreamReply implements Reply {
  readonly #streams: Late;
  readonly #stream: Stream;

  constructor(streams: Late, stream: Stream) {
    this.#streams = streams;
    this.#stream = stream;
  }

  get requestId(): string | undefined {
    return this.#stream.head?.caller.requestId;
  }

  answer(message: Buffer): void {
    this.#streams.answerLate(this.#stream, message);
  }

  fail(status: Status): void {
    this.#streams.failLate(this.#stream, status);
  }
}
