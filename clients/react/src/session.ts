/** The token of the person at the screen. */

import { isRecord, signedOut, UsherError } from './errors.ts';

/**
 * Answers the access token of the person who is signed in, null for nobody. `renew` is true when the token that
 * was given before has expired, or the service has refused it: then another one is needed.
 */
export type GetToken = (options: { readonly renew: boolean }) => string | null | Promise<string | null>;

export interface SessionOptions {
  readonly getToken: GetToken;
  /** Called when the service refuses the token, and there is no other one. */
  readonly onUnauthenticated?: (() => void) | undefined;
}

/** Milliseconds for an application to find a token, which may take a request to its identity provider. */
const TOKEN_MS = 20_000;

export class Session {
  readonly #options: SessionOptions;
  /** Called when a token is of another person than the one before: answers must not be mixed. */
  onOtherPerson: () => void = () => undefined;
  #subject: string | null = null;
  #asking: Promise<string> | null = null;
  #renewing: Promise<string> | null = null;
  #refused: string | null = null;
  #told: string | null = null;
  /** Over by the clock of this machine, which may be wrong, and there is no other one. */
  #kept: string | null = null;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Rejects with SIGNED_OUT for nobody. */
  async token(): Promise<string> {
    const token = await this.#ask(false);
    // The application gives the refused token until it notices.
    if (token === this.#refused) return await this.renewed(token);
    if (token === this.#kept || !isOver(token)) return token;
    this.#kept = await this.#renew(token);
    return this.#kept;
  }

  /** Another token than the one that was refused. Rejects with SIGNED_OUT where there is none. */
  async renewed(refused: string): Promise<string> {
    this.#refused = refused;
    const token = await this.#renew(refused);
    if (token === refused) throw this.reject(refused);
    return token;
  }

  /** One renewal for all who ask for it. */
  #renew(old: string): Promise<string> {
    const renew = async (): Promise<string> => {
      // Another request may have renewed it already.
      const current = await this.#ask(false);
      return current === old ? await this.#ask(true) : current;
    };
    this.#renewing ??= renew().finally(() => {
      this.#renewing = null;
    });
    return this.#renewing;
  }

  /** The service takes none of the tokens that there are: the application is told once of each. */
  reject(token: string): UsherError {
    this.#refused = token;
    if (this.#told !== token) this.#options.onUnauthenticated?.();
    this.#told = token;
    return signedOut();
  }

  /** Everything that begins at one moment asks the application once. */
  #ask(renew: boolean): Promise<string> {
    if (renew) return this.#give(true);
    this.#asking ??= this.#give(false).finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #give(renew: boolean): Promise<string> {
    const token = await beforeDeadline(async () => await this.#options.getToken({ renew }));
    if (token === null || token === '') throw signedOut();
    const subject = subjectOf(token);
    if (subject !== null && subject !== this.#subject) {
      const isOther = this.#subject !== null;
      this.#subject = subject;
      if (isOther) this.onOtherPerson();
    }
    return token;
  }
}

/** Whose token it is: issuer and subject of a JWT, which nobody has verified here; null for any other form. */
export function subjectOf(token: string): string | null {
  const { iss = null, sub } = claimsOf(token);
  return typeof sub === 'string' ? JSON.stringify([iss, sub]) : null;
}

/** Whether a JWT has expired: the service takes it for a little longer, but ends its streams. */
function isOver(token: string): boolean {
  const { exp } = claimsOf(token);
  return typeof exp === 'number' && exp * 1000 <= Date.now();
}

function claimsOf(token: string): Record<string, unknown> {
  try {
    const [, claims = ''] = token.split('.');
    const bytes = Uint8Array.from(atob(claims.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
    const parsed: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isRecord(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

/** Rejects with NO_ANSWER where the application fails: whether somebody is signed in is not known then. */
async function beforeDeadline<T>(give: () => Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('it took too long')), TOKEN_MS);
  });
  try {
    return await Promise.race([give(), late]);
  } catch (cause) {
    throw new UsherError(`The application gave no token: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  } finally {
    clearTimeout(timer);
  }
}
