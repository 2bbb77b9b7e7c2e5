import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Coverage, Outcome, Verdict } from '../policy-tests/run.ts';
import { issueLines, readText, writeText } from './files.ts';
import { atLevel } from './flags.ts';
import { withExamples } from './help.ts';
import { CommandFailed, type Context, type Io, print } from './io.ts';
import { readResource } from './questions.ts';
import { addServiceOptions, openService, type Service, type ServiceOptions } from './service.ts';
import { type Paint, painter } from './terminal.ts';

interface Options extends ServiceOptions {
  junit?: string;
  coverage?: boolean;
}

/** The exit codes of `test`, beside 0. */
const FAILED = 1;
const UNREADABLE = 2;
/** Questions in one request, as many as a batch may hold. */
const BATCH = 1000;

/** `usher test FILE…`: runs policy tests. */
export function defineTest(program: Command, context: Context): void {
  const command = addServiceOptions(program.command('test <file...>'))
    .summary('run policy tests against a manifest')
    .description(
      [
        'Runs the cases of each file against its manifest with the rules of the service; no service is needed. With --url or --context a running service answers the cases instead.',
        'Exit codes: 0 all passed; 1 a case failed; 2 a file could not be read.',
      ].join('\n\n'),
    )
    .option('--junit <file>', 'write the outcomes as JUnit XML')
    .option('--coverage', 'list permissions, roles and overrides that no case covers')
    .action(async (names: string[], _: Options, self: Command) => {
      const options = self.optsWithGlobals<Options>();
      const { io } = context;
      const { coverageOf } = await import('../policy-tests/run.ts');
      const files = await readFiles(io, names);
      const isAsked = options.url !== undefined || options.context !== undefined;
      const service = isAsked ? await openService(io, options) : null;
      const outcomes: Outcome[] = [];
      for (const file of files) outcomes.push(...(await outcomesOf(file, service)));
      const coverage = options.coverage === true ? files.map(coverageOf) : undefined;
      if (options.junit !== undefined) {
        const { toJunit } = await import('../policy-tests/junit.ts');
        await writeText(io, options.junit, toJunit(outcomes));
      }
      const failed = outcomes.filter(({ passed }) => !passed);
      const result = { passed: outcomes.length - failed.length, failed: failed.length, failures: failed.map(shown) };
      const text = report(outcomes, coverage, painter(io, io.stdout));
      await print(context, options, coverage === undefined ? result : { ...result, coverage }, text);
      if (failed.length > 0) context.exitCode = FAILED;
    });
  withExamples(command, [
    'usher test policies/*.test.yaml',
    'usher test atelier.yaml --coverage --junit report.xml',
    'usher test atelier.yaml --url https://usher.example.com',
  ]);
}

type File = Awaited<ReturnType<typeof readFiles>>[number];

async function readFiles(io: Io, names: readonly string[]) {
  const { readTests, UnreadableTests } = await import('../policy-tests/files.ts');
  const reading = {
    read: (name: string) => readText(io, name, (reason) => new Error(reason)),
    relative: (from: string, to: string) => resolve(io.cwd, dirname(from), to),
  };
  try {
    return await Promise.all(names.map((name) => readTests(name, reading)));
  } catch (error) {
    if (!(error instanceof UnreadableTests)) throw error;
    const lines = issueLines(error.file, error.issues);
    throw new CommandFailed(`${error.file}: ${error.message}.`, { lines, code: 'UNREADABLE', exitCode: UNREADABLE });
  }
}

async function outcomesOf(file: File, service: Service | null): Promise<Outcome[]> {
  const { nameOf, outcomeOf, runTests } = await import('../policy-tests/run.ts');
  if (service === null) return runTests(file);
  const answers = await answersOf(service, file);
  return file.cases.map((test, index) => {
    const answer = answers[index];
    if (answer === undefined) throw new CommandFailed('The service answered fewer questions than it was asked.');
    if (typeof answer === 'string')
      return { file: file.name, name: nameOf(test, index), test, passed: false, message: answer, explanation: [] };
    return outcomeOf(file.name, index, test, answer, () => [
      `  usher explain says why: ${explainCommand(file, index)}`,
    ]);
  });
}

/** The service's answer to each case. A question that it refuses, with the whole batch, has the refusal's message. */
async function answersOf(service: Service, file: File): Promise<(Verdict | string)[]> {
  const answers: (Verdict | string)[] = [];
  for (let at = 0; at < file.cases.length; at = answers.length) {
    const batch = file.cases.slice(at, at + BATCH);
    try {
      answers.push(...(await askBatch(service, file, batch)));
    } catch (error) {
      const refused = refusedItem(error);
      if (refused === null || refused.index >= batch.length) throw error;
      if (refused.index > 0) answers.push(...(await askBatch(service, file, batch.slice(0, refused.index))));
      answers.push(refused.message);
    }
    if (answers.length === at) break;
  }
  return answers;
}

/** The item of a batch that a refusal names, with a message that does not. */
function refusedItem(error: unknown): { index: number; message: string } | null {
  if (!(error instanceof CommandFailed)) return null;
  const [, index, rest] = /^checks\.([0-9]+)\.(.+)$/s.exec(error.message) ?? [];
  return index === undefined || rest === undefined ? null : { index: Number(index), message: rest };
}

function explainCommand({ manifest, cases }: File, index: number): string {
  const { email, permission, resource } = cases[index] ?? { email: '', permission: '' };
  const about = resource === undefined ? '' : ` --resource ${resource}`;
  return `usher explain ${email} ${manifest.application.code} ${permission}${about}`;
}

async function askBatch(service: Service, { manifest }: File, cases: File['cases']): Promise<readonly Verdict[]> {
  const checks = cases.map(({ email, permission, resource, level }) => ({
    email,
    app: manifest.application.code,
    permission,
    ...readResource(resource),
    ...atLevel(level),
  }));
  const { data } = await service.call('POST /api/check/batch', { body: { checks } }, { asks: 'checks' });
  return data.results;
}

function shown({ file, name, test, message, explanation }: Outcome) {
  return { file, name, test, message, explanation };
}

function report(outcomes: readonly Outcome[], coverage: readonly Coverage[] | undefined, paint: Paint): string {
  const failed = outcomes.filter(({ passed }) => !passed);
  const failures = failed.flatMap(({ file, name, message, explanation }) => [
    paint('red', `✗ ${file}: ${name}`),
    `  ${message}`,
    ...explanation.map((line) => `  ${line}`),
  ]);
  const counts = `${outcomes.length - failed.length} passed, ${failed.length} failed`;
  return [...failures, ...(coverage ?? []).flatMap(untouched), paint(failed.length > 0 ? 'red' : 'green', counts)].join(
    '\n',
  );
}

function untouched({ file, permissions, roles, overrides }: Coverage): string[] {
  const rows = [
    ['permissions', permissions],
    ['roles', roles],
    ['overrides', overrides],
  ] as const;
  const lines = rows.flatMap(([kind, names]) => (names.length === 0 ? [] : [`  ${kind}: ${names.join(', ')}`]));
  return lines.length === 0
    ? [`${file}: every permission, role and override is touched`]
    : [`${file}: not touched by any case`, ...lines];
}
