/** Reads a text into a Manifest and all its faults, each with line and column. Pure; worker.ts runs it. */

import { Faults } from './faults.ts';
import type { Manifest } from './format.ts';
import { type ManifestIssue, type Places, placed } from './places.ts';
import { readManifest } from './read.ts';
import { readSource } from './source.ts';

export interface Examined {
  /** The valid parts; null if nothing can be planned. */
  manifest: Manifest | null;
  /** Faults of the form, by line and column. */
  issues: ManifestIssue[];
  /** The positions of all values, for faults that are found later. */
  places: Places;
}

export function examine(text: string): Examined {
  const { value, places, faults: found } = readSource(text);
  const faults = new Faults();
  const manifest = value === undefined ? null : readManifest(value, faults);
  const { list, dropped } = faults;
  // After all other faults, also those that the database adds.
  const rest = { path: [], message: `and ${dropped} more faults that are not listed`, offset: text.length };
  return { manifest, issues: placed(text, places, [...found, ...list, ...(dropped > 0 ? [rest] : [])]), places };
}
