/** What handlers and guards may use: one line a feature, handed over by app.ts. A new feature adds its line here. */

import type { Brands } from '../brands/brands.ts';
import type { Manifests } from '../catalog/manifest/manifests.ts';
import type { Roles } from '../catalog/roles.ts';
import type { Mailbox } from '../delivery/mailbox.ts';
import type { Administrators } from '../directory/administrators.ts';
import type { AppPreferences } from '../directory/app-preferences.ts';
import type { ApplicationEvents } from '../directory/application-events.ts';
import type { Profiles } from '../directory/profiles.ts';
import type { Subjects } from '../directory/subjects.ts';
import type { Engine } from '../engine/engine.ts';
import type { Revision } from '../engine/types.ts';
import type { ApiKeys } from '../identity/api-keys.ts';
import type { Tokens } from '../identity/tokens.ts';
import type { AuthMails } from '../provider/mail/auth-mails.ts';
import type { Provider } from '../provider/provider.ts';
import type { Registry } from '../telemetry.ts';

/** A refused administrative write of an identified caller, for the audit (contract 5). */
export interface Refusal {
  /** `user:<email>` or `key:<name>`. */
  actor: string;
  /** Ends in `.refused`. */
  action: string;
  /** The application it was about, where the path names one. */
  appCode: string | null;
  requestId: string;
}

export interface Services {
  readonly engine: Pick<
    Engine,
    'revision' | 'peek' | 'check' | 'bulk' | 'effective' | 'person' | 'member' | 'clear' | 'status'
  >;
  readonly authMails: Pick<AuthMails, 'signatureHeader' | 'verify' | 'deliver'>;
  readonly brands: Brands;
  /** Null in production. */
  readonly mailbox: Mailbox | null;
  readonly manifests: Pick<Manifests, 'apply' | 'export'>;
  readonly roles: Roles;
  readonly administrators: Pick<Administrators, 'isAppAdmin'>;
  readonly profiles: Profiles;
  readonly appPreferences: AppPreferences;
  readonly applicationEvents: ApplicationEvents;
  /** Guards ask it whether an address is still the same account's. */
  readonly subjects: Pick<Subjects, 'admit' | 'refuseOther'>;
  readonly provider: Provider;
  readonly tokens: Tokens;
  readonly keys: ApiKeys;
  /** Makes every instance drop what it holds, through the change log; answers the revision that says so. */
  readonly clearEverywhere: () => Promise<Revision>;
  /** Whether the database answers and is migrated; rejects with the reason. */
  readonly ping: () => Promise<void>;
  readonly recordRefusal: (refusal: Refusal) => Promise<void>;
  readonly registry: Registry;
}
