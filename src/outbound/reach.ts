/** How far requests may go, by the addresses that they lead to. */

import type { LookupAddress, LookupOptions } from 'node:dns';
import { type AddressKind, addressKind } from '../base/ip-address.ts';
import { OutboundError } from './errors.ts';

/** How far a request may go: the internet only, this machine too, or the operator's own networks too. */
export type Reach = 'internet' | 'loopback' | 'internal';

const ALLOWED: Record<Reach, ReadonlySet<AddressKind>> = {
  internet: new Set(['global']),
  loopback: new Set(['global', 'loopback']),
  internal: new Set(['global', 'loopback', 'private']),
};

/** Whether a literal address is within reach. */
export function isWithinReach(reach: Reach, address: string): boolean {
  return ALLOWED[reach].has(addressKind(address));
}

export function refusedAddress(): OutboundError {
  return new OutboundError('refused_address', "The target's address is not allowed for this request.");
}

/** `dns.lookup` with `all`. */
export type Resolve = (
  hostname: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;
