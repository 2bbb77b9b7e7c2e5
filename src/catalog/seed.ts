/**
 * Seeds every installation at its first start (docs/reference/administration.md#the-systems-own-records): the panel's own application `auth` with its entity,
 * permissions, roles and the type of the identity provider's e-mails; the language registry; and for every application the type
 * `generic`. Idempotent; administrators' changes are never overwritten, except for the fixed flags of `auth_idp`.
 */

import {
  AUTH_TYPE,
  PANEL_ADMIN,
  PANEL_APP,
  PANEL_ENTITY,
  PANEL_ENTRY,
  PANEL_MANAGE,
  PANEL_MANAGER,
} from '../administration/panel.ts';
import { recordOf, TYPE_SWITCHES } from '../base/channels.ts';
import { Level } from '../engine/types.ts';
import type { LanguageRow } from '../persistence/catalog/languages.ts';
import { ensureGenericTypes, ensureSystemType, type SystemType } from '../persistence/catalog/notification-types.ts';
import {
  ensureApplication,
  ensureEntity,
  ensurePermission,
  ensureRole,
  hasOtherApplications,
  insertLanguages,
  insertMoreLanguages,
} from '../persistence/catalog/seed.ts';
import type { Outcome, Tx } from '../persistence/database.ts';
import { claimSetting } from '../persistence/settings.ts';

/** The admin panel is itself an application (docs/reference/administration.md#panel-levels). */
const PANEL = {
  code: PANEL_APP,
  name: 'Administration',
  description: 'The admin panel: who may enter it, and which applications they manage.',
};

const PERMISSIONS = [
  { code: PANEL_ENTRY, description: 'Enter the admin panel.', tiered: false, global: true, groupName: 'Panel' },
  {
    code: PANEL_MANAGE,
    description: 'See an application and all that belongs to it, or change it.',
    tiered: true,
    global: false,
    groupName: 'Panel',
  },
];

const ROLES: readonly { code: string; description: string; permissions: ReadonlyMap<string, Level> }[] = [
  {
    code: PANEL_MANAGER,
    description: 'Enters the panel; overrides say which applications are seen there, and how.',
    permissions: new Map([[PANEL_ENTRY, Level.ALLOWED]]),
  },
  {
    code: PANEL_ADMIN,
    description: 'Enters the panel and manages every application.',
    permissions: new Map<string, Level>([
      [PANEL_ENTRY, Level.ALLOWED],
      [PANEL_MANAGE, Level.EDIT],
    ]),
  },
];

/** The identity provider's e-mails (docs/reference/administration.md#the-systems-own-records). */
const AUTH_MAIL: SystemType = {
  code: AUTH_TYPE,
  name: 'Sign-in e-mails',
  description: 'E-mails of the identity provider: activation, verification, passwords, codes.',
  ...recordOf(TYPE_SWITCHES, (field) => field === 'emailEnabled' || field === 'defaultEmail'),
  emailFromName: 'Auth',
};

/** Set once the languages were seeded: one that was deleted later stays deleted. */
const LANGUAGES_SEEDED = 'languages.seeded';
/** The same for those of a later version, which databases of an earlier one lack. */
const MORE_LANGUAGES_SEEDED = 'languages.seeded-more';

const LANGUAGES: readonly LanguageRow[] = [
  { code: 'en', name: 'English', nativeName: 'English', fallback: null },
  ...[
    ['cs', 'Czech', 'Čeština'],
    ['sk', 'Slovak', 'Slovenčina'],
    ['de', 'German', 'Deutsch'],
    ['fr', 'French', 'Français'],
    ['es', 'Spanish', 'Español'],
    ['it', 'Italian', 'Italiano'],
    ['pt', 'Portuguese', 'Português'],
    ['nl', 'Dutch', 'Nederlands'],
    ['pl', 'Polish', 'Polski'],
    ['hu', 'Hungarian', 'Magyar'],
    ['ro', 'Romanian', 'Română'],
    ['bg', 'Bulgarian', 'Български'],
    ['el', 'Greek', 'Ελληνικά'],
    ['hr', 'Croatian', 'Hrvatski'],
    ['sl', 'Slovenian', 'Slovenščina'],
    ['sv', 'Swedish', 'Svenska'],
    ['da', 'Danish', 'Dansk'],
    ['nb', 'Norwegian Bokmål', 'Norsk bokmål'],
    ['fi', 'Finnish', 'Suomi'],
    ['et', 'Estonian', 'Eesti'],
    ['lv', 'Latvian', 'Latviešu'],
    ['lt', 'Lithuanian', 'Lietuvių'],
    ['ga', 'Irish', 'Gaeilge'],
    ['mt', 'Maltese', 'Malti'],
    ['uk', 'Ukrainian', 'Українська'],
  ].map(([code = '', name = '', nativeName = '']) => ({ code, name, nativeName, fallback: 'en' })),
];

const MORE_LANGUAGES: readonly LanguageRow[] = [
  ['pt-br', 'Brazilian Portuguese', 'Português (Brasil)', 'pt'],
  ['no', 'Norwegian', 'Norsk', 'nb'],
  ['zh-hans', 'Chinese (Simplified)', '简体中文'],
  ['zh-hant', 'Chinese (Traditional)', '繁體中文'],
  ['ja', 'Japanese', '日本語'],
  ['ko', 'Korean', '한국어'],
  ['ar', 'Arabic', 'العربية'],
  ['he', 'Hebrew', 'עברית'],
  ['hi', 'Hindi', 'हिन्दी'],
  ['fil', 'Filipino', 'Filipino'],
  ['vi', 'Vietnamese', 'Tiếng Việt'],
  ['th', 'Thai', 'ไทย'],
  ['id', 'Indonesian', 'Bahasa Indonesia'],
].map(([code = '', name = '', nativeName = '', fallback = 'en']) => ({ code, name, nativeName, fallback }));

/** Creates the missing records. `result` is true when any of them decides a permission. */
export async function seed(tx: Tx): Promise<Outcome<boolean>> {
  if (await claimSetting(tx, LANGUAGES_SEEDED, true)) await insertLanguages(tx, LANGUAGES);
  if (await claimSetting(tx, MORE_LANGUAGES_SEEDED, true)) await insertMoreLanguages(tx, MORE_LANGUAGES);
  const { id: applicationId, made } = await ensureApplication(tx, PANEL);
  const entityMade = await ensureEntity(tx, {
    applicationId,
    code: PANEL_ENTITY,
    name: 'Application',
    description: 'An application that the panel manages.',
    idLabel: 'Application code',
  });
  let changed = made || entityMade;
  for (const permission of PERMISSIONS) {
    if (await ensurePermission(tx, { applicationId, ...permission })) changed = true;
  }
  for (const { permissions, ...role } of ROLES) {
    if (await ensureRole(tx, { applicationId, ...role }, permissions)) changed = true;
  }
  await ensureSystemType(tx, applicationId, AUTH_MAIL);
  await ensureGenericTypes(tx);
  return { result: changed, scopes: changed ? [`p:${PANEL.code}`] : [] };
}

/** Whether no application but the panel's exists yet. */
export async function isRegistryEmpty(tx: Tx): Promise<boolean> {
  return !(await hasOtherApplications(tx, PANEL.code));
}
