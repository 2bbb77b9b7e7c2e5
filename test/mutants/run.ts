/**
 * Makes each mistake of mutants.ts in a copy of the tree, runs its tests there, and tells what noticed it:
 *
 *   npm run test:mutants                  all of them
 *   npm run test:mutants -- signature     those whose name or file holds the text
 *   npm run test:mutants -- --from 40 --to 60 --table docs/testing.md
 *
 * Ends with 1 when one survives. docs/testing.md has the list: `--table` writes into it.
 */
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import setup from '../support/global-setup.ts';
import teardown from '../support/global-teardown.ts';
import { MUTANTS, type Mutant } from './mutants.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const COPIED = [
  'src',
  'test',
  'bench',
  'proto',
  'examples',
  'clients',
  'docs',
  'package.json',
  'jest.config.js',
  'tsconfig.json',
];
/** A test that waits for longer has noticed nothing: the machine may be busy. */
const LIMIT_MS = 240_000;

/** The code has changed since: the mutant has to be written anew. */
class Outdated extends Error {}

/** What became of a mutant. `killedBy` is empty for a survivor. */
interface Outcome {
  readonly name: string;
  readonly file: string;
  readonly killedBy: readonly string[];
  readonly seconds: number;
}

interface JestReport {
  readonly numTotalTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

function applied(text: string, { name, edits }: Mutant): string {
  let changed = text;
  for (const [from, to] of edits) {
    const parts = changed.split(from);
    if (parts.length !== 2)
      throw new Outdated(`OUTDATED  ${name}: ${parts.length - 1} places hold ${JSON.stringify(from)}`);
    changed = parts.join(to);
  }
  return changed;
}

async function tried(copy: string, mutant: Mutant): Promise<Outcome> {
  const path = join(copy, 'src', mutant.file);
  const text = readFileSync(path, 'utf8');
  const report = join(copy, 'report.json');
  rmSync(report, { force: true });
  writeFileSync(path, applied(text, mutant));
  const begun = performance.now();
  let failed: string[] = [];
  try {
    const tests = mutant.tests.map((test) => `test/${test}.test.ts`);
    const code = await jest(copy, ['--ci', '--json', `--outputFile=${report}`, '--runTestsByPath', ...tests]);
    if (code !== 0) failed = noticed(copy, report);
  } finally {
    writeFileSync(path, text);
  }
  const seconds = Math.round((performance.now() - begun) / 1000);
  return { name: mutant.name, file: mutant.file, killedBy: failed, seconds };
}

function noticed(copy: string, report: string): string[] {
  if (!existsSync(report)) return [];
  const { testResults, numTotalTests } = JSON.parse(readFileSync(report, 'utf8')) as JestReport;
  if (numTotalTests === 0) throw new Error(`no test ran:\n${testResults.map(({ message }) => message).join('\n')}`);
  return testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName }) => `${name.slice(copy.length + '/test/'.length)}: ${fullName}`),
  );
}

function jest(copy: string, args: readonly string[]): Promise<number | null> {
  const node = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const child = spawn(process.execPath, [...node, 'node_modules/jest/bin/jest.js', ...args], {
    cwd: copy,
    stdio: 'ignore',
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  const { promise, resolve: done, reject } = Promise.withResolvers<number | null>();
  child.on('error', reject);
  child.on('close', done);
  return promise;
}

function copyTree(): string {
  const copy = mkdtempSync(join(tmpdir(), 'usher-mutants-'));
  for (const name of COPIED) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

const BEGIN = '<!-- mutants -->';
const END = '<!-- /mutants -->';

/** Writes the list between its marks; mutants that were not tried keep their rows. */
function table(path: string, outcomes: readonly Outcome[]): void {
  const text = readFileSync(path, 'utf8');
  const [before = '', rest = ''] = text.split(BEGIN);
  const [old = '', after = ''] = rest.split(END);
  const rows = new Map(old.split('\n').map((line) => [line.split(' | ')[0]?.slice(2), line]));
  for (const { name, file, killedBy } of outcomes) {
    const [noticed] = killedBy.map((test) => `\`${test.slice(0, test.indexOf(': '))}\``);
    rows.set(name, `| ${name} | \`${file}\` | ${noticed ?? '**survived**'} | ${killedBy.length} |`);
  }
  const listed = MUTANTS.flatMap(({ name }) => rows.get(name) ?? []);
  const head = '| mistake | in `src/` | noticed by, for example | failing tests |\n|---|---|---|---|';
  writeFileSync(path, `${before}${BEGIN}\n${head}\n${listed.join('\n')}\n${END}${after}`);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    from: { type: 'string' },
    to: { type: 'string' },
    table: { type: 'string' },
  },
});
const chosen = MUTANTS.slice(Number(values.from ?? 0), values.to === undefined ? undefined : Number(values.to)).filter(
  ({ name, file }) =>
    positionals.length === 0 || positionals.some((text) => name.includes(text) || file.includes(text)),
);
const copy = copyTree();
await setup();
const outcomes: Outcome[] = [];
const outdated: string[] = [];
try {
  for (const mutant of chosen) {
    const outcome = await tried(copy, mutant).catch((error: unknown) => {
      if (!(error instanceof Outdated)) throw error;
      outdated.push(error.message);
      process.stdout.write(`${error.message}\n`);
      return null;
    });
    if (outcome === null) continue;
    outcomes.push(outcome);
    const { name, killedBy, seconds } = outcome;
    process.stdout.write(
      `${killedBy.length > 0 ? 'killed  ' : 'SURVIVED'} ${seconds} s  ${name}  ← ${killedBy[0] ?? ''}\n`,
    );
    if (values.table !== undefined) table(resolve(ROOT, values.table), [outcome]);
  }
} finally {
  await teardown();
  rmSync(copy, { recursive: true, force: true });
}
const survivors = outcomes.filter(({ killedBy }) => killedBy.length === 0).length;
process.stdout.write(
  `${outcomes.length} tried, ${outcomes.length - survivors} killed, ${survivors} survived, ${outdated.length} outdated\n`,
);
process.exit(survivors + outdated.length === 0 ? 0 : 1);
