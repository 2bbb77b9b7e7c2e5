/**
 * Reads a manifest in a thread of its own: YAML of megabytes takes seconds, in which no check would be answered, and a hostile
 * one can take more memory than there is; a thread can be killed. The manifest goes back in slices, each when it is asked
 * for, since taking over a big value holds the loop as well.
 */

import { parentPort, workerData } from 'node:worker_threads';
import { examine, type ManifestIssue } from './examine.ts';
import { type Fault, type Manifest, SECTIONS, type Section } from './format.ts';

/** What the thread is started with. */
export interface Job {
  text: string;
  more: readonly Fault[];
}

/** A manifest whose sections come later: true for those that are present. */
export type Frame = Omit<Manifest, Section> & { present: readonly Section[] };

export type Reply =
  | { kind: 'frame'; frame: Frame | null; issues: readonly ManifestIssue[] }
  | { kind: 'slice'; section: Section; rows: readonly unknown[] }
  | { kind: 'end' };

const SLICE = 1000;

function* replies({ text, more }: Job): Generator<Reply> {
  const { manifest, issues } = examine(text, more);
  if (manifest === null) yield { kind: 'frame', frame: null, issues };
  else {
    const { application, spoiled } = manifest;
    const present = SECTIONS.filter((section) => manifest[section] !== null);
    yield { kind: 'frame', frame: { application, spoiled, present }, issues };
    for (const section of present) {
      const rows: readonly unknown[] = manifest[section] ?? [];
      for (let at = 0; at < rows.length; at += SLICE)
        yield { kind: 'slice', section, rows: rows.slice(at, at + SLICE) };
    }
  }
  yield { kind: 'end' };
}

const replying = replies(workerData as Job);
const next = (): void => {
  const { value, done } = replying.next();
  if (!done) parentPort?.postMessage(value);
};
parentPort?.on('message', next);
next();
