/** Several roles for several people in one transaction: a manifest with assignments alone. */

import type { Manifest } from '../../../../../src/gen/api.ts';

interface Application {
  readonly code: string;
  readonly name: string;
  readonly description: string | null;
  readonly supportedLanguages: readonly string[];
  readonly strictCodes: boolean;
  readonly tellEndings: boolean;
}

/** Sections that are absent are left alone; the application's own fields are given as they are. */
export function manifestOf(
  { code, name, description, supportedLanguages, strictCodes, tellEndings }: Application,
  roles: readonly { readonly code: string }[],
  emails: readonly string[],
): Manifest {
  const codes = roles.map((role) => role.code);
  return {
    application: { code, name, description, supportedLanguages: [...supportedLanguages], strictCodes, tellEndings },
    assignments: emails.map((email) => ({ email, roles: codes })),
  };
}

interface Change {
  readonly action: string;
  readonly kind: string;
  readonly after?: Readonly<Record<string, unknown>>;
}

/** Who was given each role by an applied manifest; who held it before is not named. */
export function givenIn(changes: readonly Change[]): Map<string, string[]> {
  const given = new Map<string, string[]>();
  for (const { action, kind, after } of changes) {
    if (action !== 'create' || kind !== 'assignment' || after === undefined) continue;
    const role = String(after.role);
    given.set(role, [...(given.get(role) ?? []), String(after.email)]);
  }
  return given;
}
