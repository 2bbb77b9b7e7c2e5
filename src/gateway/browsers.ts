/** What a browser may do here: CORS for listed origins, nothing on key surfaces, and the headers that hold it back. */

import { UsherError } from '../errors.ts';
import type { Exchange } from './exchange.ts';
import { REQUEST_HEADERS } from './route.ts';

/** Who we are to a browser. */
export interface Site {
  /** The origin of publicUrl, such as `https://usher.example.com`. */
  readonly origin: string;
  /** Origins that may read user and admin surfaces. */
  readonly corsOrigins: ReadonlySet<string>;
}

export type HeaderList = string[];

const EXPOSED = 'etag, usher-revision, x-request-id, retry-after';
const ALLOWED_HEADERS = ['authorization', 'content-type', 'x-request-id', ...Object.keys(REQUEST_HEADERS)].join(', ');

/** On every answer. `content-security-policy` is for what is no page; a page brings its own. */
export function securityHeaders(site: Site): { headers: readonly string[]; policy: string } {
  const headers = [
    'x-content-type-options',
    'nosniff',
    'x-frame-options',
    'DENY',
    'referrer-policy',
    'no-referrer',
    'cross-origin-resource-policy',
    'same-origin',
  ];
  if (site.origin.startsWith('https:')) headers.push('strict-transport-security', 'max-age=31536000');
  return { headers, policy: "default-src 'none'; frame-ancestors 'none'" };
}

/**
 * Key surfaces are for backends: a page that talks to them would hold a key, or would be somebody else's page talking to a
 * development server that needs none. Throws BROWSER_NOT_ALLOWED for any `Origin` but our own (contract 4).
 */
export function refuseBrowser(site: Site, exchange: Exchange): void {
  const origin = exchange.header('origin');
  if (origin === undefined || origin === site.origin) return;
  throw new UsherError('BROWSER_NOT_ALLOWED', 'This surface is for backends; pages of other origins may not call it.');
}

/** What an answer on a user or admin surface tells a browser of a listed origin. No cookies, no wildcard. */
export function corsHeaders(site: Site, exchange: Exchange): HeaderList {
  if (site.corsOrigins.size === 0) return [];
  const origin = exchange.header('origin');
  // Caches must keep the answers to different origins apart, also those to none.
  const headers: HeaderList = ['vary', 'Origin'];
  if (origin !== undefined && site.corsOrigins.has(origin)) {
    headers.push('access-control-allow-origin', origin, 'access-control-expose-headers', EXPOSED);
  }
  return headers;
}

/** The answer to OPTIONS: what the place takes, and for a listed origin the preflight's permissions. */
export function optionsHeaders(site: Site, exchange: Exchange, allow: string, browsers: boolean): HeaderList {
  const headers: HeaderList = ['allow', allow];
  if (!browsers) return headers;
  const cors = corsHeaders(site, exchange);
  headers.push(...cors);
  if (cors.length > 2 && exchange.header('access-control-request-method') !== undefined) {
    headers.push('access-control-allow-methods', allow, 'access-control-allow-headers', ALLOWED_HEADERS);
    headers.push('access-control-max-age', '600');
  }
  return headers;
}
