/** The services that handlers and guards use. Their type follows from what the features build: `build.ts` in the folder of each. */

import type { Administration } from '../administration/build.ts';
import type { KeyUses } from '../administration/key-uses.ts';
import type { Suggestions } from '../administration/suggestions.ts';
import type { DearReads } from '../base/dear-reads.ts';
import type { Registry } from '../base/telemetry.ts';
import type { Brands } from '../brands/brands.ts';
import type { Catalog } from '../catalog/build.ts';
import type { EffectiveValue } from '../config/config.ts';
import type { Mailbox } from '../delivery/mailbox.ts';
import type { PushSubscriptions } from '../delivery/subscriptions.ts';
import type { Directory } from '../directory/build.ts';
import type { Engine } from '../engine/engine.ts';
import type { Watch } from '../engine/watch.ts';
import type { ApiKeys } from '../identity/api-keys.ts';
import type { DevelopmentSignIn } from '../identity/development-sign-in.ts';
import type { Tokens } from '../identity/tokens.ts';
import type { Notifications } from '../notifications/build.ts';
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
  reason?: string | undefined;
}

/** Both reject with UsherError UNAVAILABLE and the reason. */
export interface ReadinessOfProcess {
  /** Whether the database answers and is migrated, and all of this process works. */
  everything(): Promise<void>;
  /** Whether permission checks are answered, be it from what is cached. */
  checks(): Promise<void>;
}

/** What the features are for the gateway. */
export interface Features extends Catalog, Directory, Notifications, Administration {
  readonly authMails: Pick<AuthMails, 'signatureHeaders' | 'examine' | 'verify' | 'deliver' | 'sendRefused'>;
  readonly refusedMails: Pick<RefusedMails, 'list'>;
  readonly brands: Brands;
  /** Null in production. */
  readonly mailbox: Mailbox | null;
  readonly provider: Provider;
  readonly pushSubscriptions: PushSubscriptions;
  /** Whom a subject of AuthZEN names. */
  readonly subjectIds: SubjectIds;
  /** Where users reach this service, without a trailing slash. */
  readonly publicUrl: () => string;
}

/** The features, and what is of the process. */
export interface Services extends Features {
  readonly dearReads: Pick<DearReads, 'admit' | 'run'>;
  readonly engine: PermissionEngine &
    Pick<
      Engine,
      'peek' | 'peekMember' | 'peekPerson' | 'person' | 'member' | 'policy' | 'peekPolicy' | 'clear' | 'status'
    >;
  readonly watch: Watch;
  readonly tokens: Tokens;
  readonly keys: ApiKeys;
  readonly keyUses: Pick<KeyUses, 'list'>;
  /** The effective configuration, secrets masked. */
  configuration: readonly EffectiveValue[];
  /** Null where people sign in at an identity provider. */
  readonly developmentSignIn: DevelopmentSignIn | null;
  /** The built files of the panel; null while it was not built. */
  readonly panelFiles: () => Promise<PanelFiles | null>;
  /** Empties the cache of every instance through the change log; returns the revision that does so. */
  readonly clearEverywhere: () => Promise<string>;
  readonly readiness: ReadinessOfProcess;
  readonly recordRefusal: (refusal: Refusal) => Promise<void>;
  readonly suggestions: Pick<Suggestions, 'forApplication'>;
  readonly registry: Registry;
  /** As Prometheus reads them: of `registry`, of the engine, and of the processes of the gRPC port. */
  readonly metrics: (inOpenMetrics: boolean) => Promise<string>;
}
