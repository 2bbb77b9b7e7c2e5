/** Records of the audit as people read them: by day and request, and where what they are about is. */

import { isFields } from '../../../../src/base/audit-differences.ts';
import type { Item } from '../../../../src/gen/api.ts';

export type AuditRecord = Item<'GET /api/admin/audit'>;

/** Records of one request, the newest first. */
export interface Group {
  readonly id: number;
  readonly records: readonly AuditRecord[];
}
export interface Day {
  /** The calendar day, of the reader's clock. */
  readonly day: string;
  readonly groups: readonly Group[];
}

/** Records that follow each other, by day and request. `dayOf` names the day of a moment. */
export function byDay(records: readonly AuditRecord[], dayOf: (iso: string) => string): Day[] {
  const days: { day: string; groups: { id: number; records: AuditRecord[] }[] }[] = [];
  for (const record of records) {
    const day = dayOf(record.at);
    let last = days.at(-1);
    if (last?.day !== day) {
      last = { day, groups: [] };
      days.push(last);
    }
    const group = last.groups.at(-1);
    const newest = group?.records[0];
    if (group !== undefined && newest !== undefined && isTogether(newest, record)) group.records.push(record);
    else last.groups.push({ id: record.id, records: [record] });
  }
  return days;
}

function isTogether(a: AuditRecord, b: AuditRecord): boolean {
  if (a.actor !== b.actor || a.requestId !== b.requestId) return false;
  // What the service did by itself has no request.
  return a.requestId !== null || a.at === b.at;
}

/** Where what was changed is; null where the panel has no page of it. */
export function linkOf({ action, appCode, subject, before, after }: AuditRecord): string | null {
  const thing = action.slice(0, action.indexOf('.'));
  const fields = { ...(isFields(before) ? before : {}), ...(isFields(after) ? after : {}) };
  const app = appCode === null ? null : `/applications/${encodeURIComponent(appCode)}`;
  if (app !== null && thing === 'override' && typeof fields.resourceId === 'string') {
    const { resourceType, resourceId } = fields;
    return `${app}/records/of/${encodeURIComponent(String(resourceType))}/${encodeURIComponent(resourceId)}`;
  }
  if (subject?.includes('@') === true) return `/people/${encodeURIComponent(subject)}`;
  if (thing === 'brand') return '/brands';
  if (thing === 'language' || thing === 'superadmin') return '/settings';
  if (app === null) return null;
  return `${app}${VIEWS[thing] ?? ''}`;
}

const VIEWS: Readonly<Record<string, string>> = {
  role: '/matrix',
  role_permissions: '/matrix',
  role_users: '/people',
  permission: '/permissions',
  entity: '/records/entities',
  template: '/messages',
  notification_type: '/messages',
  manifest: '/manifest',
};
