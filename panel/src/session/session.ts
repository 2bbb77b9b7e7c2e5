/**
 * Who is signed in. The token is kept in memory alone: a reload signs in again, by the provider's own session or, in development,
 * by the address. When a token ends in the middle of something the page stays as it is, and `expired` asks to sign in again.
 */

import { useSyncExternalStore } from 'react';

export interface Token {
  readonly value: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** The address, as the token says it. */
  readonly email: string;
}

/** How somebody signs in: development or an identity provider. */
export interface SignInWay {
  readonly kind: 'development' | 'oidc';
  /** A new token for who was signed in, without asking them; null when they must be asked. */
  renew(): Promise<Token | null>;
  /** Signs in again in the middle of work, without leaving the page; resolves with the token. */
  again(): Promise<Token | null>;
  signOut(): Promise<void>;
}

export type SessionState =
  | { readonly kind: 'starting' }
  | { readonly kind: 'out'; readonly problem?: string }
  | { readonly kind: 'in'; readonly email: string; readonly expired: boolean };

/** A token is renewed this long before it ends. */
const RENEW_BEFORE_MS = 60_000;

class Session {
  #state: SessionState = { kind: 'starting' };
  #token: Token | null = null;
  #way: SignInWay | null = null;
  #renewing: Promise<boolean> | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #waiting = new Set<() => void>();

  get state(): SessionState {
    return this.#state;
  }

  get way(): SignInWay | null {
    return this.#way;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  begin(way: SignInWay, token: Token | null, problem?: string): void {
    this.#way = way;
    if (token === null) this.#set({ kind: 'out', ...(problem === undefined ? {} : { problem }) });
    else this.#take(token);
  }

  /** The bearer token of the next request; waits while somebody has to sign in again. */
  async token(): Promise<string> {
    if (this.#token !== null && this.#token.expiresAt - Date.now() < 5_000) await this.renewed(this.#token.value);
    if (this.#token === null) throw new Error('nobody is signed in');
    return this.#token.value;
  }

  /** Resolves when a token other than the refused one is here: at once, by renewal, or when somebody has signed in again. */
  async renewed(refused: string): Promise<void> {
    if (this.#token !== null && this.#token.value !== refused) return;
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = null;
    });
    if (await this.#renewing) return;
    if (this.#state.kind === 'in') this.#set({ ...this.#state, expired: true });
    await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  /** Somebody pressed "sign in again". */
  async signInAgain(): Promise<void> {
    const token = (await this.#way?.again()) ?? null;
    if (token !== null) this.#take(token);
  }

  take(token: Token): void {
    this.#take(token);
  }

  async signOut(): Promise<void> {
    const way = this.#way;
    this.#token = null;
    clearTimeout(this.#timer);
    this.#set({ kind: 'out' });
    await way?.signOut();
  }

  async #renew(): Promise<boolean> {
    const token = await this.#way?.renew().catch(() => null);
    if (token === null || token === undefined) return false;
    this.#take(token);
    return true;
  }

  #take(token: Token): void {
    this.#token = token;
    clearTimeout(this.#timer);
    const left = token.expiresAt - Date.now() - RENEW_BEFORE_MS;
    this.#timer = setTimeout(() => void this.#renew(), Math.min(Math.max(left, 1_000), 2 ** 31 - 1));
    this.#set({ kind: 'in', email: token.email, expired: false });
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  #set(state: SessionState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}

export const session = new Session();

export function useSession(): SessionState {
  return useSyncExternalStore(session.subscribe, () => session.state);
}
