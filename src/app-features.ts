/** The features behind the gateway's routes, built in one visible place; app.ts hands them what they stand on. */

import { AuditLog } from './administration/audit-log.ts';
import { AppAdmins } from './catalog/app-admins.ts';
import { Applications } from './catalog/applications.ts';
import { Assignments } from './catalog/assignments.ts';
import { Entities } from './catalog/entities.ts';
import { EntityCatalogItems } from './catalog/entity-items.ts';
import { Languages } from './catalog/languages.ts';
import { Manifests } from './catalog/manifest/manifests.ts';
import { ResourceOverrides } from './catalog/overrides.ts';
import { Permissions } from './catalog/permissions.ts';
import { Roles } from './catalog/roles.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import { AdminStatuses } from './directory/admin-status.ts';
import { Administrators } from './directory/administrators.ts';
import { AppPreferences } from './directory/app-preferences.ts';
import { ApplicationEvents } from './directory/application-events.ts';
import { Profiles } from './directory/profiles.ts';
import { Subjects } from './directory/subjects.ts';
import { Superadmins } from './directory/superadmins.ts';
import { Turns } from './directory/turns.ts';
import { Users } from './directory/users.ts';
import type { Services } from './gateway/services.ts';
import type { Outbound } from './outbound.ts';
import type { Database } from './persistence/database.ts';
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
export type Features = Pick<
  Services,
  | 'applications'
  | 'entities'
  | 'entityItems'
  | 'permissions'
  | 'languages'
  | 'roles'
  | 'assignments'
  | 'overrides'
  | 'appAdmins'
  | 'superadmins'
  | 'users'
  | 'adminStatuses'
  | 'auditLog'
  | 'administrators'
  | 'profiles'
  | 'appPreferences'
  | 'applicationEvents'
  | 'subjects'
> & { readonly manifests: Manifests };

export function buildFeatures({ config, database, clock, outbound }: Ground): Features {
  const policy = { bindSubject: config.auth.bindSubject, allowHttp: !config.production };
  const connections = database.kind === 'pglite' ? 1 : config.database.poolSize;
  const turns = new Turns({ connections, clock });
  const entities = new Entities(database);
  const { allowedOrigins } = config.entities;
  return {
    applications: new Applications(database),
    entities,
    entityItems: new EntityCatalogItems({ entities, outbound, allowedOrigins, production: config.production }),
    permissions: new Permissions(database),
    languages: new Languages(database),
    manifests: new Manifests({ database, clock }),
    roles: new Roles(database),
    assignments: new Assignments(database),
    overrides: new ResourceOverrides(database),
    appAdmins: new AppAdmins(database),
    superadmins: new Superadmins(database),
    users: new Users(database, config.idp.publicUrl),
    adminStatuses: new AdminStatuses(database),
    auditLog: new AuditLog(database),
    administrators: new Administrators(database),
    profiles: new Profiles({ database, clock, policy, turns, names: null, idpPublicUrl: config.idp.publicUrl }),
    appPreferences: new AppPreferences({ database, clock, policy, turns }),
    applicationEvents: new ApplicationEvents({ database, turns }),
    subjects: new Subjects({ database, policy }),
  };
}
