/**
 * Signing in without a provider, for development (docs/reference/service.md#development-sign-in): anyone who opens the link that
 * the start printed can be anybody.
 */

import type { Clock } from '../base/clock.ts';
import { isSameSecret } from '../base/constant-time.ts';
import { UsherError } from '../base/errors.ts';
import type { LocalIssuer } from './local-issuer.ts';

const TTL_SECONDS = 60 * 60;
const CODE_BYTES = 24;

export interface IssuedToken {
  readonly token: string;
  readonly expiresAt: Date;
}

export interface DevelopmentSignIn {
  /** Of this start, kept nowhere: for the link that is printed, and never logged. */
  readonly code: string;
  /** Throws UNAUTHENTICATED for any other code, in a time that reveals nothing of it. */
  admit(code: string): void;
  /** An access token of `email` for an hour. Rejects with VALIDATION_FAILED for an invalid address. */
  token(email: string): Promise<IssuedToken>;
}

export function createDevelopmentSignIn(options: {
  issuer: LocalIssuer;
  clock: Pick<Clock, 'now' | 'bytes'>;
}): DevelopmentSignIn {
  const { issuer, clock } = options;
  const code = clock.bytes(CODE_BYTES).toString('base64url');
  return {
    code,
    admit(given) {
      if (isSameSecret(code, given)) return;
      throw new UsherError(
        'UNAUTHENTICATED',
        'This is not the code of this start; open the link that the service printed last.',
      );
    },
    async token(email) {
      const token = await issuer.sign(email, {}, TTL_SECONDS);
      return { token, expiresAt: new Date((Math.floor(clock.now() / 1000) + TTL_SECONDS) * 1000) };
    },
  };
}
