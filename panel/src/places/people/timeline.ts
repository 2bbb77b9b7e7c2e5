/** The audit records of a person, as what happened. */

import type { Difference } from '../../../../src/base/audit-differences.ts';

const SHOWN = 4;
const LONGEST = 120;

/** The first differences of a record, each short enough for the margin of a page. */
export function inMargin(differences: readonly Difference[]): readonly Difference[] {
  return differences
    .slice(0, SHOWN)
    .map(({ name, before, after }) => ({ name, before: cut(before), after: cut(after) }));
}

function cut(text: string | null): string | null {
  return text !== null && text.length > LONGEST ? `${text.slice(0, LONGEST).toWellFormed()}…` : text;
}

/** The day of a moment in the reader's own time zone, as a key. */
export function dayOf(iso: string): string {
  const at = new Date(iso);
  return `${at.getFullYear()}-${at.getMonth() + 1}-${at.getDate()}`;
}
