/** What applications and their catalogs give the gateway. A new resource of this folder has its line here. */

import type { Clock } from '../base/clock.ts';
import type { Config } from '../config/config.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { Database } from '../persistence/database.ts';
import { AppAdmins } from './app-admins.ts';
import { ApplicationOverrides } from './application-overrides.ts';
import { Applications } from './applications.ts';
import { Assignments } from './assignments.ts';
import { Entities } from './entities.ts';
import { EntityCatalogItems } from './entity-items.ts';
import { Languages } from './languages.ts';
import { Manifests } from './manifest/manifests.ts';
import type { TemplateChecker } from './manifest/templates.ts';
import { Matrices } from './matrix.ts';
import { ResourceOverrides } from './overrides.ts';
import { Permissions } from './permissions.ts';
import { Roles } from './roles.ts';

interface CatalogOptions {
  readonly config: Pick<Config, 'entities' | 'production'>;
  readonly database: Database;
  readonly clock: Clock;
  /** For outbound requests. */
  readonly outbound: Outbound;
  /** The URL of this service for users, without a trailing slash. */
  readonly publicUrl: () => string;
}

export type Catalog = Readonly<ReturnType<typeof buildCatalog>>;

/** `templates` looks at those of a manifest. */
export function buildCatalog(options: CatalogOptions, templates: TemplateChecker) {
  const { config, database, clock, outbound, publicUrl } = options;
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
  };
}
