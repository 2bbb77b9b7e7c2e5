/** What the guards of all frameworks share. */

import { UnavailableError } from '../errors.ts';
import type { Question, Resource, Usher } from '../types.ts';

/** How a guard finds out what to ask. */
export interface GuardOptions<Request> {
  readonly app: string;
  readonly permission: string;
  readonly level?: 'view' | 'edit' | undefined;
  /** The caller's address, from whatever has authenticated them. Null or undefined: nobody, 401. */
  readonly email: (request: Request) => string | null | undefined;
  /** The record that the request is about. */
  readonly resource?: ((request: Request) => Resource | undefined) | undefined;
  /** Whether trouble is 503, which says that a later try may succeed; otherwise it is 403. */
  readonly unavailable?: boolean | undefined;
}

/** What a guarded request gets instead of its answer; null: nothing, it may go on. */
export interface Refusal {
  readonly status: 401 | 403 | 503;
  readonly error: 'unauthenticated' | 'forbidden' | 'unavailable';
}

/** Never rejects: what is not allowed is refused, trouble included. */
export async function judge<Request>(
  usher: Usher,
  options: GuardOptions<Request>,
  request: Request,
): Promise<Refusal | null> {
  const { app, permission, level, email, resource, unavailable = false } = options;
  try {
    const caller = email(request);
    if (caller === null || caller === undefined || caller === '') return { status: 401, error: 'unauthenticated' };
    const question: Question = { email: caller, app, permission, level, resource: resource?.(request) };
    const { allowed } = await usher.check(question);
    return allowed ? null : FORBIDDEN;
  } catch (error) {
    return unavailable && error instanceof UnavailableError ? { status: 503, error: 'unavailable' } : FORBIDDEN;
  }
}

const FORBIDDEN: Refusal = { status: 403, error: 'forbidden' };
