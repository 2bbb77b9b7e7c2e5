/**
 * What a name may lead to where a proxy looks it up (docs/operations/secure.md#requests-that-leave). The proxy connects to what it
 * finds, not to what is found here, so this is a guard beside the proxy's own, and not in its place.
 */

import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.ts';
import { hostName, isLocalhostName, isMetadataName, isPrivateName } from '../base/host-names.ts';
import { unlessAborted } from '../base/wait.ts';
import { isWithinReach, type Reach, type Resolve, refusedAddress } from './reach.ts';

/** How long a request waits for the answer of the resolver here, which in a network with a proxy may know no names at all. */
const WAIT_MS = 1000;
/** For how long its answer counts: without that every request would ask. */
const KEEP_MS = 30_000;
const MAX_NAMES = 1000;

/** The addresses of a name as known here; null where the resolver knows none, or is silent. */
type Known = readonly string[] | null;

export class NameGuard {
  readonly #resolve: Resolve;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #known = new LRUCache<string, Promise<Known>>({ max: MAX_NAMES, ttl: KEEP_MS });

  constructor(resolve: Resolve, clock: Pick<Clock, 'after'>) {
    this.#resolve = resolve;
    this.#clock = clock;
  }

  /**
   * Throws OutboundError `refused_address` for an address or a name that is not within reach: one that says so itself, or one of
   * whose addresses, as far as they are known here, is outside.
   */
  async admit(url: URL, reach: Reach, signal: AbortSignal): Promise<void> {
    const name = hostName(url);
    if (isIP(name) !== 0) {
      if (!isWithinReach(reach, name)) throw refusedAddress();
      return;
    }
    if (isOutside(name, reach)) throw refusedAddress();
    const addresses = await unlessAborted(this.#addressesOf(name), signal);
    // The proxy may take any of them.
    if (addresses?.some((address) => !isWithinReach(reach, address))) throw refusedAddress();
  }

  #addressesOf(name: string): Promise<Known> {
    const present = this.#known.get(name);
    if (present !== undefined) return present;
    const { promise, resolve } = Promise.withResolvers<Known>();
    const cancel = this.#clock.after(WAIT_MS, () => resolve(null));
    this.#known.set(name, promise);
    this.#resolve(name, { all: true }, (error, found) => {
      cancel();
      const known = error === null && found.length > 0 ? found.map(({ address }) => address) : null;
      resolve(known);
      // An answer that came late counts for the next request.
      this.#known.set(name, Promise.resolve(known));
    });
    return promise;
  }
}

/** Whether a name says without a resolver that it is outside. */
function isOutside(name: string, reach: Reach): boolean {
  if (isMetadataName(name)) return true;
  if (reach === 'internal') return false;
  return isPrivateName(name) && !(reach === 'loopback' && isLocalhostName(name));
}
