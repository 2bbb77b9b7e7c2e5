/** The `Authorization` header of a caller (RFC 6750 section 2.1), read strictly: one header, one scheme, one token. */

import { membersOf } from '../base/members.ts';
import { unauthenticated } from './claims.ts';

/** Longer ones are refused unread. Node takes 16 KiB of headers in all. */
export const MAX_TOKEN_LENGTH = 16_384;

const SCHEME = /^bearer(?: +|$)/i;
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
/** Three parts of base64url: a JWS in compact form. */
const JWS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*$/;

/**
 * The token. `authorization` is the header, or all headers of that name: Node keeps the first of several by default
 * (`headersDistinct` has all), and a request must not name two callers. Throws UNAUTHENTICATED.
 */
export function readBearer(authorization: string | readonly string[] | undefined): string {
  if (typeof authorization !== 'string' && authorization !== undefined && authorization.length > 1) {
    throw unauthenticated('The request has several Authorization headers; send one.');
  }
  const header = typeof authorization === 'string' ? authorization : authorization?.[0];
  if (header === undefined || header === '') {
    throw unauthenticated('This call needs an access token in the header Authorization: Bearer <token>.');
  }
  if (header.length > MAX_TOKEN_LENGTH + 32) throw unauthenticated('The access token is too long.');
  const scheme = SCHEME.exec(header);
  if (scheme === null) throw unauthenticated('The Authorization header must use the scheme Bearer.');
  const token = header.slice(scheme[0].length);
  if (token.length > MAX_TOKEN_LENGTH) throw unauthenticated('The access token is too long.');
  if (!TOKEN.test(token)) throw unauthenticated('The Authorization header must contain one access token.');
  return token;
}

/** Whether a token is a signed JWT, to be verified by its signature; anything else is opaque. */
export function isJwt(token: string): boolean {
  if (!JWS.test(token)) return false;
  try {
    const header: unknown = JSON.parse(Buffer.from(token.slice(0, token.indexOf('.')), 'base64url').toString());
    return typeof header === 'object' && header !== null && 'alg' in header;
  } catch (error) {
    if (membersOf(error).name === 'SyntaxError') return false;
    throw error;
  }
}
