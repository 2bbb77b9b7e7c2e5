/** The plan: computed from the database and a manifest, and returned to the caller. */

import { readLimits, requireRules } from '../../administration/windows.ts';
import { each, type Sliced } from '../../base/slices.ts';
import { inSlices } from '../../base/time-slice.ts';
import type { Tx } from '../../persistence/database.ts';
import { type CatalogPlan, type Given, planCatalog } from './catalog.ts';
import { Faults, ManifestFaults } from './faults.ts';
import type { Manifest } from './format.ts';
import { loadCatalog, loadLanguages, loadPeople, loadUsage, loadUsedTypes } from './load.ts';
import { checkTypesInUse, type NotificationTypePlan, planNotificationTypes } from './notification-types.ts';
import { type EndedItem, type PeoplePlan, planPeople } from './people.ts';
import { type Change, KINDS, type Kind, type Step, type StepOf, type Steps, type Summary, show } from './steps.ts';
import { planTemplates } from './templates.ts';

export interface Plan {
  code: string;
  /** The application's id; null when the plan makes it. */
  id: number | null;
  steps: { [K in Kind]: readonly StepOf<K>[] };
  summary: Summary;
  /** Grants of the manifest whose time is over. */
  ended: readonly EndedItem[];
}

/** The answer of the endpoint (docs/reference/command-line.md#manifests), with its parameters and the number of ended assignments. */
export interface PlanView {
  application: string;
  dryRun: boolean;
  prune: boolean;
  summary: Summary;
  /** The number of removals that end a role that a person holds. */
  assignmentsEnded: number;
  /** In the order of the kinds; within a kind in the order of the manifest, removals last. Kept records are only counted. */
  changes: readonly Change[];
  /** Grants of the manifest whose time is over: nothing is planned for them. Absent for none. */
  ended?: readonly EndedItem[];
}

/**
 * Compares the manifest with the rows that `tx` reads. Throws ManifestFaults with every fault.
 * To carry it out, the application must have been locked before.
 */
export async function makePlan(tx: Tx, manifest: Manifest, prune: boolean): Promise<Plan> {
  const faults = new Faults();
  const { code } = manifest.application;
  const current = await loadCatalog(tx, code, manifest.templates !== null);
  const given: Given = { manifest, prune, languages: await loadLanguages(tx) };
  const catalog = await inSlices(planCatalog(current, given, faults));
  const types = await inSlices(planNotificationTypes(current.notificationTypes, manifest, prune, faults));
  checkTypesInUse(await loadUsedTypes(tx, current.id, types.removed, given), types, faults);
  const known = { types: current.notificationTypes.keys(), removedTypes: types.removed };
  const templates = await inSlices(planTemplates(current.templates, { ...given, ...known }, faults));
  const people = await loadPeople(tx, current.id, manifest, prune, catalog);
  const usage = await loadUsage(tx, current.id, catalog);
  const { now } = await readLimits(tx);
  const planned = await inSlices(planPeople(people, usage, catalog, { ...given, now }, faults));
  if (faults.list.length > 0) throw new ManifestFaults(faults.list);
  const plan = assemble(code, current.id, { catalog, types, templates, people: planned });
  if (await inSlices(setsWindow(plan))) await requireRules(tx);
  return plan;
}

interface Parts {
  catalog: CatalogPlan;
  types: NotificationTypePlan;
  templates: Steps<'template'>;
  people: PeoplePlan;
}

function assemble(code: string, id: number | null, { catalog, types, templates, people }: Parts): Plan {
  const all = {
    application: catalog.application,
    entity: catalog.entities,
    permission: catalog.permissions,
    role: catalog.roles,
    notificationType: types.steps,
    template: templates,
    admin: people.admins,
    assignment: people.assignments,
    override: people.overrides,
  };
  const summary: Summary = { create: 0, change: 0, remove: 0, keep: 0 };
  for (const kind of KINDS) {
    const { counts } = all[kind];
    for (const what of ['create', 'change', 'remove', 'keep'] as const) summary[what] += counts[what];
  }
  const steps: Plan['steps'] = {
    application: all.application.list,
    entity: all.entity.list,
    permission: all.permission.list,
    role: all.role.list,
    notificationType: all.notificationType.list,
    template: all.template.list,
    admin: all.admin.list,
    assignment: all.assignment.list,
    override: all.override.list,
  };
  return { code, id, steps, summary, ended: people.ended };
}

/** Whether a grant is given a beginning or an end that it did not have. */
function* setsWindow({ steps }: Plan): Sliced<boolean> {
  let sets = false;
  for (const kind of ['admin', 'assignment', 'override'] as const) {
    yield* each<StepOf<'admin'> | StepOf<'assignment'> | StepOf<'override'>>(steps[kind], ({ before, after }) => {
      for (const name of ['startsAt', 'endsAt'] as const) {
        sets ||= after !== null && after[name] !== null && after[name] !== (before?.[name] ?? null);
      }
    });
  }
  return sets;
}

export function stepsOf(plan: Plan): Step[] {
  return KINDS.flatMap((kind): readonly Step[] => plan.steps[kind]);
}

/** Whether the plan changes nothing. */
export function isEmpty({ summary }: Plan): boolean {
  return summary.create + summary.change + summary.remove === 0;
}

export function* planView(plan: Plan, { dryRun, prune }: { dryRun: boolean; prune: boolean }): Sliced<PlanView> {
  const { code: application, summary, steps } = plan;
  let assignmentsEnded = 0;
  const changes: Change[] = [];
  for (const kind of KINDS) {
    yield* each<Step>(steps[kind], (step) => {
      if (step.kind === 'assignment' && step.action === 'remove') assignmentsEnded++;
      changes.push(show(step));
    });
  }
  const { ended } = plan;
  return { application, dryRun, prune, summary, assignmentsEnded, changes, ...(ended.length === 0 ? {} : { ended }) };
}
