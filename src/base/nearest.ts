/** Suggests the known name that a misspelling most likely meant. */

import leven from 'leven';

/** Names compared at most, to bound the work on a request that fails anyway. */
const MAX_NAMES = 5000;
/**
 * Bound on characters of the text times characters of the names: some milliseconds. Thousands of long, similar names
 * would take fifty, during which the event loop answers nobody else.
 */
const MAX_WORK = 8_000_000;
/** Longer texts are not considered misspellings. */
const MAX_LENGTH = 128;

/**
 * The name among `known` with the fewest edits from `text`, ignoring case; the first of several. Null when none is near: at most
 * one edit for each three characters, at most three, and always fewer than the text has characters.
 */
export function nearest(text: string, known: Iterable<string>): string | null {
  if (text.length > MAX_LENGTH) return null;
  const wanted = text.toLowerCase();
  let best: string | null = null;
  let least = Math.min(3, Math.ceil(text.length / 3), text.length - 1) + 1;
  let compared = 0;
  let work = 0;
  for (const name of known) {
    if (++compared > MAX_NAMES) break;
    if (Math.abs(name.length - text.length) >= least) continue;
    work += name.length * text.length;
    if (work > MAX_WORK) break;
    const edits = leven(wanted, name.toLowerCase(), { maxDistance: least });
    if (edits >= least) continue;
    least = edits;
    best = name;
    if (edits === 0) break;
  }
  return best;
}

/** The end of a sentence about an unknown name: a full stop, or the name that was most likely meant. */
export function orMeant(near: string | null): string {
  return near === null ? '.' : `; did you mean ${near}?`;
}
