/** Carries a plan out: the statements in an order in which every reference exists, a page of rows at a time. */

import { unavailable } from '../../base/errors.ts';
import { byCodeUnit } from '../../base/order.ts';
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
  insertAdmins,
  insertAssignments,
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
import { ensurePeople } from '../../persistence/people.ts';
import type { ManifestPermission } from './format.ts';
import { toLevel } from './load.ts';
import type { Plan } from './plan.ts';
import type { Override } from './state.ts';
import type { Kind, RecordOf, StepOf } from './steps.ts';

/** Called after each statement with the number of steps done and their total. */
export type Progress = (done: number, total: number) => void;

/** Carries out every step of the plan, in the transaction in which it was made. `onProgress` may throw to give up. */
export async function carryOut(tx: Tx, plan: Plan, onProgress: Progress): Promise<void> {
  const { steps } = plan;
  const work = new Work(plan.summary.create + plan.summary.change + plan.summary.remove, onProgress);
  const app = await carryApplication(tx, plan, work);

  // Records are removed before the records that they refer to.
  await work.each(removed(steps.override), (rows) => deleteOverrides(tx, app, rows));
  await work.each(removed(steps.assignment), (rows) => deleteAssignments(tx, app, rows));
  await work.each(removed(steps.admin), (rows) =>
    deleteAdmins(
      tx,
      app,
      rows.map(({ email }) => email),
    ),
  );
  await work.quietly(lostRolePermissions(steps.role), (rows) => deleteRolePermissions(tx, app, rows));
  await work.each(removed(steps.template), (rows) => deleteTemplates(tx, app, rows));
  for (const [kind, table] of [
    ['role', 'role'],
    ['permission', 'permission'],
    ['entity', 'entity'],
    ['notificationType', 'notification_type'],
  ] as const) {
    await work.each(removed(steps[kind]), (rows) =>
      deleteDefinitions(
        tx,
        table,
        app,
        rows.map(({ code }) => code),
      ),
    );
  }

  await work.each(wanted(steps.entity), (rows) => putEntities(tx, app, rows));
  await work.each(wanted(steps.permission), (rows) => putPermissions(tx, app, rows.map(permissionRow)));
  await work.quietly(newParents(steps.permission), (rows) => putParents(tx, app, rows));
  await work.each(wanted(steps.role), (rows) => putRoles(tx, app, rows));
  await work.quietly(newRolePermissions(steps.role), (rows) => putRolePermissions(tx, app, rows));

  await work.each(wanted(steps.notificationType), (rows) => putNotificationTypes(tx, app, rows));
  await work.each(wanted(steps.template), (rows) => putTemplates(tx, app, rows));

  await work.quietly(newcomers(plan), (emails) => ensurePeople(tx, emails));
  await work.each(wanted(steps.admin), (rows) =>
    insertAdmins(
      tx,
      app,
      rows.map(({ email }) => email),
    ),
  );
  await work.each(wanted(steps.assignment), (rows) => insertAssignments(tx, app, rows));
  await work.each(wanted(steps.override), (rows) => putOverrides(tx, app, rows.map(overrideRow)));
}

/** The facts that the plan changes, as scopes of the change log. */
export function scopesOf({ code, steps }: Plan): Scope[] {
  const policy = (['application', 'entity', 'permission', 'role'] as const).some((kind) => steps[kind].length > 0);
  const people = (['admin', 'assignment', 'override'] as const).flatMap((kind) => steps[kind].map(emailOf));
  return [
    ...(policy ? [`p:${code}` as const] : []),
    ...[...new Set(people)].map((email) => `m:${code}:${email}` as const),
  ];
}

class Work {
  readonly #total: number;
  readonly #onProgress: Progress;
  #done = 0;

  constructor(total: number, onProgress: Progress) {
    this.#total = total;
    this.#onProgress = onProgress;
    onProgress(0, total);
  }

  /** Runs steps that progress counts. */
  async each<T>(rows: readonly T[], carry: (page: T[]) => Promise<unknown>): Promise<void> {
    await this.quietly(rows, async (page) => {
      await carry(page);
      this.#done += page.length;
      this.#onProgress(this.#done, this.#total);
    });
  }

  /** Runs statements for steps that are counted elsewhere. */
  async quietly<T>(rows: readonly T[], carry: (page: T[]) => Promise<unknown>): Promise<void> {
    for (let at = 0; at < rows.length; at += PAGE) {
      await carry(rows.slice(at, at + PAGE));
      await turn();
    }
  }
}

async function carryApplication(tx: Tx, { id, steps }: Plan, work: Work): Promise<number> {
  let app = id;
  await work.each(wanted(steps.application), async ([application]) => {
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

function removed<K extends Kind>(steps: readonly StepOf<K>[]): RecordOf[K][] {
  return steps.flatMap(({ action, before }) => (action === 'remove' && before !== null ? [before] : []));
}

function wanted<K extends Kind>(steps: readonly StepOf<K>[]): RecordOf[K][] {
  return steps.flatMap(({ after }) => (after === null ? [] : [after]));
}

function permissionRow({ type, ...permission }: ManifestPermission): PermissionRow {
  return { ...permission, tiered: type === 'tiered' };
}

function overrideRow({ email, resourceType, resourceId, permission, accessLevel }: Override): OverrideRow {
  return { email, resourceType, resourceId, permission, level: toLevel(accessLevel) };
}

function newParents(steps: readonly StepOf<'permission'>[]): ManifestPermission[] {
  return steps.flatMap(({ before, after }) => (after && after.parent !== (before?.parent ?? null) ? [after] : []));
}

/** The permissions of removed roles are deleted by the database. */
function lostRolePermissions(steps: readonly StepOf<'role'>[]): Omit<RolePermissionRow, 'level'>[] {
  return steps.flatMap(({ before, after }) =>
    before === null || after === null
      ? []
      : [...before.permissions.keys()]
          .filter((permission) => !after.permissions.has(permission))
          .map((permission) => ({ role: before.code, permission })),
  );
}

function newRolePermissions(steps: readonly StepOf<'role'>[]): RolePermissionRow[] {
  return steps.flatMap(({ before, after }) =>
    [...(after?.permissions ?? [])]
      .filter(([permission, level]) => before?.permissions.get(permission) !== level)
      .map(([permission, level]) => ({ role: after?.code ?? '', permission, level: toLevel(level) })),
  );
}

/** In a fixed order: two transactions that insert the same people then cannot deadlock. */
function newcomers({ steps }: Plan): string[] {
  const people = (['admin', 'assignment', 'override'] as const).flatMap((kind) =>
    steps[kind].filter(({ action }) => action === 'create').map(emailOf),
  );
  return [...new Set(people)].sort(byCodeUnit);
}

/** The key of every kind that is about a person begins with the address, which holds no colon. */
function emailOf({ key }: { key: string }): string {
  const end = key.indexOf(':');
  return end < 0 ? key : key.slice(0, end);
}
