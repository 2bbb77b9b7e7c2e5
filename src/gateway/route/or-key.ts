/** Guards that let either an administrator or a pipeline in. */

import type { KeyScope } from '../../identity/api-keys.ts';
import type { Caller } from '../../identity/tokens.ts';
import { type Guard, KEY_HEADER, key } from './guards.ts';

/** A pipeline, by the name of its internal API key. */
export interface KeyCaller {
  readonly key: string;
}

export function isKeyCaller(caller: Caller | KeyCaller): caller is KeyCaller {
  return 'key' in caller;
}

/**
 * Whom `guard` lets in, or an internal API key with that scope. A key that is sent decides alone: a wrong one is 401, whatever
 * token comes with it, and one without the scope is 403. Keys are not for browsers, so a request with a key is refused with an
 * Origin other than publicUrl's.
 */
export function orKey(scope: KeyScope, guard: Guard<Caller>): Guard<Caller | KeyCaller> {
  const byKey = key(scope);
  return {
    ...guard,
    name: `${guard.name} or key(${scope})`,
    description: `${guard.description} Or an internal API key with the scope \`${scope}\`, which is not for browsers.`,
    alternative: 'internalKey',
    errors: [...new Set([...guard.errors, ...byKey.errors])],
    identify: (services, request) => {
      const value = request.header(KEY_HEADER);
      if (value === undefined) return guard.identify(services, request);
      const holder = services.keys.authorize(value, scope);
      if (holder === null) throw new Error('a key that was sent has a holder');
      return { key: holder.name };
    },
    refusesBrowsers: isKeyCaller,
    permit: (services, request, caller) =>
      isKeyCaller(caller) ? undefined : guard.permit?.(services, request, caller),
    actor: (caller) => (isKeyCaller(caller) ? `key:${caller.key}` : guard.actor(caller)),
  };
}
