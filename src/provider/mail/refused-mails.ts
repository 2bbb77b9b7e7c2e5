/**
 * E-mails of the provider that no repetition can mend (docs/reference/identity-provider.md#refused-e-mails). The provider sends one after
 * the other and repeats: a second delivery of such a body must be taken, or everybody's mails wait behind it. Its codes and links
 * are kept sealed, until somebody has made it sendable.
 */

import { CompactEncrypt, compactDecrypt } from 'jose';
import { Counter } from 'prom-client';
import { UsherError } from '../../base/errors.ts';
import type { Logger, Registry } from '../../base/telemetry.ts';
import type { Database } from '../../persistence/database.ts';
import {
  findRefusedMail,
  keepRefusedMail,
  listRefusedMails,
  type RefusedMailRow,
} from '../../persistence/provider/refused-mails.ts';
import { reasonOf, storableText } from '../events.ts';
import type { SecretSource } from '../login-cookie.ts';
import type { AuthMail } from './payload.ts';

export type { RefusedMailRow } from '../../persistence/provider/refused-mails.ts';

interface RefusedMailsOptions {
  readonly database: Database;
  readonly secret: SecretSource;
  readonly log: Pick<Logger, 'warn'>;
  readonly registry: Registry;
}

/** A call whose signature was verified. */
interface Received {
  readonly hash: string;
  readonly body: Buffer;
}

/** The purpose of the derived key that seals bodies. */
const PURPOSE = 'refused-mail';
const LISTED = 200;
const MAX_MESSAGE = 500;

/** Whether the same body would meet this error again until somebody changes something here. */
export function isFinal(error: unknown): error is UsherError {
  if (!(error instanceof UsherError)) return false;
  if (error.reason === 'UNKNOWN_ORGANIZATION' || error.reason === 'VALIDATION_FAILED') return true;
  const smtp = error.details?.smtp as { kind?: unknown } | undefined;
  return error.reason === 'SMTP_FAILED' && smtp?.kind === 'no_smtp';
}

export class RefusedMails {
  readonly #options: RefusedMailsOptions;
  readonly #refused: Counter<'reason'>;

  constructor(options: RefusedMailsOptions) {
    this.#options = options;
    this.#refused = new Counter({
      name: 'usher_idp_mails_refused_total',
      help: "The identity provider's e-mails that this process refused for good, by reason; repeated deliveries do not count.",
      labelNames: ['reason'],
      registers: [options.registry],
    });
    for (const reason of ['UNKNOWN_ORGANIZATION', 'VALIDATION_FAILED', 'SMTP_FAILED']) this.#refused.inc({ reason }, 0);
  }

  /** Keeps the mail with its reason; whether the same body has been refused before. False where it could not be kept. */
  async keep({ hash, body }: Received, mail: AuthMail | null, error: UsherError): Promise<boolean> {
    const { database, log } = this.#options;
    const reason = reasonOf(error);
    const { eventType = null, orgId = null, recipient: email = null } = mail ?? {};
    const message = error.message.slice(0, MAX_MESSAGE).toWellFormed();
    const named = { eventType: storableText(eventType), orgId: storableText(orgId), email };
    try {
      const sealed = await this.#seal(hash, body);
      const { result: deliveries } = await database.change(async (tx) => ({
        result: await keepRefusedMail(tx, { hash, body: sealed, reason, message, ...named }),
        scopes: [],
      }));
      if (deliveries > 1) return true;
      this.#refused.inc({ reason });
      log.warn({ reason, orgId: named.orgId, eventType: named.eventType }, 'e-mail of the identity provider refused');
      return false;
    } catch (trouble) {
      // The caller gets the first error, and repeats.
      log.warn({ err: trouble }, 'refused e-mail of the identity provider not kept');
      return false;
    }
  }

  /** The newest 200 first, without what they say. */
  list(): Promise<RefusedMailRow[]> {
    return this.#options.database.read((tx) => listRefusedMails(tx, LISTED));
  }

  /** A kept mail as it was received. NOT_FOUND; CONFLICT where it has gone out already, or cannot be opened. */
  async open(id: number): Promise<Received> {
    const found = await this.#options.database.read((tx) => findRefusedMail(tx, id));
    if (found === undefined) throw new UsherError('NOT_FOUND', 'There is no refused e-mail with this id.');
    const { hash, body } = found;
    if (body === null) throw new UsherError('CONFLICT', 'This e-mail has been sent already.');
    return { hash, body: await this.#open(hash, body) };
  }

  async #seal(hash: string, body: Buffer): Promise<string> {
    return await new CompactEncrypt(body)
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid: hash })
      .encrypt(await this.#key());
  }

  async #open(hash: string, sealed: string): Promise<Buffer> {
    const algorithms = { keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM'] };
    const opened = await compactDecrypt(sealed, await this.#key(), algorithms).catch(() => null);
    // The header is authenticated: a sealed body of another row does not pass for this one's.
    if (opened !== null && opened.protectedHeader.kid === hash) return Buffer.from(opened.plaintext);
    throw new UsherError(
      'CONFLICT',
      'This e-mail was sealed with another secret key (secretKey, USHER_SECRET_KEY) and cannot be opened.',
    );
  }

  #key(): Promise<Uint8Array> {
    return this.#options.secret.derive(PURPOSE);
  }
}
