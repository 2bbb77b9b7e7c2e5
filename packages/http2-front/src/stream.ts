/** A stream of a client that is not finished. */

import { INITIAL_WINDOW } from './frames.ts';
import type { Head } from './head.ts';
import type { HeaderList } from './hpack.ts';
import type { Entrance, Waiting } from './service.ts';

/** The most by which a deadline at the client may be ahead of the same one here. */
const LEEWAY_MS = 100;

export const Phase = {
  /** The caller is admitted; the message has not arrived whole. */
  COLLECTING: 0,
  /** The front answers it, and waits for the answer or for room to send it. */
  ANSWERING: 1,
  /** grpc-js answers it. */
  PASSED: 2,
  /** It is refused at its end, if its body is as long as it said. */
  COUNTING: 3,
  /** It has its whole answer; what the client still sends of it is dropped. */
  ANSWERED: 4,
  /** The same, of a call of gRPC that was refused or is late: its client is told to stop. */
  REFUSED: 5,
} as const;

/** A piece of an answer that waits for room: the payload of DATA, or a block of headers, which needs no window. */
export interface Pending {
  bytes: Buffer;
  readonly isData: boolean;
  readonly endStream: boolean;
}

/** A stream behind the front. */
export interface Passed {
  /** Its number on the connection to grpc-js. */
  readonly id: number;
  /** What grpc-js has room for. */
  window: number;
  /** What waits for room. */
  readonly inbox: Piece[];
}

/** Bytes of a client for grpc-js. */
export interface Piece {
  readonly bytes: Buffer;
  readonly endStream: boolean;
}

/** What is kept of the headers of a call that has its answer. */
export const NO_HEADERS: HeaderList = { names: [], values: [], tooLong: false, repeated: false };

export class Stream {
  readonly id: number;
  /** Null for a call that the front does not answer. */
  readonly head: Head | null;
  /** Whom its method is for; null for a call that nobody answers. */
  readonly entrance: Entrance | null;
  /** As long as the call may be passed on. */
  list: HeaderList;
  passed: Passed | null = null;
  phase: (typeof Phase)[keyof typeof Phase] = Phase.COLLECTING;
  /** Whether that side has sent its last frame. */
  clientEnded = false;
  serverEnded = false;
  /** The message so far, while it arrives in several frames. */
  body: Buffer | null = null;
  bodyLength = 0;
  /** What the client may send on this stream before it must be granted more. */
  receiveWindow = INITIAL_WINDOW;
  /** Bytes of the body that are still to come, where the client declared a length; else -1. */
  expected = -1;
  /** What it makes the service keep, as long as its caller has shown no right. */
  weight = 0;
  /** Monotonic milliseconds of the first look that found its message unfinished. */
  unfinishedSince = 0;
  /** What the client granted beyond its initial window, less what was sent. */
  extraWindow = 0;
  /** Monotonic milliseconds of the caller's deadline. */
  readonly deadline: number;
  waiting: Waiting | null = null;
  outbox: Pending[] | null = null;

  constructor(id: number, head: Head | null, entrance: Entrance | null, list: HeaderList, deadline: number) {
    this.id = id;
    this.head = head;
    this.entrance = entrance;
    this.list = list;
    this.deadline = deadline;
  }
}

/**
 * Whether a client that resets its call does so for its deadline. Its time began before the call was here, so its timer is the
 * first to end: what is within a tenth of the deadline counts.
 */
export function isLate({ head, deadline }: Stream, now: number): boolean {
  return head !== null && deadline - now <= Math.min(LEEWAY_MS, head.timeoutMs / 10);
}
