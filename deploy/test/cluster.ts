/**
 * The commands of docs/guides/small-cluster.md, in a fresh clone of what is committed, with the seconds that each took. Needs what that
 * page needs; started by root it becomes an account without rights, since PostgreSQL refuses to run as root.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { must } from './service.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const DOCUMENT = 'docs/guides/small-cluster.md';
const NOBODY = 65534;
/** Several times what two idle cores take. `timeout` ends all that it has started. */
const LIMIT_SECONDS = 30 * 60;

const work = mkdtempSync(join(tmpdir(), 'usher-cluster-'));
const home = join(work, 'home');
const clone = join(work, 'usher');
const isRoot = process.getuid?.() === 0;
const asUser = isRoot ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : [];

/** Without what the npm that may have started this script says, and without a cluster of its caller. */
function environment(): NodeJS.ProcessEnv {
  const strange = /^(?:npm_|CLUSTER$|PORTS$|USHER_|DATABASE_)/;
  const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !strange.test(name)));
  return {
    ...own,
    HOME: home,
    TMPDIR: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    npm_config_update_notifier: 'false',
  };
}

/** Ends what a failed walk has left running: the processes whose identifiers it wrote down. */
function endRest(): string[] {
  const folder = join(home, 'usher-cluster');
  let names: string[] = [];
  try {
    names = readdirSync(join(folder, 'pid')).filter((name) => isAlive(Number(readFileSync(join(folder, 'pid', name)))));
  } catch {
    return []; // the walk has cleaned up, or never began
  }
  const [file, ...args] = [...asUser, join(clone, 'deploy/cluster/cluster'), 'down'];
  spawnSync(file, args, { env: environment(), stdio: 'inherit' });
  return names;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

try {
  chmodSync(work, 0o755);
  mkdirSync(home);
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', ROOT, clone]);
  if (isRoot) execFileSync('chown', ['-R', `${NOBODY}:${NOBODY}`, work]);
  const walk = ['timeout', String(LIMIT_SECONDS), 'node', '.ci/tour.mjs', '--seconds', DOCUMENT];
  const [file = '', ...args] = [...asUser, ...walk];
  const { status } = spawnSync(file, args, { cwd: clone, env: environment(), stdio: 'inherit' });
  const left = endRest();
  must(status === 0, `the commands of ${DOCUMENT} do not print what it says`);
  must(left.length === 0, `left running: ${left.join(', ')}`);
} finally {
  rmSync(work, { recursive: true });
}
