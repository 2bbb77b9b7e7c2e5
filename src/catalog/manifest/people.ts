/** The plan's second half: admins, assignments and overrides, against the planned catalog. Pure, and long: of up to 200,000 records. */

import { byCodeUnit } from '../../base/order.ts';
import { each, type Sliced, sorted } from '../../base/slices.ts';
import { type CatalogPlan, type Given, noteUnknown } from './catalog.ts';
import type { Faults } from './faults.ts';
import type { Window } from './format.ts';
import { resolveOverride } from './resolve-override.ts';
import { type Assignment, assignmentKey, type Override, overrideKey, type People, type Usage } from './state.ts';
import { Steps } from './steps.ts';

/** A grant of the manifest whose time is over: no grant. */
export interface EndedItem {
  readonly kind: 'admin' | 'assignment' | 'override';
  readonly key: string;
}

export interface PeoplePlan {
  ended: readonly EndedItem[];
  admins: Steps<'admin'>;
  assignments: Steps<'assignment'>;
  overrides: Steps<'override'>;
}

/**
 * `current` holds, for an absent section, the rows that removed roles and permissions delete; for a present one, the
 * rows of the people that it names, or with prune all rows. `usage` as counted by the database.
 */
export function* planPeople(
  current: People,
  usage: Usage,
  catalog: CatalogPlan,
  given: Given & { readonly now: Date },
  faults: Faults,
): Sliced<PeoplePlan> {
  const over = new Ended(given.now);
  const plan = {
    admins: yield* planAdmins(current, given, over),
    assignments: yield* planAssignments(current, catalog, given, faults, over),
    overrides: yield* planOverrides(current, catalog, given, faults, over),
    ended: over.list,
  };
  yield* checkUse(plan.overrides, usage, catalog, given, faults);
  return plan;
}

/** Sorts out items whose time is over at that instant. */
class Ended {
  readonly list: EndedItem[] = [];
  readonly #now: Date;

  constructor(now: Date) {
    this.#now = now;
  }

  has(kind: EndedItem['kind'], key: string, { endsAt }: Window): boolean {
    if (endsAt === null || new Date(endsAt) > this.#now) return false;
    this.list.push({ kind, key });
    return true;
  }
}

function* planAdmins({ admins }: People, { manifest, prune }: Given, over: Ended): Sliced<Steps<'admin'>> {
  const steps = new Steps('admin');
  const named = new Set<string>();
  yield* each(manifest.admins ?? [], (admin) => {
    if (admin === null || over.has('admin', admin.email, admin)) return;
    named.add(admin.email);
    steps.want(admin.email, admins.get(admin.email) ?? null, admin);
  });
  if (prune && manifest.admins !== null) {
    yield* each(yield* sorted(admins, ([a], [b]) => byCodeUnit(a, b)), ([email, admin]) => {
      if (!named.has(email)) steps.remove(email, admin);
    });
  }
  return steps;
}

function* planAssignments(
  current: People,
  catalog: CatalogPlan,
  given: Given,
  faults: Faults,
  over: Ended,
): Sliced<Steps<'assignment'>> {
  const { manifest, prune } = given;
  const { roles } = catalog.target;
  const steps = new Steps('assignment');
  const named = new Set<string>();
  yield* each(manifest.assignments ?? [], (assignment, at) => {
    assignment?.roles.forEach(({ role, startsAt, endsAt }, index) => {
      if (!roles.has(role)) {
        noteUnknown(manifest, 'roles', role, ['assignments', at, 'roles', index], roles, faults);
        return;
      }
      const after: Assignment = { email: assignment.email, role, startsAt, endsAt };
      const key = assignmentKey(after);
      if (over.has('assignment', key, after)) return;
      named.add(key);
      steps.want(key, current.assignments.get(key) ?? null, after);
    });
  });
  const pruned = prune && manifest.assignments !== null;
  yield* removeRest(steps, current.assignments, named, ({ role }) => pruned || !roles.has(role));
  return steps;
}

function* planOverrides(
  current: People,
  catalog: CatalogPlan,
  given: Given,
  faults: Faults,
  over: Ended,
): Sliced<Steps<'override'>> {
  const { manifest, prune } = given;
  const { target } = catalog;
  const steps = new Steps('override');
  const named = new Set<string>();
  yield* each(manifest.overrides ?? [], (override, at) => {
    if (override === null) return;
    const key = overrideKey(override);
    if (over.has('override', key, override)) return;
    named.add(key);
    const before = current.overrides.get(key) ?? null;
    const after = resolveOverride(override, before, at, target, manifest, faults);
    if (after !== null) steps.want(key, before, after);
  });
  const pruned = prune && manifest.overrides !== null;
  yield* removeRest(steps, current.overrides, named, ({ permission }) => pruned || !target.permissions.has(permission));
  return steps;
}

function* removeRest<K extends 'assignment' | 'override', T extends Assignment | Override>(
  steps: Steps<K>,
  current: ReadonlyMap<string, T & Parameters<Steps<K>['remove']>[1]>,
  named: ReadonlySet<string>,
  goes: (record: T) => boolean,
): Sliced {
  const rest: [string, T & Parameters<Steps<K>['remove']>[1]][] = [];
  yield* each(current, (entry) => !named.has(entry[0]) && goes(entry[1]) && rest.push(entry));
  yield* each(yield* sorted(rest, ([a], [b]) => byCodeUnit(a, b)), ([key, record]) => steps.remove(key, record));
}

/** A permission or entity with references before and after must keep its type and stay (docs/reference/errors.md#reasons: TYPE_IN_USE, ENTITY_IN_USE). */
function* checkUse(
  overrides: Steps<'override'>,
  usage: Usage,
  catalog: CatalogPlan,
  given: Given,
  faults: Faults,
): Sliced {
  const ended = { ofPermission: new Map<string, number>(), ofType: new Map<string, number>() };
  yield* each(overrides.list, ({ action, before }) => {
    if (action !== 'remove' || before === null) return;
    ended.ofPermission.set(before.permission, (ended.ofPermission.get(before.permission) ?? 0) + 1);
    ended.ofType.set(before.resourceType, (ended.ofType.get(before.resourceType) ?? 0) + 1);
  });
  yield* each(catalog.retyped, ([code, at]) => {
    const left = (usage.ofPermission.get(code) ?? 0) - (ended.ofPermission.get(code) ?? 0);
    const holders = catalog.holders.get(code) ?? [];
    if (left === 0 && holders.length === 0) return;
    const users = [...holders.map((role) => `role ${role}`), ...(left > 0 ? [count(left, 'override')] : [])];
    faults.add(['permissions', at, 'type'], `the type of ${code} cannot change while it is used by ${shorten(users)}`, {
      code: 'TYPE_IN_USE',
    });
  });
  yield* each(catalog.removed.entities, (code) => {
    const left = (usage.ofType.get(code) ?? 0) - (ended.ofType.get(code) ?? 0);
    if (left === 0 || given.manifest.spoiled.has(`entities:${code}`)) return;
    faults.add(['entities'], `${code} cannot be removed while ${count(left, 'override')} of it remain`, {
      code: 'ENTITY_IN_USE',
    });
  });
}

function count(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? '' : 's'}`;
}

function shorten(names: readonly string[]): string {
  return names.length > 5 ? `${names.slice(0, 5).join(', ')} and ${names.length - 5} more` : names.join(', ');
}
