/**
 * Changes by others, as the service streams them: what is on the screen and concerned is asked for again, and the change is
 * told with who made it. The stream is read by fetch, since an EventSource cannot send a token.
 */

import { useEffect } from 'react';
import { OWN_RIGHTS, refresh } from '../api/queries.ts';
import { onPersonChanged } from '../session/person.ts';
import { session } from '../session/session.ts';
import { concernedBy, type Scope } from './concerned.ts';
import { Store, useStore } from './store.ts';
import { lookForUpgrade } from './upgraded.ts';

export interface Change {
  readonly revision: string;
  readonly scopes: readonly Scope[];
  readonly actor: string | null;
  /** When it was heard of. */
  readonly at: string;
}

interface LiveState {
  readonly connected: boolean;
  /** The last change by somebody. */
  readonly last: Change | null;
}

const state = new Store<LiveState>({ connected: true, last: null });
const RETRY_MS = 3_000;
/** Who was refused asks again after this long: a right may be given back. */
const REFUSED_MS = 30_000;
/** Changes that come together are asked for together. */
const TOGETHER_MS = 500;

onPersonChanged(() => set({ connected: true, last: null }));

export function useLive(): LiveState {
  return useStore(state);
}

/** The same, outside of a component. */
export function live(): LiveState {
  return state.value;
}

/** Follows for as long as the component is shown. `enabled`: whether the person administers anything; nobody else is heard. */
export function useLiveChanges(enabled: boolean): void {
  useEffect(() => {
    if (!enabled) return undefined;
    const stop = new AbortController();
    void follow(stop.signal);
    return () => stop.abort();
  }, [enabled]);
}

/** Reads the stream, again and again, until `signal` ends it. */
export async function follow(signal: AbortSignal): Promise<void> {
  let lastId: string | null = null;
  let isFirst = true;
  while (!signal.aborted) {
    let isRefused = false;
    try {
      const token = await session.token();
      const headers: HeadersInit = {
        authorization: `Bearer ${token}`,
        ...(lastId === null ? {} : { 'last-event-id': lastId }),
      };
      const response: Response = await fetch('/api/admin/stream', { headers, signal, cache: 'no-store' });
      if (response.status === 401) await session.renewed(token);
      isRefused = response.status === 403 || response.status === 404;
      if (response.ok && response.body !== null) {
        if (!state.value.connected) lookForUpgrade();
        set({ connected: true });
        // From the last id on the service tells what changed meanwhile. Without one, nobody does.
        if (!isFirst && lastId === null) refresh('/api');
        isFirst = false;
        for await (const event of eventsOf(response.body)) {
          lastId = event.id ?? lastId;
          if (event.name === 'change') heard(JSON.parse(event.data) as Omit<Change, 'at'>);
        }
      }
    } catch {
      // The connection was cut, or the service is away: the loop tries again.
    }
    if (signal.aborted) return;
    // The service is there, but the right was taken away: what else is offered has changed with it.
    if (isRefused) refresh(OWN_RIGHTS);
    set({ connected: isRefused });
    await pause(isRefused ? REFUSED_MS : RETRY_MS, signal);
  }
}

/** Ends early when `signal` does. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

const waiting = new Set<string>();

function heard(change: Omit<Change, 'at'>): void {
  set({ last: { ...change, at: new Date().toISOString() } });
  if (waiting.size === 0) setTimeout(ask, TOGETHER_MS);
  for (const one of concernedBy(change.scopes, session.person)) waiting.add(one);
}

function ask(): void {
  refresh(...waiting);
  waiting.clear();
}

interface StreamEvent {
  readonly name: string;
  readonly id: string | null;
  readonly data: string;
}

/** Events of a stream (HTML, "Server-sent events"): lines, a blank line ends an event. */
export async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body) {
    rest += decoder.decode(bytes, { stream: true });
    const blocks = rest.split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = eventOf(block);
      if (event !== null) yield event;
    }
  }
}

function eventOf(block: string): StreamEvent | null {
  let name = 'message';
  let id: string | null = null;
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (field === 'event') name = value;
    if (field === 'id') id = value;
    if (field === 'data') data.push(value);
  }
  // An id alone says where the stream begins.
  return data.length === 0 && id === null ? null : { name, id, data: data.join('\n') };
}

function set(change: Partial<LiveState>): void {
  state.set({ ...state.value, ...change });
}
