/**
 * Makes each mistake of mutants.ts in a copy of the tree, runs its tests there, and tells what noticed it:
 *
 *   npm run test:mutants                  all of them
 *   npm run test:mutants -- signature     those whose name or file holds the text
 *   npm run test:mutants -- --from 40 --to 60 --table docs/evidence/mutants.md
 *   npm run test:mutants -- --trees 2 --results /tmp/results.jsonl
 *
 * Before that it runs the tests without a mistake: one that fails then notices nothing. `--trees 2` tries two mutants at a time.
 * `--results` keeps what was found, and begins where a run with that file ended. Ends with 1 unless every mutant was killed:
 * `late` is one whose tests waited, `broken` one that leaves no program. docs/evidence/mutants.md has the list: `--table` writes into it.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import setup from '../support/global-setup.ts';
import teardown from '../support/global-teardown.ts';
import type { Mutant } from './mutant.ts';
import { MUTANTS } from './mutants.ts';
import { writeTable } from './table.ts';
import { Outdated, Tree, type Unchanged } from './tree.ts';
import type { Verdict } from './verdict.ts';

interface Outcome extends Verdict {
  readonly name: string;
  readonly seconds: number;
}

/** What has been found, and is kept in a file where one is named: a JSON value a line. */
class Results {
  readonly #path: string | undefined;
  readonly unchanged = new Map<string, Unchanged>();
  readonly outcomes = new Map<string, Outcome>();

  constructor(path: string | undefined) {
    this.#path = path;
    if (path === undefined || !existsSync(path)) return;
    for (const line of readFileSync(path, 'utf8').split('\n').filter(Boolean)) {
      this.#hold(JSON.parse(line) as Unchanged | Outcome);
    }
  }

  add(result: Unchanged | Outcome): void {
    this.#hold(result);
    if (this.#path !== undefined) appendFileSync(this.#path, `${JSON.stringify(result)}\n`);
  }

  #hold(result: Unchanged | Outcome): void {
    if ('passed' in result) this.unchanged.set(result.file, result);
    else this.outcomes.set(result.name, result);
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    from: { type: 'string' },
    to: { type: 'string' },
    table: { type: 'string' },
    trees: { type: 'string', default: '1' },
    results: { type: 'string' },
  },
});
const say = (text: string): boolean => process.stdout.write(`${text}\n`);
const results = new Results(values.results);
const chosen = MUTANTS.slice(Number(values.from ?? 0), values.to === undefined ? undefined : Number(values.to)).filter(
  ({ name, file }) =>
    positionals.length === 0 || positionals.some((text) => name.includes(text) || file.includes(text)),
);
/** Those whose tests are known to take long come last: a run that is stopped has found more by then. */
const duration = ({ tests }: Mutant): number =>
  tests.reduce((sum, file) => sum + (results.unchanged.get(file)?.seconds ?? 0), 0);
const left = chosen
  .filter(({ name }) => !results.outcomes.has(name))
  .toSorted((one, other) => duration(one) - duration(other));
const trees = Array.from({ length: Number(values.trees) }, () => new Tree());
let stopped = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    stopped = true;
    for (const tree of trees) tree.end();
  });
}

const running = new Map<string, Promise<Unchanged>>();

/** A file of tests is run without a mistake before the first mutant that it has to notice, and once. */
async function withoutMistake(tree: Tree, file: string): Promise<Unchanged> {
  const known = results.unchanged.get(file);
  if (known !== undefined) return known;
  const run = running.get(file) ?? tree.unchanged(file);
  running.set(file, run);
  const result = await run;
  if (!stopped && !results.unchanged.has(file)) results.add(result);
  return result;
}

async function tried(tree: Tree, mutant: Mutant): Promise<void> {
  const files: Unchanged[] = [];
  for (const file of mutant.tests) files.push(await withoutMistake(tree, file));
  const begun = performance.now();
  const verdict = await tree.tried(mutant, files);
  if (stopped) return;
  const seconds = Math.round((performance.now() - begun) / 1000);
  results.add({ name: mutant.name, seconds, ...verdict });
  say(`${verdict.kind.padEnd(8)} ${seconds} s  ${mutant.name}  ← ${verdict.by[0] ?? ''}`);
  if (values.table !== undefined) writeTable(resolve(values.table), results.outcomes);
}

const outdated: string[] = [];
await setup();
try {
  await Promise.all(
    trees.map(async (tree) => {
      while (!stopped) {
        const mutant = left.shift();
        if (mutant === undefined) return;
        await tried(tree, mutant).catch((error: unknown) => {
          if (!(error instanceof Outdated)) throw error;
          outdated.push(error.message);
          say(`outdated ${error.message}`);
        });
      }
    }),
  );
} finally {
  await teardown();
  for (const tree of trees) tree.delete();
}
const faulty = [...new Set(chosen.flatMap(({ tests }) => tests))].flatMap((file) => results.unchanged.get(file) ?? []);
const failing = faulty.filter(({ passed, failed }) => failed.length > 0 || passed.length === 0);
for (const { file, failed } of failing) say(`fails without a mistake  ${file}: ${failed[0] ?? 'nothing ran'}`);
const kinds = chosen.flatMap(({ name }) => results.outcomes.get(name)?.kind ?? []);
const counts = (['killed', 'survived', 'late', 'broken'] as const).map(
  (kind) => `${kinds.filter((one) => one === kind).length} ${kind}`,
);
say(`${kinds.length} of ${chosen.length} tried: ${counts.join(', ')}; ${outdated.length} outdated`);
process.exit(kinds.filter((kind) => kind === 'killed').length === chosen.length && failing.length === 0 ? 0 : 1);
