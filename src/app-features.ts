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
import { AppPreferences } from './directory/app-preferences.ts';
import { ApplicationEvents } from './directory/application-events.ts';
import { Profiles } from './directory/profiles.ts';
import { Subjects } from './directory/subjects.ts';
import { Turns } from './directory/turns.ts';
import type { Services } from './gateway/services.ts';
import { SecretKey } from './identity/secret-key.ts';
import type { Tokens } from './identity/tokens.ts';
import { Renderer } from './notifications/render.ts';
import type { Outbound } from './outbound.ts';
import type { Database } from './persistence/database.ts';
import { keepSecretKey } from './persistence/settings.ts';
import { AuthMails } from './provider/mail/auth-mails.ts';
import { seedAuthMails } from './provider/mail/seed.ts';
import { buildProvider, nameDirectory } from './provider/provider.ts';
import type { Logger } from './telemetry.ts';

/** What features are built on. */
export interface Ground {
  readonly config: Config;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  /** For requests that leave the process. */
  readonly outbound: Outbound;
  readonly tokens: Pick<Tokens, 'authenticate'>;
  /** Where users reach this service, without a trailing slash. Known once it listens. */
  readonly publicUrl: () => string;
}

/** What of the services is a feature: a line each. */
export type Features = Pick<
  Services,
  | 'administrators'
  | 'applicationEvents'
  | 'appPreferences'
  | 'authMails'
  | 'brands'
  | 'mailbox'
  | 'profiles'
  | 'provider'
  | 'roles'
  | 'subjects'
> & { readonly manifests: Manifests };

/** The features, and what they need of a start and of an end. */
export interface BuiltFeatures {
  readonly features: Features;
  /** Brings the database to what they need, before the doors open; idempotent. Rejects with ConfigError when a key is missing. */
  prepare(): Promise<void>;
  /** Lets what is on its way go out, for a bounded time. */
  close(): Promise<void>;
}

export function buildFeatures(ground: Ground): BuiltFeatures {
  const { config, database, clock, log } = ground;
  const policy = { bindSubject: config.auth.bindSubject, allowHttp: !config.production };
  const connections = database.kind === 'pglite' ? 1 : config.database.poolSize;
  const turns = new Turns({ connections, clock });
  const sealing = new Sealing(config.brandSmtpKeys, clock);
  const senders = new Senders({ database, sealing, publicUrl: config.publicUrl });
  const mailbox = config.production ? null : new Mailbox(config.dataDir, clock);
  const mailer = createMailer({ mailbox, clock });
  const renderer = new Renderer(clock);
  const names = nameDirectory(ground);
  const subjects = new Subjects({ database, policy });
  const authenticate = async (authorization: string) => {
    const caller = await ground.tokens.authenticate(authorization);
    await subjects.refuseOther(caller);
    return caller;
  };
  const secretKey = openSecretKey(ground);
  return {
    features: {
      administrators: new Administrators(database),
      applicationEvents: new ApplicationEvents({ database, turns }),
      appPreferences: new AppPreferences({ database, clock, policy, turns }),
      authMails: new AuthMails({ config, database, clock, log, sealing, senders, mailer, renderer }),
      brands: new Brands({ database, sealing, senders, mailer }),
      mailbox,
      manifests: new Manifests({ database, clock }),
      profiles: new Profiles({ database, clock, policy, turns, names, idpPublicUrl: config.idp.publicUrl }),
      provider: buildProvider({ ...ground, sealing, secretKey, turns, tokens: { authenticate } }),
      roles: new Roles(database),
      subjects,
    },
    prepare: async () => {
      await database.change(seedAuthMails);
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
