/**
 * Which push endpoints are allowed (docs/reference/notifications.md#push-subscriptions). Users choose the URL, and the service sends
 * requests to it from inside the network: the parsed host must be a browser's push service or listed by the operator. The resolved
 * address is checked at every connection (outbound.ts).
 */

import { isIP } from 'node:net';
import { hasForbiddenCharacters, LIMITS } from '../base/grammar.ts';
import { isLoopbackHost } from '../base/ip-address.ts';
import { INTERNET_POLICY, type Policy } from '../outbound/outbound.ts';

const EXACT = [
  // Chromium browsers; Chrome's beta, dev and canary channels, and Chromium without a brand.
  'fcm.googleapis.com',
  'jmt17.google.com',
  // Firefox that is built against Mozilla's staging and development services.
  'updates-autopush.stage.mozaws.net',
  'updates-autopush.dev.mozaws.net',
];
/** Firefox in all its channels; Safari; Edge. */
const SUFFIXES = ['.push.services.mozilla.com', '.push.apple.com', '.notify.windows.com'];

/** The allowed endpoints, built once from `push.allowedHosts`. */
export interface EndpointRules {
  /** Why an endpoint is refused, for the error message; null for an allowed one. */
  problemOf(endpoint: string): string | null;
  /** Which addresses and ports a request may reach. Only for allowed endpoints. */
  policyOf(endpoint: string): Policy;
}

/**
 * `allowedHosts` are host names; `.example.com` stands for all names below it, `localhost:9443` for a development endpoint, which
 * may have a loopback address and, outside production, use cleartext.
 */
export function createEndpointRules(allowedHosts: readonly string[], production: boolean): EndpointRules {
  const listed = allowedHosts.filter((host) => !host.includes(':'));
  const exact = new Set([...EXACT, ...listed.filter((host) => !host.startsWith('.'))]);
  const suffixes = [...SUFFIXES, ...listed.filter((host) => host.startsWith('.'))];
  const withPort = new Set(allowedHosts.filter((host) => host.includes(':')));
  // `URL.host` leaves out the scheme's default port; the list always names the port.
  const named = (url: URL) => withPort.has(`${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`);
  const cleartext = (url: URL) => !production && isLoopbackHost(url.hostname) && named(url);
  return {
    problemOf(endpoint) {
      if (endpoint.length > LIMITS.url) return `must be at most ${LIMITS.url} characters`;
      if (hasForbiddenCharacters(endpoint) || /[\s\\]/.test(endpoint)) return 'must be a URL';
      const url = URL.parse(endpoint);
      if (url === null) return 'must be a URL';
      if (url.protocol !== 'https:' && !(url.protocol === 'http:' && cleartext(url))) return 'must begin with https://';
      if (url.username !== '' || url.password !== '') return 'must hold no credentials';
      if (endpoint.includes('#')) return 'must have no fragment';
      if (named(url)) return null;
      if (url.port !== '') return 'must not name a port';
      if (isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0) return 'must name a host, not an address';
      if (exact.has(url.hostname)) return null;
      if (suffixes.some((suffix) => url.hostname.endsWith(suffix) && url.hostname.length > suffix.length)) return null;
      return 'must be at a push service of a browser';
    },
    policyOf(endpoint) {
      const url = new URL(endpoint);
      if (!named(url)) return INTERNET_POLICY;
      return {
        reach: isLoopbackHost(url.hostname) ? 'loopback' : 'internet',
        http: cleartext(url),
        anyPort: true,
      };
    },
  };
}
