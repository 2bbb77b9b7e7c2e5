/** The features behind the gateway's routes, built in one visible place; app.ts hands them what they stand on. */

import { Manifests } from './catalog/manifest/manifests.ts';
import { Roles } from './catalog/roles.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import type { Services } from './gateway/services.ts';
import { SecretKey } from './identity/secret-key.ts';
import type { Outbound } from './outbound.ts';
import type { Database } from './persistence/database.ts';
import { keepSecretKey } from './persistence/settings.ts';
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
export type Features = Pick<Services, 'roles'> & { readonly manifests: Manifests };

export function buildFeatures({ database, clock }: Ground): Features {
  return {
    manifests: new Manifests({ database, clock }),
    roles: new Roles(database),
  };
}

/** What links and cookies are signed with; kept in the database where the configuration names none. */
export function openSecretKey({ config, database, clock }: Pick<Ground, 'config' | 'database' | 'clock'>): SecretKey {
  return new SecretKey(config.secretKey, clock, async (proposed) => {
    const kept = await database.change(async (tx) => ({ result: await keepSecretKey(tx, proposed), scopes: [] }));
    return kept.result;
  });
}
