/** For NestJS. */

import type { Usher } from '../types.ts';
import { type GuardOptions, judgeOf } from './guard.ts';

/** What the guard uses of an execution context. */
interface Context<Request> {
  switchToHttp(): { getRequest(): Request };
}

/**
 * A guard, for `@UseGuards(permissionGuard(usher, {…}))`. A refusal is NestJS's own 403.
 */
export function permissionGuard<Request>(usher: Usher, options: GuardOptions<Request>) {
  const judge = judgeOf(usher, options);
  return {
    canActivate: async (context: Context<Request>): Promise<boolean> =>
      (await judge(context.switchToHttp().getRequest())) === null,
  };
}
