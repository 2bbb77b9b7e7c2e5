/**
 * A double of the identity provider, as strict as the one in the field, over real sockets: its admin API, and at the same
 * origin a real OpenID provider (test/support/oidc.ts) for metadata, login and tokens.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type OidcDouble, startOidc } from '../oidc.ts';
import { type ApiAnswer, answerOf } from './api.ts';
import { parseFile } from './multipart.ts';
import { ApiError, compact, type IdpState, newState, SERVICE_TOKEN } from './state.ts';

export { SERVICE_TOKEN } from './state.ts';

/** One request to the admin API, after it was answered. */
export interface Call {
  method: string;
  path: string;
  org: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
  body: any;
  status: number;
}

export interface Instead {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface IdpDouble {
  readonly oidc: OidcDouble;
  /** The origin, without a trailing slash. */
  readonly url: string;
  readonly state: IdpState;
  readonly calls: Call[];
  /** Paths whose next request is carried out, and its answer lost. */
  readonly lost: Set<string>;
  /** Paths that this installation hides: 404. */
  readonly hidden: Set<string>;
  /** What a request is answered instead; null: as the provider would. */
  instead: (call: Call) => Instead | null | Promise<Instead | null>;
  /** How long each request is on its way there, and each answer on its way back, in milliseconds. */
  lagMs: () => number;
  /** Calls so far to paths that end so. */
  count(method: string, pathEnd: string): number;
  close(): Promise<void>;
}

export async function startIdp(): Promise<IdpDouble> {
  const state = newState();
  const calls: Call[] = [];
  const lost = new Set<string>();
  const hidden = new Set<string>();
  const beside = (request: IncomingMessage, response: ServerResponse, path: string): boolean => {
    if (path.startsWith('/debug/')) {
      response.writeHead(path === '/debug/healthz' || path === '/debug/ready' ? 200 : 404).end('ok');
      return true;
    }
    if (!/^\/(?:admin\/v1|management\/v1|assets\/v1|v2)\//.test(path)) return false;
    answer(request, response, path).catch((error: unknown) => response.writeHead(500).end(String(error)));
    return true;
  };

  const answer = async (request: IncomingMessage, response: ServerResponse, path: string): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '' } = request;
    const org = (request.headers['x-zitadel-orgid'] as string | undefined) ?? null;
    const call: Call = { method, path, org, body: null, status: 200 };
    calls.push(call);
    let body: unknown;
    let headers: Record<string, string> = {};
    await lag();
    try {
      if (hidden.has(path)) throw new ApiError(5, 'Not Found');
      if (request.headers.authorization !== `Bearer ${SERVICE_TOKEN}`) {
        throw new ApiError(16, 'Errors.Token.Invalid (AUTH-7fs1e)');
      }
      call.body = readBody(request, Buffer.concat(chunks));
      const instead = await double.instead(call);
      headers = instead?.headers ?? {};
      const found: ApiAnswer =
        instead === null
          ? answerOf(state, { method, path, org, body: call.body })
          : { status: instead.status, body: instead.body };
      call.status = found.status ?? 200;
      body = compact(found.body);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      call.status = error.status;
      body = error.body;
    }
    await lag();
    if (lost.delete(path)) {
      request.socket.destroy();
      return;
    }
    response.writeHead(call.status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };

  const lag = async (): Promise<void> => {
    const ms = double.lagMs();
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
  };

  const oidc = await startOidc({ beside });
  state.origin = oidc.issuer;
  const double: IdpDouble = {
    oidc,
    url: oidc.issuer,
    state,
    calls,
    lost,
    hidden,
    instead: () => null,
    lagMs: () => 0,
    count: (method, end) => calls.filter((call) => call.method === method && call.path.endsWith(end)).length,
    close: () => oidc.close(),
  };
  return double;
}

function readBody(request: IncomingMessage, bytes: Buffer): unknown {
  const type = request.headers['content-type'] ?? '';
  if (type.startsWith('multipart/form-data')) return parseFile(type, bytes);
  if (bytes.length === 0) return {};
  if (!type.startsWith('application/json')) throw new ApiError(3, 'unsupported content type');
  try {
    return JSON.parse(bytes.toString());
  } catch {
    throw new ApiError(3, 'proto: syntax error');
  }
}
