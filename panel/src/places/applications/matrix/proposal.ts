/** A draft as a manifest: a proposal that somebody with the right to can apply. */

import { byText } from '../by-text.ts';
import { type Changes, drafted } from './draft.ts';
import type { MatrixTable } from './table.ts';

interface ProposedRole {
  readonly code: string;
  readonly description: string | null;
  readonly permissions: Readonly<Record<string, string>>;
}

/** All that a manifest says of an application: what it leaves out would get its default. */
interface ProposedApplication {
  readonly code: string;
  readonly name: string;
  readonly description: string | null;
  readonly supportedLanguages: readonly string[];
  readonly strictCodes: boolean;
  readonly tellEndings: boolean;
}

export interface Proposal {
  readonly application: ProposedApplication;
  readonly roles: readonly ProposedRole[];
}

/** The changed roles with all that they would grant: a manifest replaces what a role grants as a whole. */
export function proposalOf(
  { code, name, description, supportedLanguages, strictCodes, tellEndings }: ProposedApplication,
  table: MatrixTable,
  changes: Changes,
): Proposal {
  const changed = new Set([...changes.values()].map(({ roleId }) => roleId));
  const roles = table.roles
    .filter(({ id }) => changed.has(id))
    .map((role) => ({
      code: role.code,
      name: role.name,
      description: role.description,
      permissions: Object.fromEntries(
        table.permissions.flatMap((permission) => {
          const level = drafted(table, changes, role.id, permission.id);
          return level === null ? [] : [[permission.code, level]];
        }),
      ),
    }));
  return {
    application: { code, name, description, supportedLanguages, strictCodes, tellEndings },
    roles: roles.sort((a, b) => byText(a.code, b.code)),
  };
}

/** As YAML; the library is loaded when somebody asks for it. */
export async function yamlOf(proposal: Proposal): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(proposal, { lineWidth: 0 });
}
