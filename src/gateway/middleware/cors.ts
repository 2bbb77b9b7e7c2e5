/** Rules for browsers: CORS for listed origins, nothing on key surfaces, and security headers. */

import type { Request, RequestHandler, Response } from 'express';
import { UsherError } from '../../base/errors.ts';
import type { Logger } from '../../base/telemetry.ts';
import { REQUEST_HEADERS } from '../route/route.ts';
import { SECURITY_HEADERS } from '../route/security-headers.ts';

/** This service's identity for browsers. */
export interface Site {
  /** The origin of publicUrl, such as `https://usher.example.com`. */
  readonly origin: string;
  /** Origins whose pages may read user and admin surfaces. */
  readonly corsOrigins: CorsOrigins;
}

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
/** Refused origins remembered as logged: bounded, because callers can invent any number. */
const MAX_LOGGED = 100;
const MAX_SHOWN = 200;

/** The origins that may read answers, and those refused and logged so far. */
export class CorsOrigins {
  readonly #production: boolean;
  #listed: ReadonlySet<string> = new Set();
  #loopback = false;
  readonly #logged = new Set<string>();

  /** Outside production, with none listed, every loopback origin is allowed: front ends run there under their own dev servers. */
  constructor(listed: readonly string[], production: boolean) {
    this.#production = production;
    this.replace(listed);
  }

  /** From now on these are allowed, and no others. */
  replace(listed: readonly string[]): void {
    this.#listed = new Set(listed);
    this.#loopback = !this.#production && listed.length === 0;
    this.#logged.clear();
  }

  /** Whether any origin is allowed, so that answers depend on the origin. */
  get any(): boolean {
    return this.#loopback || this.#listed.size > 0;
  }

  has(origin: string): boolean {
    return this.#listed.has(origin) || (this.#loopback && isLoopbackOrigin(origin));
  }

  /** Logs, once per refused origin, how to allow it. */
  noteRefused(origin: string, log: Logger): void {
    const shown = origin.slice(0, MAX_SHOWN);
    if (this.#logged.size >= MAX_LOGGED || this.#logged.has(shown)) return;
    this.#logged.add(shown);
    log.warn(
      { origin: shown, key: 'cors.origins', variable: 'CORS_ORIGINS' },
      'request from an unlisted origin refused; add the origin to cors.origins if it is yours',
    );
  }
}

function isLoopbackOrigin(origin: string): boolean {
  const url = URL.parse(origin);
  if (url === null || url.origin !== origin) return false;
  return (url.protocol === 'http:' || url.protocol === 'https:') && LOOPBACK_NAMES.has(url.hostname);
}

const EXPOSED = 'etag, usher-revision, x-request-id, retry-after';
/** By which proxies route (docs/scaling.md#a-billion-rows). Nothing here reads them. */
const ROUTING_HEADERS = ['usher-app', 'usher-affinity'];
const ALLOWED_HEADERS = [
  'authorization',
  'content-type',
  'x-request-id',
  ...Object.keys(REQUEST_HEADERS),
  ...ROUTING_HEADERS,
].join(', ');

/** Sets the headers of every answer; pages and routes replace single ones. */
export function secureAnswers(site: Site): RequestHandler {
  const headers: [string, string][] = Object.entries(SECURITY_HEADERS);
  // Not of a loopback name: browsers would then refuse every other server of this machine that has no certificate.
  const { protocol, hostname } = new URL(site.origin);
  if (protocol === 'https:' && !LOOPBACK_NAMES.has(hostname))
    headers.push(['strict-transport-security', 'max-age=31536000']);
  return (_req, res, next) => {
    for (const [name, value] of headers) res.setHeader(name, value);
    next();
  };
}

/**
 * Key surfaces are for backends: a page that calls them would hold a key, or would be a foreign page calling a
 * development server that needs none. Throws BROWSER_NOT_ALLOWED for any `Origin` but publicUrl's (docs/reference/callers.md#internal-keys).
 */
export function refuseBrowser(site: Site, req: Request): void {
  const origin = req.get('origin');
  if (origin === undefined || origin === site.origin) return;
  throw new UsherError(
    'BROWSER_NOT_ALLOWED',
    'This surface is for backends; pages of other origins are not allowed to call it.',
  );
}

/** Allows a browser of a listed origin to read the answer, on user and admin surfaces. No cookies, no wildcard. */
export function allowOrigin(site: Site, req: Request, res: Response): boolean {
  const origin = req.get('origin');
  // Caches must keep answers to different origins apart, and those to requests without one.
  if (site.corsOrigins.any) res.vary('Origin');
  if (origin === undefined) return false;
  if (site.corsOrigins.has(origin)) {
    res.set({ 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED });
    return true;
  }
  if (origin !== site.origin) site.corsOrigins.noteRefused(origin, res.locals.exchange.log);
  return false;
}

/** Answers OPTIONS: the methods of the path, and for a listed origin the preflight's permissions. */
export function answerOptions(site: Site, allow: string, browsers: boolean): RequestHandler {
  return (req, res) => {
    res.setHeader('allow', allow);
    if (browsers && allowOrigin(site, req, res) && req.get('access-control-request-method') !== undefined) {
      res.set({
        'access-control-allow-methods': allow,
        'access-control-allow-headers': ALLOWED_HEADERS,
        'access-control-max-age': '600',
      });
    }
    res.status(204).end();
  };
}
