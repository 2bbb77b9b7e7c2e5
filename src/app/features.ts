/** The features behind the gateway's routes, built in one visible place; app.ts hands them what they stand on. */

import { AuditLog } from '../administration/audit-log.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger, Registry } from '../base/telemetry.ts';
import { Brands } from '../brands/brands.ts';
import { checkSealing, seedBrands } from '../brands/prepare.ts';
import { AppAdmins } from '../catalog/app-admins.ts';
import { Applications } from '../catalog/applications.ts';
import { Assignments } from '../catalog/assignments.ts';
import { Entities } from '../catalog/entities.ts';
import { EntityCatalogItems } from '../catalog/entity-items.ts';
import { Languages } from '../catalog/languages.ts';
import { Manifests } from '../catalog/manifest/manifests.ts';
import type { TemplateChecker } from '../catalog/manifest/templates.ts';
import { ResourceOverrides } from '../catalog/overrides.ts';
import { Permissions } from '../catalog/permissions.ts';
import { Roles } from '../catalog/roles.ts';
import type { Config } from '../config/config.ts';
import type { DeliveryBell } from '../delivery/queue.ts';
import type { DeliveryFailpoints } from '../delivery/worker.ts';
import { AccountRefusals } from '../directory/account-refusals.ts';
import { AdminStatuses } from '../directory/admin-status.ts';
import { Administrators } from '../directory/administrators.ts';
import { AppPreferences } from '../directory/app-preferences.ts';
import { ApplicationEvents } from '../directory/application-events.ts';
import { Profiles } from '../directory/profiles.ts';
import { Subjects } from '../directory/subjects.ts';
import { Superadmins } from '../directory/superadmins.ts';
import { Turns } from '../directory/turns.ts';
import { Users } from '../directory/users.ts';
import type { Services } from '../gateway/services.ts';
import type { Tokens } from '../identity/tokens.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { Database } from '../persistence/database.ts';
import { AuthMails } from '../provider/mail/auth-mails.ts';
import { seedAuthMails } from '../provider/mail/seed.ts';
import { buildProvider, nameDirectory } from '../provider/provider.ts';
import { buildDelivery, type Deliverer } from './delivery.ts';
import { buildMail } from './mail.ts';
import { buildNotifications } from './notifications.ts';

/** What features are built on. */
export interface Ground {
  readonly config: Config;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  /** For requests that leave the process. */
  readonly outbound: Outbound;
  readonly tokens: Pick<Tokens, 'authenticate'>;
  readonly registry: Registry;
  /** Where users reach this service, without a trailing slash. Without a configured one it is known once it listens. */
  readonly publicUrl: () => string;
  /** Whether a person is active, as the engine knows it. */
  readonly isActive: (email: string) => Promise<boolean>;
  /** Of what the engine knows. */
  readonly revision: () => string;
  /** Handed in by tests alone. */
  readonly deliveryFailpoints?: DeliveryFailpoints | undefined;
  /** Whether deliveries may leave from a thread of their own. */
  readonly threads: boolean;
}

/** What of the services is a feature: all but what they stand on. */
export type Features = Omit<
  Services,
  'engine' | 'tokens' | 'keys' | 'registry' | 'clearEverywhere' | 'ping' | 'recordRefusal' | 'manifests'
> & { readonly manifests: Manifests };

/** The features, and what they need of a start and of an end. */
export interface BuiltFeatures {
  readonly features: Features;
  /** To be rung after a commit that enqueued deliveries. */
  readonly bell: DeliveryBell;
  /** What sends; null where this process is no worker. */
  readonly worker: Deliverer | null;
  /** Brings the database to what they need, before the doors open; idempotent. Rejects with ConfigError when a key is missing. */
  prepare(): Promise<void>;
  /** Ends what would keep the doors open: streams. */
  endStreams(): Promise<void>;
  /** Lets what is on its way go out, for a bounded time. */
  close(): Promise<void>;
}

export function buildFeatures(ground: Ground): BuiltFeatures {
  const { config, database, clock } = ground;
  const connections = database.kind === 'pglite' ? 1 : config.database.poolSize;
  const turns = new Turns({ permits: Math.max(1, connections - 2), clock });
  const mail = buildMail(ground);
  const { secret, sealing, senders, mailbox, mailer, unsubscriptions } = mail;
  const { pushSubscriptions, bell, worker } = buildDelivery({ ...ground, ...mail });
  const { services, renderer, streams } = buildNotifications({ ...ground, unsubscriptions, bell });
  return {
    features: {
      ...buildRegistry(ground, services.templates),
      ...buildDirectory(ground, turns),
      ...services,
      authMails: new AuthMails({ ...ground, sealing, secret, senders, mailer, renderer }),
      brands: new Brands({ database, sealing, senders, mailer }),
      mailbox,
      provider: buildProvider({ ...ground, sealing, secret, turns }),
      pushSubscriptions,
    },
    bell,
    worker,
    prepare: async () => {
      // None of it is policy, and one transaction costs a start less than three.
      await database.change(async (tx) => {
        await seedAuthMails(tx, sealing);
        await seedBrands(tx);
        return await checkSealing(tx, sealing);
      });
    },
    endStreams: () => streams.close(),
    close: async () => {
      renderer.close();
      await mailer.close();
    },
  };
}

/** Applications, what they define, and who may do what in them. */
function buildRegistry({ config, database, clock, outbound }: Ground, templates: TemplateChecker) {
  const entities = new Entities(database);
  const { allowedOrigins } = config.entities;
  return {
    applications: new Applications(database),
    entities,
    entityItems: new EntityCatalogItems({ entities, outbound, allowedOrigins, production: config.production }),
    permissions: new Permissions(database),
    languages: new Languages(database),
    manifests: new Manifests({ database, clock, templates }),
    roles: new Roles(database),
    assignments: new Assignments(database),
    overrides: new ResourceOverrides(database),
    appAdmins: new AppAdmins(database),
    auditLog: new AuditLog(database),
  };
}

/** People: their own side, and that of administrators. */
function buildDirectory(ground: Ground, turns: Turns) {
  const { config, database, clock, log } = ground;
  const names = nameDirectory(ground);
  const policy = { bindSubject: config.auth.bindSubject, allowHttp: !config.production, ownNames: names === null };
  const refusals = new AccountRefusals(database);
  return {
    superadmins: new Superadmins(database),
    users: new Users(database, config.idp.publicUrl),
    adminStatuses: new AdminStatuses(database),
    administrators: new Administrators(database),
    profiles: new Profiles({ database, clock, policy, turns, refusals, names, idpPublicUrl: config.idp.publicUrl }),
    appPreferences: new AppPreferences({ database, clock, policy, turns, refusals }),
    applicationEvents: new ApplicationEvents({ database, turns }),
    subjects: new Subjects({ database, policy, turns, refusals, log }),
  };
}
