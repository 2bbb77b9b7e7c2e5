// Runs the tours of README.md and of the guides against a started service and compares what each command prints with what the
// document says. There a command is followed by its output as lines beginning with `# → `; `…` in them stands for anything.
// Usage: USHER_URL=http://127.0.0.1:8080 USHER_GRPC=127.0.0.1:50051 node .ci/tour.mjs [--seconds] [DOCUMENT…]
// `--seconds` prints how long each step took.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const { USHER_URL: rest = 'http://127.0.0.1:8080', USHER_GRPC: grpc = '127.0.0.1:50051' } = process.env;
// Files in /tmp become files of a folder of this run, which ends with it: two runs do not meet, and none leaves anything behind.
const files = mkdtempSync(join(tmpdir(), 'usher-tour-files.'));
process.on('exit', () => rmSync(files, { recursive: true, force: true }));
const here = (text) =>
  text.replaceAll('http://localhost:8080', rest).replaceAll('localhost:50051', grpc).replaceAll('/tmp/', `${files}/`);

const options = process.argv.slice(2);
const timed = options.includes('--seconds');
const named = options.filter((option) => option !== '--seconds');
for (const document of named.length > 0
  ? named
  : [
      'README.md',
      'docs/guides/first-application.md',
      'docs/guides/questions.md',
      'docs/guides/frontend.md',
      'docs/guides/administration.md',
      'docs/guides/notifications.md',
      'docs/guides/policies-in-ci.md',
    ])
  run(document);

function run(document) {
  const steps = stepsOf(document);
  const folder = mkdtempSync(join(tmpdir(), 'usher-tour.'));
  try {
    // One shell for all, so that variables live on; USHER_URL makes the commands ask this very service.
    const script = steps
      .map(
        ({ command }, i) =>
          `begun=$SECONDS\n{\n${here(command)}\n} >'${folder}/${i}' 2>&1\n${timed ? duration(command) : ''}`,
      )
      .join('');
    writeFileSync(join(folder, 'tour.sh'), script);
    spawnSync('bash', [join(folder, 'tour.sh')], { stdio: 'inherit', env: { ...process.env, USHER_URL: rest } });
    const wrong = steps.filter(({ command, output }, i) => {
      const printed = readFileSync(join(folder, String(i)), 'utf8').trimEnd();
      if (output === null || fits(printed, output)) return false;
      const shown = `expected:\n${output.join('\n')}\nprinted:\n${printed}`;
      console.error(`${document}, step ${i + 1}:\n${command}\n${shown}\n`);
      return true;
    });
    console.log(`${steps.length - wrong.length} of ${steps.length} steps of ${document} print what it says`);
    if (wrong.length > 0) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Prints the seconds since `begun`, and the first line of the command. */
function duration(command) {
  const title = command.slice(0, 90).split('\n')[0].replaceAll("'", "'\\''");
  return `printf '%5d s  %s\\n' "$((SECONDS - begun))" '${title}'\n`;
}

function stepsOf(document) {
  const text = readFileSync(new URL(`../${document}`, import.meta.url), 'utf8');
  const tour = text.slice(text.indexOf('<!-- tour -->'), text.indexOf('<!-- /tour -->'));
  const steps = [];
  for (const [, block] of tour.matchAll(/```sh\n([\s\S]*?)```/g)) {
    let command = [];
    for (const line of block.trimEnd().split('\n')) {
      if (!line.startsWith('# → ')) command.push(line);
      else {
        if (command.length > 0) steps.push({ command: command.join('\n'), output: [] });
        command = [];
        steps.at(-1).output.push(line.slice(4));
      }
    }
    if (command.join('').trim() !== '') steps.push({ command: command.join('\n'), output: null });
  }
  if (steps.length < 5) throw new Error(`${document} has no tour`);
  return steps;
}

function fits(printed, output) {
  const expected = output.map((line) =>
    here(line)
      .split('…')
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('[\\s\\S]*'),
  );
  return new RegExp(`^${expected.join('\\n')}$`).test(printed);
}
