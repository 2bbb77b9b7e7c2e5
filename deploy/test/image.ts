/**
 * Carries out the steps of deploy/image/Dockerfile without a container engine, then runs what they made as the image would be run: as
 * its user, on a read-only root without a writable folder, on a PostgreSQL. Needs root, debootstrap, the packages of Debian and npm:
 *   bin/node deploy/test/image.ts [FOLDER]     a FOLDER that stays keeps the Debian of the first stages for the next time
 */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { startPostgres } from '../../test/support/postgres-server.ts';
import { copyOf, environmentOf, imageStages, type Stage, wordsOf } from './dockerfile.ts';
import { must, printed, start } from './service.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const HTTP_PORT = '18080';
/** Nobody asks these issuers for a token here. */
const PRODUCTION = {
  AUTH_ISSUER: 'https://idp.example.com',
  AUTH_AUDIENCE: 'usher',
  PUBLIC_URL: 'https://usher.example.com',
  INTERNAL_API_KEY: 'billing:check:0123456789abcdef01234567',
  SUPERADMINS: 'ada@example.com',
};
const LISTENERS = { HTTP_HOST: '127.0.0.1', HTTP_PORT, GRPC_PORT: '18051', OPS_PORT: '18090', SHUTDOWN_NOTICE_MS: '0' };

interface Image {
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  readonly health: readonly string[];
}

const work = process.argv[2] === undefined ? mkdtempSync(join(tmpdir(), 'usher-image-')) : resolve(process.argv[2]);
const debian = join(work, 'debian');
const stages = join(work, 'stages');
try {
  rmSync(stages, { recursive: true, force: true });
  mkdirSync(stages, { recursive: true });
  if (!existsSync(debian)) sh('debootstrap', '--variant=minbase', 'bookworm', debian);
  const image = build(imageStages());
  inspect(image);
  await run(image);
} finally {
  rmSync(process.argv[2] === undefined ? work : stages, { recursive: true, force: true });
}

function sh(file: string, ...args: string[]): string {
  return execFileSync(file, args, { encoding: 'utf8', maxBuffer: 64 << 20 });
}

/** The image node:VERSION-bookworm-slim, from the same Debian, the Node.js of the lock file and the npm of this machine. */
function nodeImage(from: string, root: string): void {
  const node = join(ROOT, 'node_modules/node/bin/node');
  const version = sh(node, '--version').trim().slice(1);
  must(from === `node:${version}-bookworm-slim`, `${from} is not the Node.js of the lock file, ${version}`);
  sh('cp', '--archive', debian, root);
  const npm = join(sh('npm', 'root', '--global').trim(), 'npm');
  mkdirSync(join(root, 'usr/local/lib/node_modules'), { recursive: true });
  sh('cp', node, join(root, 'usr/local/bin/node'));
  sh('cp', '--archive', npm, join(root, 'usr/local/lib/node_modules/npm'));
  sh('ln', '-s', '../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'));
  mkdirSync(join(root, dirname(CERTIFICATES)), { recursive: true });
  for (const file of ['/etc/resolv.conf', '/etc/hosts', CERTIFICATES])
    sh('cp', '--dereference', file, join(root, file));
}

/** What a build is given: the files of the repository that Dockerfile.dockerignore lets in. */
function context(): string {
  const folder = join(stages, 'context');
  mkdirSync(folder);
  const names = readFileSync(join(ROOT, 'deploy/image/Dockerfile.dockerignore'), 'utf8').match(/(?<=^!).+/gm) ?? [];
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...names], {
    cwd: ROOT,
  });
  const archive = execFileSync('tar', ['--create', '--null', '--files-from=-'], {
    cwd: ROOT,
    input: files,
    maxBuffer: 64 << 20,
  });
  execFileSync('tar', ['--extract', '--directory', folder], { input: archive });
  return folder;
}

function build(all: readonly Stage[]): Image {
  const from = context();
  let image: Image = { root: '', env: {}, user: '', entrypoint: [], cmd: [], health: [] };
  for (const stage of all) {
    const root = join(stages, stage.name || 'final');
    if (stage.from === 'scratch') mkdirSync(root);
    else nodeImage(stage.from, root);
    console.log(`stage ${stage.name || 'final'}, from ${stage.from}`);
    image = carryOut(stage, root, from);
  }
  return image;
}

function carryOut({ instructions }: Stage, root: string, context: string): Image {
  let image: Image = { root, env: {}, user: '0:0', entrypoint: [], cmd: [], health: [] };
  let at = '/';
  for (const { name, rest } of instructions) {
    if (name === 'WORKDIR') {
      at = rest;
      if (!existsSync(join(root, at))) mkdirSync(join(root, at), { recursive: true });
    } else if (name === 'COPY') copy(rest, { root, at, context });
    else if (name === 'RUN') inRoot(root, at, rest);
    else if (name === 'ENV') image = { ...image, env: { ...image.env, ...environmentOf(rest) } };
    else if (name === 'USER') image = { ...image, user: rest };
    else if (name === 'ENTRYPOINT') image = { ...image, entrypoint: wordsOf(rest) };
    else if (name === 'CMD') image = { ...image, cmd: wordsOf(rest) };
    else if (name === 'HEALTHCHECK') image = { ...image, health: wordsOf(rest) };
    else must(name === 'EXPOSE', `${name} is not carried out here`);
  }
  return image;
}

function copy(rest: string, { root, at, context }: { root: string; at: string; context: string }): void {
  const { from, sources, target } = copyOf(rest);
  for (const source of sources) {
    const path = from === null ? join(context, source) : join(stages, from, source);
    const to = join(root, resolve(at, target));
    mkdirSync(target.endsWith('/') ? to : dirname(to), { recursive: true });
    // Of a folder the content, as COPY does.
    const isFolder = statSync(path).isDirectory();
    if (isFolder) mkdirSync(to, { recursive: true });
    sh('cp', '--archive', isFolder ? `${path}/.` : path, to);
  }
}

function inRoot(root: string, at: string, command: string): void {
  // npm's cache, as a build with a cache mount has it.
  const cache = sh('npm', 'config', 'get', 'cache').trim();
  mkdirSync(join(root, 'root/.npm'), { recursive: true });
  const mounts = `mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && mount --bind "${cache}" "$0/root/.npm"`;
  const env = ['HOME=/root', 'PATH=/usr/local/bin:/usr/bin:/bin', `NODE_EXTRA_CA_CERTS=${CERTIFICATES}`];
  const inside = ['/usr/bin/env', '--ignore-environment', ...env, '/bin/sh', '-c', 'cd "$0" && eval "$1"', at, command];
  sh('unshare', '--mount', '--pid', '--fork', '/bin/sh', '-c', `${mounts} && exec chroot "$0" "$@"`, root, ...inside);
}

/** The names of the packages in a folder. */
function packagesIn(folder: string): string[] {
  return readdirSync(folder).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(folder, name)).map((part) => `${name}/${part}`) : name,
  );
}

/** What must not be in the image. */
function inspect({ root, user }: Image): void {
  must(/^[1-9]\d*:[1-9]\d*$/.test(user), `the image runs as ${user}`);
  const programs = sh('find', root, '-type', 'f', '-perm', '/111', '-not', '-name', '*.so*', '-printf', '/%P\n');
  const inPackages = /^\/opt\/usher\/node_modules\//;
  const own = programs
    .trim()
    .split('\n')
    .filter((file) => !inPackages.test(file));
  must(own.join() === '/usr/local/bin/node', `programs in the image: ${own.join(', ')}`);
  const sbom = JSON.parse(readFileSync(join(root, 'opt/usher/sbom.cdx.json'), 'utf8')) as {
    components: { 'bom-ref': string }[];
  };
  const listed = new Set(sbom.components.map((component) => component['bom-ref'].replace(/@[^@]*$/, '')));
  const unlisted = packagesIn(join(root, 'opt/usher/node_modules')).filter((name) => !listed.has(name));
  must(unlisted.length === 0, `missing in the bill of materials: ${unlisted.join(', ')}`);
  const folders = readdirSync(join(root, 'opt/usher')).sort().join(' ');
  must(
    folders === 'LICENSE README.md dist examples node_modules package.json sbom.cdx.json',
    `in /opt/usher: ${folders}`,
  );
  const size = sh('du', '--summarize', '--human-readable', root).split('\t')[0];
  console.log(`the image: ${size}, ${sbom.components.length} packages; its only program is Node.js`);
}

/** A process of the image: its user, no new privileges, and nothing that can be written but `volume`, at the folder of its data. */
function contained(
  { root, user, env }: Image,
  command: readonly string[],
  own: Record<string, string>,
  volume: string | null = null,
) {
  const mounts = [
    'mount --bind "$0" "$0"',
    'mkdir -p "$0/proc" "$0/dev"',
    'mount -t proc proc "$0/proc"',
    'mount --bind /dev "$0/dev"',
    ...(volume === null ? [] : [`mount --bind "${volume}" "$0${env.DATA_DIR ?? ''}"`]),
    'mount -o remount,bind,ro "$0"',
  ].join(' && ');
  const inside = ['setpriv', '--no-new-privs', 'chroot', `--userspec=${user}`, root, ...command];
  return {
    file: 'unshare',
    args: ['--mount', '/bin/sh', '-c', `${mounts} && exec "$@"`, root, ...inside],
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', ...env, ...LISTENERS, ...own },
    cwd: '/',
  };
}

/** As compose runs it. */
async function runInDevelopment(image: Image, url: string): Promise<void> {
  const volume = join(work, 'volume');
  rmSync(volume, { recursive: true, force: true });
  // An engine gives a new volume the owner and the mode of the image's folder.
  sh('cp', '--archive', join(image.root, image.env.DATA_DIR ?? ''), volume);
  const own = { NODE_ENV: 'development', DATABASE_URL: url };
  const service = start(contained(image, [...image.entrypoint, ...image.cmd], own, volume));
  try {
    await printed(service, /Open the panel: (\S+\?code=\S+)/);
    const { file, args, env, cwd } = contained(image, [...image.entrypoint, 'demo'], own, volume);
    const demo = execFileSync(file, args, { env, cwd, encoding: 'utf8' });
    must(demo.includes('Application atelier'), `the demonstration: ${demo}`);
  } finally {
    await service.stop();
    rmSync(volume, { recursive: true });
  }
  console.log('a development start: a link to the panel, the demonstration');
}

async function run(image: Image): Promise<void> {
  const database = await startPostgres();
  const own = { ...PRODUCTION, DATABASE_URL: database.url };
  const once = (...command: string[]): string => {
    const { file, args, env, cwd } = contained(image, command, own);
    return execFileSync(file, args, { env, cwd, encoding: 'utf8' });
  };
  try {
    const refused = /read-only file system/;
    const write = "try { fs.writeFileSync('/tmp/x', '') } catch (error) { console.log(error.message) }";
    const [node = ''] = image.entrypoint;
    must(refused.test(once(node, '-e', write)), 'the root can be written');
    must(once(node, '-p', 'process.getuid()').trim() === image.user.split(':')[0], 'it runs as somebody else');
    console.log(
      `migrate: ${once(...image.entrypoint, 'migrate')
        .trim()
        .slice(0, 60)}…`,
    );
    const begun = performance.now();
    const service = start(contained(image, [...image.entrypoint, ...image.cmd], own));
    try {
      await printed(service, /"msg":"(ready)"/);
      const readyMs = Math.round(performance.now() - begun);
      must(once(...image.health).trim() === 'ready: yes', 'the health check says no');
      const answer = await fetch(`http://127.0.0.1:${HTTP_PORT}/api/check`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-internal-api-key': '0123456789abcdef01234567' },
        body: JSON.stringify({ email: 'ada@example.com', app: 'auth', permission: 'panel.access' }),
      });
      const decision = await answer.text();
      must(decision.includes('"allowed":true'), `the first decision: ${decision}`);
      const panel = await fetch(`http://127.0.0.1:${HTTP_PORT}/panel/`);
      must(panel.status === 200, `the panel answers ${panel.status}`);
      await panel.body?.cancel();
      console.log(`served: ready after ${readyMs} ms, healthy, a decision, the panel`);
    } finally {
      await service.stop();
    }
    console.log('ended by SIGTERM');
    await runInDevelopment(image, database.url);
  } finally {
    await database.close();
  }
}
