/** The inbox of the person: the newest pages, the number of unread ones, and what comes while the page is open. */

import type { Api } from './api.ts';
import { isRecord, toUsherError, UsherError } from './errors.ts';
import { follow, type StreamEvent } from './events.ts';
import { isHidden } from './permission-store.ts';
import type { InboxItem, InboxState } from './types.ts';

export interface InboxStoreOptions {
  readonly api: Api;
  /** Whether somebody is signed in. Nobody has an inbox, and the service is not asked. */
  readonly isSignedIn: boolean;
}

interface Page {
  readonly items: readonly InboxItem[];
  readonly cursor: string | null;
}

const INBOX = '/api/profile/me/notifications/inbox';
const STREAM = '/api/profile/me/notifications/stream';
const PAGE_SIZE = 20;
/** Reads elsewhere are told one by one; the page is read again once. */
const TOGETHER_MS = 250;

export const EMPTY_INBOX: InboxState = Object.freeze({
  items: [],
  unread: null,
  known: false,
  hasMore: false,
  loading: false,
  error: null,
  arrived: null,
});

export class InboxStore {
  readonly #options: InboxStoreOptions;
  readonly #listeners = new Set<() => void>();
  #state = EMPTY_INBOX;
  #cursor: string | null = null;
  #running: AbortController | null = null;
  #following: AbortController | null = null;
  #syncTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: InboxStoreOptions) {
    this.#options = options;
  }

  get state(): InboxState {
    return this.#state;
  }

  /** Follows the inbox until the returned function is called. */
  hold(listener: () => void): () => void {
    this.#listeners.add(listener);
    this.#follow();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.pause();
    };
  }

  start(): void {
    if (!this.#options.isSignedIn) return;
    this.#running = new AbortController();
    this.#follow();
  }

  /** Forgets everything. */
  stop(): void {
    this.#running?.abort();
    this.#running = null;
    this.pause();
    this.#cursor = null;
    this.#set(EMPTY_INBOX);
  }

  /** The inbox was of somebody else. */
  forget(): void {
    if (this.#running === null) return;
    this.stop();
    this.start();
  }

  /** The page is hidden: the newest page is read again when it is shown. */
  pause(): void {
    clearTimeout(this.#syncTimer);
    this.#following?.abort();
    this.#following = null;
  }

  resume(): void {
    this.#follow();
  }

  /** Reads the next older page. Never rejects: `error` of the state says what failed. */
  async loadMore(): Promise<void> {
    const cursor = this.#cursor;
    if (cursor === null || this.#state.loading) return;
    await this.#attempt(async (signal) => {
      const page = await this.#page(cursor, signal);
      this.#cursor = page.cursor;
      this.#set({ items: merged(this.#state.items, page.items), hasMore: page.cursor !== null });
    });
  }

  /** Reads the newest page again. Never rejects. */
  async refresh(): Promise<void> {
    await this.#attempt((signal) => this.#readNewest(signal));
  }

  /** Never rejects: what could not be marked is unread again. */
  async markRead(id: number): Promise<void> {
    const item = this.#state.items.find((one) => one.id === id);
    if (item === undefined || item.readAt !== null) return;
    const unread = this.#state.unread ?? 1;
    this.#set({ items: this.#withRead((one) => one.id === id), unread: Math.max(0, unread - 1) });
    await this.#write('PATCH', `${INBOX}/${id}/read`);
  }

  /** Never rejects: what could not be marked is unread again. */
  async markAllRead(): Promise<void> {
    this.#set({ items: this.#withRead(() => true), unread: 0 });
    await this.#write('POST', `${INBOX}/read-all`, {});
  }

  /** A person who follows the link of a notification leaves the page at once: the request outlives it. */
  async #write(method: string, path: string, body?: unknown): Promise<void> {
    try {
      await this.#options.api.call(method, path, { ...(body === undefined ? {} : { body }), keepalive: true });
      this.#set({ error: null });
    } catch (error) {
      await this.refresh();
      this.#set({ error: toUsherError(error) });
    }
  }

  #withRead(isConcerned: (item: InboxItem) => boolean): InboxItem[] {
    const readAt = new Date().toISOString();
    return this.#state.items.map((item) => (item.readAt === null && isConcerned(item) ? { ...item, readAt } : item));
  }

  #follow(): void {
    const running = this.#running;
    if (running === null || this.#following !== null || this.#listeners.size === 0 || isHidden()) return;
    const following = new AbortController();
    this.#following = following;
    void follow({
      api: this.#options.api,
      path: STREAM,
      // The stream goes on behind the newest one of the page: nothing falls between the two. 0 is before the first.
      position: async () => {
        await this.#attempt((signal) => this.#readNewest(signal));
        if (this.#state.error !== null) throw this.#state.error;
        return String(this.#state.items[0]?.id ?? 0);
      },
      onEvent: (event) => this.#heard(event),
      onEnd: (error) => {
        if (error?.code === 'SIGNED_OUT') this.#set({ ...EMPTY_INBOX, error });
        else if (error !== null) this.#set({ error });
      },
      signal: following.signal,
    });
  }

  #heard({ name, data }: StreamEvent): void {
    if (name === 'notification') {
      const item = JSON.parse(data) as InboxItem;
      if (this.#state.items.some(({ id }) => id === item.id)) return;
      this.#set({ items: merged([item], this.#state.items), arrived: item });
    }
    if (name === 'unread-count') {
      const { count } = JSON.parse(data) as { count: number };
      // Fewer than here: something was read in another window, and the stream does not say what.
      if (this.#state.known && count < this.#state.items.filter(({ readAt }) => readAt === null).length)
        this.#syncLater();
      this.#set({ unread: count });
    }
  }

  #syncLater(): void {
    clearTimeout(this.#syncTimer);
    this.#syncTimer = setTimeout(() => void this.refresh(), TOGETHER_MS);
  }

  /** A page that overlaps with what is here renews it; after a longer pause it takes its place. */
  async #readNewest(signal: AbortSignal): Promise<void> {
    const { items } = this.#state;
    const page = await this.#page(null, signal);
    const ids = new Set(page.items.map(({ id }) => id));
    const oldest = page.items.at(-1)?.id ?? 0;
    const overlaps = page.cursor !== null && items.some(({ id }) => ids.has(id));
    const older = overlaps ? items.filter(({ id }) => id < oldest) : [];
    if (older.length === 0) this.#cursor = page.cursor;
    this.#set({ items: [...page.items, ...older], known: true, hasMore: this.#cursor !== null });
  }

  async #page(cursor: string | null, signal: AbortSignal): Promise<Page> {
    const query = new URLSearchParams({ limit: String(PAGE_SIZE), ...(cursor === null ? {} : { cursor }) });
    const { body } = await this.#options.api.call('GET', `${INBOX}?${query}`, { signal });
    if (!isRecord(body) || !Array.isArray(body.response)) throw new UsherError('The answer is not an inbox.');
    const next = isRecord(body.page) ? body.page.nextCursor : null;
    return { items: body.response as InboxItem[], cursor: typeof next === 'string' ? next : null };
  }

  /** Never rejects. */
  async #attempt(act: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const running = this.#running;
    if (running === null) return;
    this.#set({ loading: true });
    try {
      await act(running.signal);
      if (!running.signal.aborted) this.#set({ loading: false, error: null });
    } catch (error) {
      if (!running.signal.aborted) this.#set({ loading: false, error: toUsherError(error) });
    }
  }

  #set(change: Partial<InboxState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}

/** Both lists, newest first, each notification once. */
function merged(first: readonly InboxItem[], second: readonly InboxItem[]): InboxItem[] {
  const byId = new Map([...second, ...first].map((item) => [item.id, item]));
  return [...byId.values()].sort((one, other) => other.id - one.id);
}
