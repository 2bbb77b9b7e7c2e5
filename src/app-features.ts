/** The features behind the gateway's routes, built in one visible place; app.ts hands them what they stand on. */

import { Brands } from './brands/brands.ts';
import { checkSealing, seedBrands } from './brands/prepare.ts';
import { Sealing } from './brands/sealing.ts';
import { Senders } from './brands/senders.ts';
import { Manifests } from './catalog/manifest/manifests.ts';
import { Roles } from './catalog/roles.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import { createMailer } from './delivery/mail.ts';
import { Mailbox } from './delivery/mailbox.ts';
import { Administrators } from './directory/administrators.ts';
import type { Services } from './gateway/services.ts';
import { SecretKey } from './identity/secret-key.ts';
import { Renderer } from './notifications/render.ts';
import type { Outbound } from './outbound.ts';
import type { Database } from './persistence/database.ts';
import { keepSecretKey } from './persistence/settings.ts';
import { AuthMails } from './provider/mail/auth-mails.ts';
import { seedAuthMails } from './provider/mail/seed.ts';
import type { Logger } from './telemetry.ts';

/** What features are built on. */
export interface Ground {
  readonly config: Config;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  /** For requests that leave the process. */
  readonly outbound: Outbound;
}

/** What of the services is a feature: a line each. */
export type Features = Pick<Services, 'administrators' | 'authMails' | 'brands' | 'mailbox' | 'roles'> & {
  readonly manifests: Manifests;
};

/** The features, and what they need of a start and of an end. */
export interface BuiltFeatures {
  readonly features: Features;
  /** Brings the database to what they need, before the doors open; idempotent. Rejects with ConfigError when a key is missing. */
  prepare(): Promise<void>;
  /** Lets what is on its way go out, for a bounded time. */
  close(): Promise<void>;
}

export function buildFeatures({ config, database, clock, log }: Ground): BuiltFeatures {
  const sealing = new Sealing(config.brandSmtpKeys, clock);
  const senders = new Senders({ database, sealing, publicUrl: config.publicUrl });
  const mailbox = config.production ? null : new Mailbox(config.dataDir, clock);
  const mailer = createMailer({ mailbox, clock });
  const renderer = new Renderer(clock);
  return {
    features: {
      administrators: new Administrators(database),
      authMails: new AuthMails({ config, database, clock, log, sealing, senders, mailer, renderer }),
      brands: new Brands({ database, sealing, senders, mailer }),
      mailbox,
      manifests: new Manifests({ database, clock }),
      roles: new Roles(database),
    },
    prepare: async () => {
      await database.change((tx) => seedAuthMails(tx, sealing));
      await database.change(seedBrands);
      await database.change((tx) => checkSealing(tx, sealing));
    },
    close: async () => {
      await mailer.close();
      renderer.close();
    },
  };
}

/** What links and cookies are signed with; kept in the database where the configuration names none. */
export function openSecretKey({ config, database, clock }: Pick<Ground, 'config' | 'database' | 'clock'>): SecretKey {
  return new SecretKey(config.secretKey, clock, async (proposed) => {
    const kept = await database.change(async (tx) => ({ result: await keepSecretKey(tx, proposed), scopes: [] }));
    return kept.result;
  });
}
