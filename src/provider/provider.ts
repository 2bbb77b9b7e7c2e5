/** Builds the features around the identity provider. */

import type { Clock } from '../base/clock.ts';
import type { Logger, Registry } from '../base/telemetry.ts';
import type { Sealing } from '../brands/sealing.ts';
import type { Config } from '../config/config.ts';
import type { NameDirectory } from '../directory/names.ts';
import type { WorkQueue } from '../directory/work-queue.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { Database } from '../persistence/database.ts';
import { ActionsApi } from './actions-api.ts';
import { AdminApi } from './admin-api.ts';
import { ProviderLocks } from './administration.ts';
import { IdpClient } from './client.ts';
import { Discovery } from './discovery.ts';
import { EventActions } from './event-actions.ts';
import type { ProviderEvents } from './events.ts';
import { Lifecycle } from './lifecycle.ts';
import { type AccessTokens, Login } from './login.ts';
import type { SecretSource } from './login-cookie.ts';
import { IdpNames } from './names.ts';
import { NativeEvents } from './native-events.ts';
import { Nightly } from './nightly.ts';
import { NotificationProvider } from './notification-provider.ts';
import { Organizations } from './organizations.ts';
import { Reconciliation } from './reconciliation.ts';
import { ReconciliationMetrics } from './reconciliation-metrics.ts';
import { RegistrationLocales } from './registration-locale.ts';
import { UserList } from './user-list.ts';
import { WebhookSecrets } from './webhook-secret.ts';

export interface Provider {
  readonly discovery: Discovery;
  readonly login: Login;
  readonly notificationProvider: NotificationProvider;
  readonly organizations: Organizations;
  readonly lifecycle: Lifecycle;
  readonly nativeEvents: NativeEvents;
  readonly eventActions: EventActions;
  readonly reconciliation: Reconciliation;
  /** Null where this process makes no comparison by itself. */
  readonly nightly: Nightly | null;
  readonly webhookSecrets: WebhookSecrets;
  readonly registrationLocales: RegistrationLocales;
  readonly events: ProviderEvents;
}

interface ProviderOptions {
  readonly config: Config;
  readonly database: Database;
  readonly clock: Clock;
  readonly outbound: Outbound;
  readonly sealing: Sealing;
  readonly tokens: AccessTokens;
  readonly secret: SecretSource;
  readonly turns: Pick<WorkQueue, 'take'>;
  readonly publicUrl: () => string;
  readonly events: ProviderEvents;
  readonly log: Logger;
  readonly registry: Registry;
  /** What stands for an erased address. */
  readonly pseudonymOf: (email: string) => Promise<string>;
}

export function buildProvider(options: ProviderOptions): Provider {
  const { config, database, outbound, clock, registry } = options;
  const client = new IdpClient({ idp: config.idp, outbound });
  const parts = { ...options, client, api: new AdminApi(client) };
  const discovery = new Discovery({ idp: config.idp, outbound });
  const lifecycle = new Lifecycle(options);
  const users = new UserList({ client, clock });
  const metrics = new ReconciliationMetrics(registry);
  const nativeEvents = new NativeEvents({ ...parts, lifecycle });
  const reconciliation = new Reconciliation({ ...parts, users, lifecycle, metrics, nativeEvents });
  const { reconcileAt: at } = config.idp;
  const isNightly = config.roles.includes('worker') && client.configured && at !== null;
  return {
    discovery,
    login: new Login({ ...options, discovery }),
    notificationProvider: new NotificationProvider(parts),
    organizations: new Organizations(parts),
    lifecycle,
    nativeEvents,
    eventActions: new EventActions({ ...parts, actions: new ActionsApi(client) }),
    reconciliation,
    nightly: isNightly ? new Nightly({ ...options, reconciliation, at }) : null,
    webhookSecrets: new WebhookSecrets(config.idp.webhookSecrets),
    registrationLocales: new RegistrationLocales(database),
    events: options.events,
  };
}

/** Null where no provider is configured: names are then stored here only (docs/reference/people.md#names). */
export function nameDirectory(
  options: Pick<ProviderOptions, 'outbound' | 'database' | 'clock'> & { config: Pick<Config, 'auth' | 'idp'> },
): NameDirectory | null {
  const { idp, auth } = options.config;
  if (idp.apiUrl === null) return null;
  const api = new AdminApi(new IdpClient({ idp, outbound: options.outbound }));
  return new IdpNames(api, new ProviderLocks(options), auth.issuer);
}
