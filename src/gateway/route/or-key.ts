/** Guards that take an internal API key beside, or in place of, another credential. */

import { UsherError } from '../../base/errors.ts';
import type { KeyApplications, KeyHolder, KeyScope } from '../../identity/api-keys.ts';
import type { Caller } from '../../identity/tokens.ts';
import { type Guard, KEY_HEADER, key } from './guards.ts';

/** A pipeline, by the name of its internal API key. */
export interface KeyCaller {
  readonly key: string;
  /** The applications that the key is narrowed to; null: all. */
  readonly apps: KeyApplications;
}

export function isKeyCaller(caller: Caller | KeyCaller): caller is KeyCaller {
  return 'key' in caller;
}

/**
 * Callers that `guard` admits, or an internal API key with that scope. A key that is sent decides alone: a wrong one is 401, whatever
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
      const holder = services.keys.authorizeAny(value, scope);
      if (holder === null) throw new Error('the key that was sent has no holder');
      return { key: holder.name, apps: holder.apps };
    },
    refusesBrowsers: isKeyCaller,
    key: (caller) => (isKeyCaller(caller) ? { name: caller.key, apps: caller.apps } : null),
    permit: (services, request, caller) =>
      isKeyCaller(caller) ? undefined : guard.permit?.(services, request, caller),
    actor: (caller) => (isKeyCaller(caller) ? `key:${caller.key}` : guard.actor(caller)),
  };
}

/** RFC 6750 2.1, but for the characters of a key, of which a token may have fewer. */
const BEARER_KEY = /^bearer +([\x21-\x7e]+)$/i;

/** As `key`, for clients that send every credential as a bearer. `x-internal-api-key` decides alone where both are sent. */
export function keyOrBearer(scope: KeyScope): Guard<KeyHolder | null> {
  const byKey = key(scope);
  return {
    ...byKey,
    name: `key(${scope}), or the key as bearer`,
    description: `${byKey.description} It may come as \`Authorization: Bearer <key>\` too.`,
    alternative: 'bearerKey',
    identify: ({ keys }, request) => {
      const authorization = request.header('authorization');
      const value = request.header(KEY_HEADER);
      if (value !== undefined || authorization === undefined) return keys.authorizeAny(value, scope);
      const [, bearer] = BEARER_KEY.exec(authorization) ?? [];
      if (bearer !== undefined) return keys.authorizeAny(bearer, scope);
      throw new UsherError(
        'UNAUTHENTICATED',
        'Send the internal API key as Authorization: Bearer <key>, or in the header x-internal-api-key.',
      );
    },
  };
}
