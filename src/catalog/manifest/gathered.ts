import { LEVEL_NAMES } from '../../base/level-names.ts';
import { Level } from '../../engine/types.ts';
import type { AssignmentRow, OverrideRow } from '../../persistence/catalog/manifest-read.ts';
import { type Assignment, assignmentKey, type Override, overrideKey, type People } from './state.ts';

/** A page of an application's people, as it was read. */
export type PeoplePage =
  | { readonly kind: 'admins'; readonly rows: readonly { email: string }[] }
  | { readonly kind: 'assignments'; readonly rows: readonly AssignmentRow[] }
  | { readonly kind: 'overrides'; readonly rows: readonly OverrideRow[] };

/** People, by the key of each record. */
export class Gathered implements People {
  readonly admins = new Set<string>();
  readonly assignments = new Map<string, Assignment>();
  readonly overrides = new Map<string, Override>();

  take(page: PeoplePage): void {
    if (page.kind === 'admins') for (const { email } of page.rows) this.admins.add(email);
    else if (page.kind === 'assignments') {
      for (const assignment of page.rows) this.assignments.set(assignmentKey(assignment), assignment);
    } else {
      for (const { level, ...row } of page.rows) {
        const override = { ...row, granted: level !== Level.NONE, accessLevel: LEVEL_NAMES[level] };
        this.overrides.set(overrideKey(override), override);
      }
    }
  }
}
