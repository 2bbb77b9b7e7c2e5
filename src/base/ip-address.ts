/**
 * What lies at an IP address, by the IANA special-purpose registries (RFC 6890 and its updates).
 * Every IPv6 spelling of an IPv4 address counts as that address. What is in no row is refused.
 */

/**
 * `global` is the internet, `private` a network of one's own, `never` what no request of ours has business with:
 * link-local and metadata services, multicast, unspecified, documentation, reserved, tunnels.
 */
export type AddressKind = 'global' | 'loopback' | 'private' | 'never';

type Row = readonly [prefix: string, bits: number, kind: AddressKind];

/** The first row that matches decides. */
const IPV4: readonly Row[] = [
  // Metadata of clouds that stand outside 169.254.0.0/16: Alibaba, Azure, Oracle.
  ['100.100.100.200', 32, 'never'],
  ['168.63.129.16', 32, 'never'],
  ['192.0.0.0', 24, 'never'],
  ['0.0.0.0', 8, 'never'],
  ['10.0.0.0', 8, 'private'],
  ['100.64.0.0', 10, 'private'],
  ['127.0.0.0', 8, 'loopback'],
  ['169.254.0.0', 16, 'never'],
  ['172.16.0.0', 12, 'private'],
  ['192.0.2.0', 24, 'never'],
  ['192.31.196.0', 24, 'never'],
  ['192.52.193.0', 24, 'never'],
  ['192.88.99.0', 24, 'never'],
  ['192.168.0.0', 16, 'private'],
  ['192.175.48.0', 24, 'never'],
  ['198.18.0.0', 15, 'never'],
  ['198.51.100.0', 24, 'never'],
  ['203.0.113.0', 24, 'never'],
  ['224.0.0.0', 3, 'never'],
  ['0.0.0.0', 0, 'global'],
];

const IPV6: readonly Row[] = [
  ['::1', 128, 'loopback'],
  // Metadata of clouds: AWS, Google, Scaleway.
  ['fd00:ec2::254', 128, 'never'],
  ['fd20:ce::254', 128, 'never'],
  ['fd00:42::42', 128, 'never'],
  ['fc00::', 7, 'private'],
  // Protocol assignments, Teredo and ORCHID among them.
  ['2001::', 23, 'never'],
  ['2001:db8::', 32, 'never'],
  ['2002::', 16, 'never'],
  ['3fff::', 20, 'never'],
  ['2000::', 3, 'global'],
  ['::', 0, 'never'],
];

/** IPv6 prefixes whose last 32 bits are an IPv4 address that the packet ends at: mapped, translated, NAT64. */
const EMBEDDING = ['::ffff:0:0', '::ffff:0:0:0', '64:ff9b::'].map((prefix) => toNumber6(prefix) >> 32n);

const ROWS4 = compile(IPV4, 32, toNumber4);
const ROWS6 = compile(IPV6, 128, toNumber6);

/** The kind of a literal address, zone identifiers ignored. What is no address is `never`. */
export function addressKind(text: string): AddressKind {
  const address = readAddress(text);
  if (address === null) return 'never';
  const { family, value } = address;
  if (family === 4) return match(ROWS4, value);
  return isIsatap(value) ? 'never' : match(ROWS6, value);
}

/**
 * Whether a host can only be this machine: `localhost`, or a loopback address, in brackets where a URL writes it so. Other names that
 * resolve to one are not, nor those below `localhost`: the resolver decides those.
 */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || addressKind(host.replace(/^\[|\]$/g, '')) === 'loopback';
}

/**
 * Whom an address counts as where callers are counted: itself, and of IPv6 its network of 64 bits, all of whose addresses one
 * household or server has (RFC 6177). What is no address counts as it is.
 */
export function networkOf(text: string): string {
  const address = readAddress(text);
  if (address === null) return text;
  const { family, value } = address;
  if (family === 6) return `${(value >> 64n).toString(16)}/64`;
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.');
}

/** As a number, without its zone; an IPv4 address in an IPv6 spelling as what it is. Null for what is no address. */
function readAddress(text: string): { family: 4 | 6; value: bigint } | null {
  const address = text.split('%', 1)[0] ?? '';
  try {
    if (!address.includes(':')) return { family: 4, value: toNumber4(address) };
    const value = toNumber6(address);
    if (EMBEDDING.includes(value >> 32n)) return { family: 4, value: value & 0xffff_ffffn };
    return { family: 6, value };
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** RFC 5214: an interface identifier that carries an IPv4 address, through a tunnel. */
function isIsatap(value: bigint): boolean {
  return ((value >> 32n) & 0xfdff_ffffn) === 0x0000_5efen;
}

function compile(rows: readonly Row[], width: number, toNumber: (text: string) => bigint) {
  return rows.map(([prefix, bits, kind]) => {
    const shift = BigInt(width - bits);
    return { shift, prefix: toNumber(prefix) >> shift, kind };
  });
}

function match(rows: ReturnType<typeof compile>, value: bigint): AddressKind {
  return rows.find(({ shift, prefix }) => value >> shift === prefix)?.kind ?? 'never';
}

/** Four decimal numbers, as a resolver or a parsed URL spells them; other spellings are no address here. */
function toNumber4(text: string): bigint {
  const parts = text.split('.');
  if (parts.length !== 4 || parts.some((part) => !/^(?:0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255)) {
    throw new SyntaxError('no IPv4 address');
  }
  return parts.reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function toNumber6(text: string): bigint {
  const halves = text.split('::');
  if (halves.length > 2) throw new SyntaxError('no IPv6 address');
  const [head, tail] = halves.map((half) => (half === '' ? [] : half.split(':').flatMap(toGroups)));
  const missing = 8 - (head?.length ?? 0) - (tail?.length ?? 0);
  if (tail === undefined ? missing !== 0 : missing < 1) throw new SyntaxError('no IPv6 address');
  const groups = [...(head ?? []), ...Array<bigint>(missing).fill(0n), ...(tail ?? [])];
  return groups.reduce((value, group) => (value << 16n) | group, 0n);
}

/** One group of hexadecimal digits, or the dotted end that is two. */
function toGroups(part: string): bigint[] {
  if (part.includes('.')) {
    const value = toNumber4(part);
    return [value >> 16n, value & 0xffffn];
  }
  if (!/^[0-9a-f]{1,4}$/i.test(part)) throw new SyntaxError('no IPv6 address');
  return [BigInt(`0x${part}`)];
}
