/** Builds the parts that send mail, for either thread. */

import type { Clock } from '../base/clock.ts';
import { refreshTurns, turnsOf } from '../brands/refresh-turns.ts';
import { Sealing } from '../brands/sealing.ts';
import { Senders } from '../brands/senders.ts';
import { tokenPolicy } from '../brands/token-url.ts';
import type { Config } from '../config/config.ts';
import { AccessTokens } from '../delivery/access-tokens.ts';
import { createMailer, type Mailer } from '../delivery/mail.ts';
import { Mailbox } from '../delivery/mailbox.ts';
import { SecretKey } from '../identity/secret-key.ts';
import { Unsubscriptions } from '../notifications/unsubscribe.ts';
import type { Outbound, Policy } from '../outbound/outbound.ts';
import type { Database } from '../persistence/database.ts';
import { keepSecretKey, readSecretKey } from '../persistence/settings.ts';

interface MailOptions {
  readonly config: Config;
  readonly database: Database;
  readonly clock: Clock;
  /** For access tokens of SMTP accounts. */
  readonly outbound: Outbound;
  /** The base URL for links; known once the gateway listens. */
  readonly publicUrl: () => string;
}

export interface BuiltMail {
  readonly secret: SecretKey;
  readonly sealing: Sealing;
  readonly senders: Senders;
  /** Null in production. */
  readonly mailbox: Mailbox | null;
  readonly mailer: Mailer;
  /** Where access tokens of SMTP accounts may be fetched. */
  readonly tokenPolicy: Policy;
  readonly unsubscriptions: Unsubscriptions;
}

export function buildMail({ config, database, clock, outbound, publicUrl }: MailOptions): BuiltMail {
  const secret = openSecretKey({ config, database, clock });
  const sealing = new Sealing(config.brandSmtpKeys, clock);
  const policy = tokenPolicy(config);
  const turns = refreshTurns({ store: turnsOf(database), sealing, clock });
  const tokens = new AccessTokens({ outbound, policy, clock, turns });
  const mailbox = config.production ? null : new Mailbox(config.dataDir, clock);
  return {
    secret,
    sealing,
    senders: new Senders({ database, sealing, publicUrl: config.publicUrl }),
    mailbox,
    mailer: createMailer({ mailbox, clock, tokens }),
    tokenPolicy: policy,
    unsubscriptions: new Unsubscriptions({ database, secret, publicUrl }),
  };
}

/** The key that signs or seals links, cookies and cursors; stored in the database unless configured. */
export function openSecretKey({ config, database, clock }: Omit<MailOptions, 'publicUrl' | 'outbound'>): SecretKey {
  return new SecretKey(config.secretKey, clock, async (proposed) => {
    const stored = await database.read(readSecretKey);
    if (stored !== undefined) return stored;
    const kept = await database.change(async (tx) => ({ result: await keepSecretKey(tx, proposed), scopes: [] }));
    return kept.result;
  });
}
