/**
 * Clients of several languages against a service, without its front and with it: the calls of cases.ts.
 *
 *   npm run test:interop
 *
 * Needs Go, Python 3 with venv, a JDK 17 with Maven, and their package registries the first time. Ends with 1 when a client was answered otherwise
 * than it should be, with 2 when a tool is missing.
 */
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { NAMES, openServices } from '../wire/services.ts';
import { CASES, faultsOf, type Outcome } from './cases.ts';

const HERE = import.meta.dirname;
const ROOT = resolve(HERE, '../..');
const MOST_MS = 300_000;

interface Program {
  readonly name: string;
  readonly command: string;
  readonly before: readonly string[];
}

/** Its output; rejects when it fails. */
async function run(command: string, words: readonly string[], { cwd = ROOT, input = '' } = {}): Promise<string> {
  const child = spawn(command, words, { cwd, stdio: ['pipe', 'pipe', 'inherit'], timeout: MOST_MS });
  const ended = new Promise<number | null>((resolveEnd, reject) => {
    child.once('error', reject);
    child.once('close', resolveEnd);
  });
  child.stdin.end(input);
  const [output, code] = await Promise.all([text(child.stdout), ended]);
  if (code !== 0) throw new Error(`${command} ${words.join(' ')} ended with ${code}`);
  return output;
}

async function build(folder: string): Promise<Program[]> {
  const go = join(folder, 'go');
  cpSync(join(HERE, 'go'), go, { recursive: true });
  await run('go', ['build', '-o', 'interop', '.'], { cwd: go });
  const java = join(folder, 'java');
  cpSync(join(HERE, 'java'), java, { recursive: true });
  await run('mvn', ['--quiet', '--batch-mode', 'compile'], { cwd: java });
  const classes = [join(java, 'target/classes'), join(java, 'target/lib/*')].join(delimiter);
  const venv = join(folder, 'venv');
  const python = join(venv, 'bin', 'python');
  await run('python3', ['-m', 'venv', venv]);
  await run(python, [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '-r',
    join(HERE, 'python/requirements.txt'),
  ]);
  return [
    { name: 'grpc-js', command: join(ROOT, 'bin/node'), before: [join(HERE, 'grpc-js.ts')] },
    { name: 'grpc-go', command: join(go, 'interop'), before: [] },
    { name: 'grpcio (Python)', command: python, before: [join(HERE, 'python/interop.py')] },
    { name: 'grpc-java', command: 'java', before: ['-cp', classes, 'Interop'] },
  ];
}

async function faultsAt({ command, before }: Program, address: string): Promise<string[]> {
  const output = await run(command, [...before, address, NAMES.key], { input: JSON.stringify(CASES) });
  const said = new Map(
    output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Outcome)
      .map((outcome) => [outcome.name, outcome]),
  );
  return CASES.flatMap((one) => faultsOf(one, said.get(one.name)).map((fault) => `${one.name}: ${fault}`));
}

for (const tool of ['go', 'python3', 'java', 'mvn']) {
  const isThere = (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, tool)));
  if (isThere) continue;
  process.stderr.write(`${tool} was not found\n`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), 'usher-interop-'));
const services = await openServices();
let faults = 0;
try {
  const programs = await build(folder);
  for (const front of ['false', 'true']) {
    const { address } = await services.start({ env: { GRPC_FRONT: front } });
    for (const program of programs) {
      const found = await faultsAt(program, `${address.host}:${address.port}`);
      faults += found.length;
      process.stdout.write(`${program.name}, front ${front}: ${CASES.length} cases, ${found.length} faults\n`);
      for (const fault of found) process.stdout.write(`  ${fault}\n`);
    }
  }
} finally {
  await services.remove();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(faults === 0 ? 0 : 1);
