/** The ends of refused calls. What is refused costs less than what is answered: each kind of refusal is encoded once. */

import { encodeHeaders } from './hpack.ts';
import type { Refusal } from './service.ts';

/** Kinds that are kept; there are a few, unless many keys lack a scope. */
const MAX_KINDS = 64;
const REQUEST_ID = 'x-request-id';

export class RefusalBlocks {
  readonly #kinds = new Map<string, Buffer>();
  readonly #requestId: (given: string | undefined) => string;

  /** @param requestId the id of a call, by the caller's `x-request-id` */
  constructor(requestId: (given: string | undefined) => string) {
    this.#requestId = requestId;
  }

  /** The block of headers that ends the call. `given` is the caller's `x-request-id`. */
  blockOf(refusal: Refusal, given: string | undefined): Buffer {
    return Buffer.concat([this.#kindOf(refusal), encodeHeaders([REQUEST_ID], [this.#requestId(given)])]);
  }

  #kindOf(refusal: Refusal): Buffer {
    const known = this.#kinds.get(refusal.kind);
    if (known !== undefined) return known;
    const block = encode(refusal);
    if (this.#kinds.size < MAX_KINDS) this.#kinds.set(refusal.kind, block);
    return block;
  }
}

function encode(refusal: Refusal): Buffer {
  const { code, details, metadata } = refusal.status();
  const names = [':status', 'grpc-status', 'grpc-message', 'content-type'];
  const values = ['200', String(code), encodeURI(details), 'application/grpc+proto'];
  for (const [name, value] of Object.entries(metadata.toHttp2Headers())) {
    names.push(name);
    values.push(String(value));
  }
  return encodeHeaders(names, values);
}
