// Prints the bill of materials of the shipped packages, in CycloneDX. Usage: npm run --silent sbom
// Of a lock file without the others: `npm sbom --omit dev` leaves out what a development dependency needs as well, and takes the
// development dependencies of workspaces for shipped.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const read = (name) => JSON.parse(readFileSync(join(root, name), 'utf8'));
const shipped = ({ devDependencies: _, workspaces: __, ...rest }) => rest;

const lock = read('package-lock.json');
const ofService = reached();
const packages = Object.entries(lock.packages).filter(([path, { dev, devOptional, link }]) => {
  return ofService.has(path) && dev !== true && devOptional !== true && link !== true;
});
const files = {
  'package.json': shipped(read('package.json')),
  'package-lock.json': {
    ...lock,
    packages: Object.fromEntries(packages.map(([path, entry]) => [path, path === '' ? shipped(entry) : entry])),
  },
};

/** The paths of the packages that the service needs: a client that is a workspace needs others, which are not shipped with it. */
function reached() {
  const found = new Set(['']);
  for (const path of found) {
    const { dependencies, optionalDependencies, peerDependencies } = lock.packages[path];
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      const at = whereIs(name, path);
      if (at !== undefined) found.add(at);
    }
  }
  return found;
}

/** As Node.js looks: in the package itself, then in those around it. An optional one may be missing. */
function whereIs(name, from) {
  const parts = from === '' ? [] : from.split('/node_modules/');
  for (let depth = parts.length; depth >= 0; depth--) {
    const within = parts.slice(0, depth).join('/node_modules/');
    const path = within === '' ? `node_modules/${name}` : `${within}/node_modules/${name}`;
    if (lock.packages[path] !== undefined) return path;
  }
  return undefined;
}

const folder = mkdtempSync(join(tmpdir(), 'usher-sbom-'));
try {
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), JSON.stringify(content));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [process.env.npm_execpath, 'sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'],
    { cwd: folder, encoding: 'utf8', maxBuffer: 1 << 26 },
  );
  if (status !== 0) throw new Error(`npm sbom: ${stderr}`);
  const listed = new Set(JSON.parse(stdout).components.map((component) => component['bom-ref']));
  const nameOf = ([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`;
  const missing = packages
    .filter(([path]) => path !== '')
    .map(nameOf)
    .filter((name) => !listed.has(name));
  if (missing.length > 0) throw new Error(`the bill of materials lacks ${missing.join(', ')}`);
  process.stdout.write(stdout);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
