/**
 * What a manifest says: one application, as plain data. (docs/reference/command-line.md#manifests.)
 *
 * - A section that is absent is left alone, with `prune` too. An empty one (`admins: []`) names nothing.
 * - A record that is named is described whole: an optional field that is absent has its default. A role's `permissions`
 *   and the application's `supportedLanguages` and `strictCodes` are such fields.
 * - Without `prune` nothing that is not named is taken away. With it, whatever a present section does not name goes.
 * - The same thing named twice is refused, also an address in two spellings.
 */

import type { Reason } from '../../base/errors.ts';
import type { NotificationTypeRow } from '../../persistence/catalog/notification-types.ts';
import type { TemplateContent } from '../../persistence/catalog/templates.ts';

export type PermissionType = 'binary' | 'tiered';
export type AccessLevel = 'allowed' | 'view' | 'edit';

export interface ManifestApplication {
  code: string;
  /** Null where the manifest has none: an existing application keeps its name. */
  name: string | null;
  description: string | null;
  /** In the order given; empty means no restriction. */
  supportedLanguages: readonly string[];
  strictCodes: boolean;
}

export interface ManifestEntity {
  code: string;
  name: string;
  description: string | null;
  idLabel: string | null;
  listEndpoint: string | null;
}

export interface ManifestPermission {
  code: string;
  type: PermissionType;
  description: string | null;
  groupName: string | null;
  /** The code of the parent in the panel's tree. */
  parent: string | null;
  global: boolean;
}

export interface ManifestRole {
  code: string;
  description: string | null;
  permissions: ReadonlyMap<string, AccessLevel>;
}

/** Flags that a manifest leaves out are true, but for `system`. */
export type ManifestNotificationType = NotificationTypeRow;

/** The words of a type in one language. Null and absence are the same; an empty part is one. */
export type ManifestTemplate = TemplateContent;

export interface ManifestAssignment {
  email: string;
  roles: readonly string[];
}

export interface ManifestOverride {
  email: string;
  resourceType: string;
  resourceId: string;
  permission: string;
  granted: boolean;
  /** Null beside `granted: false`; null beside `granted: true` means the highest level of the permission's type. */
  accessLevel: AccessLevel | null;
}

/** What each section holds. Admins are normalised addresses. */
export interface Records {
  entities: ManifestEntity;
  permissions: ManifestPermission;
  roles: ManifestRole;
  notificationTypes: ManifestNotificationType;
  templates: ManifestTemplate;
  admins: string;
  assignments: ManifestAssignment;
  overrides: ManifestOverride;
}

/**
 * A manifest whose every field has the right form; whether it fits the database is for the plan to say.
 * A section is null when it is absent; a record is null when it did not fit, so that places stay what they are in the text.
 */
export type Manifest = { application: ManifestApplication } & {
  [Name in Section]: readonly (Records[Name] | null)[] | null;
} & {
  /** `section:code` of the records that did not fit: what refers to them is no further fault. */
  spoiled: ReadonlySet<string>;
};

/** The sections that hold lists, in the order in which they are shown and carried out. */
export const SECTIONS = [
  'entities',
  'permissions',
  'roles',
  'notificationTypes',
  'templates',
  'admins',
  'assignments',
  'overrides',
] as const;
export type Section = (typeof SECTIONS)[number];

/** Lengths of text that no grammar bounds, in code points. */
export const TEXT_LIMITS = { name: 200, description: 2000, groupName: 200, idLabel: 200, emailFromName: 200 } as const;

/** The same of a template's parts, as its own endpoint has them. */
export const TEMPLATE_LIMITS = {
  subject: 1000,
  html: 1024 * 1024,
  text: 1024 * 1024,
  pushTitle: 1000,
  pushBody: 4000,
  url: 2048,
  variable: 128,
  variables: 100,
  /** All templates of a manifest together, in UTF-16 code units: aliases could make more of a text than it is long. */
  together: 32 * 1024 * 1024,
} as const;

/** The key of a template that names none. */
export const DEFAULT_TEMPLATE_KEY = 'default';

/** A value of a manifest's text. Maps are objects without a prototype: `constructor` is a key like any other. */
export type Plain = string | number | boolean | null | readonly Plain[] | PlainMap;
export interface PlainMap {
  readonly [key: string]: Plain;
}

/** Where in the manifest: keys and indexes from the root. */
export type Path = readonly (string | number)[];

/** One thing wrong with a manifest. `code` is the precise reason, where there is one (docs/reference/errors.md#reasons). */
export interface Fault {
  path: Path;
  message: string;
  code?: Reason;
  /** More for a program, such as `languages` of UNKNOWN_LANGUAGES. */
  details?: Record<string, unknown>;
}

/** Thrown inside a transaction with everything found; becomes a UsherError once line and column are known. */
export class ManifestFaults extends Error {
  readonly faults: readonly Fault[];
  constructor(faults: readonly Fault[]) {
    super('the manifest does not fit');
    this.name = 'ManifestFaults';
    this.faults = faults;
  }
}

/** By UTF-16 code units: the order of everything that is listed (docs/reference/decisions.md#bulk-and-effective). */
export function byCode(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
