/** The names by which a caller on this machine reaches it. */

import { UsherError } from '../../base/errors.ts';
import { isLoopbackHost } from '../../base/ip-address.ts';

/**
 * Where no credentials are needed, in development, the name by which a caller reached us decides: a page can make a name of its own
 * resolve to this machine, and is then of our origin. Throws BROWSER_NOT_ALLOWED for any other Host than a loopback one.
 */
export function refuseForeignHost(host: string | undefined): void {
  if (isLocalHost(host)) return;
  throw new UsherError(
    'BROWSER_NOT_ALLOWED',
    'Without an internal API key this is answered to localhost and loopback addresses only.',
  );
}

/** Whether a Host header, with or without a port, names this machine by a loopback name or address. */
export function isLocalHost(host: string | undefined): boolean {
  return isLoopbackHost(URL.parse(`http://${host ?? ''}`)?.hostname ?? '');
}
