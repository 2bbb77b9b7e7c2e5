/**
 * Sends one push to one browser (RFC 8030, 8291, 8292): encrypted and signed by web-push, sent by outbound.ts, which has the limits
 * that web-push lacks.
 */

import { hash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/telemetry.ts';
import { TurnQueue } from '../base/time-slice.ts';
import { type Outbound, OutboundError, type OutboundReason, type OutboundResponse } from '../outbound/outbound.ts';
import type { PushTarget } from '../persistence/delivery/push-subscriptions.ts';
import { readRetryAfter } from './backoff.ts';
import type { PushContent } from './channels.ts';
import { encryptPush } from './encrypt.ts';
import type { EndpointRules } from './endpoints.ts';
import { fold } from './mail-headers.ts';
import { loadWebPush } from './packages.ts';
import type { VapidKeys } from './push-keys.ts';

/** The longest plaintext: one record of 4,096 bytes less the overhead of encryption (RFC 8291 4). */
export const MAX_PUSH_BYTES = 3993;
const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 16 * 1024;
/** A token is valid for twelve hours and used for one. Signing takes longer than the rest of a push, so tokens are cached. */
const TOKEN_USED_MS = 3_600_000;
/** Users choose hosts below a push service's name: the cache is bounded. */
const MAX_TOKENS = 200;
/** The pause of a throttled subscription without a readable Retry-After. */
const DEFAULT_PATIENCE_MS = 30_000;

/**
 * Encryptions in a turn of the event loop, where the pushes to all browsers of a person start together, at a third of a millisecond
 * each. Beside checks about a slice of time (base/time-slice.ts); where nobody else waits, more: a turn for each costs a fifth more CPU.
 */
const ENCRYPTIONS_IN_A_TURN = { shared: 3, alone: 16 } as const;

/**
 * `gone`: the subscription no longer exists. `refused`: a retry cannot succeed; `said` is what the service answered. `later`: the
 * service has a problem, or throttles this subscription (`throttled`); `retryAfterMs` is the least pause it asked for.
 */
export type PushOutcome =
  | { readonly kind: 'sent' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'refused'; readonly error: string; readonly status?: number; readonly said?: string }
  | { readonly kind: 'later'; readonly error: string; readonly retryAfterMs: number; readonly throttled: boolean };

export interface PushSenderParts {
  outbound: Pick<Outbound, 'send'>;
  rules: EndpointRules;
  /** Null without configured keys: nothing is pushed. */
  keys: VapidKeys | null;
  clock: Pick<Clock, 'now'>;
  log: Logger;
  /** Whether calls share this event loop, or pushes and mails have it alone. */
  loop: keyof typeof ENCRYPTIONS_IN_A_TURN;
}

export class PushSender {
  readonly #parts: PushSenderParts;
  readonly #encryptions: TurnQueue;
  /** The `Authorization` header by origin: a token is bound to an origin, not to a push (RFC 8292). */
  readonly #tokens = new Map<string, { readonly header: string; readonly until: number }>();

  constructor(parts: PushSenderParts) {
    this.#parts = parts;
    this.#encryptions = new TurnQueue(ENCRYPTIONS_IN_A_TURN[parts.loop]);
  }

  /** Never rejects because of the push service. `signal` aborts the request. */
  async send(target: PushTarget, content: PushContent, signal?: AbortSignal): Promise<PushOutcome> {
    const { keys, rules, log } = this.#parts;
    if (keys === null) return { kind: 'refused', error: 'push_not_configured' };
    // A subscription is bound to the key pair of its creation; the service would answer 401 or 403.
    if (target.vapidKey !== keys.publicKey) return { kind: 'refused', error: 'push_key_changed' };
    if (rules.problemOf(target.endpoint) !== null) return { kind: 'refused', error: 'push_endpoint_not_allowed' };
    const outcome = await this.#request(target, content, keys, signal);
    if (outcome.kind === 'refused') {
      // Anyone who knows an endpoint can push to that browser: the log holds its hash only.
      const endpoint = hash('sha256', target.endpoint, 'hex').slice(0, 16);
      const { error, status, said } = outcome;
      log.warn({ endpoint, origin: originOf(target), error, status, said }, 'push refused by the push service');
    }
    return outcome;
  }

  async #request(
    target: PushTarget,
    content: PushContent,
    keys: VapidKeys,
    signal: AbortSignal | undefined,
  ): Promise<PushOutcome> {
    const { endpoint } = target;
    await this.#encryptions.turn();
    const { headers, body } = encryptPush(target, fitPayload(content));
    try {
      const response = await this.#parts.outbound.send({
        url: endpoint,
        policy: this.#parts.rules.policyOf(endpoint),
        method: 'POST',
        headers: { ...headers, Authorization: this.#authorization(originOf(target), keys) },
        body,
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_ANSWER_BYTES,
        ...(signal === undefined ? {} : { signal }),
      });
      return this.#outcomeOf(response, endpoint);
    } catch (error) {
      if (error instanceof OutboundError) return FAILED[error.reason];
      throw error;
    }
  }

  #authorization(origin: string, { subject, publicKey, privateKey }: VapidKeys): string {
    const now = this.#parts.clock.now();
    const present = this.#tokens.get(origin);
    // The lower bound detects a clock that was set back: the token's age is unknown then.
    if (present !== undefined && now < present.until && now > present.until - 2 * TOKEN_USED_MS) return present.header;
    if (this.#tokens.size >= MAX_TOKENS) this.#tokens.clear();
    const { Authorization: header } = loadWebPush().getVapidHeaders(
      origin,
      subject,
      publicKey,
      privateKey,
      'aes128gcm',
    );
    this.#tokens.set(origin, { header, until: now + TOKEN_USED_MS });
    return header;
  }

  #outcomeOf(response: OutboundResponse, endpoint: string): PushOutcome {
    const { status } = response;
    const refused = (error: string): PushOutcome => ({
      kind: 'refused',
      error,
      status,
      said: saidIn(response.body, endpoint),
    });
    if (status < 300) return { kind: 'sent' };
    if (status === 404 || status === 410) return { kind: 'gone' };
    if (status === 413) return refused('push_too_large');
    if (status === 401 || status === 403) return refused('push_unauthorized');
    const retryAfter = readRetryAfter(response.header('retry-after'), this.#parts.clock.now());
    // 406 is how WNS throttles.
    if (status === 429 || status === 406) {
      return {
        kind: 'later',
        error: 'push_throttled',
        retryAfterMs: retryAfter ?? DEFAULT_PATIENCE_MS,
        throttled: true,
      };
    }
    if (status >= 500 || status === 408) {
      return {
        kind: 'later',
        error: 'push_service_failed',
        retryAfterMs: retryAfter ?? 0,
        throttled: false,
      };
    }
    return refused('push_rejected');
  }
}

const later = (error: string): PushOutcome => ({ kind: 'later', error, retryAfterMs: 0, throttled: false });
const refused = (error: string): PushOutcome => ({ kind: 'refused', error });

/** What a service answered, on one line, without the endpoint: anyone who knows it can push to that browser. */
function saidIn(body: Buffer, endpoint: string): string {
  const { pathname } = new URL(endpoint);
  const secrets = [endpoint, ...pathname.split('/').filter((part) => part.length >= 16)];
  const text = secrets.reduce((said, secret) => said.replaceAll(secret, '***'), body.toString('utf8'));
  return fold(text);
}

/** The outcome of a request that got no usable response. */
const FAILED: Readonly<Record<OutboundReason, PushOutcome>> = {
  refused_url: refused('push_endpoint_not_allowed'),
  refused_address: refused('push_address_not_allowed'),
  // What the operator can mend: the push itself is as good as before.
  proxy_refused: later('push_proxy_refused'),
  unreachable: later('push_unreachable'),
  timeout: later('push_timeout'),
  aborted: later('push_aborted'),
  too_large: refused('push_bad_answer'),
  redirected: refused('push_redirected'),
  bad_response: refused('push_bad_answer'),
  not_json: refused('push_bad_answer'),
};

/** The push service that pauses apply to: one origin serves many browsers. */
export function originOf({ endpoint }: Pick<PushTarget, 'endpoint'>): string {
  return URL.parse(endpoint)?.origin ?? 'invalid';
}

/** The payload as JSON of at most 3,993 bytes. The body is shortened to fit, by whole characters, then the title. */
export function fitPayload({ title, body, icon, url }: PushContent): string {
  const write = (part: Partial<PushContent>) => JSON.stringify({ title, body, icon, url, ...part });
  if (size(write({})) <= MAX_PUSH_BYTES) return write({});
  const shorterBody = shorten(body, (text) => size(write({ body: text })) <= MAX_PUSH_BYTES);
  if (shorterBody !== null) return write({ body: shorterBody });
  const shorterTitle = shorten(title, (text) => size(write({ body: '', title: text })) <= MAX_PUSH_BYTES);
  if (shorterTitle !== null) return write({ body: '', title: shorterTitle });
  // Only an icon or a URL of nearly the maximum length leads here: title and body matter more.
  return fitPayload({ title, body, icon: null, url: size(url ?? '') < 1024 ? url : null });
}

/** The longest prefix that fits with an ellipsis; null when not even the ellipsis fits. Cuts between code points. */
function shorten(text: string, fits: (text: string) => boolean): string | null {
  const points = Array.from(text);
  const cut = (length: number) => `${points.slice(0, length).join('')}…`;
  if (!fits(cut(0))) return null;
  let [low, high] = [0, points.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(cut(middle))) low = middle;
    else high = middle - 1;
  }
  return cut(low);
}

function size(text: string): number {
  return Buffer.byteLength(text);
}
