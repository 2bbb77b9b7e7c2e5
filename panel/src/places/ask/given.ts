/** Who gave something, and when: found among the audit records about a person. */

import { choicesIn } from '../activity/restore.ts';

export interface AuditRecord {
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly reason: string | null;
  readonly before: unknown;
  readonly after: unknown;
}

export interface Given {
  readonly at: string;
  readonly actor: string;
  readonly reason: string | null;
}

/** The newest record that gave the role. Records are newest first. */
export function roleGiven(records: readonly AuditRecord[], role: string): Given | null {
  const found = records.find(({ action, before, after }) => {
    return /^(assignment|user_roles)\./.test(action) && mentions(after, role) && !mentions(before, role);
  });
  return found ?? null;
}

/** The newest record that made the override for the record and permission what it is, whether made singly or with others. */
export function overrideGiven(
  records: readonly AuditRecord[],
  { permission, resourceType, resourceId }: { permission: string; resourceType: string; resourceId: string },
): Given | null {
  const found = records.find(({ action, before, after }) => {
    if (
      !/^override\.(?!.*\.refused$)/.test(action) ||
      ![resourceType, resourceId].every((part) => mentions(after, part))
    )
      return false;
    const now = choicesIn(after).get(permission);
    return now !== undefined && now !== choicesIn(before).get(permission);
  });
  return found ?? null;
}

export function adminGiven(records: readonly AuditRecord[]): Given | null {
  return records.find(({ action }) => action === 'app_admin.added' || action === 'admin.created') ?? null;
}

/** Whether a value holds the text, at any depth. */
function mentions(value: unknown, text: string): boolean {
  if (value === text) return true;
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some((one) => mentions(one, text));
}
