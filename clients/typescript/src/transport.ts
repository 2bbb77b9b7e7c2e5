/** How questions reach a service or an edge. */

import type { DescMethodServerStreaming, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import type { AskOptions } from './types.ts';

export interface Transport {
  /** Rejects with UsherError, within the deadline. */
  unary<M extends DescMethodUnary>(
    method: M,
    request: MessageInitShape<M['input']>,
    options?: AskOptions,
  ): Promise<MessageShape<M['output']>>;
  /** The same for a message that is written already. */
  written<M extends DescMethodUnary>(
    method: M,
    bytes: Uint8Array,
    options?: AskOptions,
  ): Promise<MessageShape<M['output']>>;
  /** Without a deadline. Throws where it is refused, and where it ends before its time; when `signal` is aborted too. */
  stream<M extends DescMethodServerStreaming>(
    method: M,
    request: MessageInitShape<M['input']>,
    signal: AbortSignal,
  ): AsyncIterable<MessageShape<M['output']>>;
  close(): void;
}

/** Milliseconds for an answer, retries included. */
export const DEADLINE_MS = 500;
