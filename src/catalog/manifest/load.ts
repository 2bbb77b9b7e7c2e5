/** Reads the rows for a plan or an export into the form of a manifest, in pages. */

import { LEVEL_NAMES, LEVELS } from '../../base/level-names.ts';
import { each } from '../../base/slices.ts';
import { inSlices } from '../../base/time-slice.ts';
import { Level } from '../../engine/types.ts';
import { readApplication } from '../../persistence/catalog/applications.ts';
import {
  countOverrides,
  countRows,
  PAGE,
  readAdmins,
  readAssignments,
  readEntities,
  readLanguages,
  readOverrides,
  readPermissions,
  readRolePermissions,
  readRoles,
  turn,
  type Wanted,
} from '../../persistence/catalog/manifest-read.ts';
import { readNotificationTypes, usedNotificationTypes } from '../../persistence/catalog/notification-types.ts';
import { readTemplatesAfter } from '../../persistence/catalog/templates.ts';
import type { Tx } from '../../persistence/database.ts';
import type { CatalogPlan } from './catalog.ts';
import type {
  AccessLevel,
  Manifest,
  ManifestEntity,
  ManifestNotificationType,
  ManifestPermission,
  ManifestRole,
  ManifestTemplate,
} from './format.ts';
import { Gathered, type PeoplePage } from './gathered.ts';
import type { Catalog, People, Usage } from './state.ts';
import { templateKey } from './templates.ts';

export function toLevel(level: AccessLevel | null): Level {
  return level === null ? Level.NONE : LEVELS[level];
}

interface LoadedCatalog extends Catalog {
  /** The application's id; null for a new application. */
  id: number | null;
}

/** Templates only on request, because they are long. */
export async function loadCatalog(tx: Tx, code: string, withTemplates: boolean): Promise<LoadedCatalog> {
  const row = await readApplication(tx, code);
  const entities = new Map<string, ManifestEntity>();
  const permissions = new Map<string, ManifestPermission>();
  const roles = new Map<string, ManifestRole & { permissions: Map<string, AccessLevel> }>();
  const notificationTypes = new Map<string, ManifestNotificationType>();
  const templates = new Map<string, ManifestTemplate>();
  const catalog = { entities, permissions, roles, notificationTypes, templates };
  if (row === undefined) return { id: null, application: null, ...catalog };
  for await (const page of readEntities(tx, row.id)) {
    for (const entity of page) entities.set(entity.code, described(entity));
  }
  for await (const page of readPermissions(tx, row.id)) {
    for (const { tiered, ...permission } of page) {
      permissions.set(permission.code, described({ ...permission, type: tiered ? 'tiered' : 'binary' }));
    }
  }
  for await (const page of readRoles(tx, row.id)) {
    for (const role of page) roles.set(role.code, described({ ...role, permissions: new Map() }));
  }
  for await (const page of readNotificationTypes(tx, row.id)) {
    for (const type of page) {
      notificationTypes.set(type.code, described({ ...type, emailFromName: worded(type.emailFromName) }));
    }
  }
  for await (const page of readRolePermissions(tx, row.id)) {
    for (const { role, permission, level } of page) {
      const access = LEVEL_NAMES[level];
      if (access !== null) roles.get(role)?.permissions.set(permission, access);
    }
  }
  const { id, name, description, supportedLanguages, strictCodes, tellEndings } = row;
  const application = described({ code, name, description, supportedLanguages, strictCodes, tellEndings });
  if (withTemplates) await loadTemplates(tx, id, templates);
  return { id, application, ...catalog };
}

const TEMPLATES_AT_ONCE = 50;

async function loadTemplates(tx: Tx, app: number, templates: Map<string, ManifestTemplate>): Promise<void> {
  for (let after = 0; ; ) {
    const page = await readTemplatesAfter(tx, app, after, TEMPLATES_AT_ONCE);
    for (const { id, ...template } of page) {
      templates.set(templateKey(template), template);
      after = id;
    }
    if (page.length < TEMPLATES_AT_ONCE) return;
    await turn();
  }
}

/** A manifest omits empty texts, which may have been stored over REST. */
function worded(text: string | null): string | null {
  return text?.trim() === '' ? null : text;
}

function described<T extends { description: string | null }>(record: T): T {
  return { ...record, description: worded(record.description) };
}

export async function loadLanguages(tx: Tx): Promise<Set<string>> {
  return new Set(await readLanguages(tx));
}

const NOBODY: People = { admins: new Map(), assignments: new Map(), overrides: new Map() };

/** Everybody in the application, a page at a time. */
export function readEverybody(tx: Tx, id: number): AsyncGenerator<PeoplePage> {
  return pagesOf(tx, id, { admins: { all: true }, assignments: { all: true }, overrides: { all: true } });
}

type Named = readonly ({ email: string } | string | null)[] | null;

/** The people that `planPeople` compares with. */
export async function loadPeople(
  tx: Tx,
  id: number | null,
  manifest: Manifest,
  prune: boolean,
  { removed }: CatalogPlan,
): Promise<People> {
  if (id === null) return NOBODY;
  const wanted = async (rows: Named, gone: readonly string[]): Promise<Wanted> => {
    if (rows === null) return { with: gone };
    if (prune) return { all: true };
    const emails = new Set<string>();
    await inSlices(each(rows, (row) => row !== null && emails.add(typeof row === 'string' ? row : row.email)));
    return { emails: [...emails] };
  };
  return await load(tx, id, {
    admins: await cheaper(tx, id, 'app_admin', await wanted(manifest.admins, [])),
    assignments: await cheaper(tx, id, 'user_role', await wanted(manifest.assignments, removed.roles)),
    overrides: await cheaper(tx, id, 'resource_override', await wanted(manifest.overrides, removed.permissions)),
  });
}

/** Reads all rows instead of single people if those are most of the rows: extra rows are harmless. */
async function cheaper(tx: Tx, id: number, table: Parameters<typeof countRows>[2], wanted: Wanted): Promise<Wanted> {
  if (!('emails' in wanted) || wanted.emails.length < PAGE) return wanted;
  return (await countRows(tx, id, table)) <= 5 * wanted.emails.length ? { all: true } : wanted;
}

export async function loadUsage(tx: Tx, id: number | null, { removed, retyped }: CatalogPlan): Promise<Usage> {
  if (id === null || (retyped.size === 0 && removed.entities.length === 0)) {
    return { ofPermission: new Map(), ofType: new Map() };
  }
  return await countOverrides(tx, id, [...retyped.keys()], removed.entities);
}

/** The types to remove that have notifications, or templates that stay. */
export async function loadUsedTypes(
  tx: Tx,
  id: number | null,
  removed: readonly string[],
  { prune, manifest }: { prune: boolean; manifest: Manifest },
): Promise<Set<string>> {
  // Such a plan keeps the templates that it names, none of which belongs to a removed type.
  const templatesStay = !(prune && manifest.templates !== null);
  return id === null ? new Set() : await usedNotificationTypes(tx, id, removed, templatesStay);
}

async function load(
  tx: Tx,
  id: number,
  wanted: { admins: Wanted; assignments: Wanted; overrides: Wanted },
): Promise<People> {
  const people = new Gathered();
  for await (const page of pagesOf(tx, id, wanted)) people.take(page);
  return people;
}

async function* pagesOf(
  tx: Tx,
  id: number,
  wanted: { admins: Wanted; assignments: Wanted; overrides: Wanted },
): AsyncGenerator<PeoplePage> {
  for await (const rows of readAdmins(tx, id, wanted.admins)) yield { kind: 'admins', rows };
  for await (const rows of readAssignments(tx, id, wanted.assignments)) yield { kind: 'assignments', rows };
  for await (const rows of readOverrides(tx, id, wanted.overrides)) yield { kind: 'overrides', rows };
}
