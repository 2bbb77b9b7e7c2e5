/** The ends of refused calls. What is refused costs less than what is answered: each kind of refusal is encoded once. */

import type { UsherError } from '../../base/errors.ts';
import { requestId } from '../../base/telemetry.ts';
import { toStatus } from '../status.ts';
import { encodeHeaders } from './hpack.ts';

/** Kinds that are kept; there are a few, unless many keys lack a scope. */
const MAX_KINDS = 64;
const REQUEST_ID = 'x-request-id';

export class RefusalBlocks {
  readonly #kinds = new Map<string, Buffer>();

  /** The block of headers that ends the call. `given` is the caller's `x-request-id`. */
  blockOf(error: UsherError, given: string | undefined): Buffer {
    return Buffer.concat([this.#kindOf(error), encodeHeaders([REQUEST_ID], [requestId(given)])]);
  }

  #kindOf(error: UsherError): Buffer {
    const details = error.details === undefined ? '' : JSON.stringify(error.details);
    const name = `${error.code} ${error.reason} ${error.retryAfter} ${error.message} ${details}`;
    const known = this.#kinds.get(name);
    if (known !== undefined) return known;
    const block = encode(error);
    if (this.#kinds.size < MAX_KINDS) this.#kinds.set(name, block);
    return block;
  }
}

function encode(error: UsherError): Buffer {
  const { code, details, metadata } = toStatus(error, '');
  metadata.remove(REQUEST_ID);
  const names = [':status', 'grpc-status', 'grpc-message', 'content-type'];
  const values = ['200', String(code), encodeURI(details), 'application/grpc+proto'];
  for (const [name, value] of Object.entries(metadata.toHttp2Headers())) {
    names.push(name);
    values.push(String(value));
  }
  return encodeHeaders(names, values);
}
