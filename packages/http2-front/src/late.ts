/** Calls that are late: beyond the deadline of their caller, or without the rest of their message. */

import { Code } from './codes.ts';
import { ErrorCode } from './frames.ts';
import type { Head } from './head.ts';
import type { Outbound } from './outbound.ts';
import { RefusedCall } from './refused-call.ts';
import { NO_METADATA } from './refusing.ts';
import type { FrontService } from './shared.ts';
import { Phase, type Stream } from './stream.ts';

export interface LateHost {
  readonly service: FrontService;
  readonly outbound: Outbound;
  /** Every frame of the answer is sent, or waits for room. */
  refused(stream: Stream): void;
  refuse(stream: Stream, error: RefusedCall): void;
  reset(stream: Stream, errorCode: number): void;
}

export class Late {
  readonly #host: LateHost;

  constructor(host: LateHost) {
    this.#host = host;
  }

  /** Ends calls whose deadline has passed. Returns the next deadline. */
  endLate(streams: Iterable<Stream>, now: number): number {
    let next = Number.POSITIVE_INFINITY;
    for (const stream of streams) {
      if (stream.phase >= Phase.PASSED || stream.outbox !== null) continue;
      if (stream.deadline > now) next = Math.min(next, stream.deadline);
      else this.#endAtDeadline(stream);
    }
    return next;
  }

  #endAtDeadline(stream: Stream): void {
    const { service, outbound } = this.#host;
    const { index } = (stream.head as Head).method;
    if (stream.waiting === null) service.calls.options.metrics.answered(index, Code.DEADLINE_EXCEEDED);
    else stream.waiting.leave(Code.DEADLINE_EXCEEDED);
    stream.waiting = null;
    outbound.fail(stream, {
      code: Code.DEADLINE_EXCEEDED,
      details: 'Deadline exceeded',
      metadata: NO_METADATA,
    });
    this.#host.refused(stream);
  }

  /** Ends what has waited for the rest of a message for longer than `most` milliseconds. */
  endUnfinished(streams: Iterable<Stream>, now: number, most: number): void {
    for (const stream of streams) {
      if (stream.clientEnded || stream.phase === Phase.ANSWERING || !isUnfinished(stream)) stream.unfinishedSince = 0;
      else if (stream.unfinishedSince === 0) stream.unfinishedSince = now;
      else if (now - stream.unfinishedSince > most) this.#endUnfinished(stream);
    }
  }

  #endUnfinished(stream: Stream): void {
    if (stream.phase < Phase.ANSWERED) this.#host.service.refused.count('late');
    if (stream.phase === Phase.COLLECTING) this.#host.refuse(stream, new RefusedCall('too late'));
    else if (stream.phase >= Phase.ANSWERED) this.#host.reset(stream, ErrorCode.NO_ERROR);
    else this.#host.reset(stream, ErrorCode.CANCEL);
  }
}

/** Whether the client has something to send that is waited for. A stream of several messages may rest between two. */
function isUnfinished({ phase, body, entrance }: Stream): boolean {
  return phase !== Phase.PASSED || entrance?.many !== true || body !== null;
}
