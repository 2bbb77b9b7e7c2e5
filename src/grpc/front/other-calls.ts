/**
 * Calls that the front does not answer: most go to grpc-js. Those that grpc-js would refuse by their headers alone must not:
 * it refuses them without looking whether the stream still exists, and a client that resets such a call in the same packet
 * would make it throw where nobody catches.
 */

import type { HeaderList } from './hpack.ts';

export const Verdict = {
  PASS: 'pass',
  /** Not HTTP: the stream is reset with PROTOCOL_ERROR (RFC 9113 section 8.1.1). */
  MALFORMED: 'malformed',
  /** Not gRPC: 415. */
  NOT_GRPC: 'not gRPC',
  /** No such method. */
  UNIMPLEMENTED: 'unimplemented',
} as const;
export type Verdict = (typeof Verdict)[keyof typeof Verdict];

const PSEUDO_HEADERS = new Set([':method', ':scheme', ':authority', ':path']);
/** Headers of HTTP/1 connections (RFC 9113 section 8.2.2). */
const OF_CONNECTIONS = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);

const PATH = /^\/[\x21-\x7e\x80-\xff]*$/;

/** @param isServed whether grpc-js has a handler of that path */
export function judge(list: HeaderList, isServed: (path: string) => boolean): Verdict {
  const first = firstValues(list);
  const path = first.get(':path') ?? '';
  const isGrpc = first.get('content-type')?.startsWith('application/grpc') === true;
  // node:http2 resets malformed ones before grpc-js hears of them.
  if (isGrpc && isServed(path)) return Verdict.PASS;
  if (isMalformed(list, first)) return Verdict.MALFORMED;
  return isGrpc ? Verdict.UNIMPLEMENTED : Verdict.NOT_GRPC;
}

/** The path of a call, for its refusal. */
export function pathOf(list: HeaderList): string {
  return list.values[list.names.indexOf(':path')] ?? '';
}

/** The declared length of a body; -1 without one. */
export function contentLengthOf({ names, values }: HeaderList): number {
  const at = names.indexOf('content-length');
  return at < 0 ? -1 : Number(values[at]);
}

function firstValues({ names, values }: HeaderList): Map<string, string> {
  const first = new Map<string, string>();
  for (const [index, name] of names.entries()) {
    if (!first.has(name)) first.set(name, values[index] as string);
  }
  return first;
}

function isMalformed(list: HeaderList, first: ReadonlyMap<string, string>): boolean {
  const method = first.get(':method') ?? '';
  const path = first.get(':path') ?? '';
  if (method === '' || method === 'CONNECT' || !first.has(':scheme')) return true;
  if (!PATH.test(path) && !(path === '*' && method === 'OPTIONS')) return true;
  if (!first.has(':authority') && !first.has('host')) return true;
  const length = first.get('content-length');
  return (length !== undefined && !/^[0-9]+$/.test(length)) || hasMalformedField(list);
}

function hasMalformedField({ names, values }: HeaderList): boolean {
  const seen = new Set<string>();
  let regular = false;
  return names.some((name, index) => {
    if (name.startsWith(':')) {
      const isWrong = regular || !PSEUDO_HEADERS.has(name) || seen.has(name);
      seen.add(name);
      return isWrong;
    }
    regular = true;
    return /[A-Z]/.test(name) || OF_CONNECTIONS.has(name) || (name === 'te' && values[index] !== 'trailers');
  });
}
