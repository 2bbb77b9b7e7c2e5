/** Carries a plan out: the statements in an order in which every reference exists, a page of rows at a time. */

import { unavailable } from '../../base/errors.ts';
import { byCodeUnit } from '../../base/order.ts';
import { each, type Sliced, sorted } from '../../base/slices.ts';
import { inSlices, TimeSlicer } from '../../base/time-slice.ts';
import { insertApplication, replaceLanguages, updateApplication } from '../../persistence/catalog/applications.ts';
import { holdLanguages } from '../../persistence/catalog/languages.ts';
import {
  type OverrideRow,
  PAGE,
  type PermissionRow,
  type RolePermissionRow,
  turn,
} from '../../persistence/catalog/manifest-read.ts';
import {
  deleteAdmins,
  deleteAssignments,
  deleteDefinitions,
  deleteOverrides,
  deleteRolePermissions,
  putAdmins,
  putAssignments,
  putEntities,
  putOverrides,
  putParents,
  putPermissions,
  putRolePermissions,
  putRoles,
} from '../../persistence/catalog/manifest-write.ts';
import { ensureGenericType, putNotificationTypes } from '../../persistence/catalog/notification-types.ts';
import { deleteTemplates, putTemplates } from '../../persistence/catalog/templates.ts';
import type { Scope, Tx } from '../../persistence/database.ts';
import { ensurePeople } from '../../persistence/people/people.ts';
import type { ManifestPermission, Window } from './format.ts';
import { toLevel } from './load.ts';
import type { Plan } from './plan.ts';
import type { Override } from './state.ts';
import type { Kind, RecordOf, Step, StepOf } from './steps.ts';

/** Called after each statement with the number of steps done and their total. */
export type Progress = (done: number, total: number) => void;

/** Carries out every step of the plan, in the transaction in which it was made. `onProgress` may throw to give up. */
export async function carryOut(tx: Tx, plan: Plan, onProgress: Progress): Promise<void> {
  const { steps } = plan;
  const work = new Work(plan.summary.create + plan.summary.change + plan.summary.remove, onProgress);
  const app = await carryApplication(tx, plan, work);

  // Records are removed before the records that they refer to.
  await work.each(steps.override, removed, (rows) => deleteOverrides(tx, app, rows));
  await work.each(steps.assignment, removed, (rows) => deleteAssignments(tx, app, rows));
  await work.each(steps.admin, removed, (rows) =>
    deleteAdmins(
      tx,
      app,
      rows.map(({ email }) => email),
    ),
  );
  await work.quietly(steps.role, lostRolePermissions, (rows) => deleteRolePermissions(tx, app, rows));
  await work.each(steps.template, removed, (rows) => deleteTemplates(tx, app, rows));
  for (const [kind, table] of [
    ['role', 'role'],
    ['permission', 'permission'],
    ['entity', 'entity'],
    ['notificationType', 'notification_type'],
  ] as const) {
    await work.each(steps[kind], removed, (rows) =>
      deleteDefinitions(
        tx,
        table,
        app,
        rows.map(({ code }) => code),
      ),
    );
  }

  await work.each(steps.entity, wanted, (rows) => putEntities(tx, app, rows));
  await work.each(steps.permission, wanted, (rows) => putPermissions(tx, app, rows.map(permissionRow)));
  await work.quietly(steps.permission, newParents, (rows) => putParents(tx, app, rows));
  await work.each(steps.role, wanted, (rows) => putRoles(tx, app, rows));
  await work.quietly(steps.role, newRolePermissions, (rows) => putRolePermissions(tx, app, rows));

  await work.each(steps.notificationType, wanted, (rows) => putNotificationTypes(tx, app, rows));
  await work.each(steps.template, wanted, (rows) => putTemplates(tx, app, rows));

  await work.quietly(
    await inSlices(newcomers(plan)),
    (email) => [email],
    (emails) => ensurePeople(tx, emails),
  );
  await work.each(steps.admin, wanted, (rows) => putAdmins(tx, app, rows.map(timed)));
  await work.each(steps.assignment, wanted, (rows) => putAssignments(tx, app, rows.map(timed)));
  await work.each(steps.override, wanted, (rows) => putOverrides(tx, app, rows.map(overrideRow)));
}

/** The facts that the plan changes, as scopes of the change log: of more people than that tells apart, the whole application. */
export function* scopesOf({ code, steps }: Plan): Sliced<Scope[]> {
  const policy = (['application', 'entity', 'permission', 'role'] as const).some((kind) => steps[kind].length > 0);
  const people = new Set<string>();
  for (const kind of OF_PEOPLE) {
    for (const step of steps[kind]) {
      people.add(emailOf(step));
      if (people.size > MANY) return [`a:${code}`];
      yield;
    }
  }
  return [...(policy ? [`p:${code}` as const] : []), ...[...people].map((email) => `m:${code}:${email}` as const)];
}

/** More people than the change log tells apart. */
const MANY = 200;
const OF_PEOPLE = ['admin', 'assignment', 'override'] as const;

class Work {
  readonly #total: number;
  readonly #onProgress: Progress;
  #done = 0;

  constructor(total: number, onProgress: Progress) {
    this.#total = total;
    this.#onProgress = onProgress;
    onProgress(0, total);
  }

  /** Carries out the steps that have a record of that side, which progress counts. */
  async each<K extends Kind>(
    steps: readonly StepOf<K>[],
    side: (step: StepOf<K>) => RecordOf[K] | null,
    carry: (page: RecordOf[K][]) => Promise<unknown>,
  ): Promise<void> {
    await this.quietly(
      steps,
      (step) => {
        const record = side(step);
        return record === null ? [] : [record];
      },
      async (page) => {
        await carry(page);
        this.#done += page.length;
        this.#onProgress(this.#done, this.#total);
      },
    );
  }

  /** Runs statements for steps that are counted elsewhere, a page of rows each. */
  async quietly<S, T>(
    steps: Iterable<S>,
    rowsOf: (step: S) => Iterable<T>,
    carry: (page: T[]) => Promise<unknown>,
  ): Promise<void> {
    const pieces = new TimeSlicer();
    let page: T[] = [];
    for (const step of steps) {
      for (const row of rowsOf(step)) {
        page.push(row);
        if (page.length < PAGE) continue;
        await carry(page);
        await turn();
        page = [];
      }
      const next = pieces.next();
      if (next !== undefined) await next;
    }
    if (page.length === 0) return;
    await carry(page);
    await turn();
  }
}

async function carryApplication(tx: Tx, { id, steps }: Plan, work: Work): Promise<number> {
  let app = id;
  await work.each(steps.application, wanted, async ([application]) => {
    if (application === undefined) return;
    if (app === null) app = await makeApplication(tx, application);
    else await updateApplication(tx, app, application);
    await holdAll(tx, application.supportedLanguages);
    await replaceLanguages(tx, app, application.supportedLanguages);
  });
  if (app === null) throw new Error('the plan for a new application does not create it');
  return app;
}

/** Locks the planned languages, any of which may have been removed from the registry since. */
async function holdAll(tx: Tx, languages: readonly string[]): Promise<void> {
  const known = await holdLanguages(tx, languages);
  const gone = languages.find((code) => !known.has(code));
  if (gone !== undefined) throw unavailable(`The language ${gone} was just removed from the registry; try again.`);
}

async function makeApplication(tx: Tx, application: RecordOf['application']): Promise<number> {
  const app = await insertApplication(tx, application);
  // Another writer created it since the plan was made: there was no row to lock then.
  if (app === null) throw unavailable(`The application ${application.code} was just made; try again.`);
  await ensureGenericType(tx, app);
  return app;
}

/** What a step removes; null of every other. */
function removed<K extends Kind>({ action, before }: StepOf<K>): RecordOf[K] | null {
  return action === 'remove' ? before : null;
}

/** What there is to be after a step; null of a removal. */
function wanted<K extends Kind>({ after }: StepOf<K>): RecordOf[K] | null {
  return after;
}

function permissionRow({ type, ...permission }: ManifestPermission): PermissionRow {
  return { ...permission, tiered: type === 'tiered' };
}

function overrideRow(override: Override): OverrideRow {
  const { email, resourceType, resourceId, permission, startsAt, endsAt } = timed(override);
  return { email, resourceType, resourceId, permission, level: toLevel(override.accessLevel), startsAt, endsAt };
}

function timed<T extends Window>(record: T): Omit<T, keyof Window> & { startsAt: Date | null; endsAt: Date | null } {
  const { startsAt, endsAt } = record;
  return {
    ...record,
    startsAt: startsAt === null ? null : new Date(startsAt),
    endsAt: endsAt === null ? null : new Date(endsAt),
  };
}

function newParents({ before, after }: StepOf<'permission'>): ManifestPermission[] {
  return after !== null && after.parent !== (before?.parent ?? null) ? [after] : [];
}

/** The permissions of removed roles are deleted by the database. */
function* lostRolePermissions({ before, after }: StepOf<'role'>): Generator<Omit<RolePermissionRow, 'level'>> {
  if (before === null || after === null) return;
  for (const permission of before.permissions.keys()) {
    if (!after.permissions.has(permission)) yield { role: before.code, permission };
  }
}

function* newRolePermissions({ before, after }: StepOf<'role'>): Generator<RolePermissionRow> {
  if (after === null) return;
  for (const [permission, level] of after.permissions) {
    if (before?.permissions.get(permission) !== level) yield { role: after.code, permission, level: toLevel(level) };
  }
}

/** In a fixed order: two transactions that insert the same people then cannot deadlock. */
function* newcomers({ steps }: Plan): Sliced<string[]> {
  const people = new Set<string>();
  for (const kind of OF_PEOPLE) {
    yield* each<Step>(steps[kind], (step) => step.action === 'create' && people.add(emailOf(step)));
  }
  return yield* sorted(people, byCodeUnit);
}

/** The key of every kind that is about a person begins with the address, which holds no colon. */
function emailOf({ key }: { key: string }): string {
  const end = key.indexOf(':');
  return end < 0 ? key : key.slice(0, end);
}
