/**
 * The identity provider's e-mails (docs/reference/identity-provider.md#e-mails): received signed, written by our
 * templates where there is one that fits, sent by the brand of the organization, once. Codes and links go into the mail and
 * nowhere else: no table, no log, no audit record holds them.
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
import type { SecretSource } from '../login-cookie.ts';
import { type Composed, compose } from './compose.ts';
import { type AuthMail, readPayload } from './payload.ts';
import { PROVIDER_SETTING } from './provider-setting.ts';
import { examineSignature, invalid, verifySignature } from './signature.ts';

export interface AuthMailsParts {
  config: Pick<Config, 'idp'>;
  /** Where this service is reached; known once it listens. */
  publicUrl: () => string;
  database: Database;
  clock: Clock;
  log: Logger;
  sealing: Sealing;
  /** Names bodies, for as long as they are remembered. */
  secret: SecretSource;
  senders: Senders;
  mailer: Mailer;
  renderer: Pick<Renderer, 'render'>;
}

/** What the endpoint answers. */
export interface AuthMailResult {
  status: 'sent' | 'duplicate';
  templateSource: 'panel' | 'idp';
}

/** The provider waits 5 seconds and tries again; that call then waits for this very sending. */
const SEND_MS = 30_000;
/** What the names of bodies are made with. */
const PURPOSE = 'auth-mail';
/** Longer than a sending can take: a claim of this age was left behind by a crash. */
const LEASE_S = 90;

/** A call whose signature fits: its body's name, the same whichever key signed it. */
export interface Verified {
  readonly hash: string;
}

export class AuthMails {
  readonly #parts: AuthMailsParts;
  /** What is being sent here right now. */
  readonly #running = new Map<string, Promise<AuthMailResult>>();

  constructor(parts: AuthMailsParts) {
    this.#parts = parts;
  }

  /** The header that carries the signature, in lower case. */
  get signatureHeader(): string {
    return this.#parts.config.idp.signatureHeader.toLowerCase();
  }

  /** Throws as `verify` does for what no body can make good: asked before one is read, since anybody can send a large one. */
  async examine(header: string | undefined): Promise<void> {
    if (header === undefined) throw invalid('is missing');
    examineSignature(header, await this.#keys(), this.#parts.clock.now());
  }

  /** Throws SIGNATURE_INVALID or SIGNATURE_EXPIRED. `body` is what was received, byte by byte. */
  async verify(header: string | undefined, body: Buffer): Promise<Verified> {
    const { config, clock, secret } = this.#parts;
    if (header === undefined) throw invalid('is missing');
    const scheme = config.idp.signatureScheme;
    verifySignature({ header, body, keys: await this.#keys(), scheme, now: clock.now() });
    // A plain hash would let whoever reads the table try codes until one fits. The signing key would name the same body anew
    // when the provider gets another one, and send it twice.
    const key = await secret.derive(PURPOSE);
    return { hash: createHmac('sha256', key).update(body).digest('hex') };
  }

  /**
   * Sends the mail, or says that it went out before. UNKNOWN_ORGANIZATION, VALIDATION_FAILED, SMTP_FAILED; UNAVAILABLE while
   * another instance sends the very same: the provider asks again.
   */
  deliver({ hash }: Verified, json: unknown, requestId: string): Promise<AuthMailResult> {
    const running = this.#running.get(hash);
    if (running !== undefined) return running;
    const sending = this.#once(hash, json, requestId).finally(() => this.#running.delete(hash));
    this.#running.set(hash, sending);
    return sending;
  }

  async #once(hash: string, json: unknown, requestId: string): Promise<AuthMailResult> {
    const { database, senders } = this.#parts;
    const mail = readPayload(json, this.#origins());
    const sender = mail.orgId === null ? null : await senders.senderOfOrganization(mail.orgId);
    if (sender === null) {
      const which = mail.orgId === null ? 'names no organization' : 'names an organization that no brand carries';
      throw new UsherError(
        'UNKNOWN_ORGANIZATION',
        `The e-mail ${which}: set idpOrgId of the brand that is to send it.`,
      );
    }
    const { result: claim } = await database.change(async (tx) => ({
      result: await claimAuthMail(tx, hash, LEASE_S),
      scopes: [],
    }));
    if (claim.kind === 'sent') {
      return { status: 'duplicate', templateSource: claim.templateSource === 'panel' ? 'panel' : 'idp' };
    }
    if (claim.kind === 'busy') throw unavailable('This very e-mail is being sent by another instance just now.');
    const composed = await this.#send(hash, mail, sender).catch(async (error: unknown) => {
      await this.#release(hash, requestId);
      throw error;
    });
    // From here on it is out: where this fails the claim stays, rather than that the next call sends it again at once.
    await this.#settle(hash, mail, sender, composed, requestId);
    return { status: 'sent', templateSource: composed.source };
  }

  async #send(hash: string, mail: AuthMail, sender: MailSender): Promise<Composed> {
    const { mailer, renderer, log } = this.#parts;
    const facts = await this.#facts(mail);
    const composed = await compose(renderer, { mail, facts, sender });
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
    log.warn({ eventType: mail.eventType, brand: sender.slug, smtp: { kind, code } }, 'an auth e-mail was not sent');
    throw smtpFailed(outcome);
  }

  #facts({ templateKey, recipient: email, orgId }: AuthMail): Promise<AuthMailFacts> {
    const { config, database } = this.#parts;
    const key = { appCode: config.idp.notificationAppCode, typeCode: AUTH_TYPE, templateKey, email };
    return database.read((tx) => readAuthMailFacts(tx, { ...key, orgId: orgId ?? '' }));
  }

  /** That it went out, and the record of it, in one transaction. */
  async #settle(
    hash: string,
    { eventType, recipient, orgId }: AuthMail,
    { slug: brand }: MailSender,
    { source: templateSource, fallbackReason, locale, templateKey, registered }: Composed,
    requestId: string,
  ): Promise<void> {
    const { config, database } = this.#parts;
    await database.change(async (tx) => {
      await settleAuthMail(tx, hash, templateSource);
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
      // What went wrong first is what the caller hears; the claim ends by itself.
      log.warn({ requestId, err: error }, 'the claim of an auth e-mail could not be given back');
    }
  }

  /** Whose links may stand in a mail (docs/reference/identity-provider.md#links). */
  #origins(): ReadonlySet<string> {
    const { config, publicUrl } = this.#parts;
    const urls = [config.idp.publicUrl, publicUrl()].filter((url) => url !== null);
    return new Set(urls.map((url) => new URL(url).origin));
  }

  /** The configured key and the one that setup stored: while the provider is set up anew both are in use. */
  async #keys(): Promise<string[]> {
    const { config, database, sealing, log } = this.#parts;
    const configured = config.idp.notificationSigningKey;
    const kept = await database.read((tx) => getSetting(tx, PROVIDER_SETTING));
    const sealed = (kept as { signingKey?: unknown } | null | undefined)?.signingKey;
    const stored = typeof sealed === 'string' ? sealing.openText(SIGNING_KEY_CONTEXT, sealed) : null;
    if (typeof sealed === 'string' && stored === null) {
      log.warn('the stored signing key of the provider cannot be opened with the keys in brandSmtpKey');
    }
    return [configured, stored].filter((key) => key !== null);
  }
}
