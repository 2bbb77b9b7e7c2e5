/** Every error as an answer, in the one error shape (docs/reference/http.md#error-bodies). */

import type { ErrorRequestHandler, Request, RequestHandler } from 'express';
import { toUsherError, UsherError, unavailable } from '../../base/errors.ts';
import { nearest, orMeant } from '../../base/nearest.ts';
import { Denial } from '../route/denial.ts';
import { type ErrorBody, HTML_TYPE, JSON_TYPE, negotiate, type Page } from '../route/envelopes.ts';
import { type Guard, KEY_CHALLENGE, KEY_HEADER } from '../route/guards.ts';
import { allowOrigin, type Site } from './cors.ts';
import { CallerGone, type Exchange } from './exchange.ts';

/** 404 for a path; for an unknown record the handler names it. */
/** `paths`: the patterns of the routes served here, to name the nearest. */
export function refusePath(site: Site, paths: readonly string[] = []): RequestHandler {
  return (req, res) => {
    allowOrigin(site, req, res);
    const known = nearestPath(req.path, paths);
    if (known === null) throw new UsherError('NOT_FOUND', 'No route at this path.');
    const message = `No route at this path${orMeant(known)}`;
    throw new UsherError('NOT_FOUND', message, { details: { known } });
  };
}

/** The nearest of as many segments; what stands at a parameter is taken as it came. */
function nearestPath(path: string, paths: readonly string[]): string | null {
  const sent = path.split('/');
  const alike = paths.flatMap((pattern) => {
    const segments = pattern.split('/');
    if (segments.length !== sent.length) return [];
    return [segments.map((segment, at) => (segment.startsWith(':') ? (sent[at] ?? '') : segment)).join('/')];
  });
  const known = nearest(path, alike);
  return known === path ? null : known;
}

/** 405 for a path that takes other methods. A browser of a listed origin may read it if it may call one of them. */
export function refuseMethod(site: Site, allow: string, browsers: boolean): RequestHandler {
  return (req, res) => {
    res.setHeader('allow', allow);
    if (browsers) allowOrigin(site, req, res);
    throw new UsherError('METHOD_NOT_ALLOWED', `This path takes ${allow}.`);
  };
}

/** The last middleware of the application. */
export const answerError: ErrorRequestHandler = (thrown: unknown, _req, res, _next) => {
  const { exchange } = res.locals;
  try {
    answer(exchange, thrown);
  } catch (error) {
    // The error itself could not be written: better to close the connection than to leave the caller waiting.
    exchange.log.error(
      { requestId: exchange.requestId, route: exchange.pattern, err: error },
      'writing the answer failed',
    );
    res.destroy();
  }
};

/** 5xx are logged with their cause; after the caller has left, only defects are. */
function answer(exchange: Exchange, thrown: unknown): void {
  if (thrown instanceof CallerGone && exchange.gone) return;
  const { req, res, route } = exchange;
  // Another's departure ended what both waited for.
  const error = thrown instanceof CallerGone ? unavailable('Try again.', thrown) : toUsherError(thrown);
  if (exchange.failLate(error)) return;
  // 417 and 431 are HTTP's own; the table of codes does not know them.
  const status = res.statusCode >= 400 ? res.statusCode : error.httpStatus;
  if (status === 500 || !exchange.gone) logTrouble(exchange, error, status);
  if (exchange.gone) return;
  if (res.headersSent) {
    // A truncated answer must not look complete.
    res.destroy();
    return;
  }
  res.status(status).set('cache-control', 'no-store');
  if (status === 401 && route !== null) res.set('www-authenticate', challengeOf(route.guard, req));
  if (error instanceof Denial) res.set(error.headers);
  if (error.retryAfter !== undefined) res.set('retry-after', String(error.retryAfter));
  const page = problemPage(exchange, error);
  if (page === null) res.set('content-type', JSON_TYPE).json(errorBody(error, exchange.requestId));
  else res.set({ 'content-type': HTML_TYPE, 'content-security-policy': page.policy }).send(page.page);
}

/** The body of an error. 503 is UNAVAILABLE over HTTP, also for a deadline (docs/reference/http.md#error-bodies: code by status). */
export function errorBody(error: UsherError, requestId: string): ErrorBody {
  return {
    success: false,
    code: error.code === 'DEADLINE_EXCEEDED' ? 'UNAVAILABLE' : error.code,
    message: error.message,
    ...(error.details === undefined ? {} : { details: error.details }),
    requestId,
  };
}

/** Null for callers that accept JSON or send no Accept: programs. */
function problemPage({ req, route }: Exchange, error: UsherError): Page | null {
  const problem = route?.envelope.kind === 'value' ? route.envelope.problem : undefined;
  if (problem === undefined || negotiate(req.get('accept'), [JSON_TYPE, HTML_TYPE]) !== HTML_TYPE) return null;
  return problem({ error, languages: req.get('accept-language') });
}

/**
 * RFC 6750 3: a refused bearer token is an invalid token; a missing one is only requested. Where a route accepts a token or a
 * key, the challenge names the one that was sent.
 */
function challengeOf(guard: Guard<unknown>, req: Request): string {
  const tokenSent = req.get('authorization') !== undefined;
  const bearer = tokenSent ? 'Bearer realm="usher", error="invalid_token"' : 'Bearer realm="usher"';
  // A proxy passes it on to its client, which has no key.
  if (guard.kind === 'proxy') return bearer;
  if (guard.alternative !== undefined) {
    if (req.get(KEY_HEADER) !== undefined) return KEY_CHALLENGE;
    return tokenSent ? bearer : `${bearer}, ${KEY_CHALLENGE}`;
  }
  if (guard.errors.includes('KEY_SCOPE')) return KEY_CHALLENGE;
  if (guard.scheme === 'webhookSecret') return 'WebhookSecret realm="usher", header="x-webhook-secret"';
  if (guard.kind === 'signature') return 'Signature realm="usher"';
  return bearer;
}

export function logTrouble(exchange: Exchange, error: UsherError, status: number): void {
  if (status < 500) return;
  const line = { requestId: exchange.requestId, route: exchange.pattern, code: error.code, err: error.cause ?? error };
  if (status === 500) exchange.log.error(line, 'request failed');
  else exchange.log.warn(line, 'request failed; the caller may retry');
}
