/** What the clients of REST have in common: how they are made, their errors, and when a request is worth another try. */

import { kindOf, UsherError, type Violation } from './errors.ts';
import type { Faults, Members } from './faults.ts';

const TRIES = 3;
const AGAIN_MS = 200;

/** The statuses of gRPC that stand for those of HTTP (docs/reference/errors.md#codes). */
const CODES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  409: 'ALREADY_EXISTS',
  412: 'ABORTED',
  413: 'RESOURCE_EXHAUSTED',
  415: 'INVALID_ARGUMENT',
  422: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
};
/** Of an answer that the same request may mend, by itself. */
const PASSING: readonly number[] = [429, 502, 503, 504];

/** An answer that is an error, with its status. */
class Refused {
  readonly status: number;
  readonly error: UsherError;

  constructor(status: number, error: UsherError) {
    this.status = status;
    this.error = error;
  }
}

interface ErrorBody {
  readonly message?: unknown;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly requestId?: unknown;
}

/** What there is to throw for an answer that is no success. `text` is its body: of a proxy often no JSON, and then its status has to do. */
export function refused(response: Response, text: string): Refused {
  const { message, details = {}, requestId } = bodyOf(text);
  const { code: reason, issues, more: _, ...rest } = details;
  const code = CODES[response.status] ?? (response.status > 500 ? 'UNAVAILABLE' : 'FAILED_PRECONDITION');
  const Kind = kindOf(code);
  const error = new Kind(typeof message === 'string' ? message : `${response.url} answered ${response.status}.`, {
    code,
    reason: typeof reason === 'string' ? reason : code,
    violations: Array.isArray(issues) ? issues.map(violationOf) : [],
    details: Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, textOf(value)])),
    requestId: typeof requestId === 'string' ? requestId : (response.headers.get('x-request-id') ?? undefined),
  });
  return new Refused(response.status, error);
}

/**
 * The answer of `attempt`, which is made again, with pauses of random length, while the service is away or busy. Rejects with
 * UsherError alone.
 */
export async function tried<T>(
  attempt: () => Promise<T>,
  { origin, isRepeatable, signal }: { origin: string; isRepeatable: boolean; signal: AbortSignal },
): Promise<T> {
  for (let left = isRepeatable ? TRIES : 1; ; left--) {
    try {
      return await attempt();
    } catch (error) {
      if (left <= 1 || signal.aborted || !isPassing(error)) throw toError(error, origin);
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS * (0.5 + Math.random() / 2)));
  }
}

/** Of a gateway: where it is, without a path. */
export function originOf(members: Members, faults: Faults, url: string): string {
  if (members.has('url') && url !== '' && URL.canParse(url) && !/^\/?$/.test(new URL(url).pathname)) {
    faults.add('url', 'must have no path: it is the address of the gateway, such as https://usher.example.com');
  }
  return url === '' || !URL.canParse(url) ? '' : new URL(url).origin;
}

function isPassing(error: unknown): boolean {
  if (error instanceof Refused) return PASSING.includes(error.status);
  return !(error instanceof UsherError);
}

function toError(error: unknown, origin: string): UsherError {
  if (error instanceof Refused) return error.error;
  if (error instanceof UsherError) return error;
  const isLate = error instanceof DOMException && error.name === 'TimeoutError';
  const code = isLate ? 'DEADLINE_EXCEEDED' : 'UNAVAILABLE';
  const Kind = kindOf(code);
  const message = `${origin} did not answer as Usher's gateway does${isLate ? ', within the deadline' : ''}. Is it the address of REST (port 8080 by default; gRPC has another, 50051), and is it http or https as there?`;
  return new Kind(message, { code, reason: code, cause: error });
}

function bodyOf(text: string): ErrorBody {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null ? body : {};
  } catch {
    return {};
  }
}

function violationOf(issue: unknown): Violation {
  const { path, message } = (issue ?? {}) as { path?: unknown; message?: unknown };
  return { field: textOf(path), message: textOf(message) };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}
