/** An override of a manifest, checked against the planned catalog. Pure. */

import { levelsOf, noteUnknown } from './catalog.ts';
import type { Faults } from './faults.ts';
import type { Manifest, ManifestOverride } from './format.ts';
import { type Catalog, highestLevel, levelFits, type Override } from './state.ts';

/** The override with its level, or null with the fault noted. An override that is stored unchanged is never refused. */
export function resolveOverride(
  override: ManifestOverride,
  before: Override | null,
  at: number,
  target: Catalog,
  manifest: Manifest,
  faults: Faults,
): Override | null {
  const path = ['overrides', at];
  const permission = target.permissions.get(override.permission);
  if (!permission) {
    noteUnknown(manifest, 'permissions', override.permission, [...path, 'permission'], target.permissions, faults);
    return null;
  }
  const level = override.granted ? (override.accessLevel ?? highestLevel(permission.type)) : null;
  const after: Override = { ...override, accessLevel: level };
  const { startsAt, endsAt } = after;
  const isSame = before !== null && before.granted === after.granted && before.accessLevel === level;
  if (isSame && before.startsAt === startsAt && before.endsAt === endsAt) return after;
  const known = faults.list.length;
  if (level !== null && !levelFits(permission.type, level)) {
    faults.add(
      [...path, 'accessLevel'],
      `${permission.code} is ${permission.type}: ${levelsOf(permission)}, not ${level}`,
      {
        code: 'INVALID_ACCESS_LEVEL',
      },
    );
  }
  if (permission.global) {
    faults.add([...path, 'permission'], `${permission.code} is global: an override of it would never count`, {
      code: 'GLOBAL_PERMISSION',
    });
  }
  const { resourceType } = override;
  const listed = target.entities.size === 0 || target.entities.has(resourceType);
  if (!listed && !manifest.spoiled.has(`entities:${resourceType}`)) {
    faults.add([...path, 'resourceType'], `${resourceType} is not an entity of ${manifest.application.code}`, {
      code: 'UNKNOWN_RESOURCE_TYPE',
    });
  }
  return faults.list.length === known ? after : null;
}
