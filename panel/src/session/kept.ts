/** Storage of the browser, which may be blocked: then nothing is kept and nothing fails. */

import { onPersonChanged } from './person.ts';

/**
 * Of the tab: the provider has been asked and has not signed anybody in, or somebody has signed out. Then it is not asked again
 * without a press of the button.
 */
export const ASKED = 'asked';
/** Of the tab: what was typed in the playground. */
export const TYPED = 'playground';

onPersonChanged(() => keep('session', TYPED, null));

export function readKept(area: 'local' | 'session', name: string): string | null {
  try {
    return storageOf(area).getItem(`usher.${name}`);
  } catch {
    return null; // Blocked by the browser's settings.
  }
}

/** Null forgets. */
export function keep(area: 'local' | 'session', name: string, value: string | null): void {
  try {
    if (value === null) storageOf(area).removeItem(`usher.${name}`);
    else storageOf(area).setItem(`usher.${name}`, value);
  } catch {
    // Blocked, or full: the panel works without.
  }
}

function storageOf(area: 'local' | 'session'): Storage {
  return area === 'local' ? localStorage : sessionStorage;
}
