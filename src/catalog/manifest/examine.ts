/** From a text to a Manifest and to everything wrong with it, each with line and column. Pure; worker.ts runs it. */

import type { Reason } from '../../base/errors.ts';
import { Faults } from './fields.ts';
import { byCode, type Fault, type Manifest } from './format.ts';
import { readManifest } from './read.ts';
import { readSource } from './source.ts';

/** One thing wrong, as the answer lists it (docs/reference/http.md#error-bodies, `details.issues`), with its place in the text. */
export interface ManifestIssue {
  path: string;
  message: string;
  line: number;
  column: number;
  code?: Reason;
}

export interface Examined {
  /** As far as it could be read; null when there is nothing to plan with. */
  manifest: Manifest | null;
  /** Faults of the form, by line and column. */
  issues: ManifestIssue[];
}

/** Reads `text`; `more` are faults found later (in the database), to be located and listed with the others. */
export function examine(text: string, more: readonly Fault[] = []): Examined {
  const source = readSource(text);
  const faults = new Faults();
  const manifest = source.value === undefined ? null : readManifest(source.value, faults);
  for (const fault of more) faults.list.push(fault);
  const positions = faults.list.length === 0 ? [] : source.locate(faults.list.map(({ path }) => path));
  const issues = [
    ...source.faults.map((fault) => issue(fault, fault.position)),
    ...faults.list.map((fault, at) => issue(fault, positions[at] ?? START)),
  ];
  issues.sort((a, b) => a.line - b.line || a.column - b.column || byCode(a.path, b.path));
  if (faults.dropped > 0) {
    issues.push({ path: '', message: `and ${faults.dropped} more faults that are not listed`, ...START });
  }
  return { manifest, issues };
}

const START = { line: 1, column: 1 };

function issue(fault: Fault, { line, column }: { line: number; column: number }): ManifestIssue {
  const { path, message, code } = fault;
  return { path: path.join('.'), message, line, column, ...(code === undefined ? {} : { code }) };
}
