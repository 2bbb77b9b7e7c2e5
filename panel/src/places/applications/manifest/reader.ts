/** The service's own reader of manifests, in the browser: faults of the form are known before the service is asked. */

import type { Fault } from '../../../parts/code-editor.ts';

/** A longer text is read by the service alone, so that typing stays fast. */
const LONGEST = 400_000;

export interface Reading {
  readonly faults: readonly (Fault & { readonly path: string })[];
  /** False where the text was too long to be read here. */
  readonly read: boolean;
}

/** Loads the reader with the first manifest. */
export async function readHere(text: string): Promise<Reading> {
  if (text.length > LONGEST) return { faults: [], read: false };
  await import('../../../parts/without-eval.ts');
  const { examine } = await import('../../ask/playground/service.ts');
  return { faults: examine(text).issues, read: true };
}

/** The faults that a refused plan lists, with their places. */
export function faultsIn(issues: readonly unknown[]): Reading['faults'] {
  return issues.flatMap((issue) => {
    const { path, message, line, column } = issue as Partial<Reading['faults'][number]>;
    if (typeof message !== 'string') return [];
    return [{ path: path ?? '', message, line: line ?? 1, column: column ?? 1 }];
  });
}
