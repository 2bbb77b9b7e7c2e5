/** Server-sent events, read by fetch and followed for as long as somebody looks. */

import type { Api } from './api.ts';
import { Backoff, pause } from './backoff.ts';
import { toUsherError, type UsherError } from './errors.ts';
import { ageOf, now } from './moment.ts';

export interface StreamEvent {
  readonly name: string;
  readonly id: string | null;
  readonly data: string;
}

export interface FollowOptions {
  readonly api: Api;
  readonly path: string;
  /** Called before each connection: prepares, and answers the id after which the stream goes on. A rejection is a failure. */
  readonly position: () => string | null | Promise<string | null>;
  readonly onEvent: (event: StreamEvent) => void;
  /** The stream ended or did not open. It is opened again by itself. */
  readonly onEnd: (error: UsherError | null) => void;
  readonly signal: AbortSignal;
}

/** The service sends a sign of life every 15 s. A connection that is silent for longer is dead, whatever the socket says. */
const SILENCE_MS = 40_000;
/** A stream that lasted this long was a success: the next attempt is soon. */
const LASTED_MS = 5_000;
/** The service does not give this person a stream: their account was deactivated, for example, which may be undone. */
const REFUSED_MS = 30_000;

/** Reads the stream again and again, until `signal` ends it. Never rejects. */
export async function follow(options: FollowOptions): Promise<void> {
  const { signal, onEnd } = options;
  const backoff = new Backoff();
  while (!signal.aborted) {
    const begun = now();
    let error: UsherError | null = null;
    try {
      await readOnce(options);
    } catch (thrown) {
      error = toUsherError(thrown);
    }
    if (signal.aborted) return;
    if (ageOf(begun) > LASTED_MS) backoff.succeeded();
    onEnd(error);
    const least = error === null || error.isTrouble ? (error?.retryAfterMs ?? null) : REFUSED_MS;
    await pause(backoff.next(error?.code === 'SIGNED_OUT' ? null : least), signal);
  }
}

async function readOnce({ api, path, position, onEvent, signal }: FollowOptions): Promise<void> {
  const stop = new AbortController();
  const end = (): void => stop.abort();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const listen = (): void => {
    clearTimeout(timer);
    timer = setTimeout(end, SILENCE_MS);
  };
  signal.addEventListener('abort', end);
  listen();
  try {
    const body = await api.open(path, await position(), stop.signal);
    for await (const event of eventsOf(body, listen)) {
      if (signal.aborted) return;
      onEvent(event);
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
    stop.abort();
  }
}

/** Events of a stream (WHATWG HTML, "Server-sent events"): lines, and a blank line ends an event. Calls `heard` for every piece. */
export async function* eventsOf(
  body: ReadableStream<Uint8Array>,
  heard: () => void = () => undefined,
): AsyncGenerator<StreamEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      rest += decoder.decode(value, { stream: true });
      const blocks = rest.split(/\r?\n\r?\n/);
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const event = eventOf(block);
        if (event !== null) yield event;
      }
    }
  } finally {
    // A stream that is left early must not stay open.
    await reader.cancel().catch(() => undefined);
  }
}

function eventOf(block: string): StreamEvent | null {
  let name = 'message';
  let id: string | null = null;
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (field === 'event') name = value;
    else if (field === 'id') id = value;
    else if (field === 'data') data.push(value);
  }
  // An id alone says where the stream begins; a comment is a sign of life.
  return data.length === 0 && id === null ? null : { name, id, data: data.join('\n') };
}
