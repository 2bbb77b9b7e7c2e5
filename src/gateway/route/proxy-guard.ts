/** Whom a proxy asks about (docs/reference/decisions.md#the-status-as-the-answer). */

import { UsherError } from '../../base/errors.ts';
import type { KeyHolder } from '../../identity/api-keys.ts';
import type { Caller } from '../../identity/tokens.ts';
import { refuseForeignHost } from '../middleware/local-host.ts';
import { type Guard, KEY_HEADER, key, signedInEvenInactive } from './guards.ts';

/** A person by a token, or by the word of a proxy with a key. */
export interface AskedAbout {
  /** As sent. */
  readonly email: string;
  /** The key that came with the call; null for none. */
  readonly key: KeyHolder | null;
  /** Null for a person whom the proxy names. */
  readonly token: Caller | null;
  /** Whether a token and a name were sent: the question is refused. */
  readonly isAmbiguous: boolean;
}

const BEARER = /^bearer(?: |$)/i;

/**
 * The owner of a bearer token, or the person whom `userHeader` names beside an internal API key of scope `check`. A key that is sent must
 * be valid. A name without a key is 401: anybody can send a header. An `Authorization` of another scheme belongs to what the proxy protects.
 */
export function askedByProxy(userHeader: string): Guard<AskedAbout> {
  return {
    kind: 'proxy',
    name: 'askedByProxy',
    description: `Needs the user's bearer token; or an internal API key with the scope \`check\` where keys are configured, and the user's address in the header \`${userHeader}\`. \`Origin\` says nothing here, and no page of another origin can read the answer.`,
    scheme: 'bearer',
    alternative: 'internalKey',
    errors: [...new Set([...signedInEvenInactive.errors, ...key('check').errors])],
    browsers: false,
    ignoresOrigin: true,
    identify: (services, request) => {
      const sent = request.header(KEY_HEADER);
      const holder = sent === undefined ? null : services.keys.authorizeAny(sent, 'check');
      // An empty header is what some proxies make of none.
      const name = request.header(userHeader) || null;
      const authorization = request.header('authorization');
      if (authorization !== undefined && BEARER.test(authorization)) {
        const isAmbiguous = name !== null;
        const asked = (token: Caller): AskedAbout => ({ email: token.email, key: holder, token, isAmbiguous });
        const identified = signedInEvenInactive.identify(services, request);
        return identified instanceof Promise ? identified.then(asked) : asked(identified);
      }
      if (name === null) {
        throw new UsherError(
          'UNAUTHENTICATED',
          `Send the user's access token as Authorization: Bearer <token>, or an internal API key and the user's address in ${userHeader}.`,
        );
      }
      return {
        email: name,
        key: holder ?? services.keys.authorizeAny(undefined, 'check'),
        token: null,
        isAmbiguous: false,
      };
    },
    permit: (services, request, asked) => {
      if (asked.token !== null) return signedInEvenInactive.permit?.(services, request, asked.token);
      if (asked.key === null) refuseForeignHost(request.header('host'));
      return undefined;
    },
    isGuess: ({ keys }, request) => {
      try {
        return keys.authorizeAny(request.header(KEY_HEADER), 'check') === null;
      } catch (error) {
        // A key without the scope is a real one.
        return !(error instanceof UsherError && error.code === 'FORBIDDEN');
      }
    },
    key: ({ key: holder }) => holder,
    actor: ({ key: holder, token }) => {
      if (holder !== null) return `key:${holder.name}`;
      return token === null ? null : `user:${token.email}`;
    },
  };
}
