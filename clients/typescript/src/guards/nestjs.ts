/** For NestJS. */

import type { Usher } from '../types.ts';
import { type GuardOptions, judge } from './guard.ts';

/** What the guard uses of an execution context. */
interface Context<Request> {
  switchToHttp(): { getRequest(): Request };
}

/**
 * A guard, for `@UseGuards(permissionGuard(usher, {…}))`. A refusal is NestJS's own 403.
 */
export function permissionGuard<Request>(usher: Usher, options: GuardOptions<Request>) {
  return {
    canActivate: async (context: Context<Request>): Promise<boolean> =>
      (await judge(usher, options, context.switchToHttp().getRequest())) === null,
  };
}
