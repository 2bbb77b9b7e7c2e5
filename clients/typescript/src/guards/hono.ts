/** For Hono. */

import type { Usher } from '../types.ts';
import { type GuardOptions, judgeOf } from './guard.ts';

/** What the guard uses of a context. */
interface Answering<Answer> {
  json(body: unknown, status: 401 | 403 | 500 | 503): Answer;
}

/** Middleware: `app.get('/projects/:id', requirePermission(usher, {…}), handler)`. */
export function requirePermission<Answer, Context extends Answering<Answer>>(
  usher: Usher,
  options: GuardOptions<Context>,
) {
  const judge = judgeOf(usher, options);
  return async (context: Context, next: () => Promise<void>): Promise<Answer | undefined> => {
    const refusal = await judge(context);
    if (refusal !== null) return context.json({ error: refusal.error }, refusal.status);
    await next();
    return undefined;
  };
}
