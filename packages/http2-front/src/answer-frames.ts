/** The headers and the end of every answer that succeeded, as frames without a stream's number. */

import { Flag } from './frames.ts';
import { headersFrames } from './headers-frames.ts';
import { encodeHeaders, encodeIndexed } from './hpack.ts';

/** `:status: 200` by its place in the static table. */
const STATUS_200 = encodeIndexed(8);
/** What grpc-js sends with each answer. */
const HEADERS = [
  ['content-type', 'grpc-accept-encoding', 'grpc-encoding'],
  ['application/grpc+proto', 'identity,deflate,gzip', 'identity'],
] as const;
const TRAILERS = [
  ['grpc-status', 'grpc-message'],
  ['0', 'OK'],
] as const;

/** The blocks of an answer that need no table, and change none. */
export const PLAIN_HEADERS: Buffer = Buffer.concat([STATUS_200, encodeHeaders(...HEADERS)]);
export const PLAIN_TRAILERS: Buffer = encodeHeaders(...TRAILERS);

/** Before and after the data of an answer. */
export interface AnswerFrames {
  readonly head: Buffer;
  readonly tail: Buffer;
}

/** Puts its five fields into the client's table, which was empty. Head and tail must be the next two blocks of the connection. */
export const FIRST: AnswerFrames = answerFrames(encodeHeaders(...HEADERS, true), encodeHeaders(...TRAILERS, true));

/** Names the five fields by their places in the table, where the newest is the first. */
export const REPEATED: AnswerFrames = answerFrames(encodeIndexed(66, 65, 64), encodeIndexed(63, 62));

function answerFrames(headers: Buffer, trailers: Buffer): AnswerFrames {
  return {
    head: headersFrames(0, Buffer.concat([STATUS_200, headers]), Flag.NONE),
    tail: headersFrames(0, trailers, Flag.END_STREAM),
  };
}
