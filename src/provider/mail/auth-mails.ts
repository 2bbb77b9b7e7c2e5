/**
 * The identity provider's e-mails (docs/reference/identity-provider.md#e-mails): received signed, written with our
 * templates where one fits, sent through the organization's brand, once. Codes and links go into the mail and
 * nowhere else: no table, log or audit record contains them.
 */

import { createHmac } from 'node:crypto';
import { administer, type By as Caller, superAdmin } from '../../administration/administer.ts';
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
import { settleRefusedMail } from '../../persistence/provider/refused-mails.ts';
import { noteEvent, type ProviderEvents, reasonOf } from '../events.ts';
import type { SecretSource } from '../login-cookie.ts';
import { examineSignature, verifySignature } from '../signature.ts';
import { storedSigningKey } from '../signing-keys.ts';
import { type Composed, compose } from './compose.ts';
import { type AuthMail, readPayload } from './payload.ts';
import { PROVIDER_SETTING } from './provider-setting.ts';
import { isFinal, type RefusedMails } from './refused-mails.ts';

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
  refused: Pick<RefusedMails, 'keep' | 'open'>;
}

/** The JSON value of a body. Throws VALIDATION_FAILED. */
type Parse = (body: Buffer) => unknown;

/** The endpoint's answer. `refused`: the body was delivered before, and still cannot be sent. */
export type AuthMailResult = SentMail | { status: 'refused'; reason: string };

interface SentMail {
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
  readonly body: Buffer;
}

/** Who has it sent: the provider, or an administrator from the list of refused ones. */
interface By {
  readonly actor: string;
  readonly requestId: string;
  readonly reason?: string | undefined;
}

export class AuthMails {
  readonly #parts: AuthMailsOptions;
  /** Sendings in progress in this process. */
  readonly #running = new Map<string, Promise<AuthMailResult>>();

  constructor(parts: AuthMailsOptions) {
    this.#parts = parts;
  }

  /** The headers that may carry the signature. */
  get signatureHeaders(): readonly string[] {
    return this.#parts.config.idp.signatureHeader;
  }

  /** Throws as `verify` does for faults that no body can mend: called before a body is read, since anybody can send a large one. */
  async examine(header: string): Promise<void> {
    examineSignature(header, await this.#keys(), this.#parts.clock.now());
  }

  /** Throws SIGNATURE_INVALID or SIGNATURE_EXPIRED. `body` is the bytes received. */
  async verify(header: string, body: Buffer): Promise<Verified> {
    const { config, clock, secret } = this.#parts;
    const scheme = config.idp.signatureScheme;
    verifySignature({ header, body, keys: await this.#keys(), scheme, now: clock.now() });
    // With a plain hash, a reader of the table could try codes until one fits. Hashing with the signing key would change the hash
    // of a body when the provider changes that key, and send it twice.
    const key = await secret.derive(PURPOSE);
    return { hash: createHmac('sha256', key).update(body).digest('hex'), body };
  }

  /**
   * Sends the mail, or reports that it went out before. UNKNOWN_ORGANIZATION, VALIDATION_FAILED, SMTP_FAILED; UNAVAILABLE while
   * another instance sends the same mail: the provider then tries again. An error that the same body would meet again is
   * thrown once: from the second delivery on it is `refused`, so that the mails behind it do not wait.
   */
  deliver(verified: Verified, parse: Parse, requestId: string): Promise<AuthMailResult> {
    return this.#alone(verified.hash, () => this.#receive(verified, parse, requestId));
  }

  /** Of several who send one mail at once, one does. */
  #alone(hash: string, send: () => Promise<AuthMailResult>): Promise<AuthMailResult> {
    const running = this.#running.get(hash);
    if (running !== undefined) return running;
    const sending = send().finally(() => this.#running.delete(hash));
    this.#running.set(hash, sending);
    return sending;
  }

  async #receive(verified: Verified, parse: Parse, requestId: string): Promise<AuthMailResult> {
    const { events, refused } = this.#parts;
    let mail: AuthMail | null = null;
    try {
      mail = await readPayload(parse(verified.body), this.#origins());
      return await this.#once(verified.hash, mail, { actor: 'idp', requestId });
    } catch (error) {
      const reason = reasonOf(error);
      const isKnown = isFinal(error) && (await refused.keep(verified, mail, error));
      await events.note({ ...eventOf(mail), outcome: isKnown ? 'refused' : 'failed', reason });
      if (isKnown) return { status: 'refused', reason };
      throw error;
    }
  }

  /** Sends a refused mail, once. NOT_FOUND, CONFLICT where it was sent; otherwise what `deliver` throws. */
  async sendRefused(id: number, parse: Parse, caller: Caller): Promise<AuthMailResult> {
    const { database, refused } = this.#parts;
    const write = { app: null, action: 'auth_email.sent', guard: superAdmin('send refused e-mails') };
    await administer(database, caller, write, async () => ({ result: null, scopes: [] }));
    const { hash, body } = await refused.open(id);
    const { requestId, reason } = caller;
    const by = { actor: `user:${caller.caller.email}`, requestId, reason };
    return await this.#alone(hash, async () => this.#once(hash, await readPayload(parse(body), this.#origins()), by));
  }

  async #once(hash: string, mail: AuthMail, by: By): Promise<SentMail> {
    const result = await this.#deliver(hash, mail, by);
    if (result.status === 'duplicate') {
      await this.#parts.events.note({ ...eventOf(mail), outcome: 'duplicate', reason: null });
    }
    return result;
  }

  async #deliver(hash: string, mail: AuthMail, by: By): Promise<SentMail> {
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
      await this.#release(hash, by.requestId);
      throw error;
    });
    // The mail is out. If this fails the claim stays, so that the next call does not send it again at once.
    await this.#settle(hash, mail, sender, composed, by);
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
    { actor, requestId, reason }: By,
  ): Promise<void> {
    const { config, database } = this.#parts;
    const { eventType, recipient, orgId } = mail;
    await database.change(async (tx) => {
      await settleAuthMail(tx, hash, templateSource);
      await settleRefusedMail(tx, hash);
      await noteEvent(tx, { ...eventOf(mail), outcome: 'sent', reason: fallbackReason });
      if (registered !== null) await keepRegistrationLocale(tx, recipient, registered);
      await record(tx, {
        actor,
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
        reason,
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
    const { config } = this.#parts;
    const configured = config.idp.notificationSigningKey;
    const ofMails = { setting: PROVIDER_SETTING, context: SIGNING_KEY_CONTEXT, name: 'signing key' };
    const stored = await storedSigningKey(this.#parts, ofMails);
    return [configured, stored].filter((key) => key !== null);
  }
}

/** What operators see of a mail; null for one that could not be read. */
function eventOf(mail: AuthMail | null) {
  const { eventType = null, orgId = null, recipient: email = null } = mail ?? {};
  return { source: 'mail', eventType, orgId, email } as const;
}
