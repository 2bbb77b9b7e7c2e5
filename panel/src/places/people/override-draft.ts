/** The overrides of a person for one record, as choices: a level, denied, or as the roles say. */

import type { Out } from '../../api/call.ts';

type Overrides = Out<'GET /api/users/{email}/apps/{appCode}/resources/{resourceType}/{resourceId}/permissions'>;
export type StoredOverride = Overrides['permissions'][number];
export type Choice = 'roles' | 'denied' | 'allowed' | 'view' | 'edit';
/** By permission. `roles` takes an override away. */
export type OverrideDraft = Readonly<Record<string, Choice>>;

export interface PermissionOf {
  readonly code: string;
  readonly type: 'binary' | 'tiered';
}

export function choiceOf({ granted, accessLevel }: Pick<StoredOverride, 'granted' | 'accessLevel'>): Choice {
  return granted ? (accessLevel ?? 'allowed') : 'denied';
}

export function choicesOf(type: PermissionOf['type']): readonly Choice[] {
  return type === 'tiered' ? ['roles', 'denied', 'view', 'edit'] : ['roles', 'denied', 'allowed'];
}

/** Stored overrides and those of the draft, by permission. */
export function rowsOf(
  stored: readonly StoredOverride[],
  draft: OverrideDraft,
): readonly (readonly [string, Choice])[] {
  const rows = new Map<string, Choice>(stored.map((one) => [one.code, choiceOf(one)]));
  for (const [code, choice] of Object.entries(draft)) rows.set(code, choice);
  return [...rows].sort(([a], [b]) => a.localeCompare(b, 'en'));
}

export function isChanged(stored: readonly StoredOverride[], draft: OverrideDraft): boolean {
  const was = new Map(stored.map((one) => [one.code, choiceOf(one)]));
  return Object.entries(draft).some(([code, choice]) => choice !== (was.get(code) ?? 'roles'));
}

interface BodyItem {
  permission: string;
  granted: boolean;
  accessLevel?: 'allowed' | 'view' | 'edit';
}

/** The whole set, as the write takes it. */
export function bodyOf(rows: readonly (readonly [string, Choice])[]): BodyItem[] {
  return rows.flatMap(([permission, choice]): BodyItem[] => {
    if (choice === 'roles') return [];
    return [choice === 'denied' ? { permission, granted: false } : { permission, granted: true, accessLevel: choice }];
  });
}
