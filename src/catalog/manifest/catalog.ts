/** The plan's first half: entities, permissions and roles; the changes and the faults. Pure. */

import { nearest } from '../../base/nearest.ts';
import { byCodeUnit } from '../../base/order.ts';
import { isSystemRecord } from '../system.ts';
import { type Faults, SUGGESTIONS } from './faults.ts';
import type { Manifest, ManifestPermission, ManifestRole, Section } from './format.ts';
import { type Catalog, levelFits } from './state.ts';
import { Steps } from './steps.ts';

export interface CatalogPlan {
  /** The catalog after the plan. */
  target: Catalog;
  application: Steps<'application'>;
  entities: Steps<'entity'>;
  permissions: Steps<'permission'>;
  roles: Steps<'role'>;
  removed: { entities: readonly string[]; permissions: readonly string[]; roles: readonly string[] };
  /** Codes of permissions whose type changes, with their place in the manifest. */
  retyped: ReadonlyMap<string, number>;
  /** For each of these, the roles that grant it before and after. */
  holders: ReadonlyMap<string, readonly string[]>;
}

export interface Given {
  manifest: Manifest;
  prune: boolean;
  /** The language registry. */
  languages: ReadonlySet<string>;
}

/** Compares, and notes every fault. A plan with faults is used only to find further faults, never carried out. */
export function planCatalog(current: Catalog, given: Given, faults: Faults): CatalogPlan {
  const { manifest, prune } = given;
  const entities = wanted(current.entities, manifest.entities, prune);
  const permissions = wanted(current.permissions, manifest.permissions, prune);
  const removedPermissions = gone(current.permissions, permissions);
  const roles = withoutPermissions(wanted(current.roles, manifest.roles, prune), removedPermissions);
  const application = wantedApplication(current, manifest, faults);

  const changed = retyped(current, manifest);
  const plan: CatalogPlan = {
    target: {
      application,
      entities,
      permissions,
      roles,
      notificationTypes: current.notificationTypes,
      templates: current.templates,
    },
    application: new Steps('application'),
    entities: compare('entity', current.entities, entities, manifest.entities),
    permissions: compare('permission', current.permissions, permissions, manifest.permissions),
    roles: compare('role', current.roles, roles, manifest.roles),
    removed: {
      entities: gone(current.entities, entities),
      permissions: removedPermissions,
      roles: gone(current.roles, roles),
    },
    retyped: changed,
    holders: new Map([...changed.keys()].map((code) => [code, holders(code, current, roles)])),
  };
  plan.application.want(application.code, current.application, application);
  checkLanguages(given, faults);
  checkParents(plan.target, manifest, faults);
  checkLevels(plan.target, manifest, faults);
  checkSystemRecords(plan, manifest, faults);
  return plan;
}

/** The planned records: those of the manifest over the stored ones, which prune drops. An absent section changes nothing. */
function wanted<T extends { code: string }>(
  current: ReadonlyMap<string, T>,
  named: readonly (T | null)[] | null,
  prune: boolean,
): Map<string, T> {
  const target = new Map(prune && named !== null ? [] : current);
  for (const record of named ?? []) if (record !== null) target.set(record.code, record);
  return target;
}

/** Roles that the manifest does not name lose removed permissions; roles that it names must not name one. */
function withoutPermissions(
  roles: ReadonlyMap<string, ManifestRole>,
  removed: readonly string[],
): Map<string, ManifestRole> {
  const gone = new Set(removed);
  return new Map(
    [...roles].map(([code, role]) => {
      const left = [...role.permissions].filter(([permission]) => !gone.has(permission));
      return [code, left.length === role.permissions.size ? role : { ...role, permissions: new Map(left) }];
    }),
  );
}

function wantedApplication(
  current: Catalog,
  { application }: Manifest,
  faults: Faults,
): NonNullable<Catalog['application']> {
  const name = application.name ?? current.application?.name;
  if (name === undefined) faults.add(['application'], `name is missing: the application ${application.code} is new`);
  return { ...application, name: name ?? '' };
}

/** Steps in the order of the manifest, then changes of unnamed records, then removals by code. Only named records count as kept. */
function compare<K extends 'entity' | 'permission' | 'role'>(
  kind: K,
  current: ReadonlyMap<string, Parameters<Steps<K>['want']>[2] & { code: string }>,
  target: ReadonlyMap<string, Parameters<Steps<K>['want']>[2] & { code: string }>,
  named: readonly ({ code: string } | null)[] | null,
): Steps<K> {
  const steps = new Steps(kind);
  const codes = new Set((named ?? []).flatMap((record) => (record === null ? [] : [record.code])));
  for (const code of codes) {
    const record = target.get(code);
    if (record) steps.want(code, current.get(code) ?? null, record);
  }
  for (const [code, record] of target) {
    const before = current.get(code);
    if (!codes.has(code) && before !== undefined && before !== record) steps.want(code, before, record);
  }
  for (const code of gone(current, target)) {
    const before = current.get(code);
    if (before) steps.remove(code, before);
  }
  return steps;
}

function gone(current: ReadonlyMap<string, unknown>, target: ReadonlyMap<string, unknown>): string[] {
  return [...current.keys()].filter((code) => !target.has(code)).sort(byCodeUnit);
}

function retyped(current: Catalog, manifest: Manifest): Map<string, number> {
  const found = new Map<string, number>();
  (manifest.permissions ?? []).forEach((permission, at) => {
    const before = permission && current.permissions.get(permission.code);
    if (before && before.type !== permission.type) found.set(permission.code, at);
  });
  return found;
}

function holders(code: string, current: Catalog, roles: ReadonlyMap<string, ManifestRole>): string[] {
  const holds = (role: ManifestRole | undefined): boolean => role?.permissions.has(code) ?? false;
  return [...roles.keys()].filter((role) => holds(roles.get(role)) && holds(current.roles.get(role)));
}

function checkLanguages({ manifest, languages }: Given, faults: Faults): void {
  const unknown = manifest.application.supportedLanguages.filter((code) => !languages.has(code));
  if (unknown.length === 0) return;
  faults.add(['application', 'supportedLanguages'], `not in the language registry: ${unknown.join(', ')}`, {
    code: 'UNKNOWN_LANGUAGES',
    details: { languages: unknown },
  });
}

function checkParents({ permissions }: Catalog, manifest: Manifest, faults: Faults): void {
  const inLoop = loops(permissions);
  (manifest.permissions ?? []).forEach((permission, at) => {
    if (permission === null || permission.parent === null) return;
    const path = ['permissions', at, 'parent'];
    if (!permissions.has(permission.parent))
      noteUnknown(manifest, 'permissions', permission.parent, path, permissions, faults);
    else if (inLoop.has(permission.code)) faults.add(path, `makes a loop of parents through ${permission.parent}`);
  });
}

/** The permissions that are their own ancestors. Each is walked once. */
function loops(permissions: ReadonlyMap<string, ManifestPermission>): Set<string> {
  const found = new Set<string>();
  const done = new Set<string>();
  for (const start of permissions.keys()) {
    const walked = new Map<string, number>();
    let code: string | null = start;
    while (code !== null && !done.has(code) && !walked.has(code)) {
      walked.set(code, walked.size);
      code = permissions.get(code)?.parent ?? null;
    }
    const entry = code === null ? undefined : walked.get(code);
    for (const [member, at] of walked) {
      if (entry !== undefined && at >= entry) found.add(member);
      done.add(member);
    }
  }
  return found;
}

function checkLevels({ permissions }: Catalog, manifest: Manifest, faults: Faults): void {
  (manifest.roles ?? []).forEach((role, at) => {
    for (const [code, level] of role?.permissions ?? []) {
      const path = ['roles', at, 'permissions', code];
      const permission = permissions.get(code);
      if (!permission) noteUnknown(manifest, 'permissions', code, path, permissions, faults);
      else if (!levelFits(permission.type, level)) {
        faults.add(path, `${code} is ${permission.type}: ${levelsOf(permission)}, not ${level}`, {
          code: 'INVALID_ACCESS_LEVEL',
        });
      }
    }
  });
}

export function levelsOf({ type }: ManifestPermission): string {
  return type === 'tiered' ? 'view or edit' : 'allowed';
}

/** The name of a section's records in messages. */
const THINGS: Partial<Record<Section, string>> = { roles: 'role', notificationTypes: 'notification type' };

/** Notes a reference to an unknown record, with the nearest known code. Silent if the manifest has that record with a fault. */
export function noteUnknown(
  manifest: Manifest,
  section: Section,
  code: string,
  path: (string | number)[],
  known: ReadonlyMap<string, unknown>,
  faults: Faults,
): void {
  if (manifest.spoiled.has(`${section}:${code}`)) return;
  // Suggestions help with a few misspellings; with hundreds of faults they only cost time.
  const near = faults.list.length < SUGGESTIONS ? nearest(code, known.keys()) : null;
  const hint = near === null ? '' : `; did you mean ${near}?`;
  const thing = THINGS[section] ?? 'permission';
  faults.add(path, `${code} is not a ${thing} of ${manifest.application.code}${hint}`, { code: 'UNKNOWN_REFERENCE' });
}

/** Prune never removes records that the service itself needs, and their permissions keep their type. */
function checkSystemRecords(plan: CatalogPlan, manifest: Manifest, faults: Faults): void {
  const app = manifest.application.code;
  for (const section of ['entities', 'permissions', 'roles'] as const) {
    for (const code of plan.removed[section]) {
      if (!isSystemRecord(app, section, code) || manifest.spoiled.has(`${section}:${code}`)) continue;
      faults.add([section], `${code} is needed by the service itself and cannot be removed: name it`, {
        code: 'SYSTEM_RECORD',
      });
    }
  }
  for (const { key, before, after } of plan.permissions.list) {
    if (!isSystemRecord(app, 'permissions', key) || before === null || after === null) continue;
    if (before.type === after.type && before.global === after.global) continue;
    const at = (manifest.permissions ?? []).findIndex((permission) => permission?.code === key);
    faults.add(['permissions', at], `${key} stays ${before.type}${before.global ? ' and global' : ', not global'}`, {
      code: 'SYSTEM_RECORD',
    });
  }
}
