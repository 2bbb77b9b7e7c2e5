/** Bearer token → caller (docs/reference/callers.md#bearer-tokens). Trouble at the provider is 503, never 401; a good token costs one signature check. */

import { hash } from 'node:crypto';
import type { JSONWebKeySet } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import type { Config } from '../config/config.ts';
import type { Outbound } from '../outbound/outbound.ts';
import { isJwt, MAX_TOKEN_LENGTH, readBearer } from './bearer.ts';
import { CLOCK_TOLERANCE_S, type Identity, readIdentity, refuseOtherTokens, unauthenticated } from './claims.ts';
import { LOCAL_ALGORITHM, LOCAL_AUDIENCE, LOCAL_ISSUER, type LocalIssuer } from './local-issuer.ts';
import { type Claims, createProvider, type Provider, ProviderError } from './provider.ts';
import { UnknownKey, verifySignature } from './signature.ts';

/** A person who calls, as the issuer vouches for. */
export interface Caller {
  /** Normal form (docs/reference/names.md#e-mail-addresses), verified where the configuration wants that. */
  readonly email: string;
  readonly issuer: string;
  readonly subject: string;
  /** Whole seconds; 0 when the token does not say. */
  readonly issuedAt: number;
  /** Seconds. */
  readonly expiresAt: number;
  readonly givenName: string | null;
  readonly familyName: string | null;
  readonly name: string | null;
  readonly picture: string | null;
  readonly locale: string | null;
  /** For calls to the provider in this person's name. Never logged, never stored. */
  readonly token: string;
}

export interface Tokens {
  /**
   * The caller behind an `Authorization` header, or behind all headers of that name.
   * Throws UNAUTHENTICATED, EMAIL_NOT_VERIFIED, or UNAVAILABLE when the provider fails.
   */
  authenticate(authorization: string | readonly string[] | undefined): Promise<Caller>;
  /**
   * The caller behind a token that was verified before and still holds, in this turn; null for all else, which `authenticate`
   * decides about.
   */
  recall(authorization: string | undefined): Caller | null;
  /** Forgets every token. */
  close(): void;
}

export interface TokensOptions {
  auth: Pick<
    Config['auth'],
    | 'issuer'
    | 'audience'
    | 'jwksUrl'
    | 'algorithms'
    | 'requireVerifiedEmail'
    | 'introspectionUrl'
    | 'clientId'
    | 'clientSecret'
  >;
  /** What signs where `auth.issuer` is null. */
  local: LocalIssuer | null;
  outbound: Outbound;
  clock: Clock;
  log: { warn(details: object, message: string): void };
  /** Tokens remembered; each takes some 400 bytes. */
  maxTokens?: number;
}

/** Answers of userinfo are believed this long, or until the token expires (docs/reference/callers.md#bearer-tokens). */
const USERINFO_MS = 5 * 60_000;
/** Shorter, as revocation is what an opaque token is introspected for. */
const INTROSPECTION_MS = 60_000;
const MAX_TOKENS = 10_000;
const PREFIX = 'Bearer ';

/** A verified token, without its text. */
interface Verified {
  identity: Omit<Caller, 'token'>;
  /** Wall time in milliseconds. */
  expiresAt: number;
  /** Monotonic milliseconds; userinfo and introspection are asked again after it. */
  freshUntil: number;
  /** The key set that verified it; null when the provider's word did. */
  keys: JSONWebKeySet | null;
}

export function createTokens(options: TokensOptions): Tokens {
  const { clock } = options;
  const trust = createTrust(options);
  const { keys } = trust.provider;
  const verified = new LRUCache<string, Verified>({ max: options.maxTokens ?? MAX_TOKENS });
  const underway = new Map<string, Promise<Verified>>();

  const remembered = (id: string): Verified | undefined => {
    const found = verified.get(id);
    if (found === undefined) return undefined;
    // peek also begins a renewal of the keys that is due, and stops believing in keys of yesterday.
    if (found.keys !== null && found.keys !== keys.peek()) return undefined;
    if (clock.now() < found.expiresAt && clock.monotonic() < found.freshUntil) return found;
    return undefined;
  };
  /** Of all who bring one token at once, one does the work. Only what succeeded is remembered. */
  const verifyOnce = (id: string, token: string): Promise<Verified> => {
    const running = underway.get(id);
    if (running !== undefined) return running;
    const begun = verify(trust, token)
      .then((result) => {
        verified.set(id, result);
        return result;
      })
      .finally(() => underway.delete(id));
    underway.set(id, begun);
    return begun;
  };
  return {
    async authenticate(authorization) {
      const token = readBearer(authorization);
      const id = hash('sha256', token, 'base64');
      const { identity } = remembered(id) ?? (await verifyOnce(id, token).catch(refuse));
      return { ...identity, token };
    },
    recall(authorization) {
      // The usual spelling alone. Whatever has the hash of a verified token is that token, hence well formed.
      if (authorization?.startsWith(PREFIX) !== true || authorization.length > MAX_TOKEN_LENGTH) return null;
      const token = authorization.slice(PREFIX.length);
      const identity = remembered(hash('sha256', token, 'base64'))?.identity;
      return identity === undefined ? null : { ...identity, token };
    },
    close: () => verified.clear(),
  };
}

/** Whom to believe, and what to ask. */
interface Trust {
  issuer: string;
  audience: string;
  algorithms: readonly string[];
  requireVerifiedEmail: boolean;
  provider: Provider;
  clock: Clock;
}

function createTrust({ auth, local, outbound, clock, log }: TokensOptions): Trust {
  const { issuer, audience } = auth;
  const shared = { requireVerifiedEmail: auth.requireVerifiedEmail, clock };
  if (issuer !== null && audience !== null) {
    const provider = createProvider({ auth: { ...auth, issuer }, outbound, clock, log });
    return { ...shared, issuer, audience, algorithms: auth.algorithms, provider };
  }
  if (issuer !== null || local === null)
    throw new Error('tokens need auth.issuer with auth.audience, or a local issuer');
  return {
    ...shared,
    issuer: LOCAL_ISSUER,
    audience: LOCAL_AUDIENCE,
    algorithms: [LOCAL_ALGORITHM],
    provider: localProvider(local),
  };
}

function localProvider({ jwks }: LocalIssuer): Provider {
  return {
    keys: {
      peek: () => jwks,
      get: async () => jwks,
      refetch: async () => ({ document: jwks, current: true }),
    },
    userinfo: async () => 'none',
    introspect: null,
  };
}

/** What a door may show of a failure: the provider's is 503 (IDP_UNREACHABLE, docs/reference/errors.md#reasons). */
function refuse(error: unknown): never {
  if (!(error instanceof ProviderError)) throw error;
  throw new UsherError('UNAVAILABLE', 'The identity provider cannot be asked about the access token; try again.', {
    details: { code: 'IDP_UNREACHABLE' },
    retryAfter: 5,
    cause: error,
  });
}

async function verify(trust: Trust, token: string): Promise<Verified> {
  if (isJwt(token)) return await verifyJwt(trust, token);
  if (trust.provider.introspect === null) throw unauthenticated('The access token is no signed JWT.');
  return await verifyOpaque(trust, token, await trust.provider.introspect(token));
}

async function verifyJwt(trust: Trust, token: string): Promise<Verified> {
  const { clock, provider } = trust;
  const { header, claims, keys } = await checkSignature(trust, token);
  refuseOtherTokens(header, claims);
  const identity = readIdentity(claims, clock.now() / 1000);
  if (identity.expiresAt === null) throw unauthenticated('The access token does not say when it expires.');
  const askedAt = clock.monotonic();
  const { email, info } = await settleEmail(trust, identity, () => provider.userinfo(token));
  return {
    identity: toCaller(trust.issuer, email, identity.expiresAt, identity, info),
    expiresAt: (identity.expiresAt + CLOCK_TOLERANCE_S) * 1000,
    freshUntil: info === null ? Number.POSITIVE_INFINITY : askedAt + USERINFO_MS,
    keys,
  };
}

/** A token of an unknown key gets one look at a newer key set, if it is time for one. */
async function checkSignature(trust: Trust, token: string) {
  const { clock, provider } = trust;
  const since = clock.monotonic();
  const expected = { ...trust, now: clock.now() };
  const attempt = async (keys: JSONWebKeySet) => {
    const { protectedHeader, payload } = await verifySignature(token, keys, expected);
    return { header: protectedHeader, claims: payload as Claims, keys };
  };
  try {
    return await attempt(await provider.keys.get());
  } catch (error) {
    if (!(error instanceof UnknownKey)) throw error;
  }
  const { document, current } = await provider.keys.refetch(since);
  try {
    return await attempt(document);
  } catch (error) {
    if (!(error instanceof UnknownKey)) throw error;
    if (!current) throw new ProviderError("The token's key is unknown and newer keys cannot be read");
    throw unauthenticated('The access token is signed by a key that the issuer does not have.');
  }
}

/** RFC 7662: what the provider says of an opaque token. It must name issuer and audience: an active token may be anyone's. */
async function verifyOpaque(trust: Trust, token: string, claims: Claims): Promise<Verified> {
  const { clock, provider } = trust;
  const now = clock.now() / 1000;
  if (claims.active !== true) throw unauthenticated('The access token is not active.');
  if (claims.iss !== trust.issuer) throw unauthenticated('The access token is of another issuer.');
  const audience = Array.isArray(claims.aud) ? (claims.aud as unknown[]) : [claims.aud];
  if (!audience.includes(trust.audience)) throw unauthenticated('The access token is for another audience.');
  if (!isBearerType(claims.token_type)) {
    throw unauthenticated('The token is no bearer access token.');
  }
  if (typeof claims.nbf === 'number' && claims.nbf > now + CLOCK_TOLERANCE_S) {
    throw unauthenticated('The access token is not valid yet.');
  }
  const identity = readIdentity(claims, now);
  const expiresAt = identity.expiresAt ?? now + INTROSPECTION_MS / 1000;
  if (expiresAt + CLOCK_TOLERANCE_S <= now) throw unauthenticated('The access token has expired.');
  const askedAt = clock.monotonic();
  const { email, info } = await settleEmail(trust, identity, () => provider.userinfo(token));
  return {
    identity: toCaller(trust.issuer, email, expiresAt, identity, info),
    expiresAt: expiresAt * 1000,
    freshUntil: askedAt + INTROSPECTION_MS,
    keys: null,
  };
}

/** Refresh tokens and tokens bound to a key can be active too. */
function isBearerType(type: unknown): boolean {
  return type === undefined || (typeof type === 'string' && type.toLowerCase() === 'bearer');
}

/**
 * The verified address. A token that says all of it is enough; else userinfo decides, of the same subject and, where
 * the token names an address, of the same address: the flag belongs to the address beside it.
 */
async function settleEmail(
  trust: Trust,
  identity: Identity,
  userinfo: () => Promise<Claims | 'none' | 'refused'>,
): Promise<{ email: string; info: Identity | null }> {
  if (identity.emailVerified === false) throw notVerified();
  if (identity.email !== null && identity.emailVerified === true) return { email: identity.email, info: null };
  const answer = await userinfo();
  if (answer === 'refused') throw unauthenticated('The identity provider does not take the access token.');
  if (answer === 'none') {
    if (identity.email === null) throw unauthenticated('The access token names no e-mail address (claim email).');
    if (trust.requireVerifiedEmail) throw notVerified();
    return { email: identity.email, info: null };
  }
  if (answer.sub === undefined) throw new ProviderError('Userinfo names no subject');
  const info = readIdentity({ ...answer, iat: undefined, exp: undefined }, 0);
  if (info.subject !== identity.subject) throw unauthenticated('The identity provider speaks of another subject.');
  if (info.email === null) {
    if (identity.email === null) throw unauthenticated('Neither token nor userinfo names an e-mail address.');
    throw notVerified();
  }
  if (info.emailVerified !== true || (identity.email !== null && identity.email !== info.email)) throw notVerified();
  return { email: info.email, info };
}

function notVerified(): UsherError {
  return new UsherError('EMAIL_NOT_VERIFIED', 'The e-mail address of this account is not verified; verify it first.');
}

function toCaller(
  issuer: string,
  email: string,
  expiresAt: number,
  token: Identity,
  info: Identity | null,
): Omit<Caller, 'token'> {
  return {
    email,
    issuer,
    subject: token.subject,
    issuedAt: token.issuedAt,
    expiresAt,
    givenName: token.givenName ?? info?.givenName ?? null,
    familyName: token.familyName ?? info?.familyName ?? null,
    name: token.name ?? info?.name ?? null,
    picture: token.picture ?? info?.picture ?? null,
    locale: token.locale ?? info?.locale ?? null,
  };
}
