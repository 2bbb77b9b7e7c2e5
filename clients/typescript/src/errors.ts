/** Why there is no answer. */

import { fromBinary } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { type ServiceError, status } from '@grpc/grpc-js';
import { BadRequestSchema, ErrorInfoSchema } from '../../../src/gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../../src/gen/google/rpc/status_pb.ts';

export interface Violation {
  readonly field: string;
  readonly message: string;
}

interface ErrorParts {
  /** The gRPC status by name, such as `UNAVAILABLE`. */
  readonly code: string;
  /** Stable, from the service's table of errors; the code where there is none. */
  readonly reason: string;
  readonly violations?: readonly Violation[];
  /** What belongs to the reason: of UNKNOWN_CODE the `path`, and the `known` code that was probably meant. */
  readonly details?: Readonly<Record<string, string>>;
  /** By which the service's log knows the call. */
  readonly requestId?: string | undefined;
  readonly cause?: unknown;
}

export class UsherError extends Error {
  readonly code: string;
  readonly reason: string;
  readonly violations: readonly Violation[];
  readonly details: Readonly<Record<string, string>>;
  readonly requestId: string | undefined;

  constructor(message: string, { code, reason, violations = [], details = {}, requestId, cause }: ErrorParts) {
    super(message, { cause });
    this.name = new.target.name;
    this.code = code;
    this.reason = reason;
    this.violations = violations;
    this.details = details;
    this.requestId = requestId;
  }
}

/** The service is away, too slow, or knows too little for now. A later try may succeed; until then nobody is allowed anything. */
export class UnavailableError extends UsherError {}

/** The key is missing, wrong, or lacks the scope. */
export class DeniedError extends UsherError {}

/** The question is malformed, or names a code that a strict application does not define. */
export class InvalidQuestionError extends UsherError {}

/** What a call of grpc-js rejected with. */
export function toUsherError(error: unknown): UsherError {
  if (error instanceof UsherError) return error;
  const { code = status.UNKNOWN, details = String(error), metadata } = error as Partial<ServiceError>;
  const requestId = metadata?.get('x-request-id')[0];
  return errorOf(details, {
    code: status[code] ?? 'UNKNOWN',
    ...detailsOf(metadata?.get('grpc-status-details-bin')[0]),
    requestId: typeof requestId === 'string' ? requestId : undefined,
    cause: error,
  });
}

interface Found {
  /** The service's own detail, where there is one. */
  readonly info: { readonly reason: string; readonly metadata: Readonly<Record<string, string>> } | undefined;
  /** The fields that the service named. */
  readonly named: readonly { readonly field: string; readonly description: string }[];
}

/** An error of the class of its status, with what its details say. */
export function errorOf(
  message: string,
  { code, info, named, requestId, cause }: Pick<ErrorParts, 'code' | 'requestId' | 'cause'> & Found,
): UsherError {
  const violations = named.map(({ field, description }) => ({ field, message: description }));
  const parts = { code, reason: info?.reason ?? code, violations, details: info?.metadata ?? {}, requestId, cause };
  return new (kindOf(code))(message, parts);
}

/** The class of a status. */
export function kindOf(code: string): typeof UsherError {
  switch (code) {
    case 'UNAVAILABLE':
    case 'DEADLINE_EXCEEDED':
    case 'RESOURCE_EXHAUSTED':
    case 'CANCELLED':
      return UnavailableError;
    case 'UNAUTHENTICATED':
    case 'PERMISSION_DENIED':
      return DeniedError;
    case 'INVALID_ARGUMENT':
      return InvalidQuestionError;
    default:
      return UsherError;
  }
}

function detailsOf(bytes: unknown): Found {
  if (!(bytes instanceof Uint8Array)) return NOTHING;
  try {
    const { details } = fromBinary(StatusSchema, bytes);
    const info = details.map((detail) => anyUnpack(detail, ErrorInfoSchema)).find((one) => one?.domain === 'usher');
    const named = details.flatMap((detail) => anyUnpack(detail, BadRequestSchema)?.fieldViolations ?? []);
    return { info, named };
  } catch {
    // Details that cannot be read only cost the precise reason: the call has failed all the same.
    return NOTHING;
  }
}

const NOTHING: Found = { info: undefined, named: [] };
