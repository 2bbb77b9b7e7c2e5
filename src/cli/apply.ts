import { type Command, InvalidArgumentError } from 'commander';
import { type Issue, issueLines, readText } from './files.ts';
import { reasonOption } from './flags.ts';
import { withExamples } from './help.ts';
import { CommandFailed, type Context, formatOf, type Io, print } from './io.ts';
import { ProgressLine } from './progress.ts';
import { addServiceOptions, failureOf, openService, type Service, type ServiceOptions } from './service.ts';
import { hasWork, type PlanAnswer, showPlan } from './show-plan.ts';
import { readAll } from './stdin.ts';
import { painter } from './terminal.ts';

interface Options extends ServiceOptions {
  dryRun?: boolean;
  prune?: boolean;
  impact?: boolean;
  maxLost?: number;
}

interface ManifestFile {
  name: string;
  text: string;
  media: string;
}

const TIMEOUT_MS = 11 * 60_000;
/** The exit code of `apply --dry-run` when there are changes to make. */
const CHANGES_PENDING = 2;
/** The exit code of `apply --max-lost` when more decisions would be lost. */
const TOO_MUCH_LOST = 3;

/** `usher apply FILE…`: brings applications to the state in their manifests. */
export function defineApply(program: Command, context: Context): void {
  const command = addServiceOptions(program.command('apply <file...>'))
    .summary('bring applications to the state in their manifests')
    .description(
      [
        'Brings each application to the state in its manifest, in one transaction, and lists the changes. The file - is standard input.',
        'Of several files none is applied unless all of them can be.',
        'Exit codes: 0 applied, or no changes; 1 failed; with --dry-run 2 when there are changes to make; with --max-lost 3 when more would be lost.',
      ].join('\n\n'),
    )
    .option('--dry-run', 'list the changes without making them')
    .option('--prune', 'remove what a section of the manifest does not list')
    .option('--impact', 'list who gains and who loses')
    .option('--max-lost <n>', 'apply nothing when more than n decisions would be lost', wholeNumber)
    .addOption(reasonOption())
    .action(async (names: string[], _: Options, self: Command) => {
      const options = self.optsWithGlobals<Options>();
      const { io } = context;
      const paint = painter(io, io.stdout);
      const files = await Promise.all(names.map((name) => readManifestFile(io, name)));
      const service = await openService(io, options);
      const rehearsed = isRehearsed(options, files) ? await rehearse(io, service, files, options) : [];
      const lost = rehearsed.reduce((sum, { impact }) => sum + (impact?.lost ?? 0), 0);
      const stopped = options.maxLost !== undefined && lost > options.maxLost;
      // The revision of the dry run ensures that exactly the counted losses are applied.
      const insists = options.maxLost !== undefined;
      const plans: PlanAnswer[] = [];
      for (const [index, file] of files.entries()) {
        const before = rehearsed[index];
        const only = options.dryRun === true || stopped;
        const done =
          only && before
            ? before
            : await send(io, service, file, options, insists ? before?.impact?.revision : undefined);
        const { result: _, impact = before?.impact, ...plan } = done;
        plans.push(options.impact === true || stopped ? { ...plan, ...(impact ? { impact } : {}) } : plan);
        // For people each file when it is applied; for programs one document with all.
        if (formatOf(options) === 'table')
          await print(context, options, plan, showPlan(plans.at(-1) ?? plan, io.stdout, paint));
      }
      if (formatOf(options) !== 'table') await print(context, options, plans.length === 1 ? plans[0] : plans, '');
      if (stopped) {
        context.exitCode = TOO_MUCH_LOST;
        io.stderr.write(`${lost} lost, more than --max-lost ${options.maxLost}: nothing was applied.\n`);
      } else if (options.dryRun === true && plans.some(hasWork)) context.exitCode = CHANGES_PENDING;
    });
  withExamples(command, [
    'usher apply atelier.yaml --dry-run',
    'usher apply atelier.yaml --prune',
    'usher apply atelier.yaml --dry-run --impact',
    'usher apply atelier.yaml --prune --max-lost 0',
    'usher export atelier --url https://staging.example.com | usher apply - --url https://usher.example.com',
  ]);
}

/** Whether the files are planned first: several files are applied only if all are valid, and some options need the plan. */
function isRehearsed({ dryRun, impact, maxLost }: Options, files: readonly ManifestFile[]): boolean {
  return dryRun === true || impact === true || maxLost !== undefined || files.length > 1;
}

async function rehearse(
  io: Io,
  service: Service,
  files: readonly ManifestFile[],
  options: Options,
): Promise<PlanAnswer[]> {
  const plans: PlanAnswer[] = [];
  for (const file of files) plans.push(await send(io, service, file, { ...options, dryRun: true }));
  return plans;
}

function wholeNumber(text: string): number {
  if (!/^[0-9]{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 0.');
  return Number(text);
}

async function readManifestFile(io: Io, name: string): Promise<ManifestFile> {
  const media = name.endsWith('.json') ? 'application/json' : 'application/yaml';
  if (name === '-') return { name: 'standard input', text: await readAll(io.stdin), media };
  return { name, text: await readText(io, name), media };
}

/** `revision`: of a dry run; the apply is refused when the application has changed since. */
async function send(
  io: Io,
  service: Service,
  file: ManifestFile,
  options: Options,
  revision?: string,
): Promise<PlanAnswer> {
  const query = { dryRun: options.dryRun === true, prune: options.prune === true };
  const progress = new ProgressLine(
    io.stderr,
    io.clock,
    options.dryRun ? `planning ${file.name}` : `applying ${file.name}`,
  );
  try {
    const input = { path: undefined, query, text: file.text };
    const response = await service.open('POST /api/manifests/apply', input, {
      headers: {
        'content-type': file.media,
        accept: 'application/x-ndjson',
        ...(revision === undefined ? {} : { 'usher-if-revision': revision }),
      },
      timeoutMs: TIMEOUT_MS,
    });
    return await readPlan(response, progress);
  } catch (error) {
    throw inFile(error, file);
  } finally {
    progress.end();
  }
}

/** Lines of progress, then the plan or, because the response has begun, an error. */
async function readPlan(response: Response, progress: ProgressLine): Promise<PlanAnswer> {
  for await (const line of linesOf(response)) {
    const value = JSON.parse(line) as { progress?: { done: number; total: number }; success?: boolean; data?: unknown };
    if (value.progress) progress.update(value.progress.done, value.progress.total);
    else if (value.success === true) return value.data as PlanAnswer;
    else throw failureOf(value) ?? cutShort();
  }
  throw cutShort();
}

function cutShort(): CommandFailed {
  return new CommandFailed(
    'The connection ended before the answer: run it with --dry-run to see whether it was applied. Applying again is safe.',
    { code: 'OUTCOME_UNKNOWN' },
  );
}

async function* linesOf(response: Response): AsyncGenerator<string> {
  let rest = '';
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body ?? []) {
      rest += decoder.decode(chunk as Uint8Array, { stream: true });
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } catch {
    throw cutShort();
  }
  if (rest !== '') yield rest;
}

/** Faults of a manifest under the name of its file. */
function inFile(error: unknown, { name }: ManifestFile): unknown {
  if (!(error instanceof CommandFailed) || !Array.isArray(error.details?.issues)) return error;
  const issues: readonly Issue[] = error.details.issues;
  const count = issues.length === 1 ? 'a fault' : `${issues.length} faults`;
  return new CommandFailed(`${name} has ${count}; nothing was applied.`, {
    lines: issueLines(name, issues),
    code: error.code,
    details: error.details,
  });
}
