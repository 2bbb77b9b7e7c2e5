/** A request that failed, with what a person can act on. */

export interface ErrorDetails {
  readonly code?: string;
  readonly message?: string;
  readonly details?: {
    readonly code?: string;
    readonly issues?: readonly { readonly path: string; readonly message: string }[];
    readonly more?: number;
  } & Readonly<Record<string, unknown>>;
  readonly requestId?: string;
}

export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** 0 when the service could not be reached. */
  readonly status: number;
  /** The reason, such as `STALE`, or the code of the status. `UNREACHABLE` and `TIMEOUT` are the panel's own. */
  readonly code: string;
  readonly issues: readonly { readonly path: string; readonly message: string }[];
  readonly details: Readonly<Record<string, unknown>>;
  readonly requestId: string | null;

  private constructor(
    status: number,
    code: string,
    message: string,
    body: ErrorDetails | undefined,
    id: string | null,
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.issues = body?.details?.issues ?? [];
    this.details = body?.details ?? {};
    this.requestId = body?.requestId ?? id;
  }

  static of(response: Response, body: ErrorDetails | undefined): ApiError {
    const code = body?.details?.code ?? body?.code ?? `HTTP_${response.status}`;
    const message = body?.message ?? (response.statusText || `HTTP ${response.status}`);
    return new ApiError(response.status, code, message, body, response.headers.get('x-request-id'));
  }

  static unreachable(late: boolean): ApiError {
    return new ApiError(0, late ? 'TIMEOUT' : 'UNREACHABLE', '', undefined, null);
  }

  /** Whether the same request may succeed a moment later. */
  get isTransient(): boolean {
    return (
      this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504 || this.status === 429
    );
  }

  /** The message of the issue of a field; null where the service found no fault in it. */
  issueOf(path: string): string | null {
    return this.issues.find((issue) => issue.path === path || issue.path.startsWith(`${path}.`))?.message ?? null;
  }
}

/** Somebody else has changed the same fields: each with its label, and what they made of it. */
export class Conflict extends Error {
  override readonly name = 'Conflict';
  readonly theirs: readonly (readonly [label: string, value: unknown])[];

  constructor(theirs: Conflict['theirs']) {
    super('somebody else has changed the same fields');
    this.theirs = theirs;
  }
}

/** Whether somebody else has changed what a write was made for. */
export function isStale(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'STALE';
}

/** What was thrown as an Error, so that it can be shown. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
