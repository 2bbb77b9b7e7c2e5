/** Refuses malformed requests before routing. */

import type { RequestHandler } from 'express';
import { UsherError } from '../../base/errors.ts';
import { HTTP_LIMITS } from '../route/limits.ts';

/** Refuses too many headers (431), a missing or second Host (400) and an unknown expectation (417). */
export const refuseMalformed: RequestHandler = (req, res, next) => {
  const { host, expect } = req.headers;
  if (req.rawHeaders.length > 2 * HTTP_LIMITS.maxHeaders) {
    res.status(431);
    throw new UsherError('BAD_REQUEST', `The request has more than ${HTTP_LIMITS.maxHeaders} headers.`);
  }
  if (host === undefined && req.httpVersion === '1.1') {
    throw new UsherError('BAD_REQUEST', 'The request has no Host header.');
  }
  // RFC 9112 3.2: a proxy may have used one and this server another. Node joins several, and no host name contains a comma.
  if (host?.includes(',')) throw new UsherError('BAD_REQUEST', 'The request has more than one Host header.');
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    res.status(417);
    throw new UsherError('BAD_REQUEST', 'The only supported expectation is 100-continue.');
  }
  next();
};
