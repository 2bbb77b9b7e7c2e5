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

/** Which claims say what. */
export interface ClaimNames {
  /** `auth.emailClaims`. */
  readonly email: readonly string[];
  /** `auth.organizationClaim`. */
  readonly organization: string;
}

export const CLOCK_TOLERANCE_S = 30;
const MAX_SUBJECT = 255;
const MAX_TEXT = 2048;

export function unauthenticated(message: string, cause?: unknown): UsherError {
  return new UsherError('UNAUTHENTICATED', message, { cause });
}

/**
 * Reads the claims of a token, of an introspection response or of userinfo. `now` in seconds. Throws UNAUTHENTICATED, also for a token that
 * is bound to a key (RFC 7800, RFC 8705, RFC 9449): no proof is checked here, so it would pass as a plain bearer.
 */
export function readIdentity(claims: Claims, names: ClaimNames, now: number): Identity {
  if (claims.cnf !== undefined) {
    throw unauthenticated('The access token is bound to a key (claim cnf), and Usher checks no proof of it.');
  }
  return {
    subject: readSubject(claims),
    ...readEmail(claims, names.email),
    issuedAt: readIssuedAt(claims, now),
    expiresAt: readExpiry(claims),
    givenName: readText(claims.given_name),
    familyName: readText(claims.family_name),
    name: readText(claims.name),
    picture: readText(claims.picture),
    locale: readText(claims.locale),
    organization: readOrganization(claims[names.organization]),
  };
}

/**
 * Refuses tokens that the issuer signed for the audience but that are not access tokens: ID tokens, logout tokens, and every
 * other type that a header `typ` names (RFC 8725 section 3.11, RFC 9068 section 4). `acceptNonce`: for a provider whose access tokens look
 * like ID tokens (`auth.acceptNonce`).
 */
export function refuseOtherTokens(header: { typ?: unknown }, claims: Claims, acceptNonce: boolean): void {
  const type = header.typ === undefined ? null : mediaType(header.typ);
  if (type !== null && type !== 'jwt' && type !== 'at+jwt') {
    throw unauthenticated('The token is not an access token: its header typ must be JWT or at+jwt.');
  }
  if (saysIdToken(claims)) throw unauthenticated('The token is an ID token; send the access token.');
  if (claims.events !== undefined) {
    throw unauthenticated('The token is not an access token: it reports an event.');
  }
  if (acceptNonce || type === 'at+jwt' || saysAccessToken(claims)) return;
  if (looksLikeIdToken(claims)) throw unauthenticated('The token is an ID token; send the access token.');
}

/** `JWT`, `at+jwt`, `application/at+jwt`, in any case (RFC 7515 section 4.1.9). */
function mediaType(typ: unknown): string {
  return typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : '';
}

/** Keycloak and Cognito say it in the payload; some providers in the identifier. */
function saysIdToken({ typ, token_use: use, jti }: Claims): boolean {
  return typ === 'ID' || use === 'id' || (typeof jti === 'string' && jti.startsWith('ID.'));
}

function saysAccessToken(claims: Claims): boolean {
  return claims.typ === 'Bearer' || claims.token_use === 'access';
}

/**
 * Claims that OpenID Connect Core defines for ID tokens only: `nonce` (section 2), `at_hash` and `c_hash` (3.3.2.11), `s_hash` (FAPI); but not
 * beside a scope, which only access tokens have. Or a token only for the client it was issued to, without anything that an access token has
 * (RFC 9068 section 2.2 requires `client_id` and `jti`).
 */
function looksLikeIdToken(claims: Claims): boolean {
  const hasNone = (names: readonly string[]) => names.every((name) => claims[name] === undefined);
  if (!hasNone(['scope', 'scp'])) return false;
  if (!hasNone(['nonce', 'at_hash', 'c_hash', 's_hash'])) return true;
  const audience = Array.isArray(claims.aud) && claims.aud.length === 1 ? claims.aud[0] : claims.aud;
  return claims.azp !== undefined && audience === claims.azp && hasNone(['client_id', 'jti']);
}

/**
 * Throws UNAUTHENTICATED unless the named claim holds the audience. `client_id` says who asked for a token, of an ID token too: such a token
 * must say that it is an access token, as those of Cognito do.
 */
export function refuseOtherAudience(claims: Claims, { claim, audience }: { claim: string; audience: string }): void {
  const value = claims[claim];
  const named: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (!named.includes(audience)) throw unauthenticated('The access token is for another audience.');
  if (claim === 'client_id' && claims.token_use !== 'access') {
    throw unauthenticated('The token does not say that it is an access token (claim token_use).');
  }
}

function readSubject(claims: Claims): string {
  const { sub } = claims;
  if (typeof sub !== 'string' || sub === '' || sub.length > MAX_SUBJECT || hasForbiddenCharacters(sub)) {
    throw unauthenticated('The token has no valid subject (claim sub).');
  }
  return sub;
}

/**
 * The first of the named claims that holds an address. `email_verified` is about the claim `email` (OpenID Connect Core 5.1): it speaks for the
 * address of another claim only where it is false.
 */
function readEmail(claims: Claims, names: readonly string[]): Pick<Identity, 'email' | 'emailVerified'> {
  const verified = readVerified(claims);
  let isSaid = false;
  for (const name of names) {
    const claim = claims[name];
    if (claim === undefined || claim === null) continue;
    isSaid = true;
    const value: unknown = Array.isArray(claim) && claim.length === 1 ? claim[0] : claim;
    const email = typeof value === 'string' ? normalizeEmail(value) : null;
    if (email !== null) return { email, emailVerified: name === 'email' || verified === false ? verified : null };
  }
  if (isSaid) throw unauthenticated("The token's e-mail address is not one that Usher accepts.");
  return { email: null, emailVerified: verified };
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
