/** Errors as gRPC carries them: a status code, one sentence, and google.rpc details (docs/reference/http.md#error-bodies). */

import { create, toBinary } from '@bufbuild/protobuf';
import { type Any, anyPack } from '@bufbuild/protobuf/wkt';
import { Metadata } from '@grpc/grpc-js';
import type { UsherError } from '../base/errors.ts';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from '../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../gen/google/rpc/status_pb.ts';
import { clip, errorDetails } from '../rpc/error-details.ts';

/** The end of a failed call, as grpc-js takes it. */
export interface FailedStatus {
  code: number;
  details: string;
  metadata: Metadata;
}

/** The end of a call that another service has answered: callers see it as it is. */
export class PassedOn extends Error {
  readonly status: FailedStatus;

  constructor(status: FailedStatus) {
    super(status.details);
    this.name = 'PassedOn';
    this.status = status;
  }
}

/**
 * The status of an error for callers: ErrorInfo always, BadRequest where fields are named, RetryInfo where a retry can
 * succeed, and the request id in the trailing metadata.
 */
export function toStatus(error: UsherError, requestId: string): FailedStatus {
  const message = clip(error.message);
  const { info, badRequest, retry } = errorDetails(error);
  const details: Any[] = [anyPack(ErrorInfoSchema, info)];
  if (badRequest !== null) details.push(anyPack(BadRequestSchema, badRequest));
  if (retry !== null) details.push(anyPack(RetryInfoSchema, retry));
  const status = create(StatusSchema, { code: error.grpcStatus, message, details });
  const metadata = new Metadata();
  metadata.set('grpc-status-details-bin', Buffer.from(toBinary(StatusSchema, status)));
  metadata.set('x-request-id', requestId);
  return { code: error.grpcStatus, details: message, metadata };
}
