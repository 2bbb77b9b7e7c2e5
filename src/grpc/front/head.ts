/**
 * Which calls the front answers. It only accepts: a header that it does not know to be harmless sends the whole call to grpc-js
 * behind it, which decides what is wrong with it, if anything (other-calls.ts has the exceptions).
 */

import type { Admission } from '../bridge.ts';
import type { HeaderList } from './hpack.ts';

/** A call that the front may answer, as its headers describe it. */
export interface Head {
  /** The path, `/usher.permission.v1.PermissionService/Check`. */
  readonly path: string;
  /** The one key sent, or undefined. */
  readonly key: string | undefined;
  /** Of the caller's deadline, in milliseconds; infinite without one. */
  readonly timeoutMs: number;
  readonly requestId: string | undefined;
  /** Of its key, once it was admitted: repeated headers are read once. */
  admission: Admission | undefined;
}

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

const NAME = /^[0-9a-z_.-]+$/;
const VALUE = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/;
const HOST = /^[0-9A-Za-z.:_[\]-]+$/;
const TIMEOUT_VALUE = /^[0-9]{1,8}[HMSmun]$/;
const MS_BY_UNIT: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };
/** Headers that mean something to HTTP itself, or of which several have a meaning together: node:http2 decides about them. */
const NOT_HERE = new Set([
  'connection',
  'content-length',
  'cookie',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/** Null for a call that grpc-js must see. `isAnswered` tells which paths are answered here. */
export function readHead({ names, values, tooLong }: HeaderList, isAnswered: (path: string) => boolean): Head | null {
  if (tooLong) return null;
  let seen = 0;
  let path = '';
  let key: string | undefined;
  let timeoutMs = Number.POSITIVE_INFINITY;
  let requestId: string | undefined;
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
        if (!isAnswered(value)) return null;
        path = value;
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
  return (seen & REQUIRED) === REQUIRED ? { path, key, timeoutMs, requestId, admission: undefined } : null;
}

/** Milliseconds; 0 for a timeout that is malformed or already over. */
function readTimeout(text: string): number {
  if (!TIMEOUT_VALUE.test(text)) return 0;
  return Math.trunc(Number(text.slice(0, -1)) * (MS_BY_UNIT[text.slice(-1)] as number));
}
