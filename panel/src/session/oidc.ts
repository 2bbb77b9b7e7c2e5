/**
 * Signing in at the identity provider: authorization code with PKCE (RFC 7636), in the browser. Tokens stay in memory; only the
 * verifier and the state of one sign-in are kept, in the tab's storage, until the provider sends the browser back.
 */

import * as oauth from 'oauth4webapi';
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
  const keepTokens = (tokens: oauth.TokenEndpointResponse): Token => {
    refresh = tokens.refresh_token ?? refresh;
    idToken = tokens.id_token ?? idToken;
    return tokenOf(tokens);
  };
  const way: SignInWay = {
    kind: 'oidc',
    renew: async () => {
      if (refresh === null) return null;
      const response = await oauth.refreshTokenGrantRequest(
        provider.server,
        provider.client,
        oauth.None(),
        refresh,
        options(provider),
      );
      return keepTokens(await oauth.processRefreshTokenResponse(provider.server, provider.client, response));
    },
    again: () => inAnotherTab(),
    signOut: async () => {
      keep('session', ASKED, 'signed out');
      endSession(provider, idToken);
    },
  };
  try {
    const finished = await finish(provider);
    if (finished === null) return { way, token: null, problem: null };
    const token = keepTokens(finished.tokens);
    keep('session', ASKED, null);
    if (finished.pending.channel !== null) hand(finished.pending.channel, token);
    history.replaceState(null, '', finished.pending.returnTo);
    return { way, token, problem: null };
  } catch (error) {
    history.replaceState(null, '', REDIRECT_PATH);
    return { way, token: null, problem: error instanceof Error ? error.message : String(error) };
  }
}

/** Sends the browser to the provider. Never returns to this page: the provider sends it to `/panel/`. */
export async function leaveForProvider(config: Provider['config']): Promise<void> {
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
    // Without it most providers give no refresh token to a browser.
    ...(config.scope.split(' ').includes('offline_access') ? { prompt: 'consent' } : {}),
    ...config.authorizeParams,
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
  const email = typeof claims?.email === 'string' ? claims.email : emailOf(tokens.access_token);
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

/** Opens a tab that signs in and hands its token over, so that the page and what is typed in it stay. */
async function inAnotherTab(): Promise<Token | null> {
  const name = crypto.randomUUID();
  const channel = new BroadcastChannel(`usher-${name}`);
  const opened = window.open(`${REDIRECT_PATH}?${AGAIN}=${name}`, '_blank');
  if (opened === null) return null;
  try {
    return await new Promise<Token>((resolve) => {
      channel.onmessage = ({ data }) => resolve(data as Token);
    });
  } finally {
    channel.close();
  }
}

function hand(name: string, token: Token): void {
  const channel = new BroadcastChannel(`usher-${name}`);
  channel.postMessage(token);
  channel.close();
  window.close();
}

function endSession({ server, client }: Provider, idToken: string | null): void {
  if (server.end_session_endpoint === undefined) return;
  const url = new URL(server.end_session_endpoint);
  url.searchParams.set('client_id', client.client_id);
  url.searchParams.set('post_logout_redirect_uri', redirectUri());
  if (idToken !== null) url.searchParams.set('id_token_hint', idToken);
  location.assign(url);
}
