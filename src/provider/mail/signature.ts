/** The signature of the provider's e-mail calls: `t=<unix>,v1=<hex>[,v1=…]`, HMAC-SHA256 over the bytes received. (docs/reference/identity-provider.md#signatures.) */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { UsherError } from '../../base/errors.ts';

/** `body`: over the body as it was received; `timestamped`: over `<t>.<body>` as providers in the field do. */
export type SignatureScheme = 'body' | 'timestamped' | 'either';

export const TOLERANCE_S = 300;
const MAX_HEADER = 4096;

interface Signature {
  /** Unix seconds, as it was written. */
  time: string;
  values: readonly Buffer[];
}

export interface Signed {
  header: string;
  body: Buffer;
  /** All that are in force; the signature's key is their UTF-8 text. */
  keys: readonly string[];
  scheme: SignatureScheme;
  /** Wall time in milliseconds. */
  now: number;
}

/** Throws SIGNATURE_INVALID, or SIGNATURE_EXPIRED for one of another time. */
export function verifySignature({ header, body, keys, scheme, now }: Signed): void {
  const signature = examineSignature(header, keys, now);
  const usable = keys.filter((key) => key !== '');
  if (!usable.some((key) => signs(key, signature, body, scheme))) throw invalid('does not fit the body');
}

/**
 * All that can be known of a signature before the body is there: its form, its time, and that there is a key to check it with.
 * Throws as `verifySignature` does.
 */
export function examineSignature(header: string, keys: readonly string[], now: number): Signature {
  const signature = readSignature(header);
  if (signature === null) throw invalid('is not of the form t=<unix time>,v1=<hex>');
  if (keys.every((key) => key === '')) throw invalid('cannot be checked: no signing key is known here');
  // In whole seconds, as signatures count them.
  const age = Math.floor(Math.abs(now / 1000 - Number(signature.time)));
  if (age <= TOLERANCE_S) return signature;
  throw new UsherError('SIGNATURE_EXPIRED', `The signature is of a time more than ${TOLERANCE_S} seconds from now.`);
}

export function invalid(problem: string): UsherError {
  return new UsherError('SIGNATURE_INVALID', `The signature ${problem}.`);
}

/** Every value is compared with every expectation, without an early end. */
function signs(key: string, { time, values }: Signature, body: Buffer, scheme: SignatureScheme): boolean {
  const expected: Buffer[] = [];
  if (scheme !== 'timestamped') expected.push(createHmac('sha256', key).update(body).digest());
  if (scheme !== 'body') expected.push(createHmac('sha256', key).update(`${time}.`).update(body).digest());
  let fits = false;
  for (const value of values) for (const wanted of expected) if (timingSafeEqual(value, wanted)) fits = true;
  return fits;
}

/** Null when it is not exactly one time and at least one value. Parts of other names are of other schemes, and passed over. */
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
