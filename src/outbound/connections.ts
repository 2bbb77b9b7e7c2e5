/** Connections straight to targets: the address that a socket is about to connect to decides. */

import { isIP, type LookupFunction } from 'node:net';
import type { Agent } from 'undici';
import { isWithinReach, type Reach, type Resolve, refusedAddress } from './reach.ts';

export type Undici = Pick<typeof import('undici'), 'Agent' | 'Pool' | 'ProxyAgent' | 'buildConnector'>;

export const MAX_HEADER_BYTES = 16 * 1024;
export const CONNECT_TIMEOUT_MS = 5000;

/** Of every connection that a response comes by. */
export const LIMITS = {
  /** Per origin. */
  connections: 64,
  maxHeaderSize: MAX_HEADER_BYTES,
  // Only the limit of the whole exchange counts.
  headersTimeout: 0,
  bodyTimeout: 0,
};
/** Whatever the environment says of them; HTTP/1.1 alone. */
export const TLS = { rejectUnauthorized: true, allowH2: false };

/**
 * Loads what requests are sent with: some 50 ms in which this thread answers nobody. To be awaited before a listener opens where
 * requests will be sent; the first request does it otherwise.
 */
export async function prepareOutbound(): Promise<Undici> {
  return await import('undici');
}

/** One of these for each reach: a connection that one policy opened is never lent to a narrower one. */
export function forEachReach<T>(make: (reach: Reach) => T): Record<Reach, T> {
  return { internet: make('internet'), loopback: make('loopback'), internal: make('internal') };
}

export function createAgent({ Agent, buildConnector }: Undici, reach: Reach, resolve: Resolve): Agent {
  const mayConnect = (address: string) => isWithinReach(reach, address);
  const lookup: LookupFunction = (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const fit = addresses.filter(({ address }) => mayConnect(address));
      const first = fit[0];
      if (first === undefined) return callback(refusedAddress(), []);
      // The socket connects to the addresses returned here; the name is not resolved again.
      return options.all === true ? callback(null, fit) : callback(null, first.address, first.family);
    });
  };
  const connect = buildConnector({ lookup, timeout: CONNECT_TIMEOUT_MS, ...TLS });
  return new Agent({
    // For a literal address undici makes no look-up.
    connect: (target, callback) => {
      if (isIP(target.hostname) !== 0 && !mayConnect(target.hostname)) return callback(refusedAddress(), null);
      return connect(target, callback);
    },
    ...LIMITS,
  });
}
