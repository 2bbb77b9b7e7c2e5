import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { withExamples } from './help.ts';
import { CommandFailed, type Context, formatOf, type Io, print } from './io.ts';
import { ProgressLine } from './progress.ts';
import { asksService, failureOf, openService, type Service, type ServiceOptions } from './service.ts';
import { hasWork, type PlanAnswer, showPlan } from './show-plan.ts';
import { readAll } from './stdin.ts';
import { painter } from './terminal.ts';

interface Options extends ServiceOptions {
  dryRun?: boolean;
  prune?: boolean;
}

interface ManifestFile {
  name: string;
  text: string;
  media: string;
}

const TIMEOUT_MS = 11 * 60_000;
/** What `apply --dry-run` ends with when there is something to do. */
const SOMETHING_TO_DO = 2;

/** `usher apply FILE…`: makes applications what manifests say. */
export function defineApply(program: Command, context: Context): void {
  const command = asksService(program.command('apply <file...>'))
    .summary('make applications what manifests say')
    .description(
      [
        'Makes each application what its manifest says, in one transaction, and shows what was done. The file - is standard input.',
        'Of several files none is applied unless all of them can be.',
        'Exit codes: 0 done, or nothing to do; 1 failed; with --dry-run 2 when there is something to do.',
      ].join('\n\n'),
    )
    .option('--dry-run', 'show what would be done, and do nothing')
    .option('--prune', 'remove what a section of the manifest does not name')
    .action(async (names: string[], _: Options, self: Command) => {
      const options = self.optsWithGlobals<Options>();
      const { io } = context;
      const paint = painter(io, io.stdout);
      const files = await Promise.all(names.map((name) => readManifestFile(io, name)));
      const service = await openService(io, options);
      const dryRun = options.dryRun === true;
      if (files.length > 1 && !dryRun)
        for (const file of files) await send(io, service, file, { ...options, dryRun: true });
      const plans: PlanAnswer[] = [];
      for (const file of files) {
        const plan = await send(io, service, file, options);
        plans.push(plan);
        // For people each as it is done; for programs all of them as one document.
        if (formatOf(options) === 'table') await print(context, options, plan, showPlan(plan, io.stdout, paint));
      }
      if (formatOf(options) !== 'table') await print(context, options, plans.length === 1 ? plans[0] : plans, '');
      if (dryRun && plans.some(hasWork)) context.exitCode = SOMETHING_TO_DO;
    });
  withExamples(command, [
    'usher apply atelier.yaml --dry-run',
    'usher apply atelier.yaml --prune',
    'usher export atelier --url https://staging.example.com | usher apply - --url https://usher.example.com',
  ]);
}

async function readManifestFile(io: Io, name: string): Promise<ManifestFile> {
  const media = name.endsWith('.json') ? 'application/json' : 'application/yaml';
  if (name === '-') return { name: 'standard input', text: await readAll(io.stdin), media };
  try {
    return { name, text: await readFile(resolve(io.cwd, name), 'utf8'), media };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandFailed(`${name} ${code === 'ENOENT' ? 'is not there' : `cannot be read (${code})`}.`);
  }
}

async function send(io: Io, service: Service, file: ManifestFile, options: Options): Promise<PlanAnswer> {
  const query = new URLSearchParams({ dryRun: String(options.dryRun === true), prune: String(options.prune === true) });
  const progress = new ProgressLine(
    io.stderr,
    io.clock,
    options.dryRun ? `planning ${file.name}` : `applying ${file.name}`,
  );
  try {
    const response = await service.ask({
      method: 'POST',
      path: `/api/manifests/apply?${query.toString()}`,
      body: file.text,
      headers: { 'content-type': file.media, accept: 'application/x-ndjson' },
      timeoutMs: TIMEOUT_MS,
    });
    return await readPlan(response, progress);
  } catch (error) {
    throw inFile(error, file);
  } finally {
    progress.end();
  }
}

/** Lines of progress, then the plan, or an error that came after the first line had gone out. */
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
    'The service ended before its answer: see with --dry-run whether it was done. Applying again is safe.',
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

/** Faults of a manifest as an editor or a terminal follows them: `file:line:column: path: what is wrong`. */
function inFile(error: unknown, { name }: ManifestFile): unknown {
  if (!(error instanceof CommandFailed) || !Array.isArray(error.details?.issues)) return error;
  const issues = error.details.issues as { path: string; message: string; line?: number; column?: number }[];
  const lines = issues.map(({ path, message, line, column }) => {
    const place = line === undefined ? name : `${name}:${line}:${column}`;
    return `${place}: ${path === '' ? '' : `${path}: `}${message}`;
  });
  const count = issues.length === 1 ? 'a fault' : `${issues.length} faults`;
  return new CommandFailed(`${name} has ${count}; nothing was applied.`, {
    lines,
    code: error.code,
    details: error.details,
  });
}
