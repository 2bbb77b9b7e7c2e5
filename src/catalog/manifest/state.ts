/** The stored state of an application in the form of a manifest: plain data to compare and check. */

import type {
  AccessLevel,
  ManifestApplication,
  ManifestEntity,
  ManifestNotificationType,
  ManifestOverride,
  ManifestPermission,
  ManifestRole,
  ManifestTemplate,
  PermissionType,
  Window,
} from './format.ts';

/** A role that a person holds. */
export interface Assignment extends Window {
  email: string;
  role: string;
}

/** The seat of an administrator. */
export interface Admin extends Window {
  email: string;
}

/** An override with its level resolved: null exactly when it denies. */
export type Override = ManifestOverride;

/** The catalog of an application. `application` is null before it exists. */
export interface Catalog {
  application: (ManifestApplication & { name: string }) | null;
  entities: ReadonlyMap<string, ManifestEntity>;
  permissions: ReadonlyMap<string, ManifestPermission>;
  roles: ReadonlyMap<string, ManifestRole>;
  notificationTypes: ReadonlyMap<string, ManifestNotificationType>;
  /** By type, key and language. Empty unless requested. */
  templates: ReadonlyMap<string, ManifestTemplate>;
}

/** Admins, assignments and overrides by key. Only those that the plan needs. */
export interface People {
  admins: ReadonlyMap<string, Admin>;
  assignments: ReadonlyMap<string, Assignment>;
  overrides: ReadonlyMap<string, Override>;
}

/** Counts of overrides that stay although the plan retypes their permission or removes their entity, without zeros. */
export interface Usage {
  ofPermission: ReadonlyMap<string, number>;
  ofType: ReadonlyMap<string, number>;
}

/** The key of an assignment. Only the role can contain a colon. */
export function assignmentKey({ email, role }: Pick<Assignment, 'email' | 'role'>): string {
  return `${email}:${role}`;
}

/**
 * The key of an override. Of the parts before the last only the permission can contain a colon, which is written `%3A` as in
 * the cache of decisions: else two overrides could share a key.
 */
export function overrideKey(o: Pick<Override, 'email' | 'permission' | 'resourceType' | 'resourceId'>): string {
  return `${o.email}:${o.permission.replaceAll(':', '%3A')}:${o.resourceType}:${o.resourceId}`;
}

/** The level of a grant that names none (docs/reference/decisions.md#levels, rule 4). */
export function highestLevel(type: PermissionType): AccessLevel {
  return type === 'tiered' ? 'edit' : 'allowed';
}

export function levelFits(type: PermissionType, level: AccessLevel): boolean {
  return type === 'tiered' ? level !== 'allowed' : level === 'allowed';
}
