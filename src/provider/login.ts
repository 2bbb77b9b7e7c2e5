/**
 * Login for development (docs/reference/identity-provider.md#login-for-development): the code flow with PKCE against the provider, carried by one
 * sealed cookie. In production, frontends talk to the provider themselves.
 */

import { decodeJwt } from 'jose';
import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientError,
  Configuration,
  calculatePKCECodeChallenge,
  customFetch,
  enableNonRepudiationChecks,
  None,
  ResponseBodyError,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  type ServerMetadata,
  WWWAuthenticateChallengeError,
} from 'openid-client';
import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import type { Config } from '../config/config.ts';
import { OPERATOR_POLICY, type Outbound, OutboundError } from '../outbound/outbound.ts';
import type { Database } from '../persistence/database.ts';
import { fromOutbound, unreachable } from './client.ts';
import type { Discovery, Metadata } from './discovery.ts';
import { LoginCookie, type LoginState, type SecretSource } from './login-cookie.ts';

/** Verifies access tokens like every other call; throws UsherError for refused ones. */
export interface AccessTokens {
  authenticate(authorization: string): Promise<{ readonly email: string }>;
}

interface LoginOptions {
  readonly config: Pick<Config, 'idp'>;
  readonly discovery: Discovery;
  readonly outbound: Outbound;
  readonly tokens: AccessTokens;
  readonly database: Database;
  readonly secret: SecretSource;
  readonly clock: Clock;
  /** Without a trailing slash. The provider redirects browsers here, never to a URL from a request. */
  readonly publicUrl: () => string;
}

/** The query of the callback, from the provider. */
export interface Returned {
  state: string;
  code?: string | undefined;
  error?: string | undefined;
  iss?: string | undefined;
}

/** The result of verifying the access token here. */
export interface Verification {
  valid: boolean;
  email?: string;
  error?: string;
}

export interface SignedIn {
  token_type: string;
  access_token: string;
  id_token: string | null;
  id_token_claims: Record<string, unknown> | null;
  /** Null where the token is opaque. */
  access_token_claims: Record<string, unknown> | null;
  userapi_verification: Verification;
}

const CALLBACK = '/api/idp/callback';
const SCOPES = 'openid email profile';
const TIMEOUT_MS = 4000;
const MAX_BYTES = 256 * 1024;

export class Login {
  readonly #options: LoginOptions;
  readonly #cookie: LoginCookie;

  constructor(options: LoginOptions) {
    this.#options = options;
    this.#cookie = new LoginCookie(options);
  }

  /** Whether this login is available: outside production, or where `idp.devLogin` is set. */
  get enabled(): boolean {
    return this.#options.config.idp.devLogin;
  }

  /** The redirect's target and the cookie to set. Throws IDP_NOT_CONFIGURED, IDP_UNREACHABLE. */
  async begin(clientId: string): Promise<{ location: string; cookie: string }> {
    const configuration = await this.#configure(clientId);
    const state: LoginState = {
      clientId,
      state: randomState(),
      nonce: randomNonce(),
      verifier: randomPKCECodeVerifier(),
    };
    const location = buildAuthorizationUrl(configuration, {
      redirect_uri: this.#options.publicUrl() + CALLBACK,
      scope: SCOPES,
      state: state.state,
      nonce: state.nonce,
      code_challenge: await calculatePKCECodeChallenge(state.verifier),
      code_challenge_method: 'S256',
    });
    return { location: location.href, cookie: await this.#cookie.seal(state) };
  }

  /**
   * Exchanges the code. Throws BAD_REQUEST without the cookie of this login, with another state, when the cookie was used before,
   * and when the provider refuses the login; IDP_UNREACHABLE, IDP_REJECTED.
   */
  async finish(returned: Returned, cookie: string | undefined): Promise<{ tokens: SignedIn; clearing: string }> {
    const known = await this.#cookie.open(cookie, returned.state);
    if (returned.error !== undefined) {
      throw new UsherError('BAD_REQUEST', `The identity provider ended the login: ${wordOf(returned.error)}.`);
    }
    if (returned.code === undefined) throw new UsherError('BAD_REQUEST', 'The callback has no code.');
    const configuration = await this.#configure(known.clientId);
    refuseOtherIssuer(configuration.serverMetadata(), returned.iss);
    const url = new URL(this.#options.publicUrl() + CALLBACK);
    for (const [name, value] of Object.entries(returned)) if (value !== undefined) url.searchParams.set(name, value);
    const granted = await authorizationCodeGrant(configuration, url, {
      pkceCodeVerifier: known.verifier,
      expectedState: known.state,
      expectedNonce: known.nonce,
      idTokenExpected: true,
    }).catch(refuse);
    const tokens = {
      token_type: 'Bearer',
      access_token: granted.access_token,
      id_token: granted.id_token ?? null,
      id_token_claims: granted.claims() ?? null,
      access_token_claims: claimsOf(granted.access_token),
      userapi_verification: await this.#verify(granted.access_token),
    };
    return { tokens, clearing: this.#cookie.clearing() };
  }

  async #verify(accessToken: string): Promise<Verification> {
    try {
      const { email } = await this.#options.tokens.authenticate(`Bearer ${accessToken}`);
      return { valid: true, email };
    } catch (error) {
      if (!(error instanceof UsherError)) throw error;
      return { valid: false, error: error.message };
    }
  }

  async #configure(clientId: string): Promise<Configuration> {
    const server = readMetadata(await this.#options.discovery.metadata());
    const { idp } = this.#options.config;
    // The secret belongs to one client; any other is public, or the provider refuses it.
    const secret = clientId === idp.clientId ? idp.clientSecret : null;
    const configuration =
      secret === null
        ? new Configuration(server, clientId, undefined, None())
        : new Configuration(server, clientId, secret);
    configuration[customFetch] = (url, { method, headers, body }) => this.#fetch(url, method, headers, body);
    if (server.issuer.startsWith('http:')) allowInsecureRequests(configuration);
    enableNonRepudiationChecks(configuration);
    return configuration;
  }

  async #fetch(url: string, method: string, headers: Record<string, string>, body: unknown): Promise<Response> {
    const { outbound } = this.#options;
    // openid-client sends forms, and no other bodies.
    const form = body instanceof URLSearchParams ? body.toString() : null;
    const response = await outbound.send({
      url,
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      ...(form === null ? {} : { body: form }),
      policy: OPERATOR_POLICY,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    });
    const type = response.header('content-type');
    return new Response(new Uint8Array(response.body), {
      status: response.status,
      headers: type === undefined ? {} : { 'content-type': type },
    });
  }
}

const KnownMetadata = z.looseObject({
  issuer: z.url(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  jwks_uri: z.url(),
});

function readMetadata(document: Metadata): ServerMetadata {
  const parsed = KnownMetadata.safeParse(document);
  if (!parsed.success) throw unreachable('its metadata is incomplete');
  return document as ServerMetadata;
}

function claimsOf(token: string): Record<string, unknown> | null {
  try {
    return decodeJwt(token);
  } catch {
    // Opaque tokens have no readable claims.
    return null;
  }
}

/** RFC 9207: the answer is not from this provider, or lacks the required `iss`. The caller's fault, not the provider's. */
function refuseOtherIssuer(server: ServerMetadata, iss: string | undefined): void {
  const missing = iss === undefined && server.authorization_response_iss_parameter_supported === true;
  if (missing || (iss !== undefined && iss !== server.issuer)) {
    throw new UsherError('BAD_REQUEST', 'The callback does not come from the identity provider (iss).');
  }
}

/** An OAuth error code. Anyone can put any text into the callback's URL. */
function wordOf(error: string): string {
  return /^[a-z_]{1,64}$/.test(error) ? error : 'it gave no reason';
}

/** Maps openid-client's failures. A wrong or used code is the caller's fault; everything else is the provider's. */
function refuse(error: unknown): never {
  if (error instanceof ResponseBodyError) {
    const words = `The identity provider refused the login: ${wordOf(error.error)}.`;
    throw new UsherError(error.error === 'invalid_grant' ? 'BAD_REQUEST' : 'IDP_REJECTED', words);
  }
  if (error instanceof AuthorizationResponseError) {
    throw new UsherError('BAD_REQUEST', `The identity provider ended the login: ${wordOf(error.error)}.`);
  }
  const cause = error instanceof ClientError && error.cause instanceof OutboundError ? error.cause : error;
  if (cause instanceof OutboundError) throw fromOutbound(cause);
  if (error instanceof WWWAuthenticateChallengeError) {
    throw new UsherError('IDP_REJECTED', 'The identity provider refused the client: check its ID and secret.');
  }
  if (error instanceof ClientError) {
    throw new UsherError('IDP_REJECTED', "The identity provider's answer to the login is invalid.", {
      // Its own cause can contain the whole answer, tokens included, which must not be logged.
      cause: new Error(`${error.code ?? 'no code'}: ${error.message}`),
    });
  }
  throw error;
}
