/** Reads that are bounded, and end with their caller (docs/reference/http.md#dear-reads). */

import type { Request } from 'express';
import type { DearReads } from '../base/dear-reads.ts';
import { type Work, workFor } from '../base/work.ts';
import type { Exchange } from './middleware/exchange.ts';
import type { Route } from './route/route.ts';

/** Writes what the handler returned, or will. */
export type Answering = (handled: unknown) => Promise<void> | void;

interface Steps {
  /** Runs the handler. */
  readonly begin: () => unknown;
  readonly answer: Answering;
}

/** Whether this request of the route is a dear read. */
export function isDear({ dear }: Route, { url }: Pick<Request, 'url'>): boolean {
  if (typeof dear === 'boolean') return dear;
  if (dear === 'while-reading') return true;
  const at = dear.length === 0 ? -1 : url.indexOf('?');
  if (at < 0) return false;
  const sent = new URLSearchParams(url.slice(at));
  return dear.some((name) => sent.has(name));
}

/** Whether its reads end with the caller. Checks share what they read, and streams begin what outlives them. */
export function endsWithCaller({ method, unsafe, quiet, envelope }: Route): boolean {
  return method === 'get' && !unsafe && !quiet && envelope.kind !== 'stream';
}

/** A handler's reads end when the caller leaves, or the deadline passes. */
export function answerRead(exchange: Exchange, { begin, answer }: Steps): Promise<void> | void {
  const work = new RequestWork(exchange);
  return workFor(work, () => {
    const handled = begin();
    afterwards(handled, () => {
      work.isOver = true;
    });
    return answer(handled);
  });
}

/**
 * The same once the caller, and all of them together, may have another one. What is answered whole holds its place until then; what
 * is answered in pieces holds one while it reads, and none while its reader does.
 */
export async function answerDearRead(
  dearReads: Pick<DearReads, 'admit'>,
  exchange: Exchange,
  { guard, envelope, dear }: Route,
  { begin, answer }: Steps,
): Promise<void> {
  const caller = guard.actor(exchange.caller) ?? `ip:${exchange.address}`;
  const read = await dearReads.admit(caller, exchange.signal);
  let handled: unknown;
  try {
    if (envelope.kind !== 'stream' && dear !== 'while-reading') await read.hold();
    await workFor(read, () => {
      handled = begin();
      return answer(handled);
    });
  } finally {
    // After its deadline it is still there, until it has noticed.
    afterwards(handled, () => read.end());
  }
}

/** Runs `end` once the work itself is over, whatever became of it. */
function afterwards(handled: unknown, end: () => void): void {
  if (handled instanceof Promise) handled.then(end, end);
  else end();
}

/** A request whose handler is at work. */
class RequestWork implements Work {
  readonly #exchange: Exchange;
  isOver = false;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }
}
