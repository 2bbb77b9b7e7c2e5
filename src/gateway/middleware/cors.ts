/** What a browser may do here: CORS for listed origins, nothing on key surfaces, and the headers that hold it back. */

import { UsherError } from '../../base/errors.ts';
import type { Logger } from '../../base/telemetry.ts';
import type { Exchange } from '../http/exchange.ts';
import { REQUEST_HEADERS } from '../route/route.ts';

/** Who we are to a browser. */
export interface Site {
  /** The origin of publicUrl, such as `https://usher.example.com`. */
  readonly origin: string;
  /** Origins that may read user and admin surfaces. */
  readonly corsOrigins: CorsOrigins;
}

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
/** Refused origins that are remembered as logged: anybody can make up any number of them. */
const MAX_LOGGED = 100;
const MAX_SHOWN = 200;

/** Which origins may read answers, and which were refused so far. */
export class CorsOrigins {
  readonly #listed: ReadonlySet<string>;
  readonly #loopback: boolean;
  readonly #logged = new Set<string>();

  /** Outside production, where none is listed, every loopback origin counts: front ends are served there by their own tools. */
  constructor(listed: readonly string[], production: boolean) {
    this.#listed = new Set(listed);
    this.#loopback = !production && listed.length === 0;
  }

  /** Whether answers can depend on the origin. */
  get any(): boolean {
    return this.#loopback || this.#listed.size > 0;
  }

  has(origin: string): boolean {
    return this.#listed.has(origin) || (this.#loopback && isLoopbackOrigin(origin));
  }

  /** Says once for each refused origin what would let it in. */
  noteRefused(origin: string, log: Logger): void {
    const shown = origin.slice(0, MAX_SHOWN);
    if (this.#logged.size >= MAX_LOGGED || this.#logged.has(shown)) return;
    this.#logged.add(shown);
    log.warn(
      { origin: shown, key: 'cors.origins', variable: 'CORS_ORIGINS' },
      'a page of an origin that is not listed was refused; add the origin to cors.origins if it is yours',
    );
  }
}

function isLoopbackOrigin(origin: string): boolean {
  const url = URL.parse(origin);
  if (url === null || url.origin !== origin) return false;
  return (url.protocol === 'http:' || url.protocol === 'https:') && LOOPBACK_NAMES.has(url.hostname);
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
 * development server that needs none. Throws BROWSER_NOT_ALLOWED for any `Origin` but our own (docs/reference/callers.md#internal-keys).
 */
export function refuseBrowser(site: Site, exchange: Exchange): void {
  const origin = exchange.header('origin');
  if (origin === undefined || origin === site.origin) return;
  throw new UsherError('BROWSER_NOT_ALLOWED', 'This surface is for backends; pages of other origins may not call it.');
}

/** What an answer on a user or admin surface tells a browser of a listed origin. No cookies, no wildcard. */
export function corsHeaders(site: Site, exchange: Exchange): HeaderList {
  const origin = exchange.header('origin');
  // Caches must keep the answers to different origins apart, also those to none.
  const headers: HeaderList = site.corsOrigins.any ? ['vary', 'Origin'] : [];
  if (origin !== undefined && site.corsOrigins.has(origin)) {
    headers.push('access-control-allow-origin', origin, 'access-control-expose-headers', EXPOSED);
  } else if (origin !== undefined && origin !== site.origin) {
    site.corsOrigins.noteRefused(origin, exchange.log);
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
