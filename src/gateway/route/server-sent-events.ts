/** Streams of server-sent events (WHATWG HTML 9.2), read by `fetch`: a token stands in a header, never in a URL. */

import type { Heartbeat } from '../../base/event-stream.ts';
import { parseRevision } from '../../engine/question.ts';
import type { RevisionToken } from '../../engine/types.ts';
import type { StreamEnvelope } from './envelopes.ts';

/** One event as a block of lines. */
export interface SentEvent {
  /** A reader resumes after the last event with one. */
  readonly id?: string | number;
  /** Without a name and data only the id is told. */
  readonly event?: string;
  readonly data?: unknown;
}

/** The envelope of a stream of `E`; `description` names its events. */
export function serverSentEvents<E extends { readonly event: string }>(
  description: string,
  show: (event: E) => SentEvent,
): StreamEnvelope {
  return {
    kind: 'stream',
    name: 'serverSentEvents',
    media: ['text/event-stream'],
    // Keeps proxies from buffering events.
    headers: { 'x-accel-buffering': 'no' },
    encode: (piece) =>
      (piece as readonly (E | Heartbeat)[])
        .map((event) => (isHeartbeat(event) ? ': here\n\n' : encodeEvent(show(event))))
        .join(''),
    describe: () => ({ type: 'string', description }),
  };
}

function isHeartbeat<E extends { readonly event: string }>(event: E | Heartbeat): event is Heartbeat {
  return event.event === 'heartbeat';
}

function encodeEvent({ id, event, data }: SentEvent): string {
  const lines = [
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...(id === undefined ? [] : [`id: ${id}`]),
    // JSON has no line breaks outside strings, and escapes those inside.
    ...(data === undefined ? [] : [`data: ${JSON.stringify(data)}`]),
  ];
  return `${lines.join('\n')}\n\n`;
}

/** The revision after which a reader resumes, by `Last-Event-ID`; null for text that names none: an id of another stream begins anew. */
export function lastRevision(text: string | undefined): RevisionToken | null {
  if (text === undefined) return null;
  try {
    return parseRevision(text);
  } catch {
    return null;
  }
}
