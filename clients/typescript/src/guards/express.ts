/** For Express and what has its middleware. */

import type { Usher } from '../types.ts';
import { type GuardOptions, judgeOf } from './guard.ts';

/** What the guard uses of a response. */
interface Answering {
  status(code: number): { json(body: unknown): unknown };
}

/** Middleware that lets only those through who are allowed: `app.delete('/projects/:id', requirePermission(usher, {…}), handler)`. */
export function requirePermission<Request>(usher: Usher, options: GuardOptions<Request>) {
  const judge = judgeOf(usher, options);
  return async (request: Request, response: Answering, next: () => void): Promise<void> => {
    const refusal = await judge(request);
    if (refusal === null) next();
    else response.status(refusal.status).json({ error: refusal.error });
  };
}
