/** The features behind the gateway's routes, built in one visible place; app.ts hands them what they stand on. */

import { Sealing } from './brands/sealing.ts';
import { Manifests } from './catalog/manifest/manifests.ts';
import { Roles } from './catalog/roles.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import { Administrators } from './directory/administrators.ts';
import { AppPreferences } from './directory/app-preferences.ts';
import { ApplicationEvents } from './directory/application-events.ts';
import { Profiles } from './directory/profiles.ts';
import { Subjects } from './directory/subjects.ts';
import { Turns } from './directory/turns.ts';
import type { Services } from './gateway/services.ts';
import type { Tokens } from './identity/tokens.ts';
import type { Outbound } from './outbound.ts';
import type { Database } from './persistence/database.ts';
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
  'roles' | 'administrators' | 'profiles' | 'appPreferences' | 'applicationEvents' | 'subjects' | 'provider'
> & { readonly manifests: Manifests };

export function buildFeatures(ground: Ground): Features {
  const { config, database, clock } = ground;
  const policy = { bindSubject: config.auth.bindSubject, allowHttp: !config.production };
  const connections = database.kind === 'pglite' ? 1 : config.database.poolSize;
  const turns = new Turns({ connections, clock });
  const sealing = new Sealing(config.brandSmtpKeys, clock);
  const names = nameDirectory(ground);
  const subjects = new Subjects({ database, policy });
  const authenticate = async (authorization: string) => {
    const caller = await ground.tokens.authenticate(authorization);
    await subjects.refuseOther(caller);
    return caller;
  };
  return {
    manifests: new Manifests({ database, clock }),
    roles: new Roles(database),
    administrators: new Administrators(database),
    profiles: new Profiles({ database, clock, policy, turns, names, idpPublicUrl: config.idp.publicUrl }),
    appPreferences: new AppPreferences({ database, clock, policy, turns }),
    applicationEvents: new ApplicationEvents({ database, turns }),
    subjects,
    provider: buildProvider({ ...ground, sealing, turns, tokens: { authenticate } }),
  };
}
