/**
 * The users of the identity provider, read to the end or not at all. Its pages are cut by offset while users come and go, so what
 * the list lacks proves nothing: a user is asked for by address before anything is concluded from that.
 */

import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import { normalizeEmail } from '../base/grammar.ts';
import { sleep } from '../base/wait.ts';
import { Human } from './admin-answers.ts';
import { parsed } from './admin-api.ts';
import { IdpBusy, type IdpClient, IdpRefusal, unreachable } from './client.ts';

const text = z.string().default('');
const moment = z.iso.datetime({ offset: true }).nullish();
const User = z.object({
  userId: z.string().min(1),
  state: text,
  details: z.object({ resourceOwner: text, changeDate: moment, creationDate: moment }).optional(),
  human: Human.optional(),
});
const Users = z.object({
  // 64-bit numbers are text; a zero is left out.
  details: z.object({ totalResult: z.union([z.string().regex(/^\d{1,15}$/), z.int()]).default(0) }).optional(),
  result: z.array(User).default([]),
});
const OneUser = z.object({ user: User });
type UserRow = z.output<typeof User>;

export interface ProviderUser {
  /** The provider's own: `sub` of its tokens. */
  readonly id: string;
  /** In normal form. */
  readonly email: string;
  /** Null for a state that no event of the webhook stands for, such as locked. */
  readonly active: boolean | null;
  readonly names: { readonly firstName: string; readonly lastName: string; readonly displayName: string };
  /** '' where the provider does not say. */
  readonly orgId: string;
  readonly createdAt: Date | null;
  /** Of the last change of anything, by the provider's clock. */
  readonly changedAt: Date | null;
}

const STATES: ReadonlyMap<string, boolean> = new Map([
  ['USER_STATE_ACTIVE', true],
  ['USER_STATE_INACTIVE', false],
  ['USER_STATE_DELETED', false],
]);

const PAGE = 100;
/** More would not fit into memory beside checks. */
const MAX_USERS = 1_000_000;
/** How often a request is made, and how long at most is waited before the next. */
const TRIES = 5;
const MAX_WAIT_MS = 20_000;
const FIRST_WAIT_MS = 500;

interface UserListOptions {
  readonly client: IdpClient;
  readonly clock: Pick<Clock, 'after' | 'now'>;
}

export class UserList {
  readonly #client: IdpClient;
  readonly #clock: Pick<Clock, 'after' | 'now'>;

  constructor({ client, clock }: UserListOptions) {
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * All users that have a storable address, in pages; each once. Throws IDP_UNREACHABLE where the list ends before the provider's own
   * count, or repeats itself, also after pages were given.
   */
  async *all(signal?: AbortSignal): AsyncGenerator<readonly ProviderUser[]> {
    const seen = new Set<string>();
    for (let offset = 0; ; ) {
      const query = { offset: String(offset), limit: PAGE, asc: true };
      const body = { query, sortingColumn: 'USER_FIELD_NAME_CREATION_DATE', queries: [] };
      const { result, details } = await this.#ask(body, signal);
      const total = Number(details?.totalResult ?? 0);
      const fresh = result.filter(({ userId }) => !seen.has(userId));
      for (const { userId } of fresh) seen.add(userId);
      if (seen.size > MAX_USERS) throw new UsherError('IDP_REJECTED', `It has more than ${MAX_USERS} users.`);
      if (result.length > 0 && fresh.length === 0) throw unreachable('its list of users repeats itself');
      yield fresh.flatMap(userOf);
      offset += result.length;
      // A page may be shorter than was asked for: only an empty one, or the count, is the end.
      if (result.length > 0 && (total === 0 || offset < total)) continue;
      if (seen.size < total) throw unreachable(`its list of users ended after ${seen.size} of ${total}`);
      return;
    }
  }

  /** All users with that address: the provider has one for each organization that they belong to. */
  async at(email: string, signal?: AbortSignal): Promise<readonly ProviderUser[]> {
    const emailQuery = { emailAddress: email, method: 'TEXT_QUERY_METHOD_EQUALS_IGNORE_CASE' };
    const { result, details } = await this.#ask({ queries: [{ emailQuery }] }, signal);
    const found = result.flatMap(userOf);
    // An answer that contradicts itself, or is about others, says nothing of the one who was asked for.
    if (result.length < Number(details?.totalResult ?? 0)) throw unreachable('its answer about a user is incomplete');
    if (found.length < result.length || found.some((user) => user.email !== email)) {
      throw unreachable('its answer is about another user');
    }
    return found;
  }

  /** The user with that id; null for an unknown one, a machine, and one without a storable address. */
  async one(id: string, signal?: AbortSignal): Promise<ProviderUser | null> {
    try {
      const path = `/v2/users/${encodeURIComponent(id)}`;
      const answer = await this.#patiently(() => this.#client.call({ method: 'GET', path }), signal);
      return userOf(parsed(OneUser, answer).user)[0] ?? null;
    } catch (error) {
      if (error instanceof IdpRefusal && error.idpStatus === 404) return null;
      throw error;
    }
  }

  async #ask(body: unknown, signal: AbortSignal | undefined): Promise<z.output<typeof Users>> {
    const request = { method: 'POST', path: '/v2/users', body, repeatable: true } as const;
    return await this.#patiently(async () => parsed(Users, await this.#client.call(request)), signal);
  }

  /** Waits and tries again where the provider is busy or does not answer: a night's reading must not end with one lost packet. */
  async #patiently<T>(ask: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    for (let tries = 1; ; tries++) {
      signal?.throwIfAborted();
      try {
        return await ask();
      } catch (error) {
        const isPassing = error instanceof UsherError && error.reason === 'IDP_UNREACHABLE';
        if (!isPassing || tries === TRIES) throw error;
        const asked = error instanceof IdpBusy ? error.waitMs(this.#clock.now()) : null;
        const wait = asked ?? FIRST_WAIT_MS * 2 ** (tries - 1);
        // Longer than this run can wait.
        if (wait > MAX_WAIT_MS) throw error;
        await sleep(this.#clock, wait, signal);
      }
    }
  }
}

/** Nobody for a machine, and for an address that cannot be stored. */
function userOf({ userId, state, details, human }: UserRow): ProviderUser[] {
  const email = normalizeEmail(human?.email?.email ?? '');
  if (email === null) return [];
  const { givenName = '', familyName = '', displayName = '' } = human?.profile ?? {};
  return [
    {
      id: userId,
      email,
      active: STATES.get(state) ?? null,
      names: { firstName: givenName, lastName: familyName, displayName },
      orgId: details?.resourceOwner ?? '',
      createdAt: dateOf(details?.creationDate),
      changedAt: dateOf(details?.changeDate),
    },
  ];
}

function dateOf(text: string | null | undefined): Date | null {
  return text === null || text === undefined ? null : new Date(text);
}
