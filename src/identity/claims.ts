/** What the claims of a verified token say about its bearer, and what kind of token it is. Pure (docs/reference/callers.md#bearer-tokens). */

import { UsherError } from '../base/errors.ts';
import { hasForbiddenCharacters, normalizeEmail } from '../base/grammar.ts';
import type { Claims } from './provider.ts';

/** The person in a token, before the address is known to be verified. */
export interface Identity {
  subject: string;
  /** Normal form; null without the claim. */
  email: string | null;
  /** Null without the claim. */
  emailVerified: boolean | null;
  issuedAt: number;
  expiresAt: number | null;
  givenName: string | null;
  familyName: string | null;
  name: string | null;
  picture: string | null;
  locale: string | null;
  /** The organization of the account; null where no claim names one. */
  organization: string | null;
}

/** Which claims say what (`auth.*Claim`). */
export interface ClaimNames {
  readonly organizationClaim: string;
}

export const CLOCK_TOLERANCE_S = 30;
const MAX_SUBJECT = 255;
const MAX_TEXT = 2048;

export function unauthenticated(message: string, cause?: unknown): UsherError {
  return new UsherError('UNAUTHENTICATED', message, { cause });
}

/** Reads the claims of a token, of an introspection response or of userinfo. `now` in seconds. Throws UNAUTHENTICATED. */
export function readIdentity(claims: Claims, names: ClaimNames, now: number): Identity {
  return {
    subject: readSubject(claims),
    email: readEmail(claims),
    emailVerified: readVerified(claims),
    issuedAt: readIssuedAt(claims, now),
    expiresAt: readExpiry(claims),
    givenName: readText(claims.given_name),
    familyName: readText(claims.family_name),
    name: readText(claims.name),
    picture: readText(claims.picture),
    locale: readText(claims.locale),
    organization: readOrganization(claims[names.organizationClaim]),
  };
}

/**
 * Refuses tokens that the issuer signed for the audience but that are not access tokens: ID tokens, logout tokens, and every
 * other type that a header `typ` names (RFC 8725 section 3.11, RFC 9068 section 4).
 */
export function refuseOtherTokens(header: { typ?: unknown }, claims: Claims): void {
  const type = header.typ === undefined ? null : mediaType(header.typ);
  if (type !== null && type !== 'jwt' && type !== 'at+jwt') {
    throw unauthenticated('The token is not an access token: its header typ must be JWT or at+jwt.');
  }
  if (saysIdToken(claims)) throw unauthenticated('The token is an ID token; send the access token.');
  if (claims.events !== undefined) {
    throw unauthenticated('The token is not an access token: it reports an event.');
  }
  if (type === 'at+jwt' || saysAccessToken(claims)) return;
  if (looksLikeIdToken(claims)) throw unauthenticated('The token is an ID token; send the access token.');
}

/** `JWT`, `at+jwt`, `application/at+jwt`, in any case (RFC 7515 section 4.1.9). */
function mediaType(typ: unknown): string {
  return typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : '';
}

/** Keycloak and Cognito say it in the payload. */
function saysIdToken(claims: Claims): boolean {
  return claims.typ === 'ID' || claims.token_use === 'id';
}

function saysAccessToken(claims: Claims): boolean {
  return claims.typ === 'Bearer' || claims.token_use === 'access';
}

/**
 * Claims that OpenID Connect Core defines for ID tokens only: `nonce` (section 2), `at_hash` and `c_hash` (3.3.2.11), `s_hash` (FAPI).
 * Or a token only for the client it was issued to, without anything that an access token has (RFC 9068
 * section 2.2 requires `client_id` and `jti`).
 */
function looksLikeIdToken(claims: Claims): boolean {
  if (['nonce', 'at_hash', 'c_hash', 's_hash'].some((name) => claims[name] !== undefined)) return true;
  const audience = Array.isArray(claims.aud) && claims.aud.length === 1 ? claims.aud[0] : claims.aud;
  const forItsClient = claims.azp !== undefined && audience === claims.azp;
  return forItsClient && ['scope', 'scp', 'client_id', 'jti'].every((name) => claims[name] === undefined);
}

function readSubject(claims: Claims): string {
  const { sub } = claims;
  if (typeof sub !== 'string' || sub === '' || sub.length > MAX_SUBJECT || hasForbiddenCharacters(sub)) {
    throw unauthenticated('The token has no valid subject (claim sub).');
  }
  return sub;
}

function readEmail(claims: Claims): string | null {
  const { email } = claims;
  if (email === undefined || email === null) return null;
  const normal = typeof email === 'string' ? normalizeEmail(email) : null;
  if (normal === null) throw unauthenticated("The token's e-mail address is not one that Usher accepts.");
  return normal;
}

/** A text, or a list of one text. Of several organizations none is the account's own. */
function readOrganization(claim: unknown): string | null {
  const value = readText(Array.isArray(claim) && claim.length === 1 ? claim[0] : claim);
  return value === null || value.length > MAX_SUBJECT ? null : value;
}

/** Some providers write booleans as text. Anything else that is present counts as unverified. */
function readVerified(claims: Claims): boolean | null {
  const { email_verified: verified } = claims;
  if (verified === undefined || verified === null) return null;
  return verified === true || verified === 'true';
}

/** Whole seconds; 0 without the claim, so that the token's names count as older than any stored. */
function readIssuedAt(claims: Claims, now: number): number {
  const { iat } = claims;
  if (iat === undefined) return 0;
  if (typeof iat !== 'number' || !Number.isFinite(iat) || iat < 0) {
    throw unauthenticated('The token has no valid time of issue (claim iat).');
  }
  if (iat > now + CLOCK_TOLERANCE_S) throw unauthenticated('The token was issued in the future (claim iat).');
  return Math.floor(iat);
}

function readExpiry(claims: Claims): number | null {
  const { exp } = claims;
  if (exp === undefined) return null;
  if (typeof exp !== 'number' || !Number.isFinite(exp)) {
    throw unauthenticated('The token has no valid time of expiry (claim exp).');
  }
  return exp;
}

/** Names that cannot be stored are left out; they are not a reason to refuse a token. */
function readText(value: unknown): string | null {
  if (typeof value !== 'string' || value === '' || value.length > MAX_TEXT || hasForbiddenCharacters(value))
    return null;
  return value;
}
