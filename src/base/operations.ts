/** What a client of the API needs of any operation (`METHOD /path/{parameter}`): its address, and its payload without the envelope. */

import { membersOf } from './members.ts';

/** The parts of a request that its address and body are made of. */
export interface OperationInput {
  readonly path?: Readonly<Record<string, string | number>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
}

/** `GET`, `POST`, … */
export function methodOf(operation: string): string {
  return operation.slice(0, operation.indexOf(' '));
}

/** The path and query, each value escaped. What is undefined, null or empty in the query is left out. */
export function urlOf(operation: string, { path: parameters, query = {} }: OperationInput): string {
  const path = operation.slice(operation.indexOf(' ') + 1).replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    return encodeURIComponent(String(parameters?.[name]));
  });
  const sent = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '');
  const texts = new URLSearchParams(sent.map(([name, value]): [string, string] => [name, String(value)]));
  return sent.length === 0 ? path : `${path}?${texts.toString()}`;
}

/** A payload, with what its envelope says beside it. */
export interface Unwrapped {
  readonly data: unknown;
  /** The cursor of the next page; null on the last page. */
  readonly next: string | null;
  /** From when on counted rows are complete; null for everything else. */
  readonly since: string | null;
}

/** The payload of an answer (docs/reference/http.md#envelopes). */
export function unwrapped(body: unknown): Unwrapped {
  const { success, code, data, response, page, since } = membersOf(body);
  const next = (page as { nextCursor?: string | null } | undefined)?.nextCursor ?? null;
  if (success === true) return { data, next, since: typeof since === 'string' ? since : null };
  return { data: code === 'OK' ? response : body, next, since: null };
}
