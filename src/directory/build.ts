/** What people give the gateway, for themselves and for administrators. A new resource of this folder has its line here. */

import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/telemetry.ts';
import type { Config } from '../config/config.ts';
import type { PersonFacts } from '../engine/types.ts';
import type { Watch } from '../engine/watch.ts';
import type { Database } from '../persistence/database.ts';
import { Access } from './access.ts';
import { AccountRefusals } from './account-refusals.ts';
import type { Binding } from './accounts.ts';
import { AdminStatuses } from './admin-status.ts';
import { Administrators } from './administrators.ts';
import { AppPreferences } from './app-preferences.ts';
import { ApplicationEvents } from './application-events.ts';
import { Erasures } from './erasures.ts';
import { Moving } from './moving.ts';
import type { NameDirectory } from './names.ts';
import { Offboarding } from './offboarding.ts';
import { PeopleImport } from './people-import.ts';
import { PermissionStreams } from './permission-streams.ts';
import { PersonalData } from './personal-data.ts';
import { Personas } from './personas.ts';
import { Profiles } from './profiles.ts';
import { Search } from './search.ts';
import { Subjects } from './subjects.ts';
import { Superadmins } from './superadmins.ts';
import { Users } from './users.ts';
import type { WorkQueue } from './work-queue.ts';

interface DirectoryOptions {
  readonly config: Pick<Config, 'auth' | 'idp' | 'production'>;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly watch: Watch;
  /** A person, according to the engine. */
  readonly person: (email: string) => Promise<PersonFacts>;
}

/** What other features build for people. */
interface DirectoryParts {
  readonly turns: WorkQueue;
  /** The provider, which owns names; null where none is configured. */
  readonly names: NameDirectory | null;
  /** Whose subjects are stored where no provider is configured. */
  readonly localIssuer: string;
  /** The installation's secret: 32 bytes for each purpose. */
  readonly secret: { derive(purpose: string): Promise<Buffer> };
  /** The codes of the applications that each of these people is in. */
  readonly applicationsOf: (emails: readonly string[]) => Promise<ReadonlyMap<string, ReadonlySet<string>>>;
}

export type Directory = Readonly<ReturnType<typeof buildDirectory>>;

export function buildDirectory(options: DirectoryOptions, parts: DirectoryParts) {
  const { config, database, clock, log } = options;
  const { turns, names, secret, applicationsOf } = parts;
  const { publicUrl } = config.idp;
  const policy = { binding: bindingOf(config), allowHttp: !config.production, ownNames: names === null };
  const refusals = new AccountRefusals(database);
  return {
    superadmins: new Superadmins(database),
    peopleImport: new PeopleImport(database),
    users: new Users(database, { idpPublicUrl: publicUrl, issuer: config.auth.issuer ?? parts.localIssuer }),
    search: new Search(database),
    access: new Access(database),
    moving: new Moving(database),
    offboarding: new Offboarding(database),
    personalData: new PersonalData(database),
    erasures: new Erasures({ database, secret, clock, log }),
    adminStatuses: new AdminStatuses(database),
    administrators: new Administrators(database),
    personas: new Personas(database),
    permissionStreams: new PermissionStreams({ ...options, applicationsOf }),
    profiles: new Profiles({ database, clock, policy, turns, refusals, names, idpPublicUrl: publicUrl }),
    appPreferences: new AppPreferences({ database, clock, policy, turns, refusals }),
    applicationEvents: new ApplicationEvents({ database, turns }),
    /** Guards ask whether an address still belongs to the same account. */
    subjects: new Subjects({ database, policy, turns, refusals, log }),
  };
}

/** How accounts are bound; null where they are not. */
function bindingOf({ auth, idp }: DirectoryOptions['config']): Binding | null {
  if (!auth.bindSubject) return null;
  const { adminOrganizations, bindFirst } = auth;
  return { adminOrganizations: new Set(adminOrganizations), first: bindFirst, configured: [...idp.orgToApp.keys()] };
}
