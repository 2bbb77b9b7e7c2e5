/** Why there is no answer. */

/** A request that the service refused or did not answer. */
export class UsherError extends Error {
  override readonly name = 'UsherError';
  /** The status of the answer; 0 where there was no answer, or nobody to ask for. */
  readonly status: number;
  /** Stable, from the service's table of errors, such as `UNKNOWN_CODE`; `SIGNED_OUT` without a token, `NO_ANSWER` without an answer, `INVALID_ARGUMENT` for a question that was not asked because it is wrong. */
  readonly code: string;
  /** What belongs to the code: of `UNKNOWN_CODE` the `path`, and the `known` code that was probably meant. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Milliseconds after which the service wants to be asked again; null where it does not say. */
  readonly retryAfterMs: number | null;
  /** By which the service's log knows the request. */
  readonly requestId: string | null;

  constructor(message: string, parts: Partial<Omit<UsherError, 'name' | 'message'>> = {}) {
    super(message, { cause: parts.cause });
    this.status = parts.status ?? 0;
    this.code = parts.code ?? 'NO_ANSWER';
    this.details = parts.details ?? {};
    this.retryAfterMs = parts.retryAfterMs ?? null;
    this.requestId = parts.requestId ?? null;
  }

  /** Whether the same request may succeed later, by itself. */
  get isTrouble(): boolean {
    return this.code === 'NO_ANSWER' || this.status === 429 || this.status >= 500;
  }
}

/** Nobody is signed in, or their token is not accepted any longer. */
export function signedOut(cause?: unknown): UsherError {
  return new UsherError('Nobody is signed in.', { code: 'SIGNED_OUT', cause });
}

/** Reads an answer that is an error. Never rejects. */
export async function refusalOf(response: Response): Promise<UsherError> {
  const body = await response.json().catch(() => null);
  const { code, message, details = {}, requestId } = isRecord(body) ? body : {};
  const reason = isRecord(details) ? details.code : undefined;
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new UsherError(typeof message === 'string' ? message : `The service answered ${response.status}.`, {
    status: response.status,
    code: firstText(reason, code) ?? `HTTP_${response.status}`,
    details: isRecord(details) ? details : {},
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : null,
    requestId: firstText(requestId, response.headers.get('x-request-id')),
  });
}

/** What was thrown, as an UsherError. */
export function toUsherError(error: unknown): UsherError {
  if (error instanceof UsherError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new UsherError(`The service did not answer: ${message}`, { cause: error });
}

function firstText(...values: unknown[]): string | null {
  return values.find((value) => typeof value === 'string') ?? null;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
