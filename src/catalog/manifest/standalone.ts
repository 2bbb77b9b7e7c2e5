/** The faults that a manifest has by itself: those that applying it to an empty database would find. Pure: the panel runs it too. */

import { atOnce } from '../../base/slices.ts';
import { noteUnknown, planCatalog } from './catalog.ts';
import type { Faults } from './faults.ts';
import { type Manifest, present } from './format.ts';
import { resolveOverride } from './resolve-override.ts';
import type { Catalog } from './state.ts';

const EMPTY: Catalog = {
  application: null,
  entities: new Map(),
  permissions: new Map(),
  roles: new Map(),
  notificationTypes: new Map(),
  templates: new Map(),
};

/** Notes references to records that the manifest does not define, and levels that do not fit their permissions. Of languages it knows nothing. */
export function checkStandalone(manifest: Manifest, faults: Faults): void {
  const languages = new Set([
    ...manifest.application.supportedLanguages,
    ...present(manifest.templates).map(({ locale }) => locale),
  ]);
  const { target } = atOnce(planCatalog(EMPTY, { manifest, prune: false, languages }, faults));
  for (const [at, assignment] of (manifest.assignments ?? []).entries()) {
    assignment?.roles.forEach(({ role }, index) => {
      if (target.roles.has(role)) return;
      noteUnknown(manifest, 'roles', role, ['assignments', at, 'roles', index], target.roles, faults);
    });
  }
  for (const [at, override] of (manifest.overrides ?? []).entries()) {
    if (override !== null) resolveOverride(override, null, at, target, manifest, faults);
  }
}
