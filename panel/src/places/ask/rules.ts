/** The answer to a question of the bench, and its six rules as lines. */

import type { Verdict } from './question.ts';

export type Level = 'allowed' | 'view' | 'edit' | null;
type RuleName = 'inactive' | 'superadmin' | 'app_admin' | 'override' | 'roles' | 'default';

/** As `POST /api/applications/:appCode/explain` answers it (docs/reference/decisions.md#explain). */
export interface Explained extends Verdict {
  readonly rule: number;
  readonly rules: readonly Rule[];
  readonly known: { readonly user: boolean; readonly application: boolean; readonly permission: boolean };
}

export interface Rule {
  readonly rule: number;
  readonly name: RuleName;
  /** Whether its condition holds by itself, also where an earlier rule decided. */
  readonly applies: boolean;
  readonly decides: boolean;
  readonly accessLevel: Level;
  readonly override?: { readonly granted: boolean; readonly accessLevel: Level } | null;
  readonly roles?: readonly { readonly code: string; readonly accessLevel: Level }[];
}

/** `decides`; `passed`: looked at, and nothing found; `unreached`: behind the one that decides. */
export type Standing = 'decides' | 'passed' | 'unreached';

export function standingOf(rule: Rule, deciding: number): Standing {
  if (rule.decides) return 'decides';
  return rule.rule < deciding ? 'passed' : 'unreached';
}

/** The override that counts for the question; null without one. */
export function overrideOf({ rules }: Explained): { readonly granted: boolean; readonly accessLevel: Level } | null {
  return rules.find(({ name }) => name === 'override')?.override ?? null;
}

/** Every role that the person holds in the application, with what it gives of the permission. */
export function rolesOf({ rules }: Explained): readonly { readonly code: string; readonly accessLevel: Level }[] {
  return rules.find(({ name }) => name === 'roles')?.roles ?? [];
}

export function applies({ rules }: Explained, name: RuleName): boolean {
  return rules.some((rule) => rule.name === name && rule.applies);
}
