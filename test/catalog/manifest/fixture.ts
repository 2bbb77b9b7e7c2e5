import { sql } from 'kysely';
import { systemClock } from '../../../src/base/clock.ts';
import { UsherError } from '../../../src/base/errors.ts';
import type { ApplyOptions } from '../../../src/catalog/manifest/manifests.ts';
import { Manifests } from '../../../src/catalog/manifest/manifests.ts';
import type { PlanView } from '../../../src/catalog/manifest/plan.ts';
import type { Database } from '../../../src/persistence/database.ts';
import { yamlOf } from '../../support/exported.ts';

/** A small registry of languages, which the manifests of these tests name. */
export async function addLanguages(database: Database): Promise<void> {
  await database.change(async ({ kysely }) => {
    await sql`insert into language (code, name, native_name) values ('en', 'English', 'English'), ('cs', 'Czech', 'Čeština')
      on conflict do nothing`.execute(kysely);
    return { result: null, scopes: [] };
  });
}

export function manifestsOf(database: Database): Manifests {
  return new Manifests({ database, clock: systemClock, templates: { faultsOf: async () => [] } });
}

/** Applies as the machine's owner; answers the plan and the revision. */
export async function apply(
  database: Database,
  text: string,
  options: Partial<ApplyOptions> = {},
): Promise<PlanView & { revision: string | undefined }> {
  const { plan, revision } = await manifestsOf(database).apply(text, { actor: 'cli', ...options });
  return { ...plan, revision };
}

/** What an apply is refused with: the reason, and the issues as lines `line:column path: message [code]`. */
export async function refusal(
  database: Database,
  text: string,
  options: Partial<ApplyOptions> = {},
): Promise<{ reason: string | undefined; status: number; issues: string[]; error: UsherError }> {
  try {
    await apply(database, text, options);
  } catch (error) {
    if (!(error instanceof UsherError)) throw error;
    const issues = (error.details?.issues ?? []) as {
      path: string;
      message: string;
      line: number;
      column: number;
      code?: string;
    }[];
    return {
      reason: error.reason,
      status: error.httpStatus,
      issues: issues.map(
        ({ line, column, path, message, code }) => `${line}:${column} ${path}: ${message}${code ? ` [${code}]` : ''}`,
      ),
      error,
    };
  }
  throw new Error('the manifest was not refused');
}

export async function exported(database: Database, code: string): Promise<string> {
  return await yamlOf(manifestsOf(database), code);
}

/** Steps of a plan, a line each: `+ role reader`. */
export function lines(plan: PlanView): string[] {
  const signs = { create: '+', change: '~', remove: '-' };
  return plan.changes.map(({ action, kind, key }) => `${signs[action]} ${kind} ${key}`);
}

export async function query<T>(database: Database, statement: string): Promise<T[]> {
  return await database.read(async ({ kysely }) => (await sql.raw<T>(statement).execute(kysely)).rows);
}

/** A manifest of an application with one of everything; each test has its own, by code. */
export function studio(code: string): string {
  return `application: {code: ${code}, name: Studio}
entities: [{code: project, name: Project}]
permissions:
  - {code: project.access, type: tiered, groupName: Projects}
  - {code: project.archive, type: binary, parent: project.access}
  - {code: report, type: binary, global: true}
roles:
  - {code: lead, permissions: {project.access: edit, project.archive: allowed}}
  - {code: guest, permissions: {project.access: view}}
admins: [nora@example.com]
assignments:
  - {email: ada@example.com, roles: [lead, guest]}
  - {email: ben@example.com, roles: [guest]}
overrides:
  - {email: ben@example.com, resourceType: project, resourceId: "1", permission: project.access, granted: false}
`;
}
