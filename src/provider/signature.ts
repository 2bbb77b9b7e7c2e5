/** The signature of the provider's calls, e-mails and events: `t=<unix>,v1=<hex>[,v1=…]`, HMAC-SHA256 over the bytes received. (docs/reference/identity-provider.md#signatures.) */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { UsherError } from '../base/errors.ts';

/** `body`: over the body as received; `timestamped`: over `<t>.<body>`, as real providers do. */
export type SignatureScheme = 'body' | 'timestamped' | 'either';

export const TOLERANCE_S = 300;
const MAX_HEADER = 4096;

interface Signature {
  /** Unix seconds, as written. */
  time: string;
  values: readonly Buffer[];
}

export interface Signed {
  header: string;
  body: Buffer;
  /** All keys in force; the HMAC key is their UTF-8 text. */
  keys: readonly string[];
  scheme: SignatureScheme;
  /** Wall time in milliseconds. */
  now: number;
}

/** Throws SIGNATURE_INVALID, or SIGNATURE_EXPIRED for a time too far from now. */
export function verifySignature({ header, body, keys, scheme, now }: Signed): void {
  const signature = examineSignature(header, keys, now);
  const usable = keys.filter((key) => key !== '');
  if (!usable.some((key) => signs(key, signature, body, scheme))) throw invalid('does not match the body');
}

/**
 * Checks everything that does not need the body: form and time of the signature, and that a key to verify it exists.
 * Throws as `verifySignature` does.
 */
export function examineSignature(header: string, keys: readonly string[], now: number): Signature {
  const signature = readSignature(header);
  if (signature === null) throw invalid('must have the form t=<unix time>,v1=<hex>');
  if (keys.every((key) => key === '')) throw invalid('cannot be verified: no signing key is configured');
  // In whole seconds, as signatures count them.
  const age = Math.floor(Math.abs(now / 1000 - Number(signature.time)));
  if (age <= TOLERANCE_S) return signature;
  throw new UsherError('SIGNATURE_EXPIRED', `The signature's time is more than ${TOLERANCE_S} seconds from now.`);
}

/**
 * The signature of a call: from the first of the headers that is there. Throws SIGNATURE_INVALID where two of them differ, and where
 * none is there.
 */
export function signatureIn(headers: readonly string[], read: (name: string) => string | undefined): string {
  const found = headers.map((name) => read(name.toLowerCase())).filter((value) => value !== undefined);
  const [first] = found;
  if (first === undefined) throw invalid(`is missing: send it in the header ${headers.join(' or ')}`);
  if (found.some((value) => value.trim() !== first.trim())) {
    throw invalid(`is not the same in the headers ${headers.join(' and ')}`);
  }
  return first;
}

export function invalid(problem: string): UsherError {
  return new UsherError('SIGNATURE_INVALID', `The signature ${problem}.`);
}

/** Compares every value with every expected one, without an early end. */
function signs(key: string, { time, values }: Signature, body: Buffer, scheme: SignatureScheme): boolean {
  const expected: Buffer[] = [];
  if (scheme !== 'timestamped') expected.push(createHmac('sha256', key).update(body).digest());
  if (scheme !== 'body') expected.push(createHmac('sha256', key).update(`${time}.`).update(body).digest());
  let matches = false;
  for (const value of values) for (const wanted of expected) if (timingSafeEqual(value, wanted)) matches = true;
  return matches;
}

/** Null unless it has exactly one time and at least one value. Parts with other names belong to other schemes and are ignored. */
function readSignature(header: string): Signature | null {
  if (header.length > MAX_HEADER) return null;
  const times: string[] = [];
  const values: Buffer[] = [];
  for (const part of header.split(',')) {
    const at = part.indexOf('=');
    const [name, value] = [part.slice(0, at).trim(), part.slice(at + 1).trim()];
    if (at < 0) return null;
    if (name === 't') times.push(value);
    if (name === 'v1') {
      if (!/^[0-9a-f]{64}$/.test(value)) return null;
      values.push(Buffer.from(value, 'hex'));
    }
  }
  const [time] = times;
  if (time === undefined || times.length > 1 || values.length === 0 || !/^[1-9]\d{0,11}$/.test(time)) return null;
  return { time, values };
}
