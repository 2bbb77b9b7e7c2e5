/**
 * Signing in at the identity provider: authorization code with PKCE (RFC 7636), in the browser. Tokens stay in memory; only the
 * verifier and the state of one sign-in are kept, in the tab's storage, until the provider sends the browser back.
 */

import * as oauth from 'oauth4webapi';
import { AnotherTab, handOver } from './another-tab.ts';
import type { PanelConfig } from './config.ts';
import { ASKED, keep, readKept } from './kept.ts';
import type { SignInWay, Token } from './session.ts';

interface Pending {
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
  readonly returnTo: string;
  /** The channel on which another tab of the panel waits for the token. */
  readonly channel: string | null;
}

/** What a tab that signed in again hands over: all that the provider gave it. */
interface Handed {
  readonly token: Token;
  readonly refresh: string | null;
  readonly idToken: string | null;
}

interface Provider {
  readonly server: oauth.AuthorizationServer;
  readonly client: oauth.Client;
  readonly config: PanelConfig & { readonly issuer: string; readonly clientId: string };
}

/** A token of this sign-in, or null while the browser has left for the provider. */
export interface Opened {
  readonly way: SignInWay;
  readonly token: Token | null;
  /** Why the provider's answer was refused. */
  readonly problem: string | null;
}

const REDIRECT_PATH = '/panel/';
/** In the query of a tab that was opened to sign in again. */
const AGAIN = 'again';

/** Finishes a sign-in that the provider has sent back, or says that one has to begin. Rejects when the provider is away. */
export async function openOidc(config: Provider['config']): Promise<Opened> {
  const provider = await discover(config);
  let refresh: string | null = null;
  let idToken: string | null = null;
  const tab = new AnotherTab<Handed>();
  const keepTokens = (handed: Handed): Token => {
    ({ refresh, idToken } = handed);
    return handed.token;
  };
  const way: SignInWay = {
    kind: 'oidc',
    renew: async () => {
      const used = refresh;
      if (used === null) return null;
      const tokens = await renewedBy(provider, used);
      if (tokens === null) return null;
      const handed = {
        token: tokenOf(tokens),
        refresh: tokens.refresh_token ?? used,
        idToken: tokens.id_token ?? idToken,
      };
      // Another tab may have handed over newer ones meanwhile.
      return refresh === used ? keepTokens(handed) : handed.token;
    },
    again: async () => {
      const handed = await tab.ask((name) => window.open(`${REDIRECT_PATH}?${AGAIN}=${name}`, '_blank') !== null);
      return handed === null ? null : keepTokens(handed);
    },
    signOut: async () => {
      tab.stop();
      keep('session', ASKED, 'signed out');
      endSession(provider, idToken);
    },
  };
  try {
    const finished = await finish(provider);
    if (finished === null) return { way, token: null, problem: null };
    const { tokens, pending } = finished;
    const handed = { token: tokenOf(tokens), refresh: tokens.refresh_token ?? null, idToken: tokens.id_token ?? null };
    keep('session', ASKED, null);
    const { channel } = pending;
    // A refresh token is of one tab: two that use the same look like a thief to the provider.
    const token = keepTokens(channel === null ? handed : { ...handed, refresh: null });
    if (channel !== null) {
      handOver(channel, handed);
      window.close();
    }
    history.replaceState(null, '', pending.returnTo);
    return { way, token, problem: null };
  } catch (error) {
    history.replaceState(null, '', REDIRECT_PATH);
    return { way, token: null, problem: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * Sends the browser to the provider. Never returns to this page: the provider sends it to `/panel/`. `pressed`: somebody pressed
 * the button, and may be asked for consent.
 */
export async function leaveForProvider(config: Provider['config'], pressed: boolean): Promise<void> {
  const { server, client } = await discover(config);
  if (server.authorization_endpoint === undefined) throw new Error('the provider names no authorization_endpoint');
  const verifier = oauth.generateRandomCodeVerifier();
  const again = new URL(location.href).searchParams.get(AGAIN);
  const pending: Pending = {
    verifier,
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    returnTo: location.pathname + location.search + location.hash,
    channel: again,
  };
  keep('session', 'pending', JSON.stringify(pending));
  keep('session', ASKED, 'asked');
  const url = new URL(server.authorization_endpoint);
  const parameters = {
    ...furtherParameters(config, pressed),
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: redirectUri(),
    scope: config.scope,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state: pending.state,
    nonce: pending.nonce,
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  location.assign(url);
}

/**
 * What the service is configured to add, and `prompt`. Without consent many providers give no refresh token to a browser; a
 * reload has to be answered by the provider's own session, without a question. An empty value leaves its parameter out.
 */
export function furtherParameters(
  { scope, authorizeParams }: Pick<PanelConfig, 'scope' | 'authorizeParams'>,
  pressed: boolean,
): Record<string, string> {
  const isOffline = scope.split(' ').includes('offline_access');
  const parameters = { ...(pressed && isOffline ? { prompt: 'consent' } : {}), ...authorizeParams };
  return Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== ''));
}

/** Null: the provider refused the refresh token. Rejects when it did not answer. */
async function renewedBy(provider: Provider, refresh: string): Promise<oauth.TokenEndpointResponse | null> {
  const { server, client } = provider;
  const response = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), refresh, options(provider));
  if (response.status >= 500 || response.status === 429) throw new Error(`token endpoint: HTTP ${response.status}`);
  try {
    return await oauth.processRefreshTokenResponse(server, client, response);
  } catch (error) {
    if (isRefusal(error)) return null;
    throw error;
  }
}

/** An answer that gives no token, such as `invalid_grant`, or none that can be used: asking again would not help. */
function isRefusal(error: unknown): boolean {
  const refusals = [oauth.ResponseBodyError, oauth.WWWAuthenticateChallengeError, oauth.OperationProcessingError];
  return refusals.some((refusal) => error instanceof refusal);
}

async function finish(provider: Provider): Promise<{ tokens: oauth.TokenEndpointResponse; pending: Pending } | null> {
  const url = new URL(location.href);
  const stored = readKept('session', 'pending');
  if (stored === null || !(url.searchParams.has('code') || url.searchParams.has('error'))) return null;
  keep('session', 'pending', null);
  const pending = JSON.parse(stored) as Pending;
  const parameters = oauth.validateAuthResponse(provider.server, provider.client, url, pending.state);
  const response = await oauth.authorizationCodeGrantRequest(
    provider.server,
    provider.client,
    oauth.None(),
    parameters,
    redirectUri(),
    pending.verifier,
    options(provider),
  );
  const tokens = await oauth.processAuthorizationCodeResponse(provider.server, provider.client, response, {
    expectedNonce: pending.nonce,
    requireIdToken: true,
  });
  return { tokens, pending };
}

const discovered = new Map<string, Promise<oauth.AuthorizationServer>>();

async function discover(config: Provider['config']): Promise<Provider> {
  const issuer = new URL(config.issuer);
  const found =
    discovered.get(config.issuer) ??
    oauth
      .discoveryRequest(issuer, {
        signal: () => AbortSignal.timeout(15_000),
        [oauth.allowInsecureRequests]: isLocal(issuer),
      })
      .then((response) => oauth.processDiscoveryResponse(issuer, response));
  discovered.set(config.issuer, found);
  found.catch(() => discovered.delete(config.issuer));
  return { server: await found, client: { client_id: config.clientId }, config };
}

/** A provider on the same machine is reached without TLS. */
function isLocal(issuer: URL): boolean {
  return issuer.protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(issuer.hostname);
}

function options({ config }: Provider) {
  return {
    signal: () => AbortSignal.timeout(15_000),
    [oauth.allowInsecureRequests]: isLocal(new URL(config.issuer)),
  };
}

function redirectUri(): string {
  return new URL(REDIRECT_PATH, location.origin).href;
}

function tokenOf(tokens: oauth.TokenEndpointResponse): Token {
  const claims = oauth.getValidatedIdTokenClaims(tokens);
  const email = typeof claims?.email === 'string' ? claims.email : emailOf(tokens.access_token) || (claims?.sub ?? '');
  const seconds = tokens.expires_in ?? 300;
  return { value: tokens.access_token, expiresAt: Date.now() + seconds * 1000, email };
}

/** What the token says of its holder, for the screen alone: the service decides who asks. */
function emailOf(token: string): string {
  try {
    const payload = token.split('.')[1] ?? '';
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
    const { email } = JSON.parse(new TextDecoder().decode(bytes)) as { email?: unknown };
    return typeof email === 'string' ? email : '';
  } catch {
    return ''; // An opaque token.
  }
}

function endSession({ server, client }: Provider, idToken: string | null): void {
  if (server.end_session_endpoint === undefined) return;
  const url = new URL(server.end_session_endpoint);
  url.searchParams.set('client_id', client.client_id);
  url.searchParams.set('post_logout_redirect_uri', redirectUri());
  if (idToken !== null) url.searchParams.set('id_token_hint', idToken);
  location.assign(url);
}
