/** The known name that a misspelling most likely meant. */

import leven from 'leven';

/** Names compared at most: more would cost time on a question that is wrong anyway. */
const MAX_NAMES = 5000;
/**
 * Characters of one text times those of the other, over all names: some milliseconds. Thousands of long names that differ little
 * would take fifty, and everybody else would wait.
 */
const MAX_WORK = 8_000_000;
/** Longer texts are no misspelling of a name. */
const MAX_LENGTH = 128;

/**
 * The name among `known` with the fewest edits from `text`, without regard to case; the first of several. Null when none is
 * near: at most one edit for each three characters, at most three, and never as many as there are characters.
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
