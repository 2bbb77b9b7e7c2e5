/** Builds the features behind the gateway's routes in one place, on the parts that app.ts passes in. */

import { AuditLog } from '../administration/audit-log.ts';
import { ChangeStreams } from '../administration/change-streams.ts';
import { Overviews } from '../administration/overview.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger, Registry } from '../base/telemetry.ts';
import { within } from '../base/wait.ts';
import { Brands } from '../brands/brands.ts';
import { checkKeys, checkSealing, seedBrands } from '../brands/prepare.ts';
import { AppAdmins } from '../catalog/app-admins.ts';
import { ApplicationOverrides } from '../catalog/application-overrides.ts';
import { Applications } from '../catalog/applications.ts';
import { Assignments } from '../catalog/assignments.ts';
import { Entities } from '../catalog/entities.ts';
import { EntityCatalogItems } from '../catalog/entity-items.ts';
import { Languages } from '../catalog/languages.ts';
import { Manifests } from '../catalog/manifest/manifests.ts';
import type { TemplateChecker } from '../catalog/manifest/templates.ts';
import { Matrices } from '../catalog/matrix.ts';
import { ResourceOverrides } from '../catalog/overrides.ts';
import { Permissions } from '../catalog/permissions.ts';
import { Roles } from '../catalog/roles.ts';
import type { Config } from '../config/config.ts';
import { loadNodemailer } from '../delivery/packages.ts';
import type { DeliveryBell } from '../delivery/queue.ts';
import type { DeliveryFailpoints } from '../delivery/worker.ts';
import { Access } from '../directory/access.ts';
import { AccountNames } from '../directory/account-names.ts';
import { AccountRefusals } from '../directory/account-refusals.ts';
import type { Binding } from '../directory/accounts.ts';
import { AdminStatuses } from '../directory/admin-status.ts';
import { Administrators } from '../directory/administrators.ts';
import { AppPreferences } from '../directory/app-preferences.ts';
import { ApplicationEvents } from '../directory/application-events.ts';
import { Erasures } from '../directory/erasures.ts';
import { Moving } from '../directory/moving.ts';
import { Offboarding } from '../directory/offboarding.ts';
import { PeopleImport } from '../directory/people-import.ts';
import { PermissionStreams } from '../directory/permission-streams.ts';
import { PersonalData } from '../directory/personal-data.ts';
import { Personas } from '../directory/personas.ts';
import { Profiles } from '../directory/profiles.ts';
import { Search } from '../directory/search.ts';
import { Subjects } from '../directory/subjects.ts';
import { Superadmins } from '../directory/superadmins.ts';
import { Users } from '../directory/users.ts';
import { WorkQueue } from '../directory/work-queue.ts';
import type { PersonFacts } from '../engine/types.ts';
import type { Watch } from '../engine/watch.ts';
import { SubjectIds } from '../gateway/authzen/subjects.ts';
import type { Services } from '../gateway/services.ts';
import { LOCAL_ISSUER } from '../identity/local-issuer.ts';
import type { Tokens } from '../identity/tokens.ts';
import { type Outbound, prepareOutbound } from '../outbound/outbound.ts';
import { applicationsOfPeople } from '../persistence/administration/changes.ts';
import type { Database } from '../persistence/database.ts';
import type { Health } from '../provider/discovery.ts';
import { ProviderEvents } from '../provider/events.ts';
import { AuthMails } from '../provider/mail/auth-mails.ts';
import { RefusedMails } from '../provider/mail/refused-mails.ts';
import { seedAuthMails } from '../provider/mail/seed.ts';
import { buildProvider, nameDirectory } from '../provider/provider.ts';
import { Retention } from '../retention/retention.ts';
import { type BuiltDelivery, buildDelivery, type Deliverer } from './delivery.ts';
import { buildMail } from './mail.ts';
import { buildNotifications } from './notifications.ts';
import { warnOfOrganizations } from './organizations.ts';

/** The parts that features are built on. */
export interface FeatureOptions {
  readonly config: Config;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  /** For outbound requests. */
  readonly outbound: Outbound;
  readonly tokens: Pick<Tokens, 'authenticate'>;
  readonly registry: Registry;
  /** The URL of this service for users, without a trailing slash. Unless configured, it is known once the gateway listens. */
  readonly publicUrl: () => string;
  readonly watch: Watch;
  /** A person, according to the engine. */
  readonly person: (email: string) => Promise<PersonFacts>;
  /** Whether a person is active, according to the engine. */
  readonly isActive: (email: string) => Promise<boolean>;
  /** The engine's current revision. */
  readonly revision: () => string;
  /** The number of that revision. */
  readonly reached: () => number;
  /** Set only by tests. */
  readonly deliveryFailpoints?: DeliveryFailpoints | undefined;
  /** Whether deliveries may run in a thread of their own. */
  readonly threads: boolean;
}

/** The features among the services. */
export type Features = Omit<
  Services,
  | 'dearReads'
  | 'engine'
  | 'watch'
  | 'tokens'
  | 'keys'
  | 'keyUses'
  | 'configuration'
  | 'registry'
  | 'metrics'
  | 'clearEverywhere'
  | 'readiness'
  | 'recordRefusal'
  | 'manifests'
  | 'developmentSignIn'
  | 'panelFiles'
> & { readonly manifests: Manifests };

/** The features, with the hooks for their start and end. */
export interface BuiltFeatures {
  readonly features: Features;
  /** Rung after a commit that enqueued deliveries. */
  readonly bell: DeliveryBell;
  /** The delivery worker; null without the role `worker`. */
  readonly worker: Deliverer | null;
  /** Its loop; null where that runs in another thread. */
  readonly loop: BuiltDelivery['loop'];
  /**
   * Prepares the database for them, before the listeners open; idempotent. On a standby it only checks. Rejects with ConfigError when
   * a key is missing.
   */
  prepare(on: { standby: boolean }): Promise<void>;
  /** Ends streams, which would keep the listeners open. */
  endStreams(): Promise<void>;
  /** Lets deliveries in flight finish, for a bounded time. */
  close(): Promise<void>;
}

export function buildFeatures(options: FeatureOptions): BuiltFeatures {
  const { config, database, clock } = options;
  const connections = database.kind === 'pglite' ? 1 : config.database.poolSize;
  const turns = new WorkQueue({ permits: Math.max(1, connections - 2), clock });
  const mail = buildMail(options);
  const { secret, sealing, senders, mailbox, mailer, unsubscriptions, tokenPolicy } = mail;
  const { pushSubscriptions, bell, worker, loop } = buildDelivery({ ...options, ...mail });
  const events = new ProviderEvents(options);
  const refusedMails = new RefusedMails({ ...options, secret });
  const brands = new Brands({ database, sealing, senders, mailer, tokenPolicy });
  const sendByBrand = brands.sendBy.bind(brands);
  const { services, renderer, streams } = buildNotifications({ ...options, unsubscriptions, bell, sendByBrand });
  const changeStreams = new ChangeStreams(options);
  const permissionStreams = new PermissionStreams({
    ...options,
    applicationsOf: (emails) => database.read((tx) => applicationsOfPeople(tx, emails)),
  });
  const erasures = new Erasures({ ...options, secret });
  const retention = config.roles.includes('worker') ? new Retention({ ...options, keep: config.retention }) : null;
  const provider = buildProvider({
    ...options,
    sealing,
    secret,
    turns,
    events,
    pseudonymOf: (email) => erasures.pseudonymOf(email),
  });
  return {
    features: {
      ...buildRegistry(options, services.templates),
      ...buildDirectory(options, turns),
      ...services,
      authMails: new AuthMails({
        ...options,
        sealing,
        secret,
        senders,
        mailer,
        renderer,
        events,
        refused: refusedMails,
      }),
      refusedMails,
      brands,
      mailbox,
      provider,
      changeStreams,
      permissionStreams,
      erasures,
      overviews: new Overviews({ database, isReachable: () => isReachable(provider, clock) }),
      pushSubscriptions,
      publicUrl: options.publicUrl,
    },
    bell,
    worker,
    loop,
    prepare: async ({ standby }) => {
      await loadPackages(config);
      await warnOfOrganizations(config, database, options.log);
      if (standby) {
        await database.read((tx) => checkKeys(tx, sealing));
        return;
      }
      // None of it is policy, and one transaction makes a start faster than three.
      await database.change(async (tx) => {
        await seedAuthMails(tx, sealing);
        await seedBrands(tx);
        return await checkSealing(tx, sealing);
      });
      erasures.watch();
      provider.nightly?.start();
      retention?.start();
    },
    endStreams: async () => {
      await Promise.all([streams.close(), changeStreams.close(), permissionStreams.close()]);
    },
    close: async () => {
      erasures.stop();
      await provider.nightly?.stop();
      await retention?.stop();
      renderer.close();
      await mailer.close();
    },
  };
}

/** Milliseconds after which a provider that has not answered counts as away: an overview does not wait longer. */
const REACHED_MS = 1000;

/** Whether the identity provider answers now; null where none is configured. */
async function isReachable({ discovery }: Services['provider'], clock: Clock): Promise<boolean | null> {
  let status: Health['status'] = 'unreachable';
  const asked = discovery.health().then((health) => {
    status = health.status;
  });
  await within(clock, REACHED_MS, asked);
  return reachability(status);
}

function reachability(status: Health['status']): boolean | null {
  return status === 'not_configured' ? null : status === 'ok';
}

/** Loads the packages that callers of this process will need, so that no caller waits for them. */
async function loadPackages({ auth, entities, idp, roles }: Config): Promise<void> {
  if (!roles.includes('gateway')) return;
  if (auth.issuer !== null || idp.apiUrl !== null || entities.allowedOrigins.length > 0) await prepareOutbound();
  // The provider waits while auth mails are sent.
  if (idp.notificationSigningKey !== null) loadNodemailer();
}

/** Applications, their catalogs, and the permissions of people in them. */
function buildRegistry({ config, database, clock, outbound, publicUrl }: FeatureOptions, templates: TemplateChecker) {
  const entities = new Entities(database);
  const { allowedOrigins } = config.entities;
  return {
    applications: new Applications(database, clock),
    entities,
    entityItems: new EntityCatalogItems({ entities, outbound, allowedOrigins, production: config.production }),
    permissions: new Permissions(database),
    languages: new Languages(database),
    manifests: new Manifests({
      database,
      clock,
      templates,
      schemaUrl: () => new URL(`${publicUrl()}/api/manifest.schema.json`).href,
    }),
    roles: new Roles(database),
    matrices: new Matrices(database),
    assignments: new Assignments(database),
    overrides: new ResourceOverrides(database),
    applicationOverrides: new ApplicationOverrides(database),
    appAdmins: new AppAdmins(database),
    auditLog: new AuditLog(database),
  };
}

/** How accounts are bound; null where they are not. */
function bindingOf({ auth, idp }: Config): Binding | null {
  if (!auth.bindSubject) return null;
  const { adminOrganizations, bindFirst } = auth;
  return { adminOrganizations: new Set(adminOrganizations), first: bindFirst, configured: [...idp.orgToApp.keys()] };
}

/** People, for themselves and for administrators. */
function buildDirectory(options: FeatureOptions, turns: WorkQueue) {
  const { config, database, clock, log } = options;
  const names = nameDirectory(options);
  const policy = { binding: bindingOf(config), allowHttp: !config.production, ownNames: names === null };
  const refusals = new AccountRefusals(database);
  const issuer = config.auth.issuer ?? LOCAL_ISSUER;
  const accounts = new AccountNames({ database, issuer, bound: config.auth.bindSubject });
  return {
    superadmins: new Superadmins(database),
    peopleImport: new PeopleImport(database),
    users: new Users(database, { idpPublicUrl: config.idp.publicUrl, issuer: config.auth.issuer ?? LOCAL_ISSUER }),
    search: new Search(database),
    access: new Access(database),
    moving: new Moving(database),
    offboarding: new Offboarding(database),
    personalData: new PersonalData(database),
    adminStatuses: new AdminStatuses(database),
    administrators: new Administrators(database),
    personas: new Personas(database),
    profiles: new Profiles({ database, clock, policy, turns, refusals, names, idpPublicUrl: config.idp.publicUrl }),
    appPreferences: new AppPreferences({ database, clock, policy, turns, refusals }),
    applicationEvents: new ApplicationEvents({ database, turns }),
    subjects: new Subjects({ database, policy, turns, refusals, log }),
    subjectIds: new SubjectIds({
      types: config.authzen.subjectTypes,
      accountTypes: config.authzen.accountTypes,
      accounts,
    }),
  };
}
