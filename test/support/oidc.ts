/**
 * A real OpenID provider on loopback (npm oidc-provider) with the routes of the provider in the field, rotating keys,
 * accounts that a test changes, faults that it sets, and a mint that signs anything with the provider's own keys.
 */

import { createHash, generateKeyPairSync, type KeyObject, randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLocalJWKSet, type JWK, jwtVerify, SignJWT } from 'jose';
import { type AdapterPayload, type Configuration, Provider } from 'oidc-provider';
import { followToCode } from './oidc-sign-in.ts';
import { memoryAdapter } from './oidc-storage.ts';

export const AUDIENCE = 'https://usher.test/api';
export const CLIENT_ID = 'panel';
/** Introspects tokens, and has some of its own by client credentials; its secret needs the encoding of RFC 6749 section 2.3.1. */
export const RESOURCE_CLIENT = { id: 'usher:service', secret: 'a secret/with+signs:and %' };
const REDIRECT_URI = 'http://127.0.0.1/callback';

/** As ZITADEL has them. */
const ROUTES = {
  authorization: '/oauth/v2/authorize',
  token: '/oauth/v2/token',
  introspection: '/oauth/v2/introspect',
  revocation: '/oauth/v2/revoke',
  jwks: '/oauth/v2/keys',
  userinfo: '/oidc/v1/userinfo',
  end_session: '/oidc/v1/end_session',
} as const;
export const PATHS = { ...ROUTES, discovery: '/.well-known/openid-configuration' } as const;

/** Answers instead of the provider: a status with a body, or nothing at all. */
export type Fault = { status: number; body: string; headers?: Record<string, string> } | 'hang' | 'reset';

export interface SigningKey {
  kid: string | undefined;
  alg: string;
  privateKey: KeyObject;
  publicJwk: JWK;
}

export interface SignedIn {
  accessToken: string;
  idToken: string;
  refreshToken: string | undefined;
}

export interface OidcClient {
  clientId: string;
  redirectUris: readonly string[];
  jwt: boolean;
  /** Of a confidential client. */
  secret?: string;
}

/** Answers requests at the provider's origin that are not OpenID's; false leaves them to it. */
export type Beside = (request: IncomingMessage, response: ServerResponse, path: string) => boolean;

export interface OidcDouble {
  /** Without a trailing slash. */
  readonly issuer: string;
  /** Claims by subject; userinfo and ID tokens read them at the moment they are asked. */
  readonly accounts: Map<string, Record<string, unknown>>;
  /** Claims that access tokens carry too, of those that the account has. */
  tokenClaims: string[];
  /** How long tokens last from now on, in seconds. */
  tokenSeconds: number;
  /** Requests so far, by path. */
  readonly requests: Map<string, number>;
  /** Faults by path; `*` for all. */
  readonly faults: Map<string, Fault>;
  /** The keys in use; the first signs. */
  readonly keys: readonly SigningKey[];
  /** The code flow with PKCE, as a browser goes through it. */
  signIn(subject: string, format: 'jwt' | 'opaque'): Promise<SignedIn>;
  /** A JWT of the first key. Undefined claims and header members are left out. */
  mint(claims: Record<string, unknown>, header?: Record<string, unknown>, key?: SigningKey): Promise<string>;
  /** What `mint` signs for a good access token of `subject`, to be changed. */
  claims(subject: string, now?: number): Record<string, unknown>;
  /** Whether it would accept an access token, whoever has it. */
  isActive(accessToken: string): Promise<boolean>;
  /** Takes all access tokens back; refresh tokens stay. */
  revokeAccess(): void;
  /** Makes a client known, public without a secret, whose access tokens are JWTs where `jwt` says so. */
  addClient(client: OidcClient): void;
  /** New keys; the old ones go unless kept. */
  rotate(options?: { keepOld: boolean }): void;
  close(): Promise<void>;
}

export function newSigningKey(alg = 'RS256', kid: string | undefined = randomBytes(6).toString('hex')): SigningKey {
  const pair = alg.startsWith('ES')
    ? generateKeyPairSync('ec', { namedCurve: alg === 'ES384' ? 'P-384' : 'P-256' })
    : alg === 'EdDSA'
      ? generateKeyPairSync('ed25519')
      : generateKeyPairSync('rsa', { modulusLength: 2048 });
  const publicJwk: JWK = { ...pair.publicKey.export({ format: 'jwk' }), alg, use: 'sig', ...(kid ? { kid } : {}) };
  return { kid, alg, privateKey: pair.privateKey, publicJwk };
}

export async function mintWith(
  key: SigningKey,
  claims: Record<string, unknown>,
  header: Record<string, unknown> = {},
): Promise<string> {
  const protectedHeader = { alg: key.alg, typ: 'JWT', kid: key.kid, ...header };
  return new SignJWT(JSON.parse(JSON.stringify(claims)))
    .setProtectedHeader(JSON.parse(JSON.stringify(protectedHeader)))
    .sign(key.privateKey, 'crit' in protectedHeader ? { crit: { b64: true } } : undefined);
}

/** Making RSA keys takes longer than most tests: those that do not care share one. */
let sharedKey: SigningKey | undefined;

export async function startOidc(options: { keys?: SigningKey[]; beside?: Beside } = {}): Promise<OidcDouble> {
  sharedKey ??= newSigningKey();
  const double = new Double(options.keys ?? [sharedKey], options.beside ?? (() => false));
  await double.start();
  return double;
}

class Double implements OidcDouble {
  issuer = '';
  readonly accounts = new Map<string, Record<string, unknown>>();
  readonly requests = new Map<string, number>();
  readonly faults = new Map<string, Fault>();
  tokenClaims: string[] = [];
  tokenSeconds = 3600;
  keys: SigningKey[];
  readonly #server: Server;
  readonly #stored = new Map<string, AdapterPayload>();
  readonly #beside: Beside;
  readonly #clients: OidcClient[] = [];
  #provider: Provider | undefined;

  constructor(keys: SigningKey[], beside: Beside) {
    this.keys = keys;
    this.#beside = beside;
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.issuer = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    this.#provider = this.#newProvider();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  addClient(client: OidcClient): void {
    this.#clients.push(client);
    this.#provider = this.#newProvider();
  }

  rotate({ keepOld } = { keepOld: false }): void {
    this.keys = [newSigningKey(), ...(keepOld ? this.keys : [])];
    this.#provider = this.#newProvider();
  }

  claims(subject: string, now = Date.now()): Record<string, unknown> {
    const seconds = Math.floor(now / 1000);
    return {
      iss: this.issuer,
      aud: [AUDIENCE],
      sub: subject,
      iat: seconds - 1,
      nbf: seconds - 1,
      exp: seconds + 3600,
      client_id: CLIENT_ID,
      jti: randomUUID(),
      email: `${subject}@example.com`,
      email_verified: true,
    };
  }

  async mint(claims: Record<string, unknown>, header: Record<string, unknown> = {}, key = this.keys[0]) {
    if (key === undefined) throw new Error('the provider has no key');
    return mintWith(key, claims, header);
  }

  async isActive(accessToken: string): Promise<boolean> {
    const provider = this.#current();
    const [one, other] = await Promise.all([
      provider.AccessToken.find(accessToken),
      provider.ClientCredentials.find(accessToken),
    ]);
    return one !== undefined || other !== undefined;
  }

  revokeAccess(): void {
    for (const key of this.#stored.keys()) if (/^(AccessToken|ClientCredentials):/.test(key)) this.#stored.delete(key);
  }

  async signIn(subject: string, format: 'jwt' | 'opaque'): Promise<SignedIn> {
    const verifier = randomBytes(32).toString('base64url');
    const url = new URL(ROUTES.authorization, this.issuer);
    url.search = new URLSearchParams({
      client_id: CLIENT_ID,
      response_type: 'code',
      redirect_uri: REDIRECT_URI,
      scope: 'openid email profile offline_access',
      prompt: 'consent',
      login_hint: subject,
      nonce: 'n-1',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...(format === 'jwt' ? { resource: AUDIENCE } : {}),
    }).toString();
    const code = await followToCode(url);
    const response = await fetch(new URL(ROUTES.token, this.issuer), {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: CLIENT_ID,
        redirect_uri: REDIRECT_URI,
        code,
        code_verifier: verifier,
        ...(format === 'jwt' ? { resource: AUDIENCE } : {}),
      }),
    });
    const body = (await response.json()) as Record<string, string>;
    if (!response.ok) throw new Error(`the provider gave no token: ${JSON.stringify(body)}`);
    return { accessToken: body.access_token ?? '', idToken: body.id_token ?? '', refreshToken: body.refresh_token };
  }

  #newProvider(): Provider {
    const account = (subject: string) => this.accounts.get(subject) ?? {};
    const configuration: Configuration = {
      adapter: (model) => memoryAdapter(this.#stored, model),
      clients: [
        {
          client_id: CLIENT_ID,
          token_endpoint_auth_method: 'none',
          redirect_uris: [REDIRECT_URI],
          application_type: 'native',
          grant_types: ['authorization_code', 'refresh_token'],
        },
        ...this.#clients.map(({ clientId, redirectUris, secret }) => ({
          client_id: clientId,
          ...(secret === undefined
            ? { token_endpoint_auth_method: 'none' as const }
            : { client_secret: secret, token_endpoint_auth_method: 'client_secret_basic' as const }),
          redirect_uris: [...redirectUris],
          application_type: 'native' as const,
          grant_types: ['authorization_code', 'refresh_token'],
        })),
        {
          client_id: RESOURCE_CLIENT.id,
          client_secret: RESOURCE_CLIENT.secret,
          redirect_uris: [],
          response_types: [],
          grant_types: ['client_credentials'],
        },
      ],
      jwks: {
        keys: this.keys.map((key) => ({ ...key.privateKey.export({ format: 'jwk' }), ...key.publicJwk })) as never,
      },
      routes: ROUTES,
      pkce: { required: () => true },
      // Public clients in browsers: the panel.
      clientBasedCORS: () => true,
      cookies: { keys: [randomBytes(16).toString('hex')] },
      claims: {
        openid: ['sub'],
        email: ['email', 'email_verified'],
        profile: ['name', 'given_name', 'family_name', 'picture', 'locale'],
      },
      findAccount: (_ctx, subject) => ({ accountId: subject, claims: () => ({ ...account(subject), sub: subject }) }),
      extraTokenClaims: (_ctx, token) => {
        const claims = account('accountId' in token ? String(token.accountId) : '');
        // An opaque token has no audience of its own here; the provider in the field gives it one.
        const audience = 'aud' in token && token.aud !== undefined ? {} : { audience: [AUDIENCE] };
        return { ...audience, ...Object.fromEntries(this.tokenClaims.map((name) => [name, claims[name]])) };
      },
      interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
      issueRefreshToken: () => true,
      loadExistingGrant: async (ctx) => {
        const grant = new ctx.oidc.provider.Grant({
          clientId: ctx.oidc.client?.clientId ?? '',
          accountId: ctx.oidc.session?.accountId ?? '',
        });
        grant.addOIDCScope('openid email profile offline_access');
        grant.addResourceScope(AUDIENCE, '');
        await grant.save();
        return grant;
      },
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        introspection: { enabled: true, allowedPolicy: () => true },
        revocation: { enabled: true, allowedPolicy: () => true },
        userinfo: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: () => ({ scope: '', audience: AUDIENCE, accessTokenFormat: 'jwt' }),
          useGrantedResource: (ctx) => this.#isJwtClient(ctx.oidc.client?.clientId),
          // A client of signed tokens gets them without asking for a resource, as the provider in the field does it.
          defaultResource: (ctx) => (this.#isJwtClient(ctx.oidc.client?.clientId) ? AUDIENCE : (undefined as never)),
        },
      },
      ttl: {
        AccessToken: () => this.tokenSeconds,
        ClientCredentials: () => this.tokenSeconds,
        AuthorizationCode: 60,
        Grant: 3600,
        IdToken: 3600,
        Interaction: 60,
        Session: 60,
        RefreshToken: 3600,
      },
    };
    return new Provider(this.issuer, configuration);
  }

  #isJwtClient(id: string | undefined): boolean {
    return this.#clients.some(({ clientId, jwt }) => jwt && clientId === id);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    this.requests.set(path, (this.requests.get(path) ?? 0) + 1);
    const fault = this.faults.get(path) ?? this.faults.get('*');
    if (fault === 'hang') return;
    if (fault === 'reset') {
      request.socket.destroy();
      return;
    }
    if (fault !== undefined) {
      response.writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers }).end(fault.body);
      return;
    }
    if (this.#beside(request, response, path)) return;
    const done = path.startsWith('/interaction/')
      ? this.#interact(request, response)
      : path === ROUTES.userinfo && /^Bearer [^.]+\.[^.]+\.[^.]+$/.test(request.headers.authorization ?? '')
        ? this.#userinfoOfJwt(request, response)
        : path === ROUTES.introspection
          ? this.#introspect(request, response)
          : this.#current().callback()(request, response);
    done.catch((error: unknown) => response.writeHead(500).end(String(error)));
  }

  #current(): Provider {
    if (this.#provider === undefined) throw new Error('the provider is not started');
    return this.#provider;
  }

  /** Signs in the user of login_hint, without interaction. */
  async #interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { params } = await this.#current().interactionDetails(request, response);
    const result = { login: { accountId: String(params.login_hint) }, consent: {} };
    await this.#current().interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  }

  /** oidc-provider's own endpoint refuses tokens that are bound to a resource; the provider in the field does not. */
  async #userinfoOfJwt(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const token = (request.headers.authorization ?? '').slice('Bearer '.length);
    const keySet = createLocalJWKSet({ keys: this.keys.map((key) => key.publicJwk) });
    try {
      const { payload } = await jwtVerify(token, keySet, { issuer: this.issuer });
      const claims = { sub: payload.sub, ...this.accounts.get(payload.sub ?? '') };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(claims));
    } catch {
      response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end();
    }
  }

  /** Opaque tokens of oidc-provider have no audience; the provider in the field names the project. */
  async #introspect(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const end = response.end.bind(response);
    response.end = ((body?: unknown, ...rest: never[]) => {
      const text = Buffer.isBuffer(body) ? body.toString() : body;
      if (typeof text !== 'string' || response.statusCode !== 200) return end(body as never, ...rest);
      const { audience, ...answer } = JSON.parse(text) as Record<string, unknown>;
      const whole = JSON.stringify(
        audience === undefined || answer.aud !== undefined ? answer : { ...answer, aud: audience },
      );
      response.setHeader('content-length', Buffer.byteLength(whole));
      return end(whole);
    }) as typeof response.end;
    await this.#current().callback()(request, response);
  }
}
