/** Plans notification types: the changes, the types that always stay, and the faults. Pure. */

import { PANEL_APP } from '../../administration/panel.ts';
import { FIXED_SWITCHES } from '../../base/channels.ts';
import { byCodeUnit } from '../../base/order.ts';
import { each, type Sliced, sorted } from '../../base/slices.ts';
import type { Faults } from './faults.ts';
import type { Manifest, ManifestNotificationType } from './format.ts';
import { Steps } from './steps.ts';

type Types = ReadonlyMap<string, ManifestNotificationType>;

export interface NotificationTypePlan {
  steps: Steps<'notificationType'>;
  /** Codes of the types to remove. */
  removed: readonly string[];
}

/** The type that every application is created with (docs/reference/notifications.md#types). */
const GENERIC = 'generic';

/** Compares. With prune what the section does not name goes, but for `generic` and system types: those stay. */
export function* planNotificationTypes(
  current: Types,
  manifest: Manifest,
  prune: boolean,
  faults: Faults,
): Sliced<NotificationTypePlan> {
  const steps = new Steps('notificationType');
  const named = new Set<string>();
  yield* each(manifest.notificationTypes ?? [], (type, at) => {
    if (type === null) return;
    named.add(type.code);
    const before = current.get(type.code) ?? null;
    checkSystem(before, type, at, faults);
    if (before !== null) checkFixed(before, type, at, manifest, faults);
    steps.want(type.code, before, type);
  });
  const removed: string[] = [];
  if (prune && manifest.notificationTypes !== null) {
    yield* each(yield* sorted(current.values(), (a, b) => byCodeUnit(a.code, b.code)), (type) => {
      if (named.has(type.code) || type.system || type.code === GENERIC) return;
      if (manifest.spoiled.has(`notificationTypes:${type.code}`)) return;
      steps.remove(type.code, type);
      removed.push(type.code);
    });
  }
  return { steps, removed };
}

/** Only the seed creates system types: `system` in a manifest must match the stored type. */
function checkSystem(
  before: ManifestNotificationType | null,
  { code, system }: ManifestNotificationType,
  at: number,
  faults: Faults,
): void {
  const present = before?.system ?? false;
  if (system === present) return;
  const message = present ? `system of ${code} is true and stays so` : 'system cannot be set: leave it out';
  faults.add(['notificationTypes', at, 'system'], message, { code: 'IMMUTABLE_FIELD' });
}

function checkFixed(
  before: ManifestNotificationType,
  after: ManifestNotificationType,
  at: number,
  { application }: Manifest,
  faults: Faults,
): void {
  if (!before.system || application.code !== PANEL_APP) return;
  for (const field of FIXED_SWITCHES) {
    if (before[field] === after[field]) continue;
    faults.add(['notificationTypes', at, field], `${field} of ${before.code} is ${before[field]} and stays so`, {
      code: 'SYSTEM_RECORD',
    });
  }
}

/** Refuses the removal of types with templates or notifications (docs/reference/errors.md#reasons: TYPE_IN_USE). */
export function checkTypesInUse(used: ReadonlySet<string>, { removed }: NotificationTypePlan, faults: Faults): void {
  for (const code of removed) {
    if (!used.has(code)) continue;
    faults.add(['notificationTypes'], `${code} cannot be removed while templates or notifications are of this type`, {
      code: 'TYPE_IN_USE',
    });
  }
}
