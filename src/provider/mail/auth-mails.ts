/**
 * The identity provider's e-mails (docs/reference/identity-provider.md#e-mails): received signed, written with our
 * templates where one fits, sent through the organization's brand, once. Codes and links go into the mail and
 * nowhere else: no table, log or audit record contains them.
 */

import { createHmac } from 'node:crypto';
import { AUTH_TYPE } from '../../administration/panel.ts';
import type { Clock } from '../../base/clock.ts';
import { UsherError, unavailable } from '../../base/errors.ts';
import type { Logger } from '../../base/telemetry.ts';
import { type Sealing, SIGNING_KEY_CONTEXT } from '../../brands/sealing.ts';
import type { Senders } from '../../brands/senders.ts';
import { smtpFailed } from '../../brands/smtp.ts';
import type { Config } from '../../config/config.ts';
import type { Mailer, MailSender } from '../../delivery/mail.ts';
import type { Renderer } from '../../notifications/render.ts';
import { record } from '../../persistence/audit.ts';
import type { Database } from '../../persistence/database.ts';
import {
  type AuthMailFacts,
  claimAuthMail,
  keepRegistrationLocale,
  readAuthMailFacts,
  releaseAuthMail,
  settleAuthMail,
} from '../../persistence/provider/auth-mails.ts';
import { getSetting } from '../../persistence/settings.ts';
import { noteEvent, type ProviderEvents, reasonOf } from '../events.ts';
import type { SecretSource } from '../login-cookie.ts';
import { type Composed, compose } from './compose.ts';
import { type AuthMail, readPayload } from './payload.ts';
import { PROVIDER_SETTING } from './provider-setting.ts';
import { examineSignature, invalid, verifySignature } from './signature.ts';

interface AuthMailsOptions {
  config: Pick<Config, 'idp'>;
  /** This service's public URL; known once it listens. */
  publicUrl: () => string;
  database: Database;
  clock: Clock;
  log: Logger;
  sealing: Sealing;
  /** Keys the hashes by which bodies are remembered. */
  secret: SecretSource;
  senders: Senders;
  mailer: Mailer;
  renderer: Pick<Renderer, 'render'>;
  events: ProviderEvents;
}

/** The endpoint's answer. */
export interface AuthMailResult {
  status: 'sent' | 'duplicate';
  templateSource: 'panel' | 'idp';
}

/** The provider waits 5 seconds and tries again; the second call then waits for this same sending. */
const SEND_MS = 30_000;
/** The purpose of the derived key that hashes bodies. */
const PURPOSE = 'auth-mail';
/** Longer than a sending can take: a claim of this age was left behind by a crash. */
const LEASE_S = 90;

/** A call with a valid signature: the hash of its body, the same for every signing key. */
export interface Verified {
  readonly hash: string;
}

export class AuthMails {
  readonly #parts: AuthMailsOptions;
  /** Sendings in progress in this process. */
  readonly #running = new Map<string, Promise<AuthMailResult>>();

  constructor(parts: AuthMailsOptions) {
    this.#parts = parts;
  }

  /** The header that carries the signature, in lower case. */
  get signatureHeader(): string {
    return this.#parts.config.idp.signatureHeader.toLowerCase();
  }

  /** Throws as `verify` does for faults that no body can mend: called before a body is read, since anybody can send a large one. */
  async examine(header: string | undefined): Promise<void> {
    if (header === undefined) throw invalid('is missing');
    examineSignature(header, await this.#keys(), this.#parts.clock.now());
  }

  /** Throws SIGNATURE_INVALID or SIGNATURE_EXPIRED. `body` is the bytes received. */
  async verify(header: string | undefined, body: Buffer): Promise<Verified> {
    const { config, clock, secret } = this.#parts;
    if (header === undefined) throw invalid('is missing');
    const scheme = config.idp.signatureScheme;
    verifySignature({ header, body, keys: await this.#keys(), scheme, now: clock.now() });
    // With a plain hash, a reader of the table could try codes until one fits. Hashing with the signing key would change the hash
    // of a body when the provider changes that key, and send it twice.
    const key = await secret.derive(PURPOSE);
    return { hash: createHmac('sha256', key).update(body).digest('hex') };
  }

  /**
   * Sends the mail, or reports that it went out before. UNKNOWN_ORGANIZATION, VALIDATION_FAILED, SMTP_FAILED; UNAVAILABLE while
   * another instance sends the same mail: the provider then tries again.
   */
  deliver({ hash }: Verified, json: unknown, requestId: string): Promise<AuthMailResult> {
    const running = this.#running.get(hash);
    if (running !== undefined) return running;
    const sending = this.#once(hash, json, requestId).finally(() => this.#running.delete(hash));
    this.#running.set(hash, sending);
    return sending;
  }

  async #once(hash: string, json: unknown, requestId: string): Promise<AuthMailResult> {
    const { events } = this.#parts;
    let mail: AuthMail | null = null;
    try {
      mail = await readPayload(json, this.#origins());
      const result = await this.#deliver(hash, mail, requestId);
      if (result.status === 'duplicate') await events.note({ ...eventOf(mail), outcome: 'duplicate', reason: null });
      return result;
    } catch (error) {
      await events.note({ ...eventOf(mail), outcome: 'failed', reason: reasonOf(error) });
      throw error;
    }
  }

  async #deliver(hash: string, mail: AuthMail, requestId: string): Promise<AuthMailResult> {
    const { database, senders } = this.#parts;
    const sender = mail.orgId === null ? null : await senders.senderOfOrganization(mail.orgId);
    if (sender === null) {
      const which = mail.orgId === null ? 'has no organization' : 'is from an organization without a brand';
      throw new UsherError(
        'UNKNOWN_ORGANIZATION',
        `The e-mail ${which}: set idpOrgId of the brand that should send it.`,
      );
    }
    const { result: claim } = await database.change(async (tx) => ({
      result: await claimAuthMail(tx, hash, LEASE_S),
      scopes: [],
    }));
    if (claim.kind === 'sent') {
      return { status: 'duplicate', templateSource: claim.templateSource === 'panel' ? 'panel' : 'idp' };
    }
    if (claim.kind === 'busy') throw unavailable('Another instance is sending this e-mail; try again shortly.');
    const composed = await this.#send(hash, mail, sender).catch(async (error: unknown) => {
      await this.#release(hash, requestId);
      throw error;
    });
    // The mail is out. If this fails the claim stays, so that the next call does not send it again at once.
    await this.#settle(hash, mail, sender, composed, requestId);
    return { status: 'sent', templateSource: composed.source };
  }

  async #send(hash: string, mail: AuthMail, sender: MailSender): Promise<Composed> {
    const { mailer, renderer, log } = this.#parts;
    const facts = await this.#facts(mail);
    const composed = await compose(renderer, { mail, facts, sender, origins: this.#origins() });
    const { address } = sender.from;
    const outcome = await mailer.send(
      sender,
      {
        ...composed.content,
        to: mail.recipient,
        locale: composed.locale,
        messageId: `auth-${hash.slice(0, 32)}@${address.slice(address.lastIndexOf('@') + 1)}`,
        fromName: facts.fromName,
        urgent: true,
      },
      AbortSignal.timeout(SEND_MS),
    );
    if (outcome.kind === 'sent') return composed;
    const { kind, code } = outcome;
    log.warn({ eventType: mail.eventType, brand: sender.slug, smtp: { kind, code } }, 'auth e-mail not sent');
    throw smtpFailed(outcome);
  }

  #facts({ templateKey, recipient: email, orgId }: AuthMail): Promise<AuthMailFacts> {
    const { config, database } = this.#parts;
    const key = { appCode: config.idp.notificationAppCode, typeCode: AUTH_TYPE, templateKey, email };
    return database.read((tx) => readAuthMailFacts(tx, { ...key, orgId: orgId ?? '' }));
  }

  /** Marks it as sent and records it, in one transaction. */
  async #settle(
    hash: string,
    mail: AuthMail,
    { slug: brand }: MailSender,
    { source: templateSource, fallbackReason, locale, templateKey, registered }: Composed,
    requestId: string,
  ): Promise<void> {
    const { config, database } = this.#parts;
    const { eventType, recipient, orgId } = mail;
    await database.change(async (tx) => {
      await settleAuthMail(tx, hash, templateSource);
      await noteEvent(tx, { ...eventOf(mail), outcome: 'sent', reason: fallbackReason });
      if (registered !== null) await keepRegistrationLocale(tx, recipient, registered);
      await record(tx, {
        actor: 'idp',
        action: 'auth_email.sent',
        appCode: config.idp.notificationAppCode,
        subject: recipient,
        after: {
          eventType,
          orgId,
          brand,
          templateKey,
          locale,
          templateSource,
          ...(fallbackReason === null ? {} : { fallbackReason }),
        },
        requestId,
      });
      return { result: null, scopes: [] };
    });
  }

  async #release(hash: string, requestId: string): Promise<void> {
    const { database, log } = this.#parts;
    try {
      await database.change(async (tx) => {
        await releaseAuthMail(tx, hash);
        return { result: null, scopes: [] };
      });
    } catch (error) {
      // The caller hears of the first error; the claim expires by itself.
      log.warn({ requestId, err: error }, 'auth e-mail claim not released; it will expire');
    }
  }

  /** The origins whose links a mail may contain (docs/reference/identity-provider.md#links). */
  #origins(): ReadonlySet<string> {
    const { config, publicUrl } = this.#parts;
    const urls = [config.idp.publicUrl, publicUrl()].filter((url) => url !== null);
    return new Set(urls.map((url) => new URL(url).origin));
  }

  /** The configured key and the one that setup stored: both are in use while the provider is set up again. */
  async #keys(): Promise<string[]> {
    const { config, database, sealing, log } = this.#parts;
    const configured = config.idp.notificationSigningKey;
    const kept = await database.read((tx) => getSetting(tx, PROVIDER_SETTING));
    const sealed = (kept as { signingKey?: unknown } | null | undefined)?.signingKey;
    const stored = typeof sealed === 'string' ? sealing.openText(SIGNING_KEY_CONTEXT, sealed) : null;
    if (typeof sealed === 'string' && stored === null) {
      log.warn('stored signing key not readable; brandSmtpKey lacks the key that sealed it');
    }
    return [configured, stored].filter((key) => key !== null);
  }
}

/** What operators see of a mail; null for one that could not be read. */
function eventOf(mail: AuthMail | null) {
  const { eventType = null, orgId = null, recipient: email = null } = mail ?? {};
  return { source: 'mail', eventType, orgId, email } as const;
}
