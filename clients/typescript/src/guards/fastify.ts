/** For Fastify. */

import type { Usher } from '../types.ts';
import { type GuardOptions, judgeOf } from './guard.ts';

/** What the guard uses of a reply. */
interface Replying {
  code(status: number): { send(body: unknown): unknown };
}

/** A hook: `fastify.get('/projects/:id', { preHandler: requirePermission(usher, {…}) }, handler)`. */
export function requirePermission<Request>(usher: Usher, options: GuardOptions<Request>) {
  const judge = judgeOf(usher, options);
  return async (request: Request, reply: Replying): Promise<unknown> => {
    const refusal = await judge(request);
    return refusal === null ? undefined : reply.code(refusal.status).send({ error: refusal.error });
  };
}
