/** Errors of the engine in this process, as those of a service. */

import { type ServiceError, status } from '@grpc/grpc-js';
import { UsherError as EngineError } from '../../../src/base/errors.ts';
import { PROTO_FIELDS } from '../../../src/engine/question.ts';
import { withCallerPath } from '../../../src/engine/unknown-codes.ts';
import { pathsOf } from '../../../src/rpc/call.ts';
import { kindOf, toUsherError, UnavailableError, UsherError, type Violation } from './errors.ts';

/** As the service names the fields of a question. */
const PATHS = pathsOf(PROTO_FIELDS);

/** The error of a question, with the names of its fields. */
export function refusalOf(error: unknown): UsherError {
  return engineError(withCallerPath(error, PATHS));
}

export function engineError(error: unknown): UsherError {
  if (error instanceof UsherError) return error;
  if (error instanceof EngineError) {
    const refused = refusalBehind(error);
    if (refused !== null) return refused;
    const code = status[error.grpcStatus] ?? 'UNKNOWN';
    const parts = {
      code,
      reason: error.reason ?? error.code,
      violations: violationsOf(error),
      details: detailsOf(error),
      cause: error,
    };
    return new (kindOf(code))(error.message, parts);
  }
  return toUsherError(error);
}

/** The upstream refuses this process: for the engine that is trouble like any other, for whoever configures it it is not. */
function refusalBehind({ cause }: EngineError): UsherError | null {
  const { code, metadata } = (cause ?? {}) as Partial<ServiceError>;
  if (typeof code !== 'number' || metadata === undefined) return null;
  const refusal = toUsherError(cause);
  return refusal instanceof UnavailableError ? null : refusal;
}

function violationsOf({ details }: EngineError): Violation[] {
  const issues = Array.isArray(details?.issues) ? (details.issues as { path: string; message: string }[]) : [];
  return issues.map(({ path, message }) => ({ field: path, message }));
}

/** The details that are single values, as a service sends them. */
function detailsOf({ details = {} }: EngineError): Record<string, string> {
  const plain = Object.entries(details).filter(([name, value]) => name !== 'code' && typeof value !== 'object');
  return Object.fromEntries(plain.map(([name, value]) => [name, String(value)]));
}
