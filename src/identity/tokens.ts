/** Bearer token → caller (docs/reference/callers.md#bearer-tokens). Trouble at the provider is 503, never 401; a known token costs one hash. */

import { hash } from 'node:crypto';
import type { JSONWebKeySet } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import type { Config } from '../config/config.ts';
import type { Outbound } from '../outbound/outbound.ts';
import { isJwt, MAX_TOKEN_LENGTH, readBearer } from './bearer.ts';
import {
  CLOCK_TOLERANCE_S,
  type ClaimNames,
  type Identity,
  readIdentity,
  refuseOtherAudience,
  refuseOtherTokens,
  unauthenticated,
} from './claims.ts';
import { LOCAL_ALGORITHM, LOCAL_AUDIENCE, LOCAL_ISSUER, type LocalIssuer } from './local-issuer.ts';
import { type Claims, createProvider, type Provider, ProviderError } from './provider.ts';
import { UnknownKey, verifySignature } from './signature.ts';

/** A signed-in person, as the issuer vouches for them. */
export interface Caller {
  /** Normal form (docs/reference/names.md#e-mail-addresses), verified where the configuration requires that. */
  readonly email: string;
  readonly issuer: string;
  readonly subject: string;
  /** Whole seconds; 0 without the claim. */
  readonly issuedAt: number;
  /** Seconds. */
  readonly expiresAt: number;
  readonly givenName: string | null;
  readonly familyName: string | null;
  readonly name: string | null;
  readonly picture: string | null;
  readonly locale: string | null;
  /** The organization of the account at the provider; null where the token names none. */
  readonly organization: string | null;
  /** For calls to the provider on this person's behalf. Never logged, never stored. */
  readonly token: string;
}

export interface Tokens {
  /**
   * The caller behind an `Authorization` header, or behind all headers of that name.
   * Throws UNAUTHENTICATED, EMAIL_NOT_VERIFIED, ORGANIZATION_NOT_ADMITTED, or UNAVAILABLE when the provider fails.
   */
  authenticate(authorization: string | readonly string[] | undefined): Promise<Caller>;
  /**
   * The caller of a token that was verified before and is still valid, without waiting; null otherwise, and `authenticate`
   * decides.
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
    | 'emailClaims'
    | 'emailTrust'
    | 'audienceClaim'
    | 'acceptNonce'
    | 'organizations'
    | 'organizationClaim'
  >;
  /** The signer where `auth.issuer` is null. */
  local: LocalIssuer | null;
  outbound: Outbound;
  clock: Clock;
  log: { warn(details: object, message: string): void };
  /** Tokens remembered; each takes some 400 bytes. */
  maxTokens?: number;
}

type EmailTrust = Config['auth']['emailTrust'];

/** How long answers of userinfo are trusted, or until the token expires (docs/reference/callers.md#bearer-tokens). */
const USERINFO_MS = 5 * 60_000;
/** Shorter, because opaque tokens are introspected to learn of their revocation. */
const INTROSPECTION_MS = 60_000;
const MAX_TOKENS = 10_000;
const PREFIX = 'Bearer ';

/** A verified token, without its text. */
interface Verified {
  identity: Omit<Caller, 'token'>;
  /** Wall time in milliseconds. */
  expiresAt: number;
  /** Monotonic milliseconds; userinfo and introspection are queried again afterwards. */
  freshUntil: number;
  /** The key set that verified it; null when introspection did. */
  keys: JSONWebKeySet | null;
}

export function createTokens(options: TokensOptions): Tokens {
  const { clock } = options;
  const trust = createTrust(options);
  const { keys } = trust.provider;
  const verified = new LRUCache<string, Verified>({ max: options.maxTokens ?? MAX_TOKENS });
  const inFlight = new Map<string, Promise<Verified>>();

  const remembered = (id: string): Verified | undefined => {
    const found = verified.get(id);
    if (found === undefined) return undefined;
    // peek also starts a due renewal of the keys, and returns null once they are too old to trust.
    if (found.keys !== null && found.keys !== keys.peek()) return undefined;
    if (clock.now() < found.expiresAt && clock.monotonic() < found.freshUntil) return found;
    return undefined;
  };
  /** Concurrent calls with one token share one verification. Only successes are remembered. */
  const verifyOnce = (id: string, token: string): Promise<Verified> => {
    const running = inFlight.get(id);
    if (running !== undefined) return running;
    const begun = verify(trust, token)
      .then((result) => {
        verified.set(id, result);
        return result;
      })
      .finally(() => inFlight.delete(id));
    inFlight.set(id, begun);
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
      // Only the usual spelling. A text with the hash of a verified token is that token, hence well-formed.
      if (authorization?.startsWith(PREFIX) !== true || authorization.length > MAX_TOKEN_LENGTH) return null;
      const token = authorization.slice(PREFIX.length);
      const identity = remembered(hash('sha256', token, 'base64'))?.identity;
      return identity === undefined ? null : { ...identity, token };
    },
    close: () => verified.clear(),
  };
}

/** The trusted issuer, and the provider that answers for it. */
interface Trust {
  issuer: string;
  audience: { claim: string; audience: string };
  acceptNonce: boolean;
  emailTrust: EmailTrust;
  algorithms: readonly string[];
  requireVerifiedEmail: boolean;
  /** Null: tokens of every organization are admitted. */
  organizations: ReadonlySet<string> | null;
  claims: ClaimNames;
  provider: Provider;
  clock: Clock;
}

function createTrust({ auth, local, outbound, clock, log }: TokensOptions): Trust {
  const { issuer, audience } = auth;
  const shared = {
    requireVerifiedEmail: auth.requireVerifiedEmail,
    organizations: auth.organizations.length === 0 ? null : new Set(auth.organizations),
    claims: { email: auth.emailClaims, organization: auth.organizationClaim },
    acceptNonce: auth.acceptNonce,
    emailTrust: auth.emailTrust,
    clock,
  };
  if (issuer !== null && audience !== null) {
    const provider = createProvider({ auth: { ...auth, issuer }, outbound, clock, log });
    return {
      ...shared,
      issuer,
      audience: { claim: auth.audienceClaim, audience },
      algorithms: auth.algorithms,
      provider,
    };
  }
  if (issuer !== null || local === null)
    throw new Error('tokens need auth.issuer with auth.audience, or a local issuer');
  return {
    ...shared,
    claims: { ...shared.claims, email: ['email'] },
    acceptNonce: false,
    emailTrust: 'claim',
    issuer: LOCAL_ISSUER,
    audience: { claim: 'aud', audience: LOCAL_AUDIENCE },
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

/** A failure as callers see it: the provider's becomes 503 (IDP_UNREACHABLE, docs/reference/errors.md#reasons). */
function refuse(error: unknown): never {
  if (!(error instanceof ProviderError)) throw error;
  throw new UsherError(
    'UNAVAILABLE',
    'The identity provider did not answer, so the access token could not be verified; try again.',
    {
      details: { code: 'IDP_UNREACHABLE' },
      retryAfter: 5,
      cause: error,
    },
  );
}

async function verify(trust: Trust, token: string): Promise<Verified> {
  if (isJwt(token)) return await verifyJwt(trust, token);
  if (trust.provider.introspect === null)
    throw unauthenticated(
      'The access token is not a signed JWT, and introspection is not configured. Let the provider issue JWT access tokens for this application, or set auth.introspectionUrl.',
    );
  return await verifyOpaque(trust, token, await trust.provider.introspect(token));
}

async function verifyJwt(trust: Trust, token: string): Promise<Verified> {
  const { clock, provider } = trust;
  const { header, claims, keys } = await checkSignature(trust, token);
  refuseOtherTokens(header, claims, trust.acceptNonce);
  refuseOtherAudience(claims, trust.audience);
  const identity = readIdentity(claims, trust.claims, clock.now() / 1000);
  if (identity.expiresAt === null) throw unauthenticated('The access token has no time of expiry (claim exp).');
  const askedAt = clock.monotonic();
  const { email, info } = await settleEmail(trust, identity, () => provider.userinfo(token));
  return {
    identity: toCaller(trust, email, identity.expiresAt, identity, info),
    expiresAt: (identity.expiresAt + CLOCK_TOLERANCE_S) * 1000,
    freshUntil: info === null ? Number.POSITIVE_INFINITY : askedAt + USERINFO_MS,
    keys,
  };
}

/** A token of an unknown key gets one look at a newer key set, unless it was refetched too recently. */
async function checkSignature(trust: Trust, token: string) {
  const { clock, provider } = trust;
  const since = clock.monotonic();
  const { issuer, algorithms } = trust;
  const expected = { issuer, algorithms, now: clock.now() };
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
    if (!current) throw new ProviderError("The token's key is unknown and newer keys cannot be loaded");
    throw unauthenticated("The access token is signed by a key that is not in the issuer's key set.");
  }
}

/** RFC 7662: introspects an opaque token. The answer must name issuer and audience: an active token may belong to another service. */
async function verifyOpaque(trust: Trust, token: string, claims: Claims): Promise<Verified> {
  const { clock, provider } = trust;
  const now = clock.now() / 1000;
  if (claims.active !== true) throw unauthenticated('The access token is not active.');
  if (claims.iss !== trust.issuer) throw unauthenticated('The access token is from another issuer.');
  refuseOtherAudience(claims, trust.audience);
  if (!isBearerType(claims.token_type)) {
    throw unauthenticated('The token is not a bearer access token.');
  }
  if (typeof claims.nbf === 'number' && claims.nbf > now + CLOCK_TOLERANCE_S) {
    throw unauthenticated('The access token is not valid yet.');
  }
  const identity = readIdentity(claims, trust.claims, now);
  const expiresAt = identity.expiresAt ?? now + INTROSPECTION_MS / 1000;
  if (expiresAt + CLOCK_TOLERANCE_S <= now) throw unauthenticated('The access token has expired.');
  const askedAt = clock.monotonic();
  const { email, info } = await settleEmail(trust, identity, () => provider.userinfo(token));
  return {
    identity: toCaller(trust, email, expiresAt, identity, info),
    expiresAt: expiresAt * 1000,
    freshUntil: askedAt + INTROSPECTION_MS,
    keys: null,
  };
}

/** Refresh tokens and sender-constrained tokens can be active too. */
function isBearerType(type: unknown): boolean {
  return type === undefined || (typeof type === 'string' && type.toLowerCase() === 'bearer');
}

/**
 * The verified address. A token with both address and flag is enough; otherwise userinfo decides, for the same subject and,
 * where the token has an address, for the same address: `email_verified` belongs to the address beside it. Where the issuer's addresses are
 * trusted (`auth.emailTrust`), userinfo is asked only for an address that the token lacks.
 */
async function settleEmail(
  trust: Trust,
  identity: Identity,
  userinfo: () => Promise<Claims | 'none' | 'refused'>,
): Promise<{ email: string; info: Identity | null }> {
  const { emailTrust } = trust;
  if (identity.emailVerified === false && emailTrust !== 'always') throw notVerified();
  const isEnough = emailTrust !== 'claim' || identity.emailVerified === true;
  if (identity.email !== null && isEnough) return { email: identity.email, info: null };
  const answer = await userinfo();
  if (answer === 'refused') throw unauthenticated('The identity provider refuses the access token.');
  if (answer === 'none') {
    if (identity.email === null) throw unauthenticated('The access token has no e-mail address (claim email).');
    if (trust.requireVerifiedEmail) throw notVerified();
    return { email: identity.email, info: null };
  }
  if (answer.sub === undefined) throw new ProviderError('Userinfo has no subject');
  const info = readIdentity({ ...answer, iat: undefined, exp: undefined }, trust.claims, 0);
  if (info.subject !== identity.subject) throw unauthenticated('Userinfo is about another subject than the token.');
  if (info.email === null) {
    if (identity.email === null) throw unauthenticated('Neither token nor userinfo has an e-mail address.');
    throw notVerified();
  }
  if (!isVerifiedBy(emailTrust, info.emailVerified)) throw notVerified();
  if (identity.email !== null && identity.email !== info.email) throw notVerified();
  return { email: info.email, info };
}

/** `verified`: what userinfo says of its address. */
function isVerifiedBy(emailTrust: EmailTrust, verified: boolean | null): boolean {
  if (emailTrust === 'claim') return verified === true;
  return emailTrust === 'always' || verified !== false;
}

function notVerified(): UsherError {
  return new UsherError(
    'EMAIL_NOT_VERIFIED',
    'The e-mail address of this account is not verified; verify it at the identity provider first.',
  );
}

function toCaller(
  { issuer, organizations }: Trust,
  email: string,
  expiresAt: number,
  token: Identity,
  info: Identity | null,
): Omit<Caller, 'token'> {
  const organization = token.organization ?? info?.organization ?? null;
  if (organizations !== null && (organization === null || !organizations.has(organization))) {
    throw new UsherError(
      'ORGANIZATION_NOT_ADMITTED',
      'Users of this organization of the identity provider are not admitted.',
    );
  }
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
    organization,
  };
}
