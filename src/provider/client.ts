/**
 * Requests to the identity provider's own API: credentials, limits, one more try where that is safe, and its refusals as
 * UsherErrors. The calls themselves are in admin-api.ts.
 */

import { UsherError } from '../base/errors.ts';
import { trimEnd } from '../base/trim.ts';
import type { Config } from '../config/config.ts';
import { OPERATOR_POLICY, type Outbound, OutboundError, type OutboundResponse } from '../outbound/outbound.ts';

/** gRPC codes, as the provider's errors carry them. */
export const IdpCode = { NOT_FOUND: 5, ALREADY_EXISTS: 6, FAILED_PRECONDITION: 9 } as const;

/** The provider understood the request and refused it. ALREADY_EXISTS where that is its reason, else IDP_REJECTED. */
export class IdpRefusal extends UsherError {
  /** From its error body; derived from the status without one. */
  readonly idpCode: number;
  readonly idpStatus: number;
  constructor(status: number, code: number, words: string) {
    const taken = code === IdpCode.ALREADY_EXISTS;
    super(
      taken ? 'ALREADY_EXISTS' : 'IDP_REJECTED',
      taken
        ? `It exists at the identity provider already: ${words}`
        : `The identity provider refused: ${words}${hintOf(words)}`,
      { details: { idp: { status, code, message: words } } },
    );
    this.idpCode = code;
    this.idpStatus = status;
  }
}

/** What to do about refusals whose words do not say it. */
function hintOf(words: string): string {
  if (!/Blocked\.Endpoint|DeniedURL/.test(words)) return '';
  return '. Its HTTPClient.DenyList refuses private, loopback and carrier-grade addresses: take the one of this service out there, or give it a public one.';
}

/** The provider asked to be left alone for a while: 429 or 503 with Retry-After. An IDP_UNREACHABLE like other trouble. */
export class IdpBusy extends UsherError {
  readonly #retryAfter: string;
  constructor(status: number, retryAfter: string) {
    super('IDP_UNREACHABLE', `The identity provider did not answer properly: it answered ${status}.`);
    this.#retryAfter = retryAfter;
  }

  /** How long it asked for, seen at `now`; null where its header says nothing readable (RFC 9110, 10.2.3). */
  waitMs(now: number): number | null {
    if (/^\d{1,9}$/.test(this.#retryAfter)) return Number(this.#retryAfter) * 1000;
    const until = Date.parse(this.#retryAfter);
    return Number.isNaN(until) ? null : Math.max(0, until - now);
  }
}

export interface IdpRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Begins with a slash; values from callers are encoded in it. */
  readonly path: string;
  /** The organization of a management call. */
  readonly org?: string;
  /** JSON; undefined members are left out. */
  readonly body?: unknown;
  /** A file instead of JSON. */
  readonly file?: { readonly name: string; readonly media: string; readonly bytes: Buffer };
  /** Repeating it is harmless: it is tried a second time when no answer came. */
  readonly repeatable?: boolean;
}

/** Short enough for a second try within the deadline of a call. */
const TIMEOUT_MS = 4000;
const MAX_BYTES = 1024 * 1024;
const MAX_WORDS = 300;

interface ClientOptions {
  readonly idp: Pick<Config['idp'], 'apiUrl' | 'serviceAccountToken'>;
  readonly outbound: Outbound;
}

export class IdpClient {
  readonly #idp: ClientOptions['idp'];
  readonly #outbound: Outbound;

  constructor({ idp, outbound }: ClientOptions) {
    this.#idp = idp;
    this.#outbound = outbound;
  }

  /** Whether a provider and a token for it are configured. */
  get configured(): boolean {
    return this.#idp.apiUrl !== null && this.#idp.serviceAccountToken !== null;
  }

  /** Throws IDP_NOT_CONFIGURED, with the missing key. */
  refuseUnconfigured(): void {
    const missing = this.#idp.apiUrl === null ? 'idp.apiUrl (IDP_API_URL)' : 'idp.serviceAccountToken';
    if (!this.configured) {
      throw new UsherError('IDP_NOT_CONFIGURED', `This needs an identity provider: ${missing} is not configured.`, {
        retryAfter: 60,
      });
    }
  }

  /** The JSON object of a 2xx answer. Throws IDP_NOT_CONFIGURED, IDP_UNREACHABLE, or an IdpRefusal. */
  async call(request: IdpRequest): Promise<unknown> {
    this.refuseUnconfigured();
    const response = await this.#sendSafely(request);
    if (response.status < 300) return readAnswer(response);
    const retryAfter = response.header('retry-after');
    if (isTrouble(response.status) && retryAfter !== undefined) throw new IdpBusy(response.status, retryAfter);
    if (isTrouble(response.status)) throw unreachable(`it answered ${response.status}`);
    const { code, words } = readRefusal(response, this.#idp.serviceAccountToken ?? '');
    throw new IdpRefusal(response.status, code, words);
  }

  async #sendSafely(request: IdpRequest): Promise<OutboundResponse> {
    const repeatable = request.repeatable ?? request.method === 'GET';
    try {
      const response = await this.#send(request);
      // One that says when to come again is not asked again at once.
      const isBusy = response.header('retry-after') !== undefined;
      if (!repeatable || !isTrouble(response.status) || isBusy) return response;
    } catch (error) {
      // A second wait after a timeout would outlast the caller's own deadline.
      const worthIt = error instanceof OutboundError && error.reason === 'unreachable';
      if (!repeatable || !worthIt) throw fromOutbound(error);
    }
    return await this.#send(request).catch((error: unknown) => {
      throw fromOutbound(error);
    });
  }

  #send({ method, path, org, body, file }: IdpRequest): Promise<OutboundResponse> {
    const payload = file === undefined ? jsonPayload(body) : filePayload(file);
    return this.#outbound.send({
      url: `${this.#idp.apiUrl ?? ''}${path}`,
      method,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${this.#idp.serviceAccountToken ?? ''}`,
        ...(org === undefined ? {} : { 'x-zitadel-orgid': org }),
        ...payload.headers,
      },
      ...(payload.body === undefined ? {} : { body: payload.body }),
      policy: OPERATOR_POLICY,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    });
  }
}

/** 502: whether the provider acted on the request is unknown. */
export function unreachable(why: string, cause?: unknown): UsherError {
  return new UsherError('IDP_UNREACHABLE', `The identity provider did not answer properly: ${why}.`, { cause });
}

export function fromOutbound(error: unknown): unknown {
  return error instanceof OutboundError ? unreachable(error.reason.replaceAll('_', ' '), error) : error;
}

/** 501 is an answer: this installation lacks the call. */
function isTrouble(status: number): boolean {
  return (status >= 500 && status !== 501) || status === 429;
}

function readAnswer(response: OutboundResponse): unknown {
  if (response.body.length === 0) return {};
  try {
    return response.json();
  } catch (error) {
    throw fromOutbound(error);
  }
}

/** The provider's own words, shortened, on one line, without our token and people's names: they are logged, too. */
function readRefusal(response: OutboundResponse, token: string): { code: number; words: string } {
  const { code, message } = errorMembers(response);
  const text = typeof message === 'string' && message !== '' ? message : `status ${response.status}`;
  const line = text.replace(/\p{Cc}+/gu, ' ').toWellFormed();
  const words = withoutLocalParts(line);
  return {
    code: typeof code === 'number' ? code : (CODE_OF_STATUS.get(response.status) ?? 2),
    words: (token === '' ? words : words.replaceAll(token, '***')).slice(0, MAX_WORDS),
  };
}

const LOCAL_PART = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.!#$%&'*+/=?^`{|}~-";

/** The text with every address's local part masked. Cut at each `@` in one pass: the provider's answer may be long. */
export function withoutLocalParts(text: string): string {
  const pieces = text.split('@');
  const last = pieces.pop() ?? '';
  const masked = pieces.map((piece) => {
    const kept = trimEnd(piece, LOCAL_PART);
    return kept === piece ? `${piece}@` : `${kept}***@`;
  });
  return masked.join('') + last;
}

function errorMembers(response: OutboundResponse): { code?: unknown; message?: unknown } {
  try {
    const body = response.json();
    return typeof body === 'object' && body !== null ? body : {};
  } catch {
    // A proxy's error is an HTML page; its status is enough.
    return {};
  }
}

const CODE_OF_STATUS: ReadonlyMap<number, number> = new Map([
  [400, 3],
  [401, 16],
  [403, 7],
  [404, IdpCode.NOT_FOUND],
  [409, IdpCode.ALREADY_EXISTS],
]);

function jsonPayload(body: unknown): { headers: Record<string, string>; body?: string } {
  if (body === undefined) return { headers: {} };
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/** One part of multipart/form-data, named `file` (RFC 7578). Name and media are our own, never a caller's. */
function filePayload({ name, media, bytes }: NonNullable<IdpRequest['file']>) {
  let boundary = 'usher-part';
  while (bytes.includes(boundary)) boundary += '-';
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\ncontent-type: ${media}\r\n\r\n`;
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)]),
  };
}
