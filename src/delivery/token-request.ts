/**
 * One request for an access token of an SMTP account (RFC 6749, sections 4.4 and 6; docs/reference/brands.md#smtp-by-oauth-20): by openid-client, whose requests go
 * through our outbound client, so that its guard of addresses and its limits hold.
 */

import type { ClientAuth } from 'openid-client';
import { type Outbound, OutboundError, type Policy } from '../outbound/outbound.ts';
import type { OAuth2Account } from './message.ts';

export interface TokenRequestOptions {
  readonly outbound: Pick<Outbound, 'send'>;
  /** Where tokens may be fetched. */
  readonly policy: Policy;
}

export interface GrantedToken {
  readonly accessToken: string;
  /** In seconds; null where the token endpoint did not say. */
  readonly expiresIn: number | null;
  /** The refresh token for the next time; null: the same one. */
  readonly refreshToken: string | null;
}

/** How the client's secret is sent: in the body, or by HTTP Basic (RFC 6749 2.3.1). */
export type SecretIn = 'body' | 'header';

/**
 * No access token. `auth`: the account is refused, or its settings lead to no token endpoint; `transient`: the token endpoint did not
 * answer. `code` is the OAuth 2.0 error (`invalid_grant`) or says what happened (`token_unreachable`). `response` may be shown: it
 * holds no secret.
 */
export class TokenFailure extends Error {
  readonly kind: 'auth' | 'transient';
  readonly reason: string;
  readonly response: string;
  constructor(kind: 'auth' | 'transient', reason: string, response: string, cause?: unknown) {
    super(`no access token (${reason})`, { cause });
    this.name = 'TokenFailure';
    this.kind = kind;
    this.reason = reason;
    this.response = response;
  }
}

const TIMEOUT_MS = 8000;
const MAX_BYTES = 64 * 1024;
const MAX_WORDS = 400;
/** RFC 6750 2.1: it is sent to a mail server in one line. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

type Client = typeof import('openid-client');

export interface TokenRequest {
  readonly account: OAuth2Account;
  /** Null: client credentials. */
  readonly refreshToken: string | null;
  /** What the token endpoint took last; the other one is tried after it. */
  readonly secretIn: SecretIn;
}

/** Throws TokenFailure. */
export async function requestToken(
  { account, refreshToken, secretIn }: TokenRequest,
  options: TokenRequestOptions,
): Promise<GrantedToken & { secretIn: SecretIn }> {
  // Loaded with the first account that signs in by a token: most installations have none.
  const client = await import('openid-client');
  const { clientSecret } = account;
  const ask = async (place: SecretIn) => {
    const { None, ClientSecretPost, ClientSecretBasic } = client;
    const authentication =
      clientSecret === null
        ? None()
        : place === 'body'
          ? ClientSecretPost(clientSecret)
          : ClientSecretBasic(clientSecret);
    return { ...(await grant(client, { account, refreshToken, authentication }, options)), secretIn: place };
  };
  try {
    return await ask(secretIn).catch((error: unknown) => {
      // The large providers document the body; a server may take HTTP Basic alone, and says so here.
      if (clientSecret === null || !isInvalidClient(client, error)) throw error;
      return ask(secretIn === 'body' ? 'header' : 'body');
    });
  } catch (error) {
    throw toFailure(client, error, spellingsOf(account, refreshToken));
  }
}

interface Grant {
  readonly account: OAuth2Account;
  readonly refreshToken: string | null;
  readonly authentication: ClientAuth;
}

async function grant(
  client: Client,
  { account: { tokenUrl, clientId, scope }, refreshToken, authentication }: Grant,
  options: TokenRequestOptions,
): Promise<GrantedToken> {
  // An issuer is demanded, and compared with nothing: there are no ID tokens here.
  const server = { issuer: new URL(tokenUrl).origin, token_endpoint: tokenUrl };
  const configuration = new client.Configuration(server, clientId, undefined, authentication);
  configuration[client.customFetch] = (url, { method, headers, body }) => fetchBy(options, url, method, headers, body);
  if (tokenUrl.startsWith('http:')) client.allowInsecureRequests(configuration);
  const parameters: Record<string, string> = scope === null ? {} : { scope };
  const granted =
    refreshToken === null
      ? await client.clientCredentialsGrant(configuration, parameters)
      : await client.refreshTokenGrant(configuration, refreshToken, parameters);
  if (!TOKEN.test(granted.access_token)) {
    throw new TokenFailure('auth', 'token_malformed', 'The token endpoint gave a token that no mail server takes.');
  }
  const next = granted.refresh_token ?? null;
  return {
    accessToken: granted.access_token,
    expiresIn: granted.expires_in ?? null,
    refreshToken: next === refreshToken ? null : next,
  };
}

async function fetchBy(
  options: TokenRequestOptions,
  url: string,
  method: string,
  headers: Record<string, string>,
  body: unknown,
): Promise<Response> {
  const { outbound, policy } = options;
  if (method !== 'POST' || !(body instanceof URLSearchParams)) throw new Error('a request for a token is a form');
  const request = { url, method, headers, body: body.toString(), policy, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES };
  const response = await outbound.send({ ...request, method });
  const { status } = response;
  // Not an answer of its own: what stands in front of it, or it is overloaded.
  if (status >= 500 || status === 429) {
    throw new TokenFailure('transient', `token_${status}`, `The token endpoint answered ${status}.`);
  }
  const type = response.header('content-type');
  return new Response(withoutIdToken(status, response.body), {
    status,
    headers: type === undefined ? {} : { 'content-type': type },
  });
}

/** An ID token says who granted the rights, which matters to nobody here, and its issuer is not configured. */
function withoutIdToken(status: number, body: Buffer): Uint8Array<ArrayBuffer> | string {
  const whole = new Uint8Array(body);
  if (status !== 200) return whole;
  try {
    const { id_token: _, ...answer } = JSON.parse(body.toString()) as Record<string, unknown>;
    return JSON.stringify(answer);
  } catch {
    // openid-client says what is wrong with it.
    return whole;
  }
}

/** `invalid_client` in the body, or 401 with a challenge. */
function isInvalidClient(client: Client, error: unknown): boolean {
  if (error instanceof client.WWWAuthenticateChallengeError) return true;
  return error instanceof client.ResponseBodyError && error.error === 'invalid_client';
}

function toFailure(client: Client, error: unknown, secrets: readonly string[]): unknown {
  for (const failure of [error, error instanceof Error ? error.cause : undefined]) {
    if (failure instanceof TokenFailure) return failure;
    if (failure instanceof OutboundError) return fromOutbound(failure);
  }
  if (error instanceof client.ResponseBodyError) {
    const { error: code, error_description: description } = error;
    const words = description === undefined ? code : `${code}: ${description}`;
    return new TokenFailure('auth', wordOf(code), shown(`The token endpoint refused the account: ${words}`, secrets));
  }
  if (error instanceof client.WWWAuthenticateChallengeError) {
    return new TokenFailure('auth', 'invalid_client', 'The token endpoint refused client ID and secret.');
  }
  if (error instanceof client.ClientError) {
    // Its own cause can contain the whole answer, tokens included, which must not be logged.
    const reason = new Error(`${error.code ?? 'no code'}: ${error.message}`);
    return new TokenFailure(
      'auth',
      'token_bad_response',
      'The answer is not that of a token endpoint: check tokenUrl.',
      reason,
    );
  }
  return error;
}

const TRANSIENT: ReadonlySet<OutboundError['reason']> = new Set(['unreachable', 'timeout', 'aborted']);

function fromOutbound({ reason, message }: OutboundError): TokenFailure {
  const words = `The token endpoint was not asked, or did not answer: ${message}`;
  return new TokenFailure(TRANSIENT.has(reason) ? 'transient' : 'auth', `token_${reason}`, words);
}

/** An OAuth error code. A token endpoint may write anything there. */
function wordOf(code: string): string {
  return /^[a-z_]{1,64}$/.test(code) ? code : 'token_refused';
}

/** The secrets in every form in which they were sent: as forms write them, in a header, and as they are. */
function spellingsOf({ clientId, clientSecret }: OAuth2Account, refreshToken: string | null): string[] {
  const form = (text: string): string => new URLSearchParams({ t: text }).toString().slice('t='.length);
  const plain = [clientSecret, refreshToken].filter((secret): secret is string => secret !== null && secret !== '');
  const basic =
    clientSecret === null ? [] : [Buffer.from(`${form(clientId)}:${form(clientSecret)}`).toString('base64')];
  return [...basic, ...plain.flatMap((secret) => [form(secret), encodeURIComponent(secret), secret])];
}

/** One line of the token endpoint's own words, without secrets. */
function shown(words: string, secrets: readonly string[]): string {
  let text = words.toWellFormed().replace(/\s+/g, ' ');
  for (const secret of secrets) text = text.replaceAll(secret, '***');
  return text
    .replace(/\p{Cc}/gu, '')
    .slice(0, MAX_WORDS)
    .toWellFormed();
}
