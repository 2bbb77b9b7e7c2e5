/**
 * The plan's second half: admins, assignments and overrides, against the planned catalog. Pure, except that it yields to the
 * event loop after every thousand records.
 */

import { byCodeUnit } from '../../base/order.ts';
import { PAGE, turn } from '../../persistence/catalog/manifest-read.ts';
import { type CatalogPlan, type Given, noteUnknown } from './catalog.ts';
import type { Faults } from './faults.ts';
import { resolveOverride } from './resolve-override.ts';
import { type Assignment, assignmentKey, type Override, overrideKey, type People, type Usage } from './state.ts';
import { Steps } from './steps.ts';

export interface PeoplePlan {
  admins: Steps<'admin'>;
  assignments: Steps<'assignment'>;
  overrides: Steps<'override'>;
}

/**
 * `current` holds, for an absent section, the rows that removed roles and permissions delete; for a present one, the
 * rows of the people that it names, or with prune all rows. `usage` as counted by the database.
 */
export async function planPeople(
  current: People,
  usage: Usage,
  catalog: CatalogPlan,
  given: Given,
  faults: Faults,
): Promise<PeoplePlan> {
  const plan = {
    admins: planAdmins(current, given),
    assignments: await planAssignments(current, catalog, given, faults),
    overrides: await planOverrides(current, catalog, given, faults),
  };
  checkUse(plan.overrides, usage, catalog, given, faults);
  return plan;
}

async function inSlices<T>(rows: readonly T[], each: (row: T, at: number) => void): Promise<void> {
  for (const [at, row] of rows.entries()) {
    each(row, at);
    if (at % PAGE === PAGE - 1) await turn();
  }
}

function planAdmins({ admins }: People, { manifest, prune }: Given): Steps<'admin'> {
  const steps = new Steps('admin');
  const named = new Set<string>();
  for (const email of manifest.admins ?? []) {
    if (email === null) continue;
    named.add(email);
    steps.want(email, admins.has(email) ? { email } : null, { email });
  }
  if (prune && manifest.admins !== null) {
    for (const email of [...admins].sort(byCodeUnit)) if (!named.has(email)) steps.remove(email, { email });
  }
  return steps;
}

async function planAssignments(
  current: People,
  catalog: CatalogPlan,
  given: Given,
  faults: Faults,
): Promise<Steps<'assignment'>> {
  const { manifest, prune } = given;
  const { roles } = catalog.target;
  const steps = new Steps('assignment');
  const named = new Set<string>();
  await inSlices(manifest.assignments ?? [], (assignment, at) => {
    assignment?.roles.forEach((role, index) => {
      if (!roles.has(role)) {
        noteUnknown(manifest, 'roles', role, ['assignments', at, 'roles', index], roles, faults);
        return;
      }
      const after: Assignment = { email: assignment.email, role };
      const key = assignmentKey(after);
      named.add(key);
      steps.want(key, current.assignments.get(key) ?? null, after);
    });
  });
  const pruned = prune && manifest.assignments !== null;
  removeRest(steps, current.assignments, named, ({ role }) => pruned || !roles.has(role));
  return steps;
}

async function planOverrides(
  current: People,
  catalog: CatalogPlan,
  given: Given,
  faults: Faults,
): Promise<Steps<'override'>> {
  const { manifest, prune } = given;
  const { target } = catalog;
  const steps = new Steps('override');
  const named = new Set<string>();
  await inSlices(manifest.overrides ?? [], (override, at) => {
    if (override === null) return;
    const key = overrideKey(override);
    named.add(key);
    const before = current.overrides.get(key) ?? null;
    const after = resolveOverride(override, before, at, target, manifest, faults);
    if (after !== null) steps.want(key, before, after);
  });
  const pruned = prune && manifest.overrides !== null;
  removeRest(steps, current.overrides, named, ({ permission }) => pruned || !target.permissions.has(permission));
  return steps;
}

function removeRest<K extends 'assignment' | 'override', T extends Assignment | Override>(
  steps: Steps<K>,
  current: ReadonlyMap<string, T & Parameters<Steps<K>['remove']>[1]>,
  named: ReadonlySet<string>,
  goes: (record: T) => boolean,
): void {
  const rest = [...current].filter(([key, record]) => !named.has(key) && goes(record));
  for (const [key, record] of rest.sort(([a], [b]) => byCodeUnit(a, b))) steps.remove(key, record);
}

/** A permission or entity with references before and after must keep its type and stay (docs/reference/errors.md#reasons: TYPE_IN_USE, ENTITY_IN_USE). */
function checkUse(
  overrides: Steps<'override'>,
  usage: Usage,
  catalog: CatalogPlan,
  given: Given,
  faults: Faults,
): void {
  const ended = { ofPermission: new Map<string, number>(), ofType: new Map<string, number>() };
  for (const { action, before } of overrides.list) {
    if (action !== 'remove' || before === null) continue;
    ended.ofPermission.set(before.permission, (ended.ofPermission.get(before.permission) ?? 0) + 1);
    ended.ofType.set(before.resourceType, (ended.ofType.get(before.resourceType) ?? 0) + 1);
  }
  for (const [code, at] of catalog.retyped) {
    const left = (usage.ofPermission.get(code) ?? 0) - (ended.ofPermission.get(code) ?? 0);
    const holders = catalog.holders.get(code) ?? [];
    if (left === 0 && holders.length === 0) continue;
    const users = [...holders.map((role) => `role ${role}`), ...(left > 0 ? [count(left, 'override')] : [])];
    faults.add(['permissions', at, 'type'], `the type of ${code} cannot change while it is used by ${shorten(users)}`, {
      code: 'TYPE_IN_USE',
    });
  }
  for (const code of catalog.removed.entities) {
    const left = (usage.ofType.get(code) ?? 0) - (ended.ofType.get(code) ?? 0);
    if (left === 0 || given.manifest.spoiled.has(`entities:${code}`)) continue;
    faults.add(['entities'], `${code} cannot be removed while ${count(left, 'override')} of it remain`, {
      code: 'ENTITY_IN_USE',
    });
  }
}

function count(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? '' : 's'}`;
}

function shorten(names: readonly string[]): string {
  return names.length > 5 ? `${names.slice(0, 5).join(', ')} and ${names.length - 5} more` : names.join(', ');
}
