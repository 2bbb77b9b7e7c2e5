/** What a person has, arranged for reading: narrowed by a text, overrides by record, and as a table. */

import type { Out } from '../../../../src/gen/api.ts';
import type { Cell } from '../../api/csv.ts';

export type Access = Out<'GET /api/users/{email}/access'>;
export type ApplicationAccess = Access['applications'][number];
export type Override = Pick<
  ApplicationAccess['overrides'][number],
  'resourceType' | 'resourceId' | 'permission' | 'granted' | 'accessLevel' | 'startsAt' | 'endsAt'
>;

/** Applications that hold the text in their name, and of the others what holds it. */
export function narrowed(applications: readonly ApplicationAccess[], q: string): readonly ApplicationAccess[] {
  const wanted = q.trim().toLowerCase();
  if (wanted === '') return applications;
  const has = (...texts: readonly string[]) => texts.some((text) => text.toLowerCase().includes(wanted));
  return applications.flatMap((application) => {
    if (has(application.code, application.name)) return [application];
    const roles = application.roles.filter((role) => has(role));
    const permissions = application.permissions.filter(({ code }) => has(code));
    const overrides = application.overrides.filter((one) =>
      has(one.permission, `${one.resourceType}:${one.resourceId}`),
    );
    return roles.length + permissions.length + overrides.length === 0
      ? []
      : [{ ...application, roles, permissions, overrides }];
  });
}

/** What an override says: a level, or that it denies. */
export function levelOf({ granted, accessLevel }: Pick<Override, 'granted' | 'accessLevel'>): string {
  return granted ? (accessLevel ?? 'allowed') : 'denied';
}

/** A row for each role, permission and override: the header first. */
export function tableOf(
  applications: readonly ApplicationAccess[],
  headers: readonly string[],
): readonly (readonly Cell[])[] {
  const rows = applications.flatMap(({ code, level, roles, permissions, overrides }): Cell[][] => [
    ...(level === 'app_admin' ? [[code, 'app_admin', '', '', '', '']] : []),
    ...roles.map((role) => [code, 'role', role, '', '', '']),
    ...permissions.map((one) => [code, 'permission', one.code, one.accessLevel, one.source, '']),
    ...overrides.map((one) => [
      code,
      'override',
      one.permission,
      levelOf(one),
      'override',
      `${one.resourceType}:${one.resourceId}`,
    ]),
  ]);
  return [headers, ...rows];
}

/** Which applications are open at first: a few are all shown, of many only the one that is asked for. */
export function isOpen(
  code: string,
  { asked, count, searching }: { asked: string; count: number; searching: boolean },
) {
  return code === asked || count <= OPEN_AT_ONCE || searching;
}
const OPEN_AT_ONCE = 3;
