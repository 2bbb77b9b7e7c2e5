/** What the database holds of an application, in the words of a manifest. Plain data; what is compared and checked. */

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
} from './format.ts';

/** A role that a person holds. */
export interface Assignment {
  email: string;
  role: string;
}

/** An override with its level resolved: null exactly when it denies. */
export type Override = ManifestOverride;

/** What an application defines. `application` is null when there is none yet. */
export interface Catalog {
  application: (ManifestApplication & { name: string }) | null;
  entities: ReadonlyMap<string, ManifestEntity>;
  permissions: ReadonlyMap<string, ManifestPermission>;
  roles: ReadonlyMap<string, ManifestRole>;
  notificationTypes: ReadonlyMap<string, ManifestNotificationType>;
  /** By type, key and language. Empty where nobody asked for them. */
  templates: ReadonlyMap<string, ManifestTemplate>;
}

/** Who is what in it, by key. Only as much as the plan asked for. */
export interface People {
  admins: ReadonlySet<string>;
  assignments: ReadonlyMap<string, Assignment>;
  overrides: ReadonlyMap<string, Override>;
}

/** Overrides that stay although the plan retypes their permission or removes their entity: counts, zero left out. */
export interface Usage {
  ofPermission: ReadonlyMap<string, number>;
  ofType: ReadonlyMap<string, number>;
}

/** What makes an assignment one. Neither part can hold a colon. */
export function assignmentKey({ email, role }: Assignment): string {
  return `${email}:${role}`;
}

/** What makes an override one: only the last part can hold a colon. */
export function overrideKey(o: Pick<Override, 'email' | 'permission' | 'resourceType' | 'resourceId'>): string {
  return `${o.email}:${o.permission}:${o.resourceType}:${o.resourceId}`;
}

/** What a grant without a level amounts to (docs/reference/decisions.md#levels, rule 4). */
export function highestLevel(type: PermissionType): AccessLevel {
  return type === 'tiered' ? 'edit' : 'allowed';
}

export function levelFits(type: PermissionType, level: AccessLevel): boolean {
  return type === 'tiered' ? level !== 'allowed' : level === 'allowed';
}
