/** The answer to a question of the bench, and its six rules as lines. */

import type { GrantWindow } from '../../parts/until.ts';
import type { Verdict } from './question.ts';

export type Level = 'allowed' | 'view' | 'edit' | null;
type RuleName = 'inactive' | 'superadmin' | 'app_admin' | 'override' | 'roles' | 'default';

/** As `POST /api/applications/:appCode/explain` answers it (docs/reference/decisions.md#explain). */
export interface Explained extends Verdict {
  readonly rule: number;
  readonly rules: readonly Rule[];
  /** When one of the grants that take part begins or ends next; null or absent: never. */
  readonly validUntil?: string | null;
  readonly known: { readonly user: boolean; readonly application: boolean; readonly permission: boolean };
}

/** With its window, to come included; absent in the playground. */
export interface HeldOverride extends Partial<GrantWindow> {
  readonly granted: boolean;
  readonly accessLevel: Level;
}
export interface HeldRole extends Partial<GrantWindow> {
  readonly code: string;
  readonly accessLevel: Level;
}

export interface Rule {
  readonly rule: number;
  readonly name: RuleName;
  /** Whether its condition holds by itself, also where an earlier rule decided. */
  readonly applies: boolean;
  readonly decides: boolean;
  readonly accessLevel: Level;
  /** Of the seat, in rule 3. */
  readonly startsAt?: string | null;
  readonly endsAt?: string | null;
  readonly override?: HeldOverride | null;
  readonly roles?: readonly HeldRole[];
}

/** `decides`; `passed`: looked at, and nothing found; `unreached`: behind the one that decides. */
export type Standing = 'decides' | 'passed' | 'unreached';

export function standingOf(rule: Rule, deciding: number): Standing {
  if (rule.decides) return 'decides';
  return rule.rule < deciding ? 'passed' : 'unreached';
}

/** The override that counts for the question; null without one. */
export function overrideOf({ rules }: Explained): HeldOverride | null {
  return rules.find(({ name }) => name === 'override')?.override ?? null;
}

/** Every role that the person holds in the application, with what it gives of the permission. */
export function rolesOf({ rules }: Explained): readonly HeldRole[] {
  return rules.find(({ name }) => name === 'roles')?.roles ?? [];
}

export function applies({ rules }: Explained, name: RuleName): boolean {
  return rules.some((rule) => rule.name === name && rule.applies);
}
