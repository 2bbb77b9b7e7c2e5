/**
 * The issuer of a development start without an identity provider (docs/reference/service.md#configuration): one Ed25519 key in dataDir.
 * A reader of dataDir can act as anyone, so the configuration allows it only outside production and on loopback.
 */

import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { calculateJwkThumbprint, importJWK, type JSONWebKeySet, type JWK, SignJWT } from 'jose';
import type { Clock } from '../base/clock.ts';
import { validationFailed } from '../base/errors.ts';
import { normalizeEmail, RULES } from '../base/grammar.ts';
import { keepSecret } from './kept-secret.ts';

export const LOCAL_ISSUER = 'urn:usher:local';
export const LOCAL_AUDIENCE = 'usher';
export const LOCAL_ALGORITHM = 'EdDSA';
/** A working day. */
const DEFAULT_TTL_SECONDS = 12 * 60 * 60;
const FILE = 'local-issuer.jwk.json';

export interface LocalIssuer {
  /** The public key, for tokens.ts; it is not published. */
  readonly jwks: JSONWebKeySet;
  /**
   * An access token of `email`, verified, valid for `ttlSeconds`. `claims` override the usual ones.
   * Throws VALIDATION_FAILED for an invalid address.
   */
  sign(email: string, claims?: Readonly<Record<string, unknown>>, ttlSeconds?: number): Promise<string>;
}

/** Opens the key in dataDir; the first call creates it. Starts that race get the same key. */
export async function openLocalIssuer(options: {
  dataDir: string;
  clock: Pick<Clock, 'now' | 'bytes'>;
}): Promise<LocalIssuer> {
  const { dataDir, clock } = options;
  const text = keepSecret({ dataDir, file: FILE, clock, make: newKey });
  const { key, publicJwk } = await readKey(text, join(dataDir, FILE));
  return {
    jwks: { keys: [publicJwk] },
    async sign(email, claims = {}, ttlSeconds = DEFAULT_TTL_SECONDS) {
      const address = normalizeEmail(email);
      if (address === null) throw validationFailed([{ path: 'email', message: `must be ${RULES.email}` }]);
      const now = Math.floor(clock.now() / 1000);
      return new SignJWT({
        iss: LOCAL_ISSUER,
        aud: LOCAL_AUDIENCE,
        sub: `local:${address}`,
        email: address,
        email_verified: true,
        iat: now,
        exp: now + ttlSeconds,
        jti: randomUUID(),
        ...claims,
      })
        .setProtectedHeader({ alg: LOCAL_ALGORITHM, typ: 'at+jwt', kid: publicJwk.kid })
        .sign(key);
    },
  };
}

function newKey(): string {
  return `${JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }))}\n`;
}

async function readKey(text: string, path: string) {
  try {
    const { kty, crv, x, d } = JSON.parse(text) as JWK;
    if (kty !== 'OKP' || crv !== 'Ed25519' || x === undefined || d === undefined) throw new Error('not an Ed25519 key');
    const key = await importJWK({ kty, crv, x, d }, LOCAL_ALGORITHM);
    const kid = await calculateJwkThumbprint({ kty, crv, x });
    return { key, publicJwk: { kty, crv, x, kid, alg: LOCAL_ALGORITHM, use: 'sig' } };
  } catch (cause) {
    throw new Error(
      `${path} does not hold the key of the local issuer; delete it, and the next start makes a new one`,
      { cause },
    );
  }
}
