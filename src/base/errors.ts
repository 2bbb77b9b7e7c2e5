/**
 * The closed set of things that can go wrong, and the one table that gives each its HTTP and gRPC status.
 * Features throw `UsherError`; each transport translates it once. (docs/reference/errors.md.)
 */

/** gRPC status codes by number; ConnectError codes are the same. */
export const GrpcStatus = {
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;
export type GrpcStatus = (typeof GrpcStatus)[keyof typeof GrpcStatus];

/** What a client branches on first: the `code` of an error body, with its status in HTTP and in gRPC. */
const CODES = {
  BAD_REQUEST: { http: 400, grpc: GrpcStatus.INVALID_ARGUMENT },
  UNAUTHENTICATED: { http: 401, grpc: GrpcStatus.UNAUTHENTICATED },
  FORBIDDEN: { http: 403, grpc: GrpcStatus.PERMISSION_DENIED },
  NOT_FOUND: { http: 404, grpc: GrpcStatus.NOT_FOUND },
  METHOD_NOT_ALLOWED: { http: 405, grpc: GrpcStatus.UNIMPLEMENTED },
  CONFLICT: { http: 409, grpc: GrpcStatus.ALREADY_EXISTS },
  PRECONDITION_FAILED: { http: 412, grpc: GrpcStatus.ABORTED },
  PAYLOAD_TOO_LARGE: { http: 413, grpc: GrpcStatus.RESOURCE_EXHAUSTED },
  UNSUPPORTED_MEDIA_TYPE: { http: 415, grpc: GrpcStatus.INVALID_ARGUMENT },
  UNPROCESSABLE: { http: 422, grpc: GrpcStatus.INVALID_ARGUMENT },
  RATE_LIMITED: { http: 429, grpc: GrpcStatus.RESOURCE_EXHAUSTED },
  INTERNAL: { http: 500, grpc: GrpcStatus.INTERNAL },
  UPSTREAM_FAILED: { http: 502, grpc: GrpcStatus.UNAVAILABLE },
  UNAVAILABLE: { http: 503, grpc: GrpcStatus.UNAVAILABLE },
  DEADLINE_EXCEEDED: { http: 503, grpc: GrpcStatus.DEADLINE_EXCEEDED },
} as const satisfies Record<string, { http: number; grpc: GrpcStatus }>;
export type ErrorCode = keyof typeof CODES;

/** The precise reason, where there is one: `details.code` of an error body, `reason` of a google.rpc.ErrorInfo. */
const REASONS = {
  VALIDATION_FAILED: 'BAD_REQUEST',
  UNKNOWN_LANGUAGES: 'BAD_REQUEST',
  INCOMPLETE_RESOURCE: 'BAD_REQUEST',
  UNKNOWN_RESOURCE_TYPE: 'BAD_REQUEST',
  INVALID_ACCESS_LEVEL: 'BAD_REQUEST',
  GLOBAL_PERMISSION: 'BAD_REQUEST',
  UNKNOWN_REFERENCE: 'BAD_REQUEST',
  MISSING_VARIABLES: 'BAD_REQUEST',
  IMMUTABLE_FIELD: 'BAD_REQUEST',
  UNKNOWN_REVISION: 'BAD_REQUEST',
  UNKNOWN_CODE: 'BAD_REQUEST',
  UNBOUNDED: 'BAD_REQUEST',
  EMAIL_NOT_VERIFIED: 'UNAUTHENTICATED',
  SIGNATURE_INVALID: 'UNAUTHENTICATED',
  SIGNATURE_EXPIRED: 'UNAUTHENTICATED',
  USER_INACTIVE: 'FORBIDDEN',
  PREFERENCE_LOCKED: 'FORBIDDEN',
  NO_APPLICATION_LEVEL: 'FORBIDDEN',
  KEY_SCOPE: 'FORBIDDEN',
  IDENTITY_CONFLICT: 'FORBIDDEN',
  ORGANIZATION_NOT_ADMITTED: 'FORBIDDEN',
  BROWSER_NOT_ALLOWED: 'FORBIDDEN',
  NO_LIST_ENDPOINT: 'NOT_FOUND',
  ALREADY_EXISTS: 'CONFLICT',
  ENTITY_IN_USE: 'CONFLICT',
  BRAND_IN_USE: 'CONFLICT',
  LANGUAGE_IN_USE: 'CONFLICT',
  TYPE_IN_USE: 'CONFLICT',
  LAST_SUPERADMIN: 'CONFLICT',
  IDEMPOTENCY_KEY_REUSED: 'CONFLICT',
  ENDPOINT_TAKEN: 'CONFLICT',
  TARGET_NOT_EMPTY: 'CONFLICT',
  ORGANIZATION_CONFIGURED: 'CONFLICT',
  RECONCILIATION_BRAKED: 'CONFLICT',
  RECONCILIATION_RUNNING: 'CONFLICT',
  SYSTEM_RECORD: 'CONFLICT',
  LIST_CHANGED: 'CONFLICT',
  UPGRADE_UNFINISHED: 'CONFLICT',
  STALE: 'PRECONDITION_FAILED',
  RULES_VERSION: 'PRECONDITION_FAILED',
  UNKNOWN_ORGANIZATION: 'UNPROCESSABLE',
  IDP_UNREACHABLE: 'UPSTREAM_FAILED',
  IDP_REJECTED: 'UPSTREAM_FAILED',
  LIST_ENDPOINT_FAILED: 'UPSTREAM_FAILED',
  SMTP_FAILED: 'UPSTREAM_FAILED',
  IDP_NOT_CONFIGURED: 'UNAVAILABLE',
  PANEL_NOT_BUILT: 'UNAVAILABLE',
  OUTCOME_UNKNOWN: 'UNAVAILABLE',
} as const satisfies Record<string, ErrorCode>;
export type Reason = keyof typeof REASONS;

/** Reasons that gRPC has another status for than the rest of their code. */
const GRPC_REASONS: Partial<Record<Reason, GrpcStatus>> = {
  // Not a conflict with existing data: the caller starts over.
  LIST_CHANGED: GrpcStatus.ABORTED,
  // Not a conflict with what is there: the operator has to end the upgrade first.
  UPGRADE_UNFINISHED: GrpcStatus.FAILED_PRECONDITION,
  // Not a conflict with another writer: a retry cannot succeed.
  RULES_VERSION: GrpcStatus.FAILED_PRECONDITION,
};

/** One thing wrong with an input. `path` is dotted from the body's root (`permissions.3.code`); empty means the whole. */
export interface Issue {
  path: string;
  message: string;
}

interface ErrorOptions {
  /** Further data for programs; becomes `details` beside `details.code`. Never anything internal. */
  details?: Record<string, unknown>;
  /** Seconds for `Retry-After`; 429 and 503 always carry one (default 1). */
  retryAfter?: number;
  /** For the log only; never leaves the process. */
  cause?: unknown;
}

/** An error that a caller is meant to see. `message` is one sentence that a person can act on. */
export class UsherError extends Error {
  readonly code: ErrorCode;
  readonly reason: Reason | undefined;
  readonly details: Record<string, unknown> | undefined;
  readonly retryAfter: number | undefined;

  constructor(kind: Reason | ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'UsherError';
    const reason = Object.hasOwn(REASONS, kind) ? (kind as Reason) : undefined;
    this.code = reason ? REASONS[reason] : (kind as ErrorCode);
    this.reason = reason;
    this.details = bounded(reason ? { code: reason, ...options.details } : options.details);
    const status = CODES[this.code].http;
    this.retryAfter = status === 429 || status === 503 ? (options.retryAfter ?? 1) : undefined;
  }

  get httpStatus(): number {
    return CODES[this.code].http;
  }

  get grpcStatus(): GrpcStatus {
    return (this.reason && GRPC_REASONS[this.reason]) ?? CODES[this.code].grpc;
  }
}

/** Issues that one error names. A body of a megabyte can have 80,000 unknown fields. */
export const MAX_ISSUES = 100;

/** The details with at most MAX_ISSUES issues; `more` counts those left out. */
function bounded(details: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
  const issues = details?.issues;
  if (!Array.isArray(issues) || issues.length <= MAX_ISSUES) return details;
  return { ...details, issues: issues.slice(0, MAX_ISSUES), more: issues.length - MAX_ISSUES };
}

/** 400 VALIDATION_FAILED; `details.issues` names the fields, the first MAX_ISSUES of them. */
export function validationFailed(issues: readonly Issue[]): UsherError {
  const first = issues[0];
  const where = first?.path ? `${first.path}: ` : '';
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  return new UsherError('VALIDATION_FAILED', `${where}${first?.message ?? 'the request is invalid'}${more}`, {
    details: { issues },
  });
}

/** 503: the database or a part of Usher is unavailable. Trouble is never an answer (docs/reference/http.md#trouble-is-never-an-answer). */
export function unavailable(message: string, cause?: unknown): UsherError {
  return new UsherError('UNAVAILABLE', message, { cause });
}

/** Any thrown value as an error that callers may see: anything but a UsherError becomes a bare 500. */
export function toUsherError(error: unknown): UsherError {
  if (error instanceof UsherError) return error;
  return new UsherError('INTERNAL', 'Internal error; the log has the details under this request id.', {
    cause: error,
  });
}

/** The google.rpc.ErrorInfo domain of every error. */
export const ERROR_DOMAIN = 'usher';

/** Every reason and code with its statuses, for documentation and for tests of completeness. */
export const ERROR_TABLE: { readonly codes: typeof CODES; readonly reasons: typeof REASONS } = {
  codes: CODES,
  reasons: REASONS,
};
