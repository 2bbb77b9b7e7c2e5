/**
 * Reads a manifest in a thread of its own: YAML of megabytes takes seconds, which would delay checks, and a hostile
 * one can exhaust memory; a thread can be killed. The manifest is posted back in slices, each on request,
 * because receiving a big value blocks the event loop too.
 */

import { parentPort, workerData } from 'node:worker_threads';
import { type Examined, examine } from './examine.ts';
import type { Manifest, Section } from './format.ts';
import { buffersOf } from './places.ts';
import { SECTION_NAMES } from './schema.ts';

/** A manifest whose sections are sent later; `present` lists them. */
export type Frame = Omit<Manifest, Section> & { present: readonly Section[] };

export type Reply =
  | ({ kind: 'frame'; frame: Frame | null } & Omit<Examined, 'manifest'>)
  | { kind: 'slice'; section: Section; rows: readonly unknown[] }
  | { kind: 'end' };

const SLICE = 1000;

function* replies(text: string): Generator<Reply> {
  const { manifest, ...rest } = examine(text);
  if (manifest === null) yield { kind: 'frame', frame: null, ...rest };
  else {
    const { application, spoiled } = manifest;
    const present = SECTION_NAMES.filter((section) => manifest[section] !== null);
    yield { kind: 'frame', frame: { application, spoiled, present }, ...rest };
    for (const section of present) {
      const rows: readonly unknown[] = manifest[section] ?? [];
      for (let at = 0; at < rows.length; at += SLICE)
        yield { kind: 'slice', section, rows: rows.slice(at, at + SLICE) };
    }
  }
  yield { kind: 'end' };
}

const replying = replies(workerData as string);
const next = (): void => {
  const { value, done } = replying.next();
  if (!done) parentPort?.postMessage(value, value.kind === 'frame' ? buffersOf(value.places) : []);
};
parentPort?.on('message', next);
next();
