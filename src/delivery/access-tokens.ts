/**
 * Access tokens of senders that sign in at their mail server by OAuth 2.0 (docs/reference/brands.md#smtp-by-oauth-20): fetched when they are needed, kept until shortly
 * before they expire, one request at a time for a sender.
 */

import { hash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { OAuth2Account, RefreshTurns } from './message.ts';
import { type GrantedToken, requestToken, type SecretIn, type TokenRequestOptions } from './token-request.ts';

export interface AccessTokensOptions extends TokenRequestOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly turns: RefreshTurns;
}

/** A sender whose mail server takes tokens. */
export interface TokenOwner {
  readonly id: number;
  readonly account: OAuth2Account;
}

interface Kept {
  readonly account: string;
  readonly token: string;
  /** By the monotonic clock. */
  readonly until: number;
  /** It was fetched because the mail server refused the one before, and no server has taken it since. */
  replaces: boolean;
  readonly secretIn: SecretIn;
}

/** A token is used no longer than this much before its end, or a fifth of its life. */
const MARGIN_MS = 60_000;
/** Where the token endpoint does not say how long. */
const UNKNOWN_LIFE_S = 300;
/** One more forgets the token that was asked for first. */
const MAX_KEPT = 256;

export class AccessTokens {
  readonly #options: AccessTokensOptions;
  readonly #kept = new Map<number, Kept>();
  /** By sender and account. */
  readonly #fetching = new Map<string, Promise<Kept>>();

  constructor(options: AccessTokensOptions) {
    this.#options = options;
  }

  /** Throws TokenFailure. */
  async tokenOf(owner: TokenOwner): Promise<string> {
    const kept = this.#current(owner);
    return kept === undefined ? (await this.#fetch(owner, false)).token : kept.token;
  }

  /**
   * Another token in place of one that the mail server refused; null where that was in place of another already: then the account is
   * at fault, and the next session begins anew. Throws TokenFailure.
   */
  async insteadOf(refused: string, owner: TokenOwner): Promise<string | null> {
    const kept = this.#current(owner);
    if (kept !== undefined && kept.token !== refused) return kept.token;
    if (kept?.replaces === true) {
      this.forget(refused, owner);
      return null;
    }
    return (await this.#fetch(owner, true)).token;
  }

  /** The mail server refused it, and it was in place of another. */
  forget(refused: string, { id }: TokenOwner): void {
    if (this.#kept.get(id)?.token === refused) this.#kept.delete(id);
  }

  /** The mail server took it. */
  accepted(token: string, { id }: TokenOwner): void {
    const kept = this.#kept.get(id);
    if (kept?.token === token) kept.replaces = false;
  }

  /** The token that a server's reply may repeat. */
  lastOf({ id }: TokenOwner): string | null {
    return this.#kept.get(id)?.token ?? null;
  }

  #current({ id, account }: TokenOwner): Kept | undefined {
    const kept = this.#kept.get(id);
    if (kept === undefined || kept.account !== nameOf(account)) return undefined;
    return kept.until > this.#options.clock.monotonic() ? kept : undefined;
  }

  async #fetch(owner: TokenOwner, replaces: boolean): Promise<Kept> {
    const key = `${owner.id}:${nameOf(owner.account)}`;
    const present = this.#fetching.get(key);
    if (present !== undefined) return await present;
    const fetching = this.#fetchNow(owner, replaces);
    this.#fetching.set(key, fetching);
    try {
      return await fetching;
    } finally {
      this.#fetching.delete(key);
    }
  }

  async #fetchNow({ id, account }: TokenOwner, replaces: boolean): Promise<Kept> {
    const { clock, turns } = this.#options;
    const name = nameOf(account);
    const before = this.#kept.get(id);
    const secretIn = before?.account === name ? before.secretIn : 'body';
    let asked = clock.monotonic();
    const request = async (refreshToken: string | null) => {
      asked = clock.monotonic();
      const answer = await requestToken({ account, refreshToken, secretIn }, this.#options);
      return { answer, next: answer.refreshToken };
    };
    const { refreshToken } = account;
    const granted =
      refreshToken === null ? (await request(null)).answer : await turns.use(id, { ...account, refreshToken }, request);
    const { accessToken: token } = granted;
    const kept = { account: name, token, until: asked + lifeOf(granted), replaces, secretIn: granted.secretIn };
    this.#kept.delete(id);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size < MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
    this.#kept.set(id, kept);
    return kept;
  }
}

/** For how long a token is used, in milliseconds. */
function lifeOf({ expiresIn }: GrantedToken): number {
  const lifeMs = (expiresIn ?? UNKNOWN_LIFE_S) * 1000;
  return lifeMs - Math.min(MARGIN_MS, lifeMs / 5);
}

/** Another account has other tokens. */
function nameOf(account: OAuth2Account): string {
  return hash('sha256', JSON.stringify(account), 'base64url');
}
