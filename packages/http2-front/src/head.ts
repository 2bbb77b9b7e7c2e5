/**
 * Which calls the front answers. It only accepts: a header that it does not know to be harmless sends the whole call to grpc-js
 * behind it, which decides what is wrong with it, if anything (other-calls.ts has the exceptions).
 */

import type { HeaderList } from './hpack.ts';
import type { Admission, Carrier, FrontMethod } from './service.ts';

/** Who makes a call. Calls whose headers differ by deadline and trace alone have the same caller. */
export interface Caller {
  /** The one key sent, or undefined. */
  readonly key: string | undefined;
  readonly requestId: string | undefined;
  /** Whether several keys were sent: none of them counts. */
  readonly several: boolean;
  readonly forwardedFor: string | undefined;
  /** Of the key, once it was admitted: repeated headers are read once. */
  admission: Admission | undefined;
}

/** A call that the front may answer, as its headers describe it. */
export interface Head extends Carrier {
  readonly method: FrontMethod;
  readonly caller: Caller;
  /** Of the caller's deadline, in milliseconds; infinite without one. */
  readonly timeoutMs: number;
  /** Bytes of the body, where the caller says so; else -1. */
  readonly contentLength: number;
  /** Undefined where there are two. */
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
}

/** The method that is answered here at a path, `/usher.permission.v1.PermissionService/Check`. */
export type MethodOf = (path: string) => FrontMethod | undefined;

const METHOD = 1;
const SCHEME = 2;
const PATH = 4;
const AUTHORITY = 8;
const CONTENT_TYPE = 16;
/** What a call must have. `te` may be absent, as for grpc-js. */
const REQUIRED = METHOD | SCHEME | PATH | AUTHORITY | CONTENT_TYPE;
const TE = 32;
const ENCODING = 64;
const TIMEOUT = 128;
const KEY = 256;
const REQUEST_ID = 512;
/** Any other header. */
const OTHER = 1024;
const TRACE = 2048;
const LENGTH = 4096;

const NAME = /^[0-9a-z_.-]+$/;
const VALUE = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/;
const HOST = /^[0-9A-Za-z.:_[\]-]+$/;
/** In the form of version 00 (W3C Trace Context). */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
/** A length that is a number exactly. */
const LENGTH_TEXT = /^[0-9]{1,15}$/;
/** Of a timeout (PROTOCOL-HTTP2.md of gRPC). */
const MAX_DIGITS = 8;
const MS_BY_UNIT: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };
/** Headers that mean something to HTTP itself, or of which several have a meaning together: node:http2 decides about them. */
const NOT_HERE = new Set([
  'connection',
  'cookie',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/** Null for a call that grpc-js must see. */
export function readHead({ names, values, tooLong }: HeaderList, methodOf: MethodOf): Head | null {
  if (tooLong) return null;
  let seen = 0;
  let method: FrontMethod | undefined;
  let key: string | undefined;
  let timeoutMs = Number.POSITIVE_INFINITY;
  let contentLength = -1;
  let requestId: string | undefined;
  let forwardedFor: string | undefined;
  let traceparent: string | undefined;
  let tracestate: string | undefined;
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    const value = values[i] as string;
    let mark: number;
    switch (name) {
      case ':method':
        if (value !== 'POST') return null;
        mark = METHOD;
        break;
      case ':scheme':
        if (value !== 'http' && value !== 'https') return null;
        mark = SCHEME;
        break;
      case ':path':
        method = methodOf(value);
        if (method === undefined) return null;
        mark = PATH;
        break;
      case ':authority':
        if (!HOST.test(value)) return null;
        mark = AUTHORITY;
        break;
      case 'content-type':
        if (value !== 'application/grpc' && value !== 'application/grpc+proto') return null;
        mark = CONTENT_TYPE;
        break;
      case 'te':
        if (value !== 'trailers') return null;
        mark = TE;
        break;
      case 'grpc-encoding':
        if (value !== 'identity') return null;
        mark = ENCODING;
        break;
      case 'grpc-timeout':
        timeoutMs = readTimeout(value);
        if (timeoutMs === 0) return null;
        mark = TIMEOUT;
        break;
      case 'content-length':
        if (!LENGTH_TEXT.test(value)) return null;
        contentLength = Number(value);
        mark = LENGTH;
        break;
      case 'x-internal-api-key':
        if (!VALUE.test(value) || value.includes(',')) return null;
        key = value;
        mark = KEY;
        break;
      case 'x-request-id':
        if (!VALUE.test(value)) return null;
        requestId = value;
        mark = REQUEST_ID;
        break;
      case 'x-forwarded-for':
        if (!VALUE.test(value)) return null;
        // Of several lines the last one counts, which the nearest proxy wrote.
        forwardedFor = value;
        seen |= OTHER;
        continue;
      case 'traceparent':
        if (!VALUE.test(value)) return null;
        // Which of two counts is not defined, so none does.
        traceparent = (seen & TRACE) === 0 ? value : undefined;
        seen |= TRACE;
        continue;
      case 'tracestate':
        if (!VALUE.test(value)) return null;
        tracestate = tracestate === undefined ? value : `${tracestate},${value}`;
        seen |= OTHER;
        continue;
      default:
        // Includes every other name that begins with a colon.
        if (!NAME.test(name) || NOT_HERE.has(name) || !VALUE.test(value)) return null;
        seen |= OTHER;
        continue;
    }
    // Sent twice, or a pseudo-header after another one.
    if ((seen & mark) !== 0 || (mark <= AUTHORITY && seen >= CONTENT_TYPE)) return null;
    seen |= mark;
  }
  if ((seen & REQUIRED) !== REQUIRED || method === undefined) return null;
  const caller = { key, requestId, several: false, forwardedFor, admission: undefined };
  return { method, caller, timeoutMs, contentLength, traceparent, tracestate };
}

/** A head that was read, and where in the list the fields stand that are others in each call; -1 for one that is not there. */
export interface KnownHead {
  readonly head: Head;
  readonly list: HeaderList;
  readonly timeoutAt: number;
  readonly traceAt: number;
}

/** Null for a call without a deadline and a trace. */
export function knownHead(head: Head, list: HeaderList): KnownHead | null {
  const timeoutAt = list.names.indexOf('grpc-timeout');
  // Of two, neither is its trace.
  const traceAt = head.traceparent === undefined ? -1 : list.names.indexOf('traceparent');
  return timeoutAt < 0 && traceAt < 0 ? null : { head, list, timeoutAt, traceAt };
}

/** The head of a list that differs from a known one by deadline and trace alone; null for any other, and where one is malformed. */
export function repeatedHead(
  { head, list, timeoutAt, traceAt }: KnownHead,
  { names, values, tooLong }: HeaderList,
): Head | null {
  if (tooLong || names.length !== list.names.length) return null;
  for (let i = 0; i < names.length; i++) {
    if (names[i] !== list.names[i] || (values[i] !== list.values[i] && i !== timeoutAt && i !== traceAt)) return null;
  }
  const timeoutMs = timeoutAt < 0 ? head.timeoutMs : readTimeout(values[timeoutAt] as string);
  const traceparent = traceAt < 0 ? undefined : (values[traceAt] as string);
  if (timeoutMs === 0 || (traceparent !== undefined && !TRACEPARENT.test(traceparent))) return null;
  const { method, caller, contentLength, tracestate } = head;
  return { method, caller, timeoutMs, contentLength, traceparent, tracestate };
}

/** Milliseconds; 0 for a timeout that is malformed or already over. By hand: it is another one in each call. */
function readTimeout(text: string): number {
  const digits = text.length - 1;
  if (digits < 1 || digits > MAX_DIGITS) return 0;
  let value = 0;
  for (let i = 0; i < digits; i++) {
    const digit = text.charCodeAt(i) - 0x30;
    if (digit < 0 || digit > 9) return 0;
    value = value * 10 + digit;
  }
  return Math.trunc(value * (MS_BY_UNIT[text[digits] as string] ?? 0));
}
