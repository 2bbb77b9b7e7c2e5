/** What the name of a host says before anybody looks it up. Names are as `hostName` writes them. */

/** The host of a URL: in lower case and ASCII as URLs write it, without the brackets of an address and without a final dot. */
export function hostName({ hostname }: Pick<URL, 'hostname'>): string {
  return hostname.replace(/^\[|\]$|\.$/g, '');
}

/**
 * Names that lead nowhere outside of one network: of special use (RFC 6761, 6762 with its appendix G, 8375), and those that offices
 * and routers use.
 */
const PRIVATE = [
  'localhost',
  'local',
  'localdomain',
  'internal',
  'intranet',
  'private',
  'corp',
  'home',
  'home.arpa',
  'lan',
  'test',
  'invalid',
];

/** Whether a name can only be of one network, or of this machine: one of the above, or without a dot. */
export function isPrivateName(name: string): boolean {
  return !name.includes('.') || isWithin(name, PRIVATE);
}

/** Whether a name can only be this machine (RFC 6761 6.3). */
export function isLocalhostName(name: string): boolean {
  return isWithin(name, ['localhost']);
}

/** Metadata services of clouds, whose addresses are in no row that may be reached (ip-address.ts). */
const METADATA: ReadonlySet<string> = new Set([
  'instance-data',
  'instance-data.ec2.internal',
  'metadata',
  'metadata.goog',
  'metadata.google.internal',
  'metadata.tencentyun.com',
]);

export function isMetadataName(name: string): boolean {
  return METADATA.has(name);
}

function isWithin(name: string, domains: readonly string[]): boolean {
  return domains.some((domain) => name === domain || name.endsWith(`.${domain}`));
}
