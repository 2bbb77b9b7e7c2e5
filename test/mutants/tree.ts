import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Mutant, sourceOf } from './mutant.ts';
import { type JestReport, type Verdict, verdict } from './verdict.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/** A mutant may take five times as long as its tests do without it, and this: the machine may be busy. */
const LIMIT_MS = 300_000;
const TEST_LIMIT_MS = 120_000;

const ENVIRONMENT = '<rootDir>/test/mutants/environment.ts';

/** Jest's configuration without what the runner has done once for all: to load it takes half of a short run. */
const { common: CONFIG } = createRequire(import.meta.url)('../../jest.config.js') as {
  common: Record<string, unknown>;
};

/** The code has changed since: the mutant has to be written anew. */
export class Outdated extends Error {}

/** What a file of tests does in a tree without a mistake. */
export interface Unchanged {
  /** Below `test`, without `.test.ts`. */
  readonly file: string;
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  readonly seconds: number;
}

/** A copy of the tree, for one mutant at a time. */
export class Tree {
  readonly #dir = mkdtempSync(join(tmpdir(), 'usher-mutants-'));
  /** Of the group of processes that runs in it. */
  #pid: number | null = null;

  constructor() {
    const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      cwd: ROOT,
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
    });
    for (const name of listed.split('\0')) {
      // A file that was deleted and not committed is listed, too.
      if (name !== '' && existsSync(join(ROOT, name))) cpSync(join(ROOT, name), join(this.#dir, name));
    }
    symlinkSync(join(ROOT, 'node_modules'), join(this.#dir, 'node_modules'));
  }

  /** Runs a file of tests as it is. */
  async unchanged(file: string): Promise<Unchanged> {
    const begun = performance.now();
    const { report } = await this.#jest(file, LIMIT_MS, false);
    const tests = report?.testResults[0]?.assertionResults ?? [];
    const named = (wanted: string) => tests.filter(({ status }) => status === wanted).map(({ fullName }) => fullName);
    const seconds = Math.ceil((performance.now() - begun) / 1000);
    return { file, passed: named('passed'), failed: named('failed'), seconds };
  }

  /** Makes the mistake, asks its tests one file after the other, the quickest first, until a test notices, and undoes it. */
  async tried(mutant: Mutant, files: readonly Unchanged[]): Promise<Verdict> {
    const path = join(this.#dir, sourceOf(mutant));
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, applied(text, mutant));
    let found: Verdict = { kind: 'survived', by: [] };
    try {
      for (const { file, passed, failed, seconds } of files.toSorted((one, other) => one.seconds - other.seconds)) {
        const { report, ended } = await this.#jest(file, LIMIT_MS + 5000 * seconds, failed.length === 0);
        const said = ended ? verdict(file, report, new Set(passed)) : ({ kind: 'late', by: [] } as const);
        if (said.kind === 'killed') return said;
        if (said.kind !== 'survived') found = said;
      }
    } finally {
      writeFileSync(path, text);
    }
    return found;
  }

  /** Ends what runs in it. */
  end(): void {
    if (this.#pid === null) return;
    try {
      process.kill(-this.#pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  delete(): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }

  async #jest(
    file: string,
    limitMs: number,
    untilNoticed: boolean,
  ): Promise<{ report: JestReport | null; ended: boolean }> {
    const output = join(this.#dir, 'report.json');
    rmSync(output, { force: true });
    const node = [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      'node_modules/jest/bin/jest.js',
    ];
    const config = JSON.stringify({
      ...CONFIG,
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testTimeout: TEST_LIMIT_MS,
      rootDir: this.#dir,
      ...(untilNoticed ? { testEnvironment: ENVIRONMENT } : {}),
    });
    const jest = [
      `--config=${config}`,
      '--ci',
      '--json',
      `--outputFile=${output}`,
      '--runInBand',
      '--runTestsByPath',
      `test/${file}.test.ts`,
    ];
    const child = spawn(process.execPath, [...node, ...jest], {
      cwd: this.#dir,
      stdio: 'ignore',
      // With a group of its own, the processes that a test started end with it.
      detached: true,
    });
    const { promise, resolve: done, reject } = Promise.withResolvers<number | null>();
    child.on('error', reject);
    child.on('close', done);
    this.#pid = child.pid ?? null;
    const timer = setTimeout(() => this.end(), limitMs);
    const code = await promise;
    clearTimeout(timer);
    // A test that was ended may leave processes of its own.
    this.end();
    this.#pid = null;
    const report = existsSync(output) ? (JSON.parse(readFileSync(output, 'utf8')) as JestReport) : null;
    return { report, ended: code !== null };
  }
}

function applied(text: string, { name, edits }: Mutant): string {
  let changed = text;
  for (const [from, to] of edits) {
    const parts = changed.split(from);
    if (parts.length !== 2) throw new Outdated(`${name}: ${parts.length - 1} places hold ${JSON.stringify(from)}`);
    changed = parts.join(to);
  }
  return changed;
}
