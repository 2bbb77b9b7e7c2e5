/** The host names by which a caller on this machine reaches it. */

import { UsherError } from '../../base/errors.ts';
import { isLoopbackHost } from '../../base/ip-address.ts';

/**
 * In development, where no credentials are needed, the Host header decides (DNS rebinding): a page can make its own host name
 * resolve to this machine, and then counts as same-origin. Throws BROWSER_NOT_ALLOWED for any Host but a loopback one.
 */
export function refuseForeignHost(host: string | undefined): void {
  if (isLocalHost(host)) return;
  throw new UsherError(
    'BROWSER_NOT_ALLOWED',
    'Without an internal API key only requests to localhost and loopback addresses are answered.',
  );
}

/** Whether a Host header, with or without a port, names this machine by a loopback name or address. */
export function isLocalHost(host: string | undefined): boolean {
  return isLoopbackHost(URL.parse(`http://${host ?? ''}`)?.hostname ?? '');
}
