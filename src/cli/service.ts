/** A running service, asked over REST. */

import { existsSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { usherCommand } from '../base/command.ts';
import { isLoopbackHost } from '../base/ip-address.ts';
import { trimEnd } from '../base/trim.ts';
import { chosenContext } from './contexts.ts';
import { CommandFailed, type GlobalOptions, type Io } from './io.ts';

export interface ServiceOptions extends GlobalOptions {
  url?: string;
  token?: string;
  key?: string;
  context?: string;
}

export const DEFAULT_URL = 'http://localhost:8080';
const TIMEOUT_MS = 15_000;

/** Gives a command the options that say which service to ask, and as whom. */
export function asksService(command: Command): Command {
  return command
    .option('--url <url>', `the service to ask (env: USHER_URL, default: ${DEFAULT_URL})`)
    .option('--token <jwt>', 'a bearer token (env: USHER_TOKEN; beside a local issuer one is made)')
    .option('--key <key>', 'an internal API key (env: USHER_API_KEY)')
    .addOption(
      new Option('--context <name>', 'a service that the command login stored (env: USHER_CONTEXT)').conflicts('url'),
    );
}

export interface Request {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  body?: string;
  headers?: Readonly<Record<string, string>>;
  /** Milliseconds until the last byte; by default 15 s. */
  timeoutMs?: number;
  /** Checks take the local issuer's key; everything else would be refused for its scope. */
  asks?: 'checks';
}

/** As whom the service is asked. */
export interface Credentials {
  token?: string | undefined;
  key?: string | undefined;
  /** Beside a local issuer: a key of the configuration that may ask checks. */
  checkKey?: string | undefined;
}

export class Service {
  readonly url: string;
  readonly credentials: Credentials;

  constructor(url: string, credentials: Credentials) {
    this.url = url;
    this.credentials = credentials;
  }

  /** The answer, its status a success; anything else is thrown as CommandFailed, in the service's own words. */
  async ask({ method, path, body, headers = {}, timeoutMs = TIMEOUT_MS, asks }: Request): Promise<Response> {
    const { token } = this.credentials;
    const key = this.credentials.key ?? (asks === 'checks' ? this.credentials.checkKey : undefined);
    const response = await this.#send(path, {
      method,
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(key === undefined ? {} : { 'x-internal-api-key': key }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (response.ok) return response;
    throw await this.#refusal(response);
  }

  /** The answer's body as JSON. */
  async json(request: Request): Promise<{ body: unknown; headers: Headers }> {
    const response = await this.ask(request);
    try {
      return { body: (await response.json()) as unknown, headers: response.headers };
    } catch {
      throw this.#noUsher(response.status);
    }
  }

  async #send(path: string, init: RequestInit): Promise<Response> {
    try {
      return await fetch(`${this.url}${path}`, init);
    } catch (error) {
      if (error instanceof Error && error.name === 'TimeoutError') {
        throw new CommandFailed(`The service at ${this.url} did not answer in time.`, { code: 'TIMEOUT' });
      }
      const { cause } = error as { cause?: { code?: string } };
      // Not sent at all: a key that holds a line break, for instance. The message of fetch would repeat it.
      if (cause === undefined) {
        throw new CommandFailed('The token or the key holds characters that an HTTP header cannot hold.', {
          code: 'VALIDATION_FAILED',
        });
      }
      throw new CommandFailed(
        `No service answers at ${this.url}${cause.code ? ` (${cause.code})` : ''}: start it (${usherCommand('serve')}), or name another with --url or USHER_URL.`,
        { code: 'UNREACHABLE' },
      );
    }
  }

  async #refusal(response: Response): Promise<CommandFailed> {
    let body: unknown;
    try {
      body = (await response.json()) as unknown;
    } catch {
      return this.#noUsher(response.status);
    }
    return failureOf(body) ?? this.#noUsher(response.status);
  }

  #noUsher(status: number): CommandFailed {
    return new CommandFailed(`What answers at ${this.url} is no Usher (status ${status}): name another with --url.`);
  }
}

interface ErrorBody {
  success: false;
  code: string;
  message: string;
  details?: Record<string, unknown>;
}

/** An error body of the service as a failure; null when it is none. */
export function failureOf(body: unknown): CommandFailed | null {
  if (typeof body !== 'object' || body === null || !('message' in body) || !('code' in body)) return null;
  const { message, code, details } = body as ErrorBody;
  const reason = typeof details?.code === 'string' ? details.code : code;
  return new CommandFailed(withHint(message, reason), { code: reason, lines: issueLines(details?.issues), details });
}

function withHint(message: string, reason: string): string {
  if (reason !== 'UNAUTHENTICATED') return message;
  return `${message} Name a token with --token (USHER_TOKEN), or a key with --key (USHER_API_KEY).`;
}

function issueLines(issues: unknown): string[] {
  if (!Array.isArray(issues)) return [];
  return (issues as { path?: string; message?: string }[]).map(
    ({ path = '', message = '' }) => `${path === '' ? '' : `${path}: `}${message}`,
  );
}

/**
 * The service that the options, the environment, a stored context or the data directory name, and as whom to ask it. A stored
 * credential goes to the URL that it was stored with and nowhere else: --url and USHER_URL set it aside.
 */
export async function openService(io: Io, options: ServiceOptions): Promise<Service> {
  const named = given(options.url) ?? (options.context === undefined ? given(io.env.USHER_URL) : undefined);
  const context = named === undefined ? await chosenContext(io, given(options.context)) : null;
  const url = readUrl(named ?? context?.url ?? DEFAULT_URL);
  // Beside --context the environment is set aside, too: what it holds may be meant for another service.
  const around =
    options.context === undefined ? { token: given(io.env.USHER_TOKEN), key: given(io.env.USHER_API_KEY) } : {};
  const said: Credentials = { token: given(options.token) ?? around.token, key: given(options.key) ?? around.key };
  const isSaid = said.token !== undefined || said.key !== undefined;
  const chosen: Credentials = isSaid ? said : { token: context?.token, key: context?.key };
  const mayBeOurs = chosen.token === undefined && chosen.key === undefined && isLoopbackHost(new URL(url).hostname);
  return new Service(url, mayBeOurs ? await localCredentials(io, options) : chosen);
}

/** An http or https URL that paths can be appended to, without the slashes at its end. */
export function readUrl(text: string): string {
  const parsed = URL.parse(text);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new CommandFailed(`${text} is no http or https URL: name the service with --url or USHER_URL.`);
  }
  // Not repeated: it would print the password.
  if (parsed.username !== '' || parsed.password !== '') {
    throw new CommandFailed(
      'The URL of the service holds a user name or a password: take them out, and name a credential with --token or --key.',
    );
  }
  if (/[?#]/.test(text)) {
    throw new CommandFailed(`${text} holds a query or a fragment: name the service without "?", "#" and what follows.`);
  }
  return trimEnd(text, '/');
}

function given(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

/**
 * Beside a local issuer: a token of the configuration's first SuperAdmin, for an hour, and its first key for checks. Nothing
 * where tokens come from a provider, or where no service has made the data directory.
 */
async function localCredentials(io: Io, options: GlobalOptions): Promise<Credentials> {
  const { dataDirOf, loadConfig } = await import('./load-config.ts');
  const config = await loadConfig(io, options);
  const dataDir = dataDirOf(io, config);
  const [email] = config.superadmins;
  if (config.auth.issuer !== null || email === undefined || !existsSync(dataDir)) return {};
  const { openLocalIssuer } = await import('../identity/local-issuer.ts');
  const issuer = await openLocalIssuer({ dataDir, clock: io.clock });
  return { token: await issuer.sign(email, {}, 3600), checkKey: firstCheckKey(config.internal.apiKeys) };
}

/** Of entries `key` or `name:scope+scope:key` the first that may ask checks. */
function firstCheckKey(entries: readonly string[]): string | undefined {
  for (const entry of entries) {
    const [name = '', scopes, ...key] = entry.split(':');
    if (scopes === undefined) return name;
    if (scopes.split('+').includes('check')) return key.join(':');
  }
  return undefined;
}
