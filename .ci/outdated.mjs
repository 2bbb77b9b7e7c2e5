// Lists the direct dependencies that are behind their newest release, and fails where one has no reason in outdated.json, or a
// reason is left there that nothing needs any more. Needs the registry. Usage: npm run outdated
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const reasons = JSON.parse(readFileSync(new URL('outdated.json', import.meta.url), 'utf8'));
// By this very Node.js: npm leaves out releases whose `engines` does not fit the one that it runs on.
function behindIn(folder) {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [process.env.npm_execpath, 'outdated', '--json', '--prefix', folder],
    { encoding: 'utf8' },
  );
  const found = stdout.trim() === '' ? undefined : JSON.parse(stdout);
  if (found !== undefined && found.error === undefined) return found;
  console.error(`npm outdated gave no answer: ${found?.error?.summary ?? stderr}`);
  process.exit(1);
}
const behind = { ...behindIn('.'), ...behindIn('.ci/tools') };

const unexplained = Object.keys(behind).filter((name) => reasons[name] === undefined);
const needless = Object.keys(reasons).filter((name) => behind[name] === undefined);
for (const [name, { current, latest }] of Object.entries(behind)) {
  console.log(`${name} ${current} -> ${latest}: ${reasons[name] ?? 'BEHIND, without a reason'}`);
}
for (const name of needless) console.log(`${name}: is at its newest; remove its reason from .ci/outdated.json`);
if (unexplained.length + needless.length > 0) process.exit(1);
