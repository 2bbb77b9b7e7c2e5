/** The google.rpc details of an error, the same for gRPC, Connect and gRPC-Web (docs/reference/http.md#error-bodies). */

import { create } from '@bufbuild/protobuf';
import { ERROR_DOMAIN, type Issue, type UsherError } from '../base/errors.ts';
import {
  type BadRequest,
  BadRequestSchema,
  type ErrorInfo,
  ErrorInfoSchema,
  type RetryInfo,
  RetryInfoSchema,
} from '../gen/google/rpc/error_details_pb.ts';

/** In most clients all trailers share 8 KiB; larger ones become an error of the client's own. */
const MAX_VIOLATIONS = 16;
const MAX_TEXT = 512;

interface ErrorDetails {
  /** Always present: the stable reason that a client branches on. */
  readonly info: ErrorInfo;
  /** Present where the error names fields. */
  readonly badRequest: BadRequest | null;
  /** Present where a retry can succeed. */
  readonly retry: RetryInfo | null;
}

export function errorDetails(error: UsherError): ErrorDetails {
  const violations = violationsOf(error.details?.issues, Number(error.details?.more ?? 0));
  return {
    info: create(ErrorInfoSchema, {
      reason: error.reason ?? error.code,
      domain: ERROR_DOMAIN,
      metadata: plainDetails(error.details),
    }),
    badRequest: violations.length > 0 ? create(BadRequestSchema, { fieldViolations: violations }) : null,
    retry:
      error.retryAfter === undefined
        ? null
        : create(RetryInfoSchema, { retryDelay: { seconds: BigInt(Math.ceil(error.retryAfter)) } }),
  };
}

/** The details that are single values; `code` and `issues` travel in the reason and the violations. */
function plainDetails(details: Record<string, unknown> | undefined): Record<string, string> {
  const entries: [string, string][] = Object.entries(details ?? {})
    .filter(([key, value]) => key !== 'code' && ['string', 'number', 'boolean'].includes(typeof value))
    .map(([key, value]) => [key, clip(String(value))]);
  return Object.fromEntries(entries);
}

function violationsOf(issues: unknown, leftOut: number): { field: string; description: string }[] {
  if (!Array.isArray(issues)) return [];
  const all: readonly Issue[] = issues;
  const named = all
    .slice(0, MAX_VIOLATIONS)
    .map(({ path, message }) => ({ field: clip(path), description: clip(message) }));
  const more = issues.length - named.length + leftOut;
  return more > 0 ? [...named, { field: '', description: `and ${more} more` }] : named;
}

/** Short enough for a trailer, and well-formed: grpc-js throws on a lone surrogate. */
export function clip(text: string): string {
  return (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text).toWellFormed();
}
