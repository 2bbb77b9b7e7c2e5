/** The plan's first half: entities, permissions and roles; the changes and the faults. Pure, and long: of up to 200,000 records. */

import { nearest } from '../../base/nearest.ts';
import { byCodeUnit } from '../../base/order.ts';
import { each, type Sliced, sorted } from '../../base/slices.ts';
import { isSystemRecord } from '../system.ts';
import { type Faults, SUGGESTIONS } from './faults.ts';
import type { AccessLevel, Manifest, ManifestPermission, ManifestRole, Section } from './format.ts';
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
export function* planCatalog(current: Catalog, given: Given, faults: Faults): Sliced<CatalogPlan> {
  const { manifest, prune } = given;
  const entities = yield* wanted(current.entities, manifest.entities, prune);
  const permissions = yield* wanted(current.permissions, manifest.permissions, prune);
  const removedPermissions = yield* gone(current.permissions, permissions);
  const roles = yield* withoutPermissions(yield* wanted(current.roles, manifest.roles, prune), removedPermissions);
  const application = wantedApplication(current, manifest, faults);

  const changed = yield* retyped(current, manifest);
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
    entities: yield* compare('entity', current.entities, entities, manifest.entities),
    permissions: yield* compare('permission', current.permissions, permissions, manifest.permissions),
    roles: yield* compare('role', current.roles, roles, manifest.roles),
    removed: {
      entities: yield* gone(current.entities, entities),
      permissions: removedPermissions,
      roles: yield* gone(current.roles, roles),
    },
    retyped: changed,
    holders: yield* holders(changed, current, roles),
  };
  plan.application.want(application.code, current.application, application);
  checkLanguages(given, faults);
  yield* checkParents(plan.target, manifest, faults);
  yield* checkLevels(plan.target, manifest, faults);
  yield* checkSystemRecords(plan, manifest, faults);
  return plan;
}

/** The planned records: those of the manifest over the stored ones, which prune drops. An absent section changes nothing. */
function* wanted<T extends { code: string }>(
  current: ReadonlyMap<string, T>,
  named: readonly (T | null)[] | null,
  prune: boolean,
): Sliced<Map<string, T>> {
  const target = new Map<string, T>();
  if (!prune || named === null) yield* each(current, ([code, record]) => target.set(code, record));
  yield* each(named ?? [], (record) => record !== null && target.set(record.code, record));
  return target;
}

/** Roles that the manifest does not name lose removed permissions; roles that it names must not name one. */
function* withoutPermissions(
  roles: ReadonlyMap<string, ManifestRole>,
  removed: readonly string[],
): Sliced<ReadonlyMap<string, ManifestRole>> {
  if (removed.length === 0) return roles;
  const gone = new Set<string>();
  yield* each(removed, (code) => gone.add(code));
  const kept = new Map<string, ManifestRole>();
  for (const [code, role] of roles) {
    const permissions: [string, AccessLevel][] = [];
    yield* each(role.permissions, (entry) => !gone.has(entry[0]) && permissions.push(entry));
    const same = permissions.length === role.permissions.size;
    kept.set(code, same ? role : { ...role, permissions: new Map(permissions) });
    yield;
  }
  return kept;
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
function* compare<K extends 'entity' | 'permission' | 'role'>(
  kind: K,
  current: ReadonlyMap<string, Parameters<Steps<K>['want']>[2] & { code: string }>,
  target: ReadonlyMap<string, Parameters<Steps<K>['want']>[2] & { code: string }>,
  named: readonly ({ code: string } | null)[] | null,
): Sliced<Steps<K>> {
  const steps = new Steps(kind);
  const codes = new Set<string>();
  yield* each(named ?? [], (record) => record !== null && codes.add(record.code));
  yield* each(codes, (code) => {
    const record = target.get(code);
    if (record) steps.want(code, current.get(code) ?? null, record);
  });
  yield* each(target, ([code, record]) => {
    const before = current.get(code);
    if (!codes.has(code) && before !== undefined && before !== record) steps.want(code, before, record);
  });
  yield* each(yield* gone(current, target), (code) => {
    const before = current.get(code);
    if (before) steps.remove(code, before);
  });
  return steps;
}

function* gone(current: ReadonlyMap<string, unknown>, target: ReadonlyMap<string, unknown>): Sliced<string[]> {
  const found: string[] = [];
  yield* each(current.keys(), (code) => !target.has(code) && found.push(code));
  return yield* sorted(found, byCodeUnit);
}

function* retyped(current: Catalog, manifest: Manifest): Sliced<Map<string, number>> {
  const found = new Map<string, number>();
  yield* each(manifest.permissions ?? [], (permission, at) => {
    const before = permission && current.permissions.get(permission.code);
    if (before && before.type !== permission.type) found.set(permission.code, at);
  });
  return found;
}

function* holders(
  changed: ReadonlyMap<string, number>,
  current: Catalog,
  roles: ReadonlyMap<string, ManifestRole>,
): Sliced<Map<string, string[]>> {
  const found = new Map<string, string[]>([...changed.keys()].map((code) => [code, []]));
  if (found.size === 0) return found;
  for (const [name, role] of roles) {
    const before = current.roles.get(name);
    yield* each(role.permissions.keys(), (code) => before?.permissions.has(code) && found.get(code)?.push(name));
    yield;
  }
  return found;
}

function checkLanguages({ manifest, languages }: Given, faults: Faults): void {
  const unknown = manifest.application.supportedLanguages.filter((code) => !languages.has(code));
  if (unknown.length === 0) return;
  faults.add(['application', 'supportedLanguages'], `not in the language registry: ${unknown.join(', ')}`, {
    code: 'UNKNOWN_LANGUAGES',
    details: { languages: unknown },
  });
}

function* checkParents({ permissions }: Catalog, manifest: Manifest, faults: Faults): Sliced {
  const inLoop = yield* loops(permissions);
  yield* each(manifest.permissions ?? [], (permission, at) => {
    if (permission === null || permission.parent === null) return;
    const path = ['permissions', at, 'parent'];
    if (!permissions.has(permission.parent))
      noteUnknown(manifest, 'permissions', permission.parent, path, permissions, faults);
    else if (inLoop.has(permission.code)) faults.add(path, `makes a loop of parents through ${permission.parent}`);
  });
}

/** The permissions that are their own ancestors. Each is walked once. */
function* loops(permissions: ReadonlyMap<string, ManifestPermission>): Sliced<Set<string>> {
  const found = new Set<string>();
  const done = new Set<string>();
  for (const start of permissions.keys()) {
    const walked = new Map<string, number>();
    let code: string | null = start;
    while (code !== null && !done.has(code) && !walked.has(code)) {
      walked.set(code, walked.size);
      code = permissions.get(code)?.parent ?? null;
      if (walked.size % 50 === 0) yield;
    }
    const entry = code === null ? undefined : walked.get(code);
    yield* each(walked, ([member, at]) => {
      if (entry !== undefined && at >= entry) found.add(member);
      done.add(member);
    });
    if (done.size % 50 === 0) yield;
  }
  return found;
}

function* checkLevels({ permissions }: Catalog, manifest: Manifest, faults: Faults): Sliced {
  for (const [at, role] of (manifest.roles ?? []).entries()) {
    yield* each(role?.permissions ?? [], ([code, level]) => {
      const permission = permissions.get(code);
      if (permission !== undefined && levelFits(permission.type, level)) return;
      const path = ['roles', at, 'permissions', code];
      if (permission === undefined) noteUnknown(manifest, 'permissions', code, path, permissions, faults);
      else {
        faults.add(path, `${code} is ${permission.type}: ${levelsOf(permission)}, not ${level}`, {
          code: 'INVALID_ACCESS_LEVEL',
        });
      }
    });
    yield;
  }
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
function* checkSystemRecords(plan: CatalogPlan, manifest: Manifest, faults: Faults): Sliced {
  const app = manifest.application.code;
  for (const section of ['entities', 'permissions', 'roles'] as const) {
    yield* each(plan.removed[section], (code) => {
      if (!isSystemRecord(app, section, code) || manifest.spoiled.has(`${section}:${code}`)) return;
      faults.add([section], `${code} is needed by the service itself and cannot be removed: name it`, {
        code: 'SYSTEM_RECORD',
      });
    });
  }
  yield* each(plan.permissions.list, ({ key, before, after }) => {
    if (!isSystemRecord(app, 'permissions', key) || before === null || after === null) return;
    if (before.type === after.type && before.global === after.global) return;
    const at = (manifest.permissions ?? []).findIndex((permission) => permission?.code === key);
    faults.add(['permissions', at], `${key} stays ${before.type}${before.global ? ' and global' : ', not global'}`, {
      code: 'SYSTEM_RECORD',
    });
  });
}
