/**
 * Mistakes of the kinds that have been made elsewhere, each a search and replace on one place of `src` or of a package, with the smallest tests
 * that must notice it. (The evaluator's are in test/engine/evaluator-mutants.ts, the engine's in test/engine/model/mutants.ts.)
 */
export interface Mutant {
  /** What is wrong with the service then. */
  readonly name: string;
  /** Below `src`, or a path that begins with `packages/`. */
  readonly file: string;
  /** Stands in the file exactly once; several edits make one mistake. */
  readonly edits: readonly (readonly [from: string, to: string])[];
  /** Below `test`, without `.test.ts`. */
  readonly tests: readonly string[];
}

/** The file, below the root. */
export function sourceOf({ file }: Mutant): string {
  return file.startsWith('packages/') ? file : `src/${file}`;
}

/** One edit, noticed by any of those tests. */
export function mutant(name: string, file: string, from: string, to: string, ...tests: readonly string[]): Mutant {
  return { name, file, edits: [[from, to]], tests };
}
