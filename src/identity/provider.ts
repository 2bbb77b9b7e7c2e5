/** The requests to an OpenID provider that authenticate a caller: metadata, keys, userinfo, introspection. */

import type { JSONWebKeySet, JWK } from 'jose';
import type { Clock } from '../base/clock.ts';
import { membersOf } from '../base/members.ts';
import type { Config } from '../config/config.ts';
import { OPERATOR_POLICY, type Outbound, OutboundError, type OutboundRequest } from '../outbound/outbound.ts';
import { createRefreshedDocument, type RefreshedDocument } from './refreshed-document.ts';

/** The provider is away or its answer is invalid. Whether the token is valid is then unknown. */
export class ProviderError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ProviderError';
  }
}

export type Claims = Readonly<Record<string, unknown>>;

export interface Provider {
  readonly keys: RefreshedDocument<JSONWebKeySet>;
  /** Claims about the token's user; `none` when the provider has no such endpoint, `refused` when it refuses the token. */
  userinfo(token: string): Promise<Claims | 'none' | 'refused'>;
  /** The introspection response (RFC 7662), active or not; null when introspection is not configured. */
  introspect: ((token: string) => Promise<Claims>) | null;
}

interface Metadata {
  jwksUri: string | null;
  userinfoEndpoint: string | null;
}

type Auth = Pick<Config['auth'], 'jwksUrl' | 'introspectionUrl' | 'clientId' | 'clientSecret'> & { issuer: string };

const TIMEOUT_MS = 5000;
const MAX_BYTES = 256 * 1024;
const MAX_KEYS = 100;

export function createProvider(options: {
  auth: Auth;
  outbound: Outbound;
  clock: Pick<Clock, 'monotonic'>;
  log: { warn(details: object, message: string): void };
}): Provider {
  const { auth, outbound, clock, log } = options;
  const ask = createAsk(outbound);
  const failed = (what: string) => (error: unknown) => log.warn({ err: error }, `${what} not loaded`);
  const metadata = createRefreshedDocument<Metadata>({
    clock,
    onFailure: failed('identity provider metadata'),
    load: () => loadMetadata(ask, auth),
  });
  const keys = createRefreshedDocument<JSONWebKeySet>({
    clock,
    onFailure: failed('identity provider keys'),
    async load() {
      const url = auth.jwksUrl ?? (await metadata.get()).jwksUri;
      if (url === null) throw new ProviderError('The metadata of the issuer lacks jwks_uri');
      return readKeySet(await ask({ url }));
    },
  });
  const { introspectionUrl } = auth;
  return {
    keys,
    async userinfo(token) {
      const { userinfoEndpoint } = await metadata.get();
      if (userinfoEndpoint === null) return 'none';
      const answer = await ask({ url: userinfoEndpoint, headers: { authorization: `Bearer ${token}` } }, [401, 403]);
      return answer === null ? 'refused' : answer;
    },
    introspect:
      introspectionUrl === null
        ? null
        : async (token) => present(await ask({ url: introspectionUrl, ...introspectionRequest(auth, token) })),
  };
}

type Ask = (
  request: Pick<OutboundRequest, 'url' | 'headers' | 'method' | 'body'>,
  nothing?: readonly number[],
) => Promise<Claims | null>;

/** A JSON object from the provider; null for a status in `nothing`; ProviderError for everything else. */
function createAsk(outbound: Outbound): Ask {
  return async (request, nothing = []) => {
    try {
      const response = await outbound.send({
        ...request,
        headers: { accept: 'application/json', ...request.headers },
        policy: OPERATOR_POLICY,
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_BYTES,
      });
      if (nothing.includes(response.status)) return null;
      if (response.status !== 200) throw new ProviderError(`The identity provider answered ${response.status}`);
      return asObject(response.json());
    } catch (error) {
      if (error instanceof OutboundError)
        throw new ProviderError(`The identity provider failed: ${error.reason}`, error);
      throw error;
    }
  };
}

/** OpenID Connect Discovery 1.0, section 4. An issuer needs no metadata where the URL of its keys is configured. */
async function loadMetadata(ask: Ask, auth: Auth): Promise<Metadata> {
  const url = `${auth.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document = await ask({ url }, auth.jwksUrl === null ? [] : [404, 410]);
  if (document === null) return { jwksUri: null, userinfoEndpoint: null };
  // Section 4.3. Without it one issuer could refer to another's keys.
  if (document.issuer !== auth.issuer) throw new ProviderError('The issuer in the metadata differs from auth.issuer');
  return {
    jwksUri: endpoint(document.jwks_uri, auth.issuer),
    userinfoEndpoint: endpoint(document.userinfo_endpoint, auth.issuer),
  };
}

function endpoint(value: unknown, issuer: string): string | null {
  if (value === undefined || value === null) return null;
  const url = typeof value === 'string' ? URL.parse(value) : null;
  if (url === null) throw new ProviderError('An endpoint in the metadata is not a URL');
  // Keys and tokens in cleartext would undo the issuer's TLS.
  if (issuer.startsWith('https:') && url.protocol !== 'https:') {
    throw new ProviderError('The metadata of an https issuer names an endpoint without TLS');
  }
  return url.href;
}

/** The keys that may verify a signature. A set without one is a fault of the provider, not a rotation. */
function readKeySet(document: Claims | null): JSONWebKeySet {
  const keys = present(document).keys;
  if (!Array.isArray(keys)) throw new ProviderError('The key set has no list of keys');
  const usable = keys.filter(isVerificationKey).slice(0, MAX_KEYS);
  if (usable.length === 0) throw new ProviderError('The key set has no public key for signatures');
  return { keys: usable };
}

function isVerificationKey(key: unknown): key is JWK {
  const { kty, use, n } = membersOf(key);
  if (use !== undefined && use !== 'sig') return false;
  // RFC 7518 section 3.3: RSA keys of 2048 bits at least, 342 characters of base64url.
  if (kty === 'RSA') return typeof n === 'string' && n.length >= 342;
  return kty === 'EC' || kty === 'OKP';
}

/** RFC 7662 section 2.1, with the client's credentials as RFC 6749 section 2.3.1 encodes them. */
function introspectionRequest(auth: Auth, token: string): Pick<OutboundRequest, 'method' | 'headers' | 'body'> {
  const form = new URLSearchParams({ token, token_type_hint: 'access_token' });
  const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded' };
  const clientId = auth.clientId ?? '';
  if (auth.clientSecret === null) form.set('client_id', clientId);
  else {
    const pair = `${formEncode(clientId)}:${formEncode(auth.clientSecret)}`;
    headers.authorization = `Basic ${Buffer.from(pair, 'utf8').toString('base64')}`;
  }
  return { method: 'POST', headers, body: form.toString() };
}

function formEncode(text: string): string {
  return new URLSearchParams({ x: text }).toString().slice(2);
}

function asObject(value: unknown): Claims {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ProviderError("The identity provider's answer is not a JSON object");
  }
  return value as Claims;
}

function present(answer: Claims | null): Claims {
  if (answer === null) throw new ProviderError("The identity provider's answer is missing");
  return answer;
}
