/** Errors as gRPC carries them: a status code, one sentence, and google.rpc details beside (contract 2). */

import { create, toBinary } from '@bufbuild/protobuf';
import { type Any, anyPack } from '@bufbuild/protobuf/wkt';
import { Metadata } from '@grpc/grpc-js';
import { ERROR_DOMAIN, type Issue, type UsherError } from '../../errors.ts';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../gen/google/rpc/status_pb.ts';

/** What grpc-js takes as the end of a call that failed. */
export interface FailedStatus {
  code: number;
  details: string;
  metadata: Metadata;
}

/** Trailers share 8 KiB with everything else there in most clients; what exceeds it they turn into an error of their own. */
const MAX_VIOLATIONS = 16;
const MAX_TEXT = 512;

/**
 * The status of an error that a caller may see, with ErrorInfo always, BadRequest where fields are named, RetryInfo where
 * it pays to ask again, and the request id in the trailing metadata.
 */
export function toStatus(error: UsherError, requestId: string): FailedStatus {
  const message = clip(error.message);
  const details: Any[] = [
    anyPack(
      ErrorInfoSchema,
      create(ErrorInfoSchema, {
        reason: error.reason ?? error.code,
        domain: ERROR_DOMAIN,
        metadata: plainDetails(error.details),
      }),
    ),
  ];
  const violations = violationsOf(error.details?.issues);
  if (violations.length > 0) {
    details.push(anyPack(BadRequestSchema, create(BadRequestSchema, { fieldViolations: violations })));
  }
  if (error.retryAfter !== undefined) {
    const seconds = Math.ceil(error.retryAfter);
    details.push(anyPack(RetryInfoSchema, create(RetryInfoSchema, { retryDelay: { seconds: BigInt(seconds) } })));
  }
  const status = create(StatusSchema, { code: error.grpcStatus, message, details });
  const metadata = new Metadata();
  metadata.set('grpc-status-details-bin', Buffer.from(toBinary(StatusSchema, status)));
  metadata.set('x-request-id', requestId);
  return { code: error.grpcStatus, details: message, metadata };
}

/** The details that are single values. `code` is the reason, `issues` are the violations. */
function plainDetails(details: Record<string, unknown> | undefined): Record<string, string> {
  const entries = Object.entries(details ?? {})
    .filter(([key, value]) => key !== 'code' && ['string', 'number', 'boolean'].includes(typeof value))
    .map(([key, value]) => [key, clip(String(value))]);
  return Object.fromEntries(entries) as Record<string, string>;
}

function violationsOf(issues: unknown): { field: string; description: string }[] {
  if (!Array.isArray(issues)) return [];
  const named = (issues as Issue[])
    .slice(0, MAX_VIOLATIONS)
    .map(({ path, message }) => ({ field: clip(path), description: clip(message) }));
  const more = issues.length - named.length;
  return more > 0 ? [...named, { field: '', description: `and ${more} more` }] : named;
}

/** Short enough for a trailer, and well-formed: grpc-js throws on half a surrogate pair. */
function clip(text: string): string {
  return (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text).toWellFormed();
}
