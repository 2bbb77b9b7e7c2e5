/** What was typed in the playground, kept for the tab: a reload loses nothing. */

import { keep, readKept, TYPED } from '../../../session/kept.ts';
import { NO_QUESTION } from '../question.ts';
import type { Shared } from './share.ts';

/** `isOfService`: the text was opened from the service, and names the people of an application: nothing of it is kept. */
export function keepTyped(shared: Shared, isOfService: boolean): void {
  keep('session', TYPED, isOfService ? null : JSON.stringify(shared));
}

/** Null where nothing was kept. */
export function readTyped(): Shared | null {
  const kept = readKept('session', TYPED);
  if (kept === null) return null;
  try {
    const { text, question } = JSON.parse(kept) as Shared;
    return typeof text === 'string' ? { text, question: { ...NO_QUESTION, ...question } } : null;
  } catch {
    // Written by another version.
    return null;
  }
}
