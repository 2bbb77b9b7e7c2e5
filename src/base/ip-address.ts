/**
 * Classifies IP addresses by the IANA special-purpose registries (RFC 6890 and its updates).
 * Every IPv6 spelling of an IPv4 address counts as that address. Addresses in no row are refused.
 */

import { BlockList, isIPv4, isIPv6 } from 'node:net';
import { entriesOf } from './own-keys.ts';

/**
 * `global` is the internet, `private` an internal network, `never` the addresses that no outbound request may reach:
 * link-local and metadata services, multicast, unspecified, documentation, reserved, tunnels.
 */
export type AddressKind = 'global' | 'loopback' | 'private' | 'never';

/** What lies where, as net.BlockList reads it. A row of an earlier kind wins; addresses in no row are `never`. */
const SUBNETS: Readonly<Record<AddressKind, readonly string[]>> = {
  never: [
    // Metadata services of clouds outside 169.254.0.0/16: Alibaba, Azure, Oracle.
    '100.100.100.200/32',
    '168.63.129.16/32',
    '192.0.0.0/24',
    '0.0.0.0/8',
    '169.254.0.0/16',
    '192.0.2.0/24',
    '192.31.196.0/24',
    '192.52.193.0/24',
    '192.88.99.0/24',
    '192.175.48.0/24',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/3',
    // Metadata services of clouds: AWS, Google, Scaleway.
    'fd00:ec2::254/128',
    'fd20:ce::254/128',
    'fd00:42::42/128',
    // Protocol assignments, Teredo and ORCHID among them.
    '2001::/23',
    '2001:db8::/32',
    '2002::/16',
    '3fff::/20',
  ],
  loopback: ['127.0.0.0/8', '::1/128'],
  private: ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
  global: ['0.0.0.0/0', '2000::/3'],
};

const LISTS = entriesOf(SUBNETS).map(([kind, subnets]) => {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [prefix = '', bits] = subnet.split('/');
    list.addSubnet(prefix, Number(bits), isIPv4(prefix) ? 'ipv4' : 'ipv6');
  }
  return { kind, list };
});

/** IPv6 prefixes whose last 32 bits are the IPv4 address that receives the packet: mapped, translated, NAT64. */
const EMBEDDING = new Set(['0:0:0:0:0:ffff', '0:0:0:0:ffff:0', '64:ff9b:0:0:0:0']);

/** The kind of a literal address; zone identifiers are ignored. Text that is not an address is `never`. */
export function addressKind(text: string): AddressKind {
  const address = readAddress(text);
  if (address === null || (address.groups !== null && isIsatap(address.groups))) return 'never';
  const family = address.groups === null ? 'ipv4' : 'ipv6';
  return LISTS.find(({ list }) => list.check(address.text, family))?.kind ?? 'never';
}

/**
 * Whether a host can only be this machine: `localhost` or a loopback address, with or without a URL's brackets. Other names
 * that resolve to a loopback address do not count, nor do subdomains of `localhost`: the resolver decides those.
 */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || addressKind(host.replace(/^\[|\]$/g, '')) === 'loopback';
}

/**
 * The key under which rate limits count an address: the address itself or, for IPv6, its 64-bit network, because one household
 * or server holds all addresses of it (RFC 6177). Text that is not an address is its own key.
 */
export function networkOf(text: string): string {
  const address = readAddress(text);
  if (address === null) return text;
  return address.groups === null ? address.text : `${address.groups.slice(0, 4).join(':')}::/64`;
}

/**
 * The address without its zone, and the eight groups of an IPv6 one. An IPv6 spelling of an IPv4 address becomes IPv4. Null for
 * text that is not an address, which includes the older spellings of IPv4 (`127.1`, `0x7f.1`, `010.0.0.1`).
 */
function readAddress(text: string): { text: string; groups: readonly string[] | null } | null {
  const address = text.split('%', 1)[0] ?? '';
  if (isIPv4(address)) return { text: address, groups: null };
  if (!isIPv6(address)) return null;
  const groups = groupsOf(address);
  if (!EMBEDDING.has(groups.slice(0, 6).join(':'))) return { text: address, groups };
  const bytes = groups
    .slice(6)
    .flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]);
  return { text: bytes.join('.'), groups: null };
}

/** The eight groups of a valid IPv6 address, in hexadecimal without leading zeros. */
function groupsOf(address: string): string[] {
  // A URL has the shortest spelling (RFC 5952), without the dotted form of its last groups.
  const [head = [], tail = []] = new URL(`http://[${address}]`).hostname
    .slice(1, -1)
    .split('::')
    .map((half) => (half === '' ? [] : half.split(':')));
  return [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail];
}

/** RFC 5214: an interface identifier that carries an IPv4 address, through a tunnel. */
function isIsatap(groups: readonly string[]): boolean {
  return groups[5] === '5efe' && (groups[4] === '0' || groups[4] === '200');
}
