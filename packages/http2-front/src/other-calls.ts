/**
 * Calls that the front does not answer: most go to grpc-js. Those that grpc-js would refuse by their headers alone must not:
 * it refuses them without looking whether the stream still exists, and a client that resets such a call in the same packet
 * would make it throw where nobody catches. Nor must what node:http2 would end its whole connection for.
 */

import type { Caller } from './head.ts';
import type { HeaderList } from './hpack.ts';
import type { Entrance, Entrances } from './service.ts';

export const Verdict = {
  PASS: 'pass',
  /** Not HTTP: the stream is reset with PROTOCOL_ERROR (RFC 9113 section 8.1.1). */
  MALFORMED: 'malformed',
  /** A value holds a control character: INVALID_ARGUMENT. */
  UNREADABLE: 'unreadable',
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
/** Of ASCII: a byte above it is one of UTF-8. */
const CONTROL = /(?![\x80-\x9f])\p{Cc}/u;
const KEY = 'x-internal-api-key';

export function judge(list: HeaderList, served: Entrances): Verdict {
  const first = firstValues(list);
  if (isMalformed(list, first)) return Verdict.MALFORMED;
  if (first.get('content-type')?.startsWith('application/grpc') !== true) return Verdict.NOT_GRPC;
  if (!served.has(first.get(':path') ?? '')) return Verdict.UNIMPLEMENTED;
  return list.values.some((value) => CONTROL.test(value)) ? Verdict.UNREADABLE : Verdict.PASS;
}

/** Of a call that passes. */
export function entranceOf(list: HeaderList, served: Entrances): Entrance {
  return served.get(pathOf(list)) as Entrance;
}

/** Who makes a call, whatever else its headers hold. */
export function callerOf({ names, values }: HeaderList): Caller {
  const keys = values.filter((_, index) => names[index] === KEY);
  const at = names.indexOf('x-request-id');
  // HTTP/2 joins two headers by a comma, which no key contains.
  const several = keys.length > 1 || keys[0]?.includes(',') === true;
  return {
    key: keys[0],
    requestId: at < 0 ? undefined : values[at],
    several,
    forwardedFor: values[names.lastIndexOf('x-forwarded-for')],
    admission: undefined,
  };
}

/** The path of a call. */
export function pathOf(list: HeaderList): string {
  return list.values[list.names.indexOf(':path')] ?? '';
}

/** The declared length of a body; -1 without one. */
export function contentLengthOf({ names, values }: HeaderList): number {
  const at = names.indexOf('content-length');
  return at < 0 ? -1 : Number(values[at]);
}

/** Whether trailers may end a call (RFC 9113 section 8.1). Their words mean nothing to any method. */
export function areTrailers(list: HeaderList): boolean {
  const isPlain = list.names.every((name) => !name.startsWith(':'));
  return isPlain && !list.tooLong && !hasMalformedField(list) && !list.values.some((value) => CONTROL.test(value));
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
  return hasMalformedLength(list) || hasMalformedField(list);
}

function hasMalformedLength({ names, values }: HeaderList): boolean {
  const lengths = values.filter((_, index) => names[index] === 'content-length');
  return lengths.length > 1 || lengths.some((length) => !/^[0-9]+$/.test(length));
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
