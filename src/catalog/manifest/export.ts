/**
 * An application as a manifest: what `apply` takes, in an order that depends on nothing but its content, so that two exports
 * can be compared. Fields that have their default are left out; every section is there, so that `apply --prune` brings exactly
 * this state about. Written in slices: an application can hold a million overrides.
 */

import type * as Yaml from 'yaml';
import { turn } from '../../persistence/catalog/manifest-read.ts';
import {
  type AccessLevel,
  byCode,
  DEFAULT_TEMPLATE_KEY,
  type ManifestNotificationType,
  type ManifestPermission,
  type ManifestTemplate,
  SECTIONS,
} from './format.ts';
import type { Catalog, People } from './state.ts';

/** A manifest as JSON has it: exactly what `apply` takes as `application/json`. */
export interface ExportedManifest {
  application: {
    code: string;
    name: string;
    description?: string;
    supportedLanguages?: readonly string[];
    strictCodes?: true;
  };
  entities: readonly { code: string; name: string; description?: string; idLabel?: string; listEndpoint?: string }[];
  permissions: readonly {
    code: string;
    type: 'binary' | 'tiered';
    description?: string;
    groupName?: string;
    parent?: string;
    global?: true;
  }[];
  roles: readonly { code: string; description?: string; permissions: Readonly<Record<string, AccessLevel>> }[];
  notificationTypes: readonly {
    code: string;
    name: string;
    description?: string;
    emailEnabled?: false;
    pushEnabled?: false;
    userCanDisable?: false;
    defaultEmail?: false;
    defaultPush?: false;
    selfServiceEnabled?: false;
    system?: true;
    emailFromName?: string;
  }[];
  templates: readonly {
    type: string;
    key?: string;
    locale: string;
    subject: string;
    html: string;
    text?: string;
    pushTitle?: string;
    pushBody?: string;
    url?: string;
    requiredVariables?: readonly string[];
  }[];
  admins: readonly string[];
  assignments: readonly { email: string; roles: readonly string[] }[];
  overrides: readonly {
    email: string;
    resourceType: string;
    resourceId: string;
    permission: string;
    granted: boolean;
    accessLevel?: AccessLevel;
  }[];
}

/** Puts what was loaded in order. `catalog.application` is there. */
export function toManifest(catalog: Catalog & { application: object }, people: People): ExportedManifest {
  const { code, name, description, supportedLanguages, strictCodes } = catalog.application as NonNullable<
    Catalog['application']
  >;
  const languages = supportedLanguages.length > 0 ? { supportedLanguages } : {};
  const strict = strictCodes ? { strictCodes } : {};
  return {
    application: { ...given({ code, name, description }), ...languages, ...strict },
    entities: sorted(catalog.entities.values()).map((entity) => {
      const { listEndpoint, idLabel } = entity;
      return given({ code: entity.code, name: entity.name, description: entity.description, idLabel, listEndpoint });
    }),
    permissions: [...catalog.permissions.values()].sort(byGroup).map((permission) => {
      const { type, groupName, parent, global } = permission;
      const plain = given({ code: permission.code, type, description: permission.description, groupName, parent });
      return global ? { ...plain, global } : plain;
    }),
    roles: sorted(catalog.roles.values()).map((role) => ({
      ...given({ code: role.code, description: role.description }),
      permissions: Object.fromEntries([...role.permissions].sort(([a], [b]) => byCode(a, b))),
    })),
    notificationTypes: sorted(catalog.notificationTypes.values()).map(toNotificationType),
    templates: [...catalog.templates].sort(([a], [b]) => byCode(a, b)).map(([, template]) => toTemplate(template)),
    admins: [...people.admins].sort(byCode),
    assignments: byPerson(people),
    overrides: [...people.overrides]
      .sort(([a], [b]) => byCode(a, b))
      .map(([, { email, resourceType, resourceId, permission, granted, accessLevel }]) =>
        given({ email, resourceType, resourceId, permission, granted, accessLevel }),
      ),
  };
}

/** Flags that have their default are left out. */
function toNotificationType(type: ManifestNotificationType): ExportedManifest['notificationTypes'][number] {
  const { code, name, description, system, emailFromName, ...flags } = type;
  const off = Object.fromEntries(Object.entries(flags).filter(([, on]) => !on));
  const texts = given({ code, name, description, emailFromName });
  return { ...texts, ...off, ...(system ? { system } : {}) };
}

function toTemplate(template: ManifestTemplate): ExportedManifest['templates'][number] {
  const { type, locale, subject, html, text, pushTitle, pushBody, url, requiredVariables } = template;
  const key = template.key === DEFAULT_TEMPLATE_KEY ? null : template.key;
  const plain = given({ type, key, locale, subject, html, text, pushTitle, pushBody, url });
  return requiredVariables.length > 0 ? { ...plain, requiredVariables } : plain;
}

type Given<T> = { [Key in keyof T as null extends T[Key] ? never : Key]: T[Key] } & {
  [Key in keyof T as null extends T[Key] ? Key : never]?: Exclude<T[Key], null>;
};

/** Without what is null. */
function given<T extends object>(record: T): Given<T> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null)) as Given<T>;
}

function sorted<T extends { code: string }>(records: Iterable<T>): T[] {
  return [...records].sort((a, b) => byCode(a.code, b.code));
}

/** As the panel lists them (docs/reference/decisions.md#bulk-and-effective): by group, those without one last, then by code. */
function byGroup(a: ManifestPermission, b: ManifestPermission): number {
  if (a.groupName === b.groupName) return byCode(a.code, b.code);
  if (a.groupName === null || b.groupName === null) return a.groupName === null ? 1 : -1;
  return byCode(a.groupName, b.groupName);
}

function byPerson({ assignments }: People): { email: string; roles: string[] }[] {
  const people = new Map<string, string[]>();
  for (const [, { email, role }] of [...assignments].sort(([a], [b]) => byCode(a, b))) {
    const roles = people.get(email);
    if (roles) roles.push(role);
    else people.set(email, [role]);
  }
  return [...people].map(([email, roles]) => ({ email, roles }));
}

/** Records written between two turns of the event loop. */
const SLICE = 250;
const OPTIONS = {
  lineWidth: 0,
  version: '1.2',
  schema: 'core',
  aliasDuplicateObjects: false,
  flowCollectionPadding: false,
} as const;

/** The manifest as YAML. */
export async function toYaml(manifest: ExportedManifest): Promise<string> {
  const yaml = await import('yaml');
  const parts = [write(yaml, { application: manifest.application })];
  for (const section of SECTIONS) {
    const rows: readonly unknown[] = manifest[section];
    parts.push(rows.length === 0 ? `\n${section}: []\n` : `\n${section}:\n`);
    for (let at = 0; at < rows.length; at += SLICE) {
      // Deeper by one step: what YAML counts is only relative. (The flag m would see a line end in U+2028 as well.)
      parts.push(write(yaml, rows.slice(at, at + SLICE)).replace(/(^|\n)(?=[^\n])/g, '$1  '));
      await turn();
    }
  }
  return parts.join('');
}

/** Lists of codes stand in one line: those of ten thousand people would fill pages. */
function write({ Document, isScalar, isSeq, visit }: typeof Yaml, value: unknown): string {
  const document = new Document(value, OPTIONS);
  visit(document, {
    Pair: (_, { value: list }) => {
      if (isSeq(list) && list.items.every((item) => isScalar(item))) list.flow = true;
    },
    Scalar: () => visit.SKIP,
  });
  return document.toString(OPTIONS);
}
