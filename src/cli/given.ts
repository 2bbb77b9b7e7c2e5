/** Who made a decision what it is, and when: found among the audit records about the person. */

import { differencesOf } from '../base/audit-differences.ts';
import { actionOf } from '../base/audit-sentences.ts';
import type { AuditRecord, Explanation } from '../gen/api.ts';
import { actorOf } from './audit-line.ts';
import type { Question } from './explain.ts';
import { CommandFailed } from './io.ts';
import type { Service } from './service.ts';
import { moment } from './terminal.ts';

/** Records that are looked through, the newest: what decides was mostly changed lately. */
const RECORDS = 200;

/**
 * The record that made the deciding override, role or seat what it is, however it was written (PUT, panel, manifest); null where
 * another rule decides, the record is older than those looked through, or the caller may not read the audit.
 */
export async function recordBehind(
  service: Service,
  question: Question,
  { rule, rules }: Pick<Explanation, 'rule' | 'rules'>,
): Promise<AuditRecord | null> {
  const isIt = DECIDED_BY[rule]?.(question, rules[4]?.roles?.filter(({ accessLevel }) => accessLevel !== null) ?? []);
  if (isIt === undefined || service.credentials.token === undefined) return null;
  try {
    const { data } = await service.call('GET /api/applications/{appCode}/audit', {
      path: { appCode: question.app },
      query: { subject: question.email, limit: RECORDS },
    });
    return data.find((record) => !actionOf(record.action).refused && isIt(record)) ?? null;
  } catch (error) {
    // A caller who may ask may lack the right to read the audit: the answer stands without it.
    if (error instanceof CommandFailed) return null;
    throw error;
  }
}

/** The record in a line. */
export function behindInWords({ at, actor, reason }: AuditRecord): string {
  return `so since ${moment(at)}, by ${actorOf({ actor })}${reason === null ? '' : ` (why: ${reason})`}`;
}

type IsIt = (record: AuditRecord) => boolean;

/** By the number of the rule that decides. */
const DECIDED_BY: Readonly<Record<number, (question: Question, roles: readonly { code: string }[]) => IsIt>> = {
  3:
    () =>
    ({ action }) =>
      action === 'app_admin.added' || action === 'admin.created',
  4: ({ permission, resourceType, resourceId }) => {
    const name = `${permission} · ${resourceType}:${resourceId}`;
    return (record) =>
      record.action.startsWith('override.') &&
      differencesOf(record).some((one) => one.name === name && one.after !== null);
  },
  5:
    (_, roles) =>
    ({ action, before, after }) =>
      /^(?:assignment|user_roles)\./.test(action) &&
      roles.some(({ code }) => rolesIn(after).includes(code) && !rolesIn(before).includes(code)),
};

function rolesIn(side: unknown): readonly unknown[] {
  const { role, roles } = (side ?? {}) as { role?: unknown; roles?: unknown };
  return Array.isArray(roles) ? roles : [role];
}
