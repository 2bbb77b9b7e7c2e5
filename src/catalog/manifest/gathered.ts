import { LEVEL_NAMES } from '../../base/level-names.ts';
import { Level } from '../../engine/types.ts';
import type { AdminRow, AssignmentRow, OverrideRow } from '../../persistence/catalog/manifest-read.ts';
import type { Window } from './format.ts';
import { type Admin, type Assignment, assignmentKey, type Override, overrideKey, type People } from './state.ts';

/** A page of an application's people, as it was read. */
export type PeoplePage =
  | { readonly kind: 'admins'; readonly rows: readonly AdminRow[] }
  | { readonly kind: 'assignments'; readonly rows: readonly AssignmentRow[] }
  | { readonly kind: 'overrides'; readonly rows: readonly OverrideRow[] };

/** People, by the key of each record. */
export class Gathered implements People {
  readonly admins = new Map<string, Admin>();
  readonly assignments = new Map<string, Assignment>();
  readonly overrides = new Map<string, Override>();

  take(page: PeoplePage): void {
    if (page.kind === 'admins') for (const row of page.rows) this.admins.set(row.email, { ...row, ...windowOf(row) });
    else if (page.kind === 'assignments') {
      for (const row of page.rows) this.assignments.set(assignmentKey(row), { ...row, ...windowOf(row) });
    } else {
      for (const { level, ...row } of page.rows) {
        const override = { ...row, ...windowOf(row), granted: level !== Level.NONE, accessLevel: LEVEL_NAMES[level] };
        this.overrides.set(overrideKey(override), override);
      }
    }
  }
}

function windowOf({ startsAt, endsAt }: Pick<AdminRow, 'startsAt' | 'endsAt'>): Window {
  return { startsAt: startsAt?.toISOString() ?? null, endsAt: endsAt?.toISOString() ?? null };
}
