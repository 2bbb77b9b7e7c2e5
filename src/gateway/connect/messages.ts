/** Checks RPC messages before Connect reads them, and makes Connect errors that agree with REST and gRPC (docs/reference/http.md#error-bodies). */

import { type DescMessage, fromJson, type JsonValue } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { type Issue, UsherError, validationFailed } from '../../base/errors.ts';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { clip, errorDetails } from '../../rpc/error-details.ts';
import { decodeStrictly, unreadableItem } from '../../rpc/strict.ts';
import { parseJson } from '../route/bodies.ts';
import { KEY_CHALLENGE } from '../route/guards.ts';

/** How each media type of Connect and gRPC-Web carries a message, and for which calls. */
export const RPC_MEDIA = {
  'application/json': { json: true, framed: false, grpc: false, answers: 'once' },
  'application/proto': { json: false, framed: false, grpc: false, answers: 'once' },
  'application/connect+json': { json: true, framed: true, grpc: false, answers: 'streams' },
  'application/connect+proto': { json: false, framed: true, grpc: false, answers: 'streams' },
  'application/grpc-web': { json: false, framed: true, grpc: true, answers: 'both' },
  'application/grpc-web+proto': { json: false, framed: true, grpc: true, answers: 'both' },
  'application/grpc-web+json': { json: true, framed: true, grpc: true, answers: 'both' },
  'application/grpc-web-text': { json: false, framed: true, grpc: true, answers: 'both' },
  'application/grpc-web-text+proto': { json: false, framed: true, grpc: true, answers: 'both' },
} as const;
export type RpcMedia = keyof typeof RPC_MEDIA;

/** gRPC-Web and streams: a byte of flags and four of length before the message. */
export const FRAME_BYTES = 5;

/**
 * A received body, checked so that Connect may parse it: JSON in strict UTF-8, a member given twice counting as
 * its last; no unknown field in either encoding. Throws VALIDATION_FAILED. Connect would answer a malformed binary message with
 * INTERNAL and let unknown fields of it pass.
 */
export function readMessage(body: Buffer, media: RpcMedia, input: DescMessage): Buffer {
  const { json, framed } = RPC_MEDIA[media];
  if (!framed) return checked(body, json, input);
  if (body.length < FRAME_BYTES || body.readUInt8(0) !== 0 || body.readUInt32BE(1) !== body.length - FRAME_BYTES) {
    throw validationFailed([{ path: '', message: 'must be one complete uncompressed frame' }]);
  }
  const message = checked(body.subarray(FRAME_BYTES), json, input);
  const frame = Buffer.alloc(FRAME_BYTES);
  frame.writeUInt32BE(message.length, 1);
  return Buffer.concat([frame, message]);
}

function checked(bytes: Buffer, json: boolean, input: DescMessage): Buffer {
  if (json) {
    const value = parsed(bytes.length === 0 ? Buffer.from('{}') : bytes);
    refuseUnless(
      () => fromJson(input, value),
      input,
      () => unreadableItem(input, value),
    );
    return Buffer.from(JSON.stringify(value));
  }
  decodeStrictly(input, bytes);
  return bytes;
}

/** Reads one JSON value. Issues have the paths of this protocol: `checks[3].resource_id`. */
function parsed(bytes: Buffer): JsonValue {
  try {
    return parseJson(bytes) as JsonValue;
  } catch (error) {
    const issues = error instanceof UsherError ? (error.details?.issues as readonly Issue[] | undefined) : undefined;
    if (issues === undefined) throw error;
    throw validationFailed(issues.map(({ path, message }) => ({ path: protoPath(path), message })));
  }
}

/** `checks.3.resourceId` as gRPC names it. JSON names are derived from proto names by the reverse rule. */
function protoPath(path: string): string {
  return path.replace(/\.(\d+)(?=\.|$)/g, '[$1]').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function refuseUnless<T>(decode: () => T, input: DescMessage, where: () => string): T {
  try {
    return decode();
  } catch (error) {
    if (error instanceof UsherError) throw error;
    // The parser's own message names the field and contains only input of the caller.
    const why = error instanceof Error ? error.message : 'malformed';
    throw validationFailed([{ path: where(), message: `is not a valid ${input.name}: ${why}` }]);
  }
}

/** A UsherError as a Connect error, with the details of gRPC. */
export function toConnectError(error: UsherError): ConnectError {
  const { info, badRequest, retry } = errorDetails(error);
  const metadata = new Headers();
  if (error.code === 'UNAUTHENTICATED') metadata.set('www-authenticate', KEY_CHALLENGE);
  if (error.retryAfter !== undefined) metadata.set('retry-after', String(error.retryAfter));
  // Connect uses gRPC's numeric codes.
  return new ConnectError(clip(error.message), error.grpcStatus as number as Code, metadata, [
    { desc: ErrorInfoSchema, value: info },
    ...(badRequest === null ? [] : [{ desc: BadRequestSchema, value: badRequest }]),
    ...(retry === null ? [] : [{ desc: RetryInfoSchema, value: retry }]),
  ]);
}

/** A canceled or late call keeps Connect's own code; every other error becomes a UsherError's. */
export function rpcError(thrown: unknown): unknown {
  if (thrown instanceof UsherError) return toConnectError(thrown);
  if (thrown instanceof ConnectError) return thrown;
  return new ConnectError('internal error', Code.Internal, undefined, undefined, thrown);
}
