/** Builds the features behind the gateway's routes in one place, on the parts that app.ts passes in. */

import { buildAdministration } from '../administration/build.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger, Registry } from '../base/telemetry.ts';
import { within } from '../base/wait.ts';
import { Brands } from '../brands/brands.ts';
import { checkKeys, checkSealing, seedBrands } from '../brands/prepare.ts';
import { buildCatalog } from '../catalog/build.ts';
import type { Config } from '../config/config.ts';
import { loadNodemailer } from '../delivery/packages.ts';
import type { DeliveryBell } from '../delivery/queue.ts';
import type { DeliveryFailpoints } from '../delivery/worker.ts';
import { AccountNames } from '../directory/account-names.ts';
import { buildDirectory } from '../directory/build.ts';
import { WorkQueue } from '../directory/work-queue.ts';
import type { PersonFacts } from '../engine/types.ts';
import type { Watch } from '../engine/watch.ts';
import { SubjectIds } from '../gateway/authzen/subjects.ts';
import { createRateLimit } from '../gateway/middleware/rate-limit.ts';
import type { Features, Services } from '../gateway/services.ts';
import { LOCAL_ISSUER } from '../identity/local-issuer.ts';
import type { Tokens } from '../identity/tokens.ts';
import { buildNotifications } from '../notifications/build.ts';
import { TESTS_A_MINUTE } from '../notifications/template-tests.ts';
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
import { Timekeeper } from '../timekeeper/timekeeper.ts';
import { type BuiltDelivery, buildDelivery, type Deliverer } from './delivery.ts';
import { buildMail } from './mail.ts';
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
  const brands = new Brands({ database, sealing, senders, mailer, tokenPolicy, publicUrl: options.publicUrl });
  const sendByBrand = brands.sendBy.bind(brands);
  const limit = createRateLimit(TESTS_A_MINUTE);
  const { services, renderer, endings } = buildNotifications({ ...options, unsubscriptions, bell, sendByBrand, limit });
  const directory = buildDirectory(options, {
    turns,
    names: nameDirectory(options),
    localIssuer: LOCAL_ISSUER,
    secret,
    applicationsOf: (emails) => database.read((tx) => applicationsOfPeople(tx, emails)),
  });
  const { erasures } = directory;
  const retention = config.roles.includes('worker') ? new Retention({ ...options, keep: config.retention }) : null;
  const timekeeper = new Timekeeper({ ...options, tell: () => endings.tell() });
  const provider = buildProvider({
    ...options,
    sealing,
    secret,
    turns,
    events,
    pseudonymOf: (email) => erasures.pseudonymOf(email),
  });
  const features: Features = {
    ...buildCatalog(options, services.templates),
    ...directory,
    ...services,
    ...buildAdministration(options, () => isReachable(provider, clock)),
    subjectIds: subjectIdsOf(options),
    authMails: new AuthMails({ ...options, sealing, secret, senders, mailer, renderer, events, refused: refusedMails }),
    refusedMails,
    brands,
    mailbox,
    provider,
    pushSubscriptions,
    publicUrl: options.publicUrl,
  };
  return {
    features,
    bell,
    worker,
    loop,
    prepare: async ({ standby }) => {
      await loadPackages(config);
      await warnOfOrganizations(config, database, options.log);
      // On a standby, too: that nobody tidies up is told from there.
      timekeeper.start();
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
      const { inboxStreams, changeStreams, permissionStreams } = features;
      await Promise.all([inboxStreams.close(), changeStreams.close(), permissionStreams.close()]);
    },
    close: async () => {
      erasures.stop();
      await provider.nightly?.stop();
      await retention?.stop();
      await timekeeper.stop();
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

/** Whom a subject of AuthZEN names. */
function subjectIdsOf({ config, database }: FeatureOptions): SubjectIds {
  const { subjectTypes: types, accountTypes } = config.authzen;
  const { issuer, bindSubject } = config.auth;
  const accounts = new AccountNames({ database, issuer: issuer ?? LOCAL_ISSUER, bound: bindSubject });
  return new SubjectIds({ types, accountTypes, accounts });
}
