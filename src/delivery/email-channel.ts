/** A delivery by e-mail: the brand's sender, the headers of RFC 8058, and the effect of each outcome on the brand's other mails. */

import type { CircuitBreaker } from '../base/circuit-breaker.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/telemetry.ts';
import type { Claimed } from '../persistence/delivery/claims.ts';
import { type Attempt, type Channel, FRESH_MS, failed, postponed } from './attempt.ts';
import { nextAttemptIn } from './backoff.ts';
import type { EmailContent, UnsubscribeTarget } from './channels.ts';
import type { Held } from './in-flight.ts';
import type { Mailer } from './mail.ts';
import type { MailMessage, MailOutcome, MailSender } from './message.ts';
import { ACCOUNT_REFUSED } from './refusals.ts';

export interface EmailChannelParts {
  mailer: Pick<Mailer, 'send'>;
  /** The brand of that id, else the default one. Rejects when its password cannot be decrypted. */
  senderOf: (brandId: number | null) => Promise<MailSender>;
  /** Signs the link for one-click unsubscription. */
  unsubscribeUrl: (target: UnsubscribeTarget) => Promise<string>;
  /** By lane. */
  breaker: CircuitBreaker;
  /** Its host is the host of Message-IDs; null while the port is unknown. */
  publicUrl: string | null;
  production: boolean;
  clock: Pick<Clock, 'random' | 'monotonic'>;
  log: Logger;
}

/** Cached senders hold passwords and expire after FRESH_MS, so few are kept. */
const MAX_SENDERS = 50;

export class EmailChannel implements Channel {
  readonly #parts: EmailChannelParts;
  readonly #host: string;
  /** By brand: the sender as last read, and when the read began. */
  readonly #senders = new Map<number | null, { readonly at: number; readonly sender: Promise<MailSender> }>();

  constructor(parts: EmailChannelParts) {
    this.#parts = parts;
    this.#host = parts.publicUrl === null ? 'localhost' : new URL(parts.publicUrl).hostname;
  }

  async attempt(claimed: Held, signal: AbortSignal): Promise<Attempt> {
    const { mailer, breaker, log } = this.#parts;
    let sender: MailSender;
    try {
      sender = await this.#senderOf(claimed);
    } catch (error) {
      log.warn({ err: error, brandId: claimed.brandId }, 'brand cannot send; its mail is postponed');
      breaker.refused(claimed.lane);
      return this.#later(claimed, 'brand_unavailable');
    }
    const message = await this.#message(claimed);
    const outcome = await mailer.send(sender, message, signal);
    if (signal.aborted && outcome.kind === 'transient') return postponed(claimed, 0);
    return this.#conclude(claimed, sender, outcome);
  }

  /** The sender, read after the claim and at most FRESH_MS ago: one read serves many mails of a brand and misses no change. */
  #senderOf({ brandId, claimedAt }: Held): Promise<MailSender> {
    const now = this.#parts.clock.monotonic();
    const known = this.#senders.get(brandId);
    if (known !== undefined && known.at >= claimedAt && now - known.at <= FRESH_MS) return known.sender;
    const sender = this.#parts.senderOf(brandId);
    if (this.#senders.size >= MAX_SENDERS) this.#senders.clear();
    this.#senders.set(brandId, { at: now, sender });
    return sender;
  }

  async #message(claimed: Claimed): Promise<MailMessage> {
    const { to, subject, html, text, locale, fromName, unsubscribe, ...older } = claimed.content as EmailContent;
    const unsubscribeUrl = unsubscribe ? await this.#parts.unsubscribeUrl(unsubscribe) : (older.unsubscribeUrl ?? null);
    // The same on every attempt: mail programs show a duplicate once. The time stays unique after a database restarts its ids.
    const messageId = `delivery-${claimed.id}-${claimed.createdAt.getTime().toString(36)}@${this.#host}`;
    const headers = this.#headers(unsubscribeUrl);
    return { to, subject, html, text, locale, fromName, messageId, headers, unsubscribeUrl };
  }

  /** RFC 8058 requires https, which a development service does not have. */
  #headers(unsubscribeUrl: string | null): Record<string, string> {
    if (unsubscribeUrl === null) return {};
    const oneClick = unsubscribeUrl.startsWith('https:') || !this.#parts.production;
    return {
      'List-Unsubscribe': `<${unsubscribeUrl}>`,
      ...(oneClick ? { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' } : {}),
    };
  }

  #conclude(claimed: Claimed, sender: MailSender, outcome: MailOutcome): Attempt {
    const { breaker, log } = this.#parts;
    const { lane } = claimed;
    switch (outcome.kind) {
      case 'sent':
        breaker.succeeded(lane);
        return {
          sent: true,
          againInMs: null,
          attempted: true,
          error: null,
          pushDone: [],
          mailEnd: { refusal: null, againInMs: null },
        };
      case 'permanent':
        return { ...failed('smtp_rejected'), mailEnd: this.#refusal(claimed, outcome) };
      case 'no_smtp':
        return failed('no_smtp');
      case 'auth':
        log.warn({ brand: sender.slug, code: outcome.code }, 'SMTP server rejected the credentials; brand paused');
        breaker.refused(lane);
        return this.#later(claimed, 'smtp_auth');
      case 'account':
        log.warn({ brand: sender.slug, code: outcome.code }, 'SMTP server refused the sender; brand paused');
        breaker.refused(lane);
        return this.#later(claimed, ACCOUNT_REFUSED);
      case 'transient': {
        // 421: the server closes the connection, whatever the command (RFC 5321 3.8). Other replies concern this mail.
        const answered = /^\d+$/.test(outcome.code) && outcome.code !== '421';
        if (answered) return this.#later(claimed, 'smtp_deferred');
        breaker.failed(lane);
        return this.#later(claimed, 'smtp_unreachable');
      }
      case 'unknown':
        breaker.failed(lane);
        return this.#later(claimed, 'smtp_interrupted');
    }
  }

  /** Whether it concerns the recipient or the sender shows in what the server says to others (refusals.ts). */
  #refusal({ attempts }: Claimed, { words }: Exclude<MailOutcome, { kind: 'sent' }>): Attempt['mailEnd'] {
    if (words === undefined) return undefined;
    return { refusal: words, againInMs: nextAttemptIn(attempts, this.#parts.clock.random()) };
  }

  #later({ attempts }: Claimed, error: string): Attempt {
    const againInMs = nextAttemptIn(attempts, this.#parts.clock.random());
    return { sent: false, againInMs, attempted: true, error, pushDone: [] };
  }
}
