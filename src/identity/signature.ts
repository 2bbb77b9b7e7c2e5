/** Verifies a JWT against a key set: signature, algorithm, issuer, times. jose verifies; this chooses keys and messages. */

import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyResult, jwtVerify } from 'jose';
import { CLOCK_TOLERANCE_S, unauthenticated } from './claims.ts';
import { ProviderError } from './provider.ts';

interface Expected {
  issuer: string;
  algorithms: readonly string[];
  /** Wall time in milliseconds. */
  now: number;
}

/** The set lacks the token's key; a newer set may have it. */
export class UnknownKey extends Error {}

const KEY_SETS = new WeakMap<JSONWebKeySet, ReturnType<typeof createLocalJWKSet>>();

/**
 * Header and claims of a genuine token. Throws UNAUTHENTICATED, UnknownKey, or ProviderError for an unusable key.
 * Keys come from `keys` alone: the headers jwk, jku, x5u and x5c are never read, and an unknown `crit` is refused.
 */
export async function verifySignature(token: string, keys: JSONWebKeySet, expected: Expected) {
  if (!isCanonical(token)) throw unauthenticated('The access token is malformed.');
  let keySet = KEY_SETS.get(keys);
  if (keySet === undefined) {
    keySet = createLocalJWKSet(keys);
    KEY_SETS.set(keys, keySet);
  }
  const options = {
    issuer: expected.issuer,
    algorithms: [...expected.algorithms],
    clockTolerance: CLOCK_TOLERANCE_S,
    currentDate: new Date(expected.now),
    requiredClaims: ['exp', 'sub'],
  };
  try {
    return await verifyWithAny(token, keySet, options);
  } catch (error) {
    throw toRefusal(error, token);
  }
}

/** One text per token: the spare bits of a last character (RFC 4648 section 3.5) would give it several. */
function isCanonical(token: string): boolean {
  return token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
}

type Options = NonNullable<Parameters<typeof jwtVerify>[2]>;

/** Several keys match a token without `kid`: one of them must verify it. */
async function verifyWithAny(token: string, keySet: ReturnType<typeof createLocalJWKSet>, options: Options) {
  try {
    return await jwtVerify(token, keySet, options);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    let failure: unknown = error;
    for await (const key of error) {
      try {
        return (await jwtVerify(token, key, options)) satisfies JWTVerifyResult;
      } catch (attempt) {
        if (!(attempt instanceof errors.JWSSignatureVerificationFailed)) throw attempt;
        failure = attempt;
      }
    }
    throw failure;
  }
}

function toRefusal(error: unknown, token: string): Error {
  if (!(error instanceof errors.JOSEError)) return new ProviderError('A key of the provider cannot be used', error);
  if (error instanceof errors.JWKSNoMatchingKey) return new UnknownKey();
  // Without a kid, the key that signed may have been replaced by a new one that matches as well.
  if (error instanceof errors.JWSSignatureVerificationFailed && !namesKey(token)) return new UnknownKey();
  return unauthenticated(describe(error), error);
}

function namesKey(token: string): boolean {
  const header = Buffer.from(token.slice(0, token.indexOf('.')), 'base64url').toString();
  return (JSON.parse(header) as { kid?: unknown }).kid !== undefined;
}

function describe(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'The access token has expired.';
  if (error instanceof errors.JWTClaimValidationFailed) return describeClaim(error.claim);
  if (error instanceof errors.JOSEAlgNotAllowed)
    return 'The access token is signed with an algorithm that is not allowed (see auth.algorithms).';
  if (error instanceof errors.JWSSignatureVerificationFailed) return "The access token's signature is invalid.";
  return 'The access token is malformed.';
}

function describeClaim(claim: string): string {
  switch (claim) {
    case 'iss':
      return 'The access token is from another issuer.';
    case 'aud':
      return 'The access token is for another audience.';
    case 'nbf':
      return 'The access token is not valid yet.';
    case 'exp':
      return 'The access token has no time of expiry (claim exp).';
    default:
      return `The access token lacks a valid claim ${claim}.`;
  }
}
