/** A running service, asked over REST. */

import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { isLoopbackHost } from '../address-kind.ts';
import type { Config } from '../config.ts';
import { openLocalIssuer } from '../identity/local-issuer.ts';
import { trimEnd } from '../trim.ts';
import { CommandFailed, type GlobalOptions, type Io } from './io.ts';
import { dataDirOf, loadConfig } from './load-config.ts';

export interface ServiceOptions extends GlobalOptions {
  url?: string;
  token?: string;
  key?: string;
}

const DEFAULT_URL = 'http://localhost:8080';
const TIMEOUT_MS = 15_000;

/** Gives a command the options that say which service to ask, and as whom. */
export function asksService(command: Command): Command {
  return command
    .option('--url <url>', `the service to ask (env: USHER_URL, default: ${DEFAULT_URL})`)
    .option('--token <jwt>', 'a bearer token (env: USHER_TOKEN; beside a local issuer one is made)')
    .option('--key <key>', 'an internal API key (env: USHER_API_KEY)');
}

export interface Request {
  method: 'GET' | 'POST';
  path: string;
  body?: string;
  headers?: Readonly<Record<string, string>>;
  /** Milliseconds until the last byte; 15 s unless told. */
  timeoutMs?: number;
}

/** As whom the service is asked. */
export interface Credentials {
  token: string | undefined;
  key: string | undefined;
}

export class Service {
  readonly url: string;
  readonly credentials: Credentials;

  constructor(url: string, credentials: Credentials) {
    this.url = url;
    this.credentials = credentials;
  }

  /** The answer, its status a success; anything else is thrown as CommandFailed, in the service's own words. */
  async ask({ method, path, body, headers = {}, timeoutMs = TIMEOUT_MS }: Request): Promise<Response> {
    const { token, key } = this.credentials;
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
      const cause = (error as { cause?: { code?: string } }).cause?.code;
      throw new CommandFailed(
        `No service answers at ${this.url}${cause ? ` (${cause})` : ''}: start it (npm start, or usher serve), or name another with --url or USHER_URL.`,
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

/** Whom the options, the environment or the data directory let the command speak as. */
export async function openService(io: Io, options: ServiceOptions): Promise<Service> {
  const url = given(options.url) ?? given(io.env.USHER_URL) ?? DEFAULT_URL;
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new CommandFailed(`${url} is no http or https URL: name the service with --url or USHER_URL.`);
  }
  const token = given(options.token) ?? given(io.env.USHER_TOKEN);
  const key = given(options.key) ?? given(io.env.USHER_API_KEY);
  const mayBeOurs = token === undefined && key === undefined && isLoopbackHost(parsed.hostname);
  return new Service(
    trimEnd(url, '/'),
    mayBeOurs ? await localCredentials(io, await loadConfig(io, options)) : { token, key },
  );
}

function given(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

/**
 * Beside a local issuer: a token of the configuration's first SuperAdmin, for an hour, and its first key for checks. Nothing
 * where tokens come from a provider, or where no service has made the data directory.
 */
async function localCredentials(io: Io, config: Config): Promise<Credentials> {
  const dataDir = dataDirOf(io, config);
  const [email] = config.superadmins;
  if (config.auth.issuer !== null || email === undefined || !existsSync(dataDir))
    return { token: undefined, key: undefined };
  const issuer = await openLocalIssuer({ dataDir, clock: io.clock });
  return { token: await issuer.sign(email, {}, 3600), key: firstCheckKey(config.internal.apiKeys) };
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
