/** The parts of a change that a reader may see (docs/reference/administration.md#change-stream). */

import type { LoggedChange } from '../persistence/administration/changes.ts';
import { PANEL_APP } from './panel.ts';
import { isAdministrator, type Sight } from './reach.ts';

/** What a change is about: an application, a person in it, a person everywhere; without either, possibly everything. */
export interface ChangedScope {
  readonly application?: string;
  readonly email?: string;
}

/** What a reader may see. */
export interface View {
  readonly superadmin: boolean;
  readonly enters: boolean;
  readonly isAdministrator: boolean;
  /** The codes of applications; null: all. */
  readonly codes: ReadonlySet<string> | null;
}

export function viewOf(sight: Sight): View {
  const { superadmin, enters, applications } = sight;
  const codes = applications === null ? null : new Set(applications.map(({ code }) => code));
  return { superadmin, enters, isAdministrator: isAdministrator(sight), codes };
}

export function isSameView(a: View, b: View): boolean {
  const codes = (view: View) => [...(view.codes ?? ['*'])].toSorted().join(' ');
  return a.superadmin === b.superadmin && a.enters === b.enters && codes(a) === codes(b);
}

/** A scope of the change log; an unknown one, of a newer version, is about everything. */
export function scopeOf(text: string): ChangedScope {
  const [kind, first = '', second = ''] = text.split(':');
  if (kind === 'p' || kind === 'a') return { application: first };
  if (kind === 'm') return { application: first, email: second };
  return kind === 'u' ? { email: first } : {};
}

/** Whether a change may alter what this reader may see. */
export function mayAlter(scope: ChangedScope, email: string, { superadmin, enters, codes }: View): boolean {
  if (scope.email !== undefined) return scope.email === email;
  if (scope.application === undefined || scope.application === PANEL_APP) return true;
  // It may have been made or deleted, and people who manage all applications see a new one.
  return !superadmin && (codes?.has(scope.application) === true || enters);
}

/** The parts that a reader may see; empty for none. `appsOf` holds the applications of people who changed everywhere. */
export function visibleScopes(
  scopes: readonly ChangedScope[],
  email: string,
  view: View,
  appsOf: ReadonlyMap<string, ReadonlySet<string>>,
): ChangedScope[] {
  const seen = new Map<string, ChangedScope>();
  for (const scope of scopes) {
    const shown = visible(scope, email, view, appsOf);
    if (shown !== null) seen.set(JSON.stringify(shown), shown);
  }
  return [...seen.values()];
}

function visible(
  scope: ChangedScope,
  reader: string,
  { codes }: View,
  appsOf: ReadonlyMap<string, ReadonlySet<string>>,
): ChangedScope | null {
  const { application, email } = scope;
  if (codes === null || (application === undefined && email === undefined)) return scope;
  if (application !== undefined && codes.has(application)) return scope;
  // Something about themselves, in an application that they may not see.
  if (email === reader) return { email };
  if (application !== undefined || email === undefined) return null;
  return appsOf
    .get(email)
    ?.values()
    .some((code) => codes.has(code)) === true
    ? scope
    : null;
}

/** Whether a reader may know who made a change of which they see these parts. */
export function maySeeActor(scopes: readonly ChangedScope[], { superadmin }: View): boolean {
  return superadmin || scopes.some(({ application }) => application !== undefined);
}

/** The people that these changes touch everywhere. */
export function peopleOf(changes: readonly Pick<LoggedChange, 'scopes'>[]): string[] {
  const scopes = changes.flatMap((change) => change.scopes.map(scopeOf));
  return [...new Set(scopes.flatMap(({ application, email }) => (application === undefined && email ? [email] : [])))];
}
