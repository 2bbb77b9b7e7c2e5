/** A running service, called over REST. */

import { existsSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { usherCommand } from '../base/command.ts';
import { isLoopbackHost } from '../base/ip-address.ts';
import { methodOf, type OperationInput, unwrapped, urlOf } from '../base/operations.ts';
import { encodeReason, REASON_HEADER } from '../base/reason.ts';
import { trimEnd } from '../base/trim.ts';
import type { ErrorBody, Impact, Input, Operation, Out } from '../gen/api.ts';
import { chosenContext } from './contexts.ts';
import { CommandFailed, type GlobalOptions, type Io } from './io.ts';

export interface ServiceOptions extends GlobalOptions {
  url?: string;
  token?: string;
  key?: string;
  context?: string;
  /** Why, of a command that writes. */
  reason?: string;
}

export const DEFAULT_URL = 'http://localhost:8080';
const TIMEOUT_MS = 15_000;

/** Adds the options that choose a service and a credential. */
export function addServiceOptions(command: Command): Command {
  return command
    .option('--url <url>', `the service (env: USHER_URL, default: ${DEFAULT_URL})`)
    .option('--token <jwt>', 'a bearer token (env: USHER_TOKEN; made automatically for a local issuer)')
    .option('--key <key>', 'an internal API key (env: USHER_API_KEY)')
    .addOption(
      new Option('--context <name>', 'a service stored by the login command (env: USHER_CONTEXT)').conflicts('url'),
    );
}

interface CallOptions {
  /** Milliseconds until the last byte; by default 15 s. */
  timeoutMs?: number;
  /** Checks take the local issuer's key; other requests would be refused for its scope. */
  asks?: 'checks';
}

export interface Answer<T> {
  /** The payload without its envelope. */
  readonly data: T;
  /** The cursor of the next page; null on the last page. */
  readonly next: string | null;
  /** What the answer is true of; null where it says none. */
  readonly revision: string | null;
  readonly status: number;
}

/** The credentials of requests. */
export interface Credentials {
  token?: string | undefined;
  key?: string | undefined;
  /** For a local issuer: a key of the configuration that may ask checks. */
  checkKey?: string | undefined;
}

export class Service {
  readonly url: string;
  readonly credentials: Credentials;
  /** Sent with every write. */
  readonly #reason: string | undefined;

  constructor(url: string, credentials: Credentials, reason?: string) {
    this.url = url;
    this.credentials = credentials;
    this.#reason = reason;
  }

  /** The answer of a success; anything else is thrown as CommandFailed, in the service's own words. */
  async call<K extends Operation>(operation: K, input: Input<K>, options: CallOptions = {}): Promise<Answer<Out<K>>> {
    return (await this.#json(operation, input as OperationInput, options)) as Answer<Out<K>>;
  }

  /** What a write would answer and change, without doing it. Throws as the write would. */
  async rehearse<K extends Operation>(
    operation: K,
    input: Input<K>,
    options: CallOptions = {},
  ): Promise<{ result: Out<K>; impact: Impact }> {
    const query = { ...input.query, dryRun: true };
    const { data } = await this.#json(operation, { ...(input as OperationInput), query }, options);
    return data as { result: Out<K>; impact: Impact };
  }

  /** The response of a success, its body unread: for what is not one value of JSON. */
  async open<K extends Operation>(
    operation: K,
    { path, query, text }: Omit<Input<K>, 'body'> & { text?: string },
    { headers, ...options }: CallOptions & { headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Response> {
    const input = { path, query, body: text } as OperationInput & { body?: string | undefined };
    return await this.#ask(operation, input, headers ?? {}, options);
  }

  async #json(operation: string, { body, ...input }: OperationInput, options: CallOptions): Promise<Answer<unknown>> {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const response = await this.#ask(operation, { ...input, body: sent }, {}, options);
    const { status, headers } = response;
    try {
      const { data, next } = unwrapped(status === 204 ? undefined : await response.json());
      return { data, next, revision: headers.get('usher-revision'), status };
    } catch {
      throw this.#notUsher(status);
    }
  }

  async #ask(
    operation: string,
    { body, ...input }: OperationInput & { body?: string | undefined },
    headers: Readonly<Record<string, string>>,
    { timeoutMs = TIMEOUT_MS, asks }: CallOptions,
  ): Promise<Response> {
    const { token } = this.credentials;
    const key = this.credentials.key ?? (asks === 'checks' ? this.credentials.checkKey : undefined);
    const method = methodOf(operation);
    const reason = method === 'GET' ? undefined : this.#reason;
    const response = await this.#send(urlOf(operation, input), {
      method,
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(key === undefined ? {} : { 'x-internal-api-key': key }),
        ...(reason === undefined ? {} : { [REASON_HEADER]: encodeReason(reason) }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (response.ok) return response;
    throw await this.#refusal(response);
  }

  async #send(path: string, init: RequestInit): Promise<Response> {
    try {
      return await fetch(`${this.url}${path}`, init);
    } catch (error) {
      if (error instanceof Error && error.name === 'TimeoutError') {
        throw new CommandFailed(`The service at ${this.url} did not answer in time.`, { code: 'TIMEOUT' });
      }
      const { cause } = error as { cause?: { code?: string; name?: string } };
      // Not sent at all: a key with a line break, for example. The message of fetch would repeat it.
      if (cause === undefined) {
        throw new CommandFailed('The token or the key contains characters that are not allowed in an HTTP header.', {
          code: 'VALIDATION_FAILED',
        });
      }
      const wrong = WRONG_DOORS.find(({ code }) => code.test(cause.code ?? cause.name ?? ''));
      if (wrong !== undefined) throw new CommandFailed(wrong.words(this.url), { code: 'UNREACHABLE' });
      throw new CommandFailed(
        `No service answers at ${this.url}${cause.code ? ` (${cause.code})` : ''}: start it (${usherCommand('serve')}), or choose another with --url or USHER_URL.`,
        { code: 'UNREACHABLE' },
      );
    }
  }

  async #refusal(response: Response): Promise<CommandFailed> {
    let body: unknown;
    try {
      body = await response.json();
    } catch {
      return this.#notUsher(response.status);
    }
    return failureOf(body, response.headers.get('www-authenticate')) ?? this.#notUsher(response.status);
  }

  #notUsher(status: number): CommandFailed {
    return new CommandFailed(`The server at ${this.url} is not Usher (status ${status}): choose another with --url.`);
  }
}

/** What answers, but not as the gateway does, by the code of the fault. */
const WRONG_DOORS: readonly { code: RegExp; words: (url: string) => string }[] = [
  {
    // An answer of HTTP/2, or one of another protocol.
    code: /^HPE_|^HTTPParserError$/,
    words: (url) =>
      `What answers at ${url} does not speak HTTP/1.1: is it the gRPC port? Commands ask the gateway, by default at port 8080 (HTTP_PORT).`,
  },
  {
    code: /^(?:ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG)$/,
    words: (url) => `What answers at ${url} does not speak TLS: give its address with http:// instead.`,
  },
  {
    // Closed without an answer: a port of TLS that was asked in cleartext, or one that speaks another protocol.
    code: /^(?:UND_ERR_SOCKET|ECONNRESET)$/,
    words: (url) =>
      `What listens at ${url} closed the connection without an answer: is it the gRPC port, or one of TLS? Commands ask the gateway, by default at port 8080 (HTTP_PORT).`,
  },
];

/**
 * An error body of the service as a failure; null for any other body.
 *
 * @param challenge what the service would have taken instead: `WWW-Authenticate`
 */
export function failureOf(body: unknown, challenge: string | null = null): CommandFailed | null {
  if (typeof body !== 'object' || body === null || !('message' in body) || !('code' in body)) return null;
  const { message, code, details } = body as ErrorBody;
  const reason = typeof details?.code === 'string' ? details.code : code;
  return new CommandFailed(withHint(message, reason, challenge ?? ''), {
    code: reason,
    lines: issueLines(details?.issues),
    details,
  });
}

function withHint(message: string, reason: string, challenge: string): string {
  if (reason !== 'UNAUTHENTICATED') return message;
  const options = [
    { scheme: 'Bearer', option: 'a token with --token (USHER_TOKEN)' },
    { scheme: 'ApiKey', option: 'a key with --key (USHER_API_KEY)' },
  ];
  const taken = options.filter(({ scheme }) => challenge.includes(scheme));
  return `${message} Give ${(taken.length > 0 ? taken : options).map(({ option }) => option).join(', or ')}.`;
}

function issueLines(issues: unknown): string[] {
  if (!Array.isArray(issues)) return [];
  const named: readonly { path?: string; message?: string }[] = issues;
  return named.map(({ path = '', message = '' }) => `${path === '' ? '' : `${path}: `}${message}`);
}

/**
 * The service and the credentials of the options, the environment, a stored context or the data directory. A stored credential
 * goes only to the URL that it was stored with: --url and USHER_URL disable it.
 */
export async function openService(io: Io, options: ServiceOptions): Promise<Service> {
  const named = given(options.url) ?? (options.context === undefined ? given(io.env.USHER_URL) : undefined);
  const context = named === undefined ? await chosenContext(io, given(options.context)) : null;
  const url = readUrl(named ?? context?.url ?? DEFAULT_URL);
  // --context disables the environment's credentials too: they may belong to another service.
  const fromEnv =
    options.context === undefined ? { token: given(io.env.USHER_TOKEN), key: given(io.env.USHER_API_KEY) } : {};
  const explicit: Credentials = {
    token: given(options.token) ?? fromEnv.token,
    key: given(options.key) ?? fromEnv.key,
  };
  const isExplicit = explicit.token !== undefined || explicit.key !== undefined;
  const chosen: Credentials = isExplicit ? explicit : { token: context?.token, key: context?.key };
  const mayBeLocal = chosen.token === undefined && chosen.key === undefined && isLoopbackHost(new URL(url).hostname);
  return new Service(url, mayBeLocal ? await localCredentials(io, options) : chosen, options.reason);
}

/** An http or https URL that paths can be appended to, without trailing slashes. */
export function readUrl(text: string): string {
  const parsed = URL.parse(text);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new CommandFailed(`${text} is not an http or https URL: give the service's URL with --url or USHER_URL.`);
  }
  // Not repeated: it would print the password.
  if (parsed.username !== '' || parsed.password !== '') {
    throw new CommandFailed(
      'The URL of the service contains a user name or a password: remove them, and give a credential with --token or --key.',
    );
  }
  if (/[?#]/.test(text)) {
    throw new CommandFailed(`${text} contains a query or a fragment: remove "?" or "#" and everything after it.`);
  }
  return trimEnd(text, '/');
}

function given(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

/**
 * For a local issuer: a token of the configuration's first SuperAdmin, for an hour, and its first key for checks. Nothing
 * where tokens come from a provider, or where no service has made the data directory.
 */
async function localCredentials(io: Io, options: GlobalOptions): Promise<Credentials> {
  const { placeOf } = await import('./load-config.ts');
  const place = await placeOf(io, options);
  const { config, dataDir } = place;
  const [email] = config.superadmins;
  if (config.auth.issuer !== null || email === undefined || !existsSync(dataDir)) return {};
  const token = await (await io.local()).signToken(place, email, 3600);
  return { token, checkKey: firstCheckKey(config.internal.apiKeys) };
}

/** The first key that may ask checks, of entries `key` or `name:scope+scope:key`. */
function firstCheckKey(entries: readonly string[]): string | undefined {
  for (const entry of entries) {
    const [name = '', scopes, ...key] = entry.split(':');
    if (scopes === undefined) return name;
    if (scopes.split('+').includes('check')) return key.join(':');
  }
  return undefined;
}
