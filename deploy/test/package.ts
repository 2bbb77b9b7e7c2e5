/**
 * `npm pack`, `npm install --global`, `usher serve`: what docs/guides/deploy.md says of the package. Run by .ci/run; asks the npm
 * registry for the dependencies, and installs into a folder of its own.
 */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { must, printed, start } from './service.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/** With the panel; half again of what it is. */
const MOST_BYTES = 6_000_000;
/** What may be in it, and nothing else. */
const SHIPPED = [
  /^package\/(?:LICENSE|README\.md|package\.json|bin\/node|bin\/usher|examples\/demo\.yaml)$/,
  /^package\/dist\/(?!panel\/).+\.js$/,
  /^package\/dist\/package\.json$/,
  /^package\/dist\/panel\/.+\.(?:html|js|css|svg|txt|json|br|gz)$/,
];
const NEEDED = [
  'dist/main.js',
  'dist/gen/',
  'dist/http2-front/',
  'dist/package.json',
  'dist/persistence/migrations/',
  'dist/panel/index.html.br',
];

interface Manifest {
  readonly version: string;
  readonly scripts: { readonly start: string };
}
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;
const work = mkdtempSync(join(tmpdir(), 'usher-package-'));
try {
  const archive = pack();
  const usher = install(archive);
  await serve(usher);
} finally {
  rmSync(work, { recursive: true });
}

function run(file: string, args: readonly string[], cwd = ROOT): string {
  return execFileSync(file, [...args], { cwd, encoding: 'utf8', env: environment(), maxBuffer: 64 << 20 });
}

/** Not that of the npm which may have started this script: its Node.js would be the package's, too. */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')));
}

function pack(): string {
  run('npm', ['pack', '--silent', '--pack-destination', work]);
  const archive = join(work, `usher-service-usher-${manifest.version}.tgz`);
  const files = run('tar', ['--list', '--gzip', '--file', archive]).trim().split('\n');
  const strange = files.filter((file) => !SHIPPED.some((pattern) => pattern.test(file)));
  must(strange.length === 0, `needless in the package: ${strange.join(', ')}`);
  for (const needed of NEEDED) {
    must(
      files.some((file) => file.startsWith(`package/${needed}`)),
      `missing in the package: ${needed}`,
    );
  }
  const { length } = readFileSync(archive);
  must(length < MOST_BYTES, `the package has ${length} bytes`);
  console.log(`packed: ${files.length} files, ${length} bytes`);
  return archive;
}

function install(archive: string): string {
  const prefix = join(work, 'prefix');
  const options = ['--no-audit', '--no-fund', '--loglevel=error'];
  run('npm', ['install', '--global', '--prefix', prefix, ...options, archive], work);
  const usher = join(prefix, 'bin/usher');
  const version = run(usher, ['--version'], work).trim();
  must(version === manifest.version, `usher --version prints ${version}`);
  console.log(`installed: usher ${version}`);
  return usher;
}

async function serve(usher: string): Promise<void> {
  const cwd = join(work, 'life');
  mkdirSync(cwd);
  const env = { ...environment(), HTTP_PORT: '0', GRPC_PORT: '0' };
  const service = start({ file: usher, args: ['serve'], env, cwd });
  try {
    const url = await printed(service, /REST +(http:\/\/\S+)/);
    const command = run('ps', ['-o', 'args=', '-p', String(service.child.pid)]);
    for (const [flag] of manifest.scripts.start.matchAll(/--(?!import)\S+/g)) {
      must(command.includes(flag), `the service runs without ${flag}: ${command}`);
    }
    const question = ['ada@example.com', 'atelier', 'invoice.approve', '--url', url];
    const decision = run(usher, ['check', ...question], cwd);
    must(decision.startsWith('allowed: ada@example.com'), `a decision: ${decision}`);
    const panel = await fetch(`${url}/panel/`);
    must(panel.status === 200, `the panel answers ${panel.status}`);
    await panel.body?.cancel();
  } finally {
    await service.stop();
  }
  console.log('served: ready, a decision, the panel, ended by SIGTERM');
}
