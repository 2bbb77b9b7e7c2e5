/** HPACK (RFC 7541), the sending side of a load generator. The front's own decoder reads the answers. */
import { STATIC_LENGTH } from '#http2-front/hpack';

function literal(prefix: number, index: number, name: string, value: string): Buffer {
  const bytes = [Buffer.from([prefix | index])];
  for (const text of index === 0 ? [name, value] : [value]) {
    if (text.length > 126) throw new RangeError('the generator sends short headers only');
    bytes.push(Buffer.from([text.length]), Buffer.from(text, 'latin1'));
  }
  return Buffer.concat(bytes);
}

/** The value of grpc-timeout where each call has another one: eight digits, which the sender writes over. */
export const TIMEOUT = '10000000u';
/** The same of traceparent: the sender writes over the last digits of its trace, and over the flag. */
export const TRACEPARENT = `00-${'7'.repeat(32)}-${'7'.repeat(16)}-00`;

/** A field that is another one in each call. */
export type Varied = readonly [name: 'grpc-timeout' | 'traceparent', value: string];

/**
 * The request headers of one call: `first` fills the server's table, `next` are all later ones, an index each. With `varied` each
 * ends in the value of that field, which is in no table.
 */
export function requestHeaders(
  path: string,
  authority: string,
  key: string | undefined,
  varied: Varied | null = null,
): { first: Buffer; next: Buffer } {
  const literals: [index: number, name: string, value: string][] = [
    [4, ':path', path],
    [1, ':authority', authority],
    [0, 'te', 'trailers'],
    [31, 'content-type', 'application/grpc'],
    [58, 'user-agent', 'usher-bench'],
  ];
  if (key !== undefined) literals.push([0, 'x-internal-api-key', key]);
  if (varied !== null) literals.push([0, ...varied]);
  const fixed = Buffer.from([0x83, 0x86]);
  const first = Buffer.concat([fixed, ...literals.map((l) => literal(0x40, ...l))]);
  // The newest entry has the lowest index.
  const indexed = literals.map((_, i) => 0x80 | (STATIC_LENGTH + literals.length - i));
  if (varied === null) return { first, next: Buffer.from([...fixed, ...indexed]) };
  const named = (indexed.pop() as number) & 0x7f;
  // A literal without indexing, of a known name: a prefix of four bits.
  const [, value] = varied;
  const last = Buffer.from([0x0f, named - 0x0f, value.length, ...Buffer.from(value)]);
  return { first, next: Buffer.concat([fixed, Buffer.from(indexed), last]) };
}
