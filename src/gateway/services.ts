/** The services that handlers and guards use: one line per feature, passed in by app.ts. A new feature adds its line here. */

import type { AuditLog } from '../administration/audit-log.ts';
import type { ChangeStreams } from '../administration/change-streams.ts';
import type { KeyUses } from '../administration/key-uses.ts';
import type { Overviews } from '../administration/overview.ts';
import type { DearReads } from '../base/dear-reads.ts';
import type { Registry } from '../base/telemetry.ts';
import type { Brands } from '../brands/brands.ts';
import type { AppAdmins } from '../catalog/app-admins.ts';
import type { ApplicationOverrides } from '../catalog/application-overrides.ts';
import type { Applications } from '../catalog/applications.ts';
import type { Assignments } from '../catalog/assignments.ts';
import type { Entities } from '../catalog/entities.ts';
import type { EntityCatalogItems } from '../catalog/entity-items.ts';
import type { Languages } from '../catalog/languages.ts';
import type { Manifests } from '../catalog/manifest/manifests.ts';
import type { Matrices } from '../catalog/matrix.ts';
import type { ResourceOverrides } from '../catalog/overrides.ts';
import type { Permissions } from '../catalog/permissions.ts';
import type { Roles } from '../catalog/roles.ts';
import type { EffectiveValue } from '../config/config.ts';
import type { Mailbox } from '../delivery/mailbox.ts';
import type { PushSubscriptions } from '../delivery/subscriptions.ts';
import type { Access } from '../directory/access.ts';
import type { AdminStatuses } from '../directory/admin-status.ts';
import type { Administrators } from '../directory/administrators.ts';
import type { AppPreferences } from '../directory/app-preferences.ts';
import type { ApplicationEvents } from '../directory/application-events.ts';
import type { Erasures } from '../directory/erasures.ts';
import type { Moving } from '../directory/moving.ts';
import type { Offboarding } from '../directory/offboarding.ts';
import type { PeopleImport } from '../directory/people-import.ts';
import type { PermissionStreams } from '../directory/permission-streams.ts';
import type { PersonalData } from '../directory/personal-data.ts';
import type { Personas } from '../directory/personas.ts';
import type { Profiles } from '../directory/profiles.ts';
import type { Search } from '../directory/search.ts';
import type { Subjects } from '../directory/subjects.ts';
import type { Superadmins } from '../directory/superadmins.ts';
import type { Users } from '../directory/users.ts';
import type { Engine } from '../engine/engine.ts';
import type { Watch } from '../engine/watch.ts';
import type { ApiKeys } from '../identity/api-keys.ts';
import type { DevelopmentSignIn } from '../identity/development-sign-in.ts';
import type { Tokens } from '../identity/tokens.ts';
import type { AllSends } from '../notifications/all-sends.ts';
import type { Inbox } from '../notifications/inbox.ts';
import type { SendLog } from '../notifications/log.ts';
import type { Preferences } from '../notifications/preferences.ts';
import type { Sends } from '../notifications/send.ts';
import type { InboxStreams } from '../notifications/stream.ts';
import type { TemplateTests } from '../notifications/template-tests.ts';
import type { Templates } from '../notifications/templates.ts';
import type { NotificationTypes } from '../notifications/types.ts';
import type { Unsubscriptions } from '../notifications/unsubscribe.ts';
import type { AuthMails } from '../provider/mail/auth-mails.ts';
import type { RefusedMails } from '../provider/mail/refused-mails.ts';
import type { Provider } from '../provider/provider.ts';
import type { PermissionEngine } from '../rpc/call.ts';
import type { SubjectIds } from './authzen/subjects.ts';
import type { PanelFiles } from './panel/files.ts';

/** A refused administrative write of an identified caller, for the audit (docs/reference/administration.md#audit). */
export interface Refusal {
  /** `user:<email>` or `key:<name>`. */
  actor: string;
  /** Ends in `.refused`. */
  action: string;
  /** The application it was about, where the path names one. */
  appCode: string | null;
  /** The address of the person it was about, where the path names one. */
  subject: string | null;
  requestId: string;
}

/** Both reject with UsherError UNAVAILABLE and the reason. */
export interface ReadinessOfProcess {
  /** Whether the database answers and is migrated, and all of this process works. */
  everything(): Promise<void>;
  /** Whether permission checks are answered, be it from what is cached. */
  checks(): Promise<void>;
}

export interface Services {
  readonly dearReads: Pick<DearReads, 'admit' | 'run'>;
  readonly engine: PermissionEngine &
    Pick<
      Engine,
      'peek' | 'peekMember' | 'peekPerson' | 'person' | 'member' | 'policy' | 'peekPolicy' | 'clear' | 'status'
    >;
  readonly watch: Watch;
  readonly authMails: Pick<AuthMails, 'signatureHeaders' | 'examine' | 'verify' | 'deliver' | 'sendRefused'>;
  readonly refusedMails: Pick<RefusedMails, 'list'>;
  readonly brands: Brands;
  readonly inbox: Inbox;
  readonly inboxStreams: InboxStreams;
  /** Null in production. */
  readonly mailbox: Mailbox | null;
  readonly manifests: Pick<Manifests, 'apply' | 'export'>;
  readonly notificationPreferences: Preferences;
  readonly notificationTypes: NotificationTypes;
  readonly pushSubscriptions: PushSubscriptions;
  readonly sendLog: SendLog;
  readonly allSends: AllSends;
  readonly sends: Sends;
  readonly templates: Templates;
  readonly templateTests: TemplateTests;
  readonly applications: Applications;
  readonly entities: Entities;
  readonly entityItems: EntityCatalogItems;
  readonly permissions: Permissions;
  readonly languages: Languages;
  readonly roles: Roles;
  readonly matrices: Matrices;
  readonly assignments: Assignments;
  readonly overrides: ResourceOverrides;
  readonly applicationOverrides: ApplicationOverrides;
  readonly appAdmins: AppAdmins;
  readonly superadmins: Superadmins;
  readonly users: Users;
  readonly peopleImport: PeopleImport;
  readonly search: Search;
  readonly access: Access;
  readonly erasures: Pick<Erasures, 'erase'>;
  readonly moving: Pick<Moving, 'move'>;
  readonly offboarding: Pick<Offboarding, 'offboard'>;
  readonly personalData: Pick<PersonalData, 'export'>;
  readonly adminStatuses: AdminStatuses;
  readonly auditLog: AuditLog;
  readonly overviews: Overviews;
  readonly changeStreams: ChangeStreams;
  readonly permissionStreams: PermissionStreams;
  readonly administrators: Pick<Administrators, 'isAppAdmin'>;
  readonly personas: Pick<Personas, 'list'>;
  readonly profiles: Profiles;
  readonly appPreferences: AppPreferences;
  readonly applicationEvents: ApplicationEvents;
  /** Guards ask whether an address still belongs to the same account. */
  readonly subjects: Pick<Subjects, 'admit' | 'noteOwner' | 'binding' | 'isSettled' | 'noteSettled' | 'refuseOther'>;
  /** Whom a subject of AuthZEN names. */
  readonly subjectIds: SubjectIds;
  readonly provider: Provider;
  readonly tokens: Tokens;
  readonly keys: ApiKeys;
  readonly keyUses: Pick<KeyUses, 'list'>;
  /** The effective configuration, secrets masked. */
  configuration: readonly EffectiveValue[];
  readonly unsubscriptions: Unsubscriptions;
  /** Null where people sign in at an identity provider. */
  readonly developmentSignIn: DevelopmentSignIn | null;
  /** The built files of the panel; null while it was not built. */
  readonly panelFiles: () => Promise<PanelFiles | null>;
  /** Empties the cache of every instance through the change log; returns the revision that does so. */
  readonly clearEverywhere: () => Promise<string>;
  readonly readiness: ReadinessOfProcess;
  readonly recordRefusal: (refusal: Refusal) => Promise<void>;
  readonly registry: Registry;
  /** As Prometheus reads them: of `registry`, of the engine, and of the processes of the gRPC port. */
  readonly metrics: (inOpenMetrics: boolean) => Promise<string>;
  /** Where users reach this service, without a trailing slash. */
  readonly publicUrl: () => string;
}
