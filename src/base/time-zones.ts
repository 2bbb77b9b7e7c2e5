/** Names of time zones (docs/reference/names.md#time-zones). */

import { lowerAscii } from './grammar.ts';
import { TIME_ZONE_NAMES } from './time-zone-names.ts';

let names: ReadonlyMap<string, string> | null = null;

/**
 * IANA's own spelling of a name or link of IANA, in whatever case it is written; null for anything else. `Intl` alone cannot tell:
 * it also takes ICU's own names (`BST` is Dhaka to it), and `Intl.supportedValuesOf` leaves out links.
 */
export function timeZoneOf(text: string): string | null {
  names ??= new Map(
    TIME_ZONE_NAMES.trim()
      .split(/\s+/)
      .map((name) => [lowerAscii(name), name]),
  );
  const name = names.get(lowerAscii(text));
  return name !== undefined && isKnownHere(name) ? name : null;
}

/** A Node.js that is older than a zone cannot tell its time. */
function isKnownHere(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
