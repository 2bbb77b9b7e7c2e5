// Runs the tour of README.md against a started service and compares what each command prints with what the README says.
// In the README a command is followed by its output as lines beginning with `# → `; `…` in them stands for anything.
// Usage: USHER_URL=http://127.0.0.1:8080 USHER_GRPC=127.0.0.1:50051 node .ci/tour.mjs
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const { USHER_URL: rest = 'http://127.0.0.1:8080', USHER_GRPC: grpc = '127.0.0.1:50051' } = process.env;
const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const tour = readme.slice(readme.indexOf('<!-- tour -->'), readme.indexOf('<!-- /tour -->'));
const here = (text) => text.replaceAll('http://localhost:8080', rest).replaceAll('localhost:50051', grpc);

const steps = [];
for (const [, block] of tour.matchAll(/```sh\n([\s\S]*?)```/g)) {
  let command = [];
  for (const line of block.trimEnd().split('\n')) {
    const last = steps.at(-1);
    if (line.startsWith('# → ')) {
      if (command.length > 0) steps.push({ command: command.join('\n'), output: [] });
      command = [];
      (steps.at(-1) ?? last).output.push(line.slice(4));
    } else command.push(line);
  }
  if (command.join('').trim() !== '') steps.push({ command: command.join('\n'), output: null });
}
if (steps.length < 5) throw new Error('the README has no tour');

const folder = mkdtempSync(join(tmpdir(), 'usher-tour.'));
try {
  // One shell for all, so that variables live on; USHER_URL makes the commands ask this very service.
  const script = steps.map(({ command }, i) => `{\n${here(command)}\n} >'${folder}/${i}' 2>&1\n`).join('');
  writeFileSync(join(folder, 'tour.sh'), script);
  spawnSync('bash', [join(folder, 'tour.sh')], { stdio: 'inherit', env: { ...process.env, USHER_URL: rest } });
  let wrong = 0;
  steps.forEach(({ command, output }, i) => {
    if (output === null) return;
    const printed = readFileSync(join(folder, String(i)), 'utf8').trimEnd();
    const expected = output
      .map((line) =>
        here(line)
          .split('…')
          .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
          .join('[\\s\\S]*'),
      )
      .join('\\n');
    if (new RegExp(`^${expected}$`).test(printed)) return;
    wrong++;
    console.error(`README, step ${i + 1}:\n${command}\nexpected:\n${output.join('\n')}\nprinted:\n${printed}\n`);
  });
  console.log(`${steps.length - wrong} of ${steps.length} steps of the tour print what the README says`);
  process.exitCode = wrong === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
