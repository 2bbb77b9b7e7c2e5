/**
 * The names of levels, sources and rules in answers, manifests and commands (docs/reference/decisions.md#levels). Each stands at the
 * number by which the engine and the RPCs know it.
 */

/** Levels that can be held, as the engine's `Level` numbers them. */
export const LEVELS = { allowed: 1, view: 2, edit: 3 } as const;

/** By `Level`; null: nothing is held. */
export const LEVEL_NAMES = [null, 'allowed', 'view', 'edit'] as const;
export type LevelName = (typeof LEVEL_NAMES)[number];

/** The rules that can grant. */
export const GRANTING_SOURCES = ['role', 'override', 'superadmin', 'app_admin'] as const;

/** By `Source`; null: no rule granted anything. */
export const SOURCE_NAMES = [null, ...GRANTING_SOURCES] as const;
export type SourceName = (typeof SOURCE_NAMES)[number];

/** In order of evaluation; a rule's number is its index plus one. */
export const RULE_NAMES = ['inactive', 'superadmin', 'app_admin', 'override', 'roles', 'default'] as const;
export type RuleName = (typeof RULE_NAMES)[number];
