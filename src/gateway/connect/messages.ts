/** RPC messages before Connect sees them, and errors as Connect writes them: one meaning with REST and gRPC (docs/reference/http.md#error-bodies). */

import { type DescMessage, fromJson, type JsonValue } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { UsherError, validationFailed } from '../../base/errors.ts';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { clip, errorDetails } from '../../rpc/error-details.ts';
import { decodeStrictly } from '../../rpc/strict.ts';
import { parseJson } from '../route/bodies.ts';
import { KEY_CHALLENGE } from '../route/guards.ts';

/** How each media type of Connect and gRPC-Web carries a message. */
export const RPC_MEDIA = {
  'application/json': { json: true, framed: false },
  'application/proto': { json: false, framed: false },
  'application/grpc-web': { json: false, framed: true },
  'application/grpc-web+proto': { json: false, framed: true },
  'application/grpc-web+json': { json: true, framed: true },
} as const;
export type RpcMedia = keyof typeof RPC_MEDIA;

/** gRPC-Web: a byte of flags and four of length before the message. */
export const FRAME_BYTES = 5;

/**
 * A received body as Connect may parse it, after our own reading of it: JSON in strict UTF-8, a member given twice counting as
 * its last; no unknown field in either encoding. Throws VALIDATION_FAILED. Connect would answer a malformed binary message with
 * INTERNAL and let unknown fields of it pass.
 */
export function readMessage(body: Buffer, media: RpcMedia, input: DescMessage): Buffer {
  const { json, framed } = RPC_MEDIA[media];
  if (!framed) return checked(body, json, input);
  if (body.length < FRAME_BYTES || body.readUInt8(0) !== 0 || body.readUInt32BE(1) !== body.length - FRAME_BYTES) {
    throw validationFailed([{ path: '', message: 'must be one whole uncompressed frame' }]);
  }
  const message = checked(body.subarray(FRAME_BYTES), json, input);
  const frame = Buffer.alloc(FRAME_BYTES);
  frame.writeUInt32BE(message.length, 1);
  return Buffer.concat([frame, message]);
}

function checked(bytes: Buffer, json: boolean, input: DescMessage): Buffer {
  if (json) {
    const value = parseJson(bytes.length === 0 ? Buffer.from('{}') : bytes) as JsonValue;
    refuseUnless(() => fromJson(input, value), input);
    return Buffer.from(JSON.stringify(value));
  }
  decodeStrictly(input, bytes);
  return bytes;
}

function refuseUnless<T>(decode: () => T, input: DescMessage): T {
  try {
    return decode();
  } catch (error) {
    if (error instanceof UsherError) throw error;
    // The parser's own words name the field; they hold nothing but what the caller sent.
    const why = error instanceof Error ? error.message : 'malformed';
    throw validationFailed([{ path: '', message: `is no ${input.name}: ${why}` }]);
  }
}

/** Our error as Connect writes it, with the details of the gRPC door. */
export function toConnectError(error: UsherError): ConnectError {
  const { info, badRequest, retry } = errorDetails(error);
  const metadata = new Headers();
  if (error.code === 'UNAUTHENTICATED') metadata.set('www-authenticate', KEY_CHALLENGE);
  if (error.retryAfter !== undefined) metadata.set('retry-after', String(error.retryAfter));
  // Connect's codes are those of gRPC, by number.
  return new ConnectError(clip(error.message), error.grpcStatus as number as Code, metadata, [
    { desc: ErrorInfoSchema, value: info },
    ...(badRequest === null ? [] : [{ desc: BadRequestSchema, value: badRequest }]),
    ...(retry === null ? [] : [{ desc: RetryInfoSchema, value: retry }]),
  ]);
}

/** A cancelled or late call keeps Connect's own code; everything else is ours. */
export function rpcError(thrown: unknown): unknown {
  if (thrown instanceof UsherError) return toConnectError(thrown);
  if (thrown instanceof ConnectError) return thrown;
  return new ConnectError('internal error', Code.Internal, undefined, undefined, thrown);
}
