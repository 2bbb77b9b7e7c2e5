/** The state of a login, kept in the browser between its two requests: sealed, for ten minutes, for one use. (docs/reference/identity-provider.md#login-for-development.) */

import { EncryptJWT, jwtDecrypt } from 'jose';
import type { Clock } from '../base/clock.ts';
import { isSameSecret } from '../base/constant-time.ts';
import { UsherError } from '../base/errors.ts';
import type { Database } from '../persistence/database.ts';
import { claimEvent } from '../persistence/people/seen-events.ts';

/** Derives 32 bytes for each purpose from the service's secret key. Rejects with UNAVAILABLE. */
export interface SecretSource {
  derive(purpose: string): Promise<Buffer>;
}

export interface LoginState {
  clientId: string;
  state: string;
  nonce: string;
  verifier: string;
}

interface CookieOptions {
  readonly secret: SecretSource;
  readonly database: Database;
  readonly clock: Clock;
  readonly publicUrl: () => string;
}

const LIFE_S = 10 * 60;
export const LOGIN_COOKIE = 'usher_login';
const PATH = '/api/idp';
const PURPOSE = 'login-cookie';

export class LoginCookie {
  readonly #options: CookieOptions;

  constructor(options: CookieOptions) {
    this.#options = options;
  }

  /** A `Set-Cookie` line. */
  async seal(login: LoginState): Promise<string> {
    const { clock } = this.#options;
    const now = Math.floor(clock.now() / 1000);
    const sealed = await new EncryptJWT({ ...login })
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .setJti(clock.bytes(16).toString('base64url'))
      .setExpirationTime(now + LIFE_S)
      .encrypt(await this.#key());
    return this.#line(sealed, LIFE_S);
  }

  /** A `Set-Cookie` line that deletes the cookie. */
  clearing(): string {
    return this.#line('', 0);
  }

  /** The login in the cookie, if it belongs to `state` and was not used before. Throws BAD_REQUEST. */
  async open(sealed: string | undefined, state: string): Promise<LoginState> {
    if (sealed === undefined) throw refused('No login is in progress in this browser, or it took over ten minutes.');
    const { id, ...login } = await this.#decrypt(sealed);
    if (!isSameSecret(login.state, state)) throw refused('This callback belongs to another login.');
    const { result } = await this.#options.database.change(async (tx) => ({
      result: await claimEvent(tx, 'login', id),
      scopes: [],
    }));
    if (!result) throw refused('This login has already been completed.');
    return login;
  }

  async #decrypt(sealed: string): Promise<LoginState & { id: string }> {
    try {
      const { payload } = await jwtDecrypt(sealed, await this.#key(), {
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: ['A256GCM'],
        requiredClaims: ['exp', 'jti'],
        currentDate: new Date(this.#options.clock.now()),
      });
      const { clientId, state, nonce, verifier, jti } = payload as Record<string, string>;
      if (clientId && state && nonce && verifier && jti) return { clientId, state, nonce, verifier, id: jti };
    } catch (error) {
      if (error instanceof UsherError) throw error;
      // One message for every fault of a cookie.
    }
    throw refused('No login is in progress in this browser, or it took over ten minutes.');
  }

  #key(): Promise<Uint8Array> {
    return this.#options.secret.derive(PURPOSE);
  }

  /** Lax: the provider's redirect is a navigation from another site, and must carry the cookie. */
  #line(value: string, maxAge: number): string {
    const secure = this.#options.publicUrl().startsWith('https:') ? '; Secure' : '';
    return `${LOGIN_COOKIE}=${value}; Path=${PATH}; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure}`;
  }
}

function refused(message: string): UsherError {
  return new UsherError('BAD_REQUEST', message);
}
