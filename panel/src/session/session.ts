/**
 * Who is signed in. The token is kept in memory alone: a reload signs in again, by the provider's own session or, in development,
 * by the address. When a token ends in the middle of something the page stays as it is, and `expired` asks to sign in again.
 */

import { useSyncExternalStore } from 'react';
import { ApiError } from '../api/error.ts';
import { Store } from '../shell/store.ts';
import { forgetPerson } from './person.ts';

export interface Token {
  readonly value: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** The address, as the token says it; else its subject, else empty. */
  readonly email: string;
}

/** How somebody signs in: development or an identity provider. */
export interface SignInWay {
  readonly kind: 'development' | 'oidc';
  /**
   * A new token for who was signed in, without asking them; null when that was refused and they must be asked. Rejects when
   * nobody answered, so that it may be tried again.
   */
  renew(): Promise<Token | null>;
  /**
   * Signs in again in the middle of work, without leaving the page; null when another press has taken its place. Rejects with
   * PopupBlocked where the browser opens no tab.
   */
  again(): Promise<Token | null>;
  signOut(): Promise<void>;
}

/** The browser opened no tab to sign in. */
export class PopupBlocked extends Error {
  override readonly name = 'PopupBlocked';
}

type SessionState =
  | { readonly kind: 'starting' }
  | { readonly kind: 'out'; readonly problem?: string }
  | { readonly kind: 'in'; readonly email: string; readonly expired: boolean };

/** A token is renewed this long before it ends. */
const RENEW_BEFORE_MS = 60_000;
/** Pauses between tries when a renewal is not answered. */
const PAUSES_MS = [500, 2_000];
/** A renewal by the timer that nobody answered is tried again this much later, while the token is valid. */
const RENEW_AGAIN_MS = 10_000;

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (reason: Error) => void;
}

export class Session {
  readonly #states = new Store<SessionState>({ kind: 'starting' });
  #token: Token | null = null;
  #way: SignInWay | null = null;
  #renewing: Promise<boolean> | null = null;
  /** Grows whenever somebody signs in or out: what was asked for before counts no more. */
  #generation = 0;
  /** Who was signed in last. */
  #person: string | null = null;
  /** The tokens of this person: a request with another's is not repeated with theirs. */
  readonly #own = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #waiting = new Set<Waiter>();

  get state(): SessionState {
    return this.#states.value;
  }

  /** The address of who is signed in. */
  get person(): string | null {
    return this.state.kind === 'in' ? this.state.email : null;
  }

  /** Whoever wants to know of every change of the state; the result ends it. */
  get subscribe(): Store<SessionState>['subscribe'] {
    return this.#states.subscribe;
  }

  /** `way` null: there is none, since signing in is not configured or its provider is away. */
  begin(way: SignInWay | null, token: Token | null, problem?: string): void {
    this.#way = way;
    if (token !== null) {
      this.#take(token);
      return;
    }
    this.#anew();
    this.#states.set({ kind: 'out', ...(problem === undefined ? {} : { problem }) });
  }

  /**
   * The bearer token of the next request; waits while somebody has to sign in again. Rejects with the ApiError `UNREACHABLE`
   * when it has to be renewed and nobody answers.
   */
  async token(): Promise<string> {
    if (this.#token !== null && this.#token.expiresAt - Date.now() < 5_000) await this.renewed(this.#token.value);
    if (this.#token === null) throw new Error('nobody is signed in');
    return this.#token.value;
  }

  /**
   * Resolves when a token other than the refused one is here: at once, by renewal, or when the same person has signed in again.
   * Rejects when somebody else has, when they signed out, and with the ApiError `UNREACHABLE` when nobody renews it.
   */
  async renewed(refused: string): Promise<void> {
    if (this.#isReplaced(refused)) return;
    const isAsking = this.state.kind === 'in' && this.state.expired;
    if (!isAsking && (await this.#renew())) return;
    if (this.#isReplaced(refused)) return;
    if (this.state.kind === 'in' && !isAsking) this.#states.set({ ...this.state, expired: true });
    await new Promise<void>((resolve, reject) => this.#waiting.add({ resolve, reject }));
  }

  /** Somebody pressed "sign in again". */
  async signInAgain(): Promise<void> {
    const way = this.#way;
    const token = (await way?.again()) ?? null;
    // Who signed out meanwhile stays signed out.
    if (token !== null && this.#way === way && this.state.kind === 'in') this.#take(token);
  }

  async signOut(): Promise<void> {
    const way = this.#way;
    this.#token = null;
    this.#leave('signed out');
    this.#states.set({ kind: 'out' });
    await way?.signOut();
  }

  /** Throws when the refused token was another person's, or nobody is signed in. */
  #isReplaced(refused: string): boolean {
    if (this.#token === null) throw new Error('nobody is signed in');
    if (!this.#own.has(refused)) throw new Error('somebody else has signed in');
    return this.#token.value !== refused;
  }

  /** One renewal at a time, for a refresh token may be used once. False: somebody must sign in. */
  #renew(): Promise<boolean> {
    if (this.#renewing !== null) return this.#renewing;
    const renewing = this.#askForToken(this.#generation).finally(() => {
      if (this.#renewing === renewing) this.#renewing = null;
    });
    this.#renewing = renewing;
    return renewing;
  }

  async #askForToken(generation: number): Promise<boolean> {
    const token = await this.#answered(generation);
    if (token === null || generation !== this.#generation) return false;
    // A renewed token need not say again whose it is.
    this.#take(token.email === '' ? { ...token, email: this.#person ?? '' } : token);
    return true;
  }

  /** Tries a few times where nobody answers, then throws the ApiError `UNREACHABLE`. */
  async #answered(generation: number): Promise<Token | null> {
    for (const pause of [...PAUSES_MS, null]) {
      try {
        return (await this.#way?.renew()) ?? null;
      } catch {
        // The way rejects only when nobody answered; what that means is said below.
        if (pause === null) break;
        await new Promise((resolve) => setTimeout(resolve, pause));
        if (generation !== this.#generation) return null;
      }
    }
    throw ApiError.unreachable(false);
  }

  #take(token: Token): void {
    if (this.#person !== null && this.#person !== token.email) this.#leave('somebody else has signed in');
    this.#anew();
    this.#token = token;
    this.#person = token.email;
    this.#own.add(token.value);
    this.#renewIn(token.expiresAt - Date.now() - RENEW_BEFORE_MS);
    this.#states.set({ kind: 'in', email: token.email, expired: false });
    for (const { resolve } of this.#waiting) resolve();
    this.#waiting.clear();
  }

  #renewIn(milliseconds: number): void {
    clearTimeout(this.#timer);
    const renew = (): void => {
      this.#renew().catch(() => {
        // Nobody answered. Once the token has ended, the next request tries.
        if (this.#token !== null && this.#token.expiresAt > Date.now()) this.#renewIn(RENEW_AGAIN_MS);
      });
    };
    this.#timer = setTimeout(renew, Math.min(Math.max(milliseconds, 1_000), 2 ** 31 - 1));
  }

  /** Nothing of who was signed in stays, and none of their requests goes on. */
  #leave(why: string): void {
    this.#anew();
    const before = this.#person;
    this.#person = null;
    this.#own.clear();
    for (const { reject } of this.#waiting) reject(new Error(why));
    this.#waiting.clear();
    if (before !== null) forgetPerson(before);
  }

  #anew(): void {
    this.#generation += 1;
    this.#renewing = null;
    clearTimeout(this.#timer);
  }
}

export const session = new Session();

export function useSession(): SessionState {
  return useSyncExternalStore(session.subscribe, () => session.state);
}
