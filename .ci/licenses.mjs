// Lists the installed packages by license, and fails where one is under a license that is not on the list below.
// The tools of .ci/tools are looked at where they are installed. Usage: npm run licenses
import { spawnSync } from 'node:child_process';

/** SPDX identifiers that permit what an Apache-2.0 service does with a package. MPL-2.0 binds changes of the package's own files. */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  // Of Python, permissive: argparse, which js-yaml brings.
  'PSF-2.0',
  'MIT-0',
  'MPL-2.0',
]);
/**
 * Only for what the package does not depend on: data of the browsers, which jest's compiler looks at, the router of the panel, which is
 * in the public domain, and the older argparse of openapi-typescript, which is permissive as the newer one.
 */
const ALLOWED_IN_DEVELOPMENT = new Set([...ALLOWED, 'CC-BY-4.0', 'Unlicense', 'Python-2.0']);
/** Packages whose package.json names no license, with that of their LICENSE file. */
const READ_FROM_FILE = { '@react-aria/optimize-locales-plugin': 'Apache-2.0' };

/** Whether an SPDX expression of identifiers, AND and OR (without nesting) can be met by the list. */
const isAllowed = (license, allowed) =>
  license
    .replaceAll(/[()]/g, '')
    .split(' OR ')
    .some((choice) => choice.split(' AND ').every((identifier) => allowed.has(identifier)));

/** What is installed in a folder; `isTools`: nothing of it is shipped. */
function packagesOf(folder, isTools) {
  const { stdout, stderr } = spawnSync(process.execPath, [process.env.npm_execpath, 'query', '*', '--prefix', folder], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (stdout === '') throw new Error(`npm query gave no answer: ${stderr}`);
  const found = JSON.parse(stdout).filter(({ location }) => location !== '' || !isTools);
  return found.map(({ name, version, license, dev }) => ({
    name: `${name}@${version}`,
    license: typeof license === 'string' ? license : (READ_FROM_FILE[name] ?? 'none named'),
    dev: isTools || dev === true,
  }));
}

const packages = [...packagesOf('.', false), ...packagesOf('.ci/tools', true)];

for (const [license, of] of Object.entries(Object.groupBy(packages, ({ license }) => license)).sort()) {
  const shipped = of.filter(({ dev }) => !dev).map(({ name }) => name);
  console.log(`${license}: ${shipped.length} shipped, ${of.length - shipped.length} in development only`);
  if (shipped.length > 0) console.log(`  ${shipped.sort().join(' ')}`);
}
const refused = packages.filter(({ license, dev }) => !isAllowed(license, dev ? ALLOWED_IN_DEVELOPMENT : ALLOWED));
for (const { name, license } of refused)
  console.error(`${name}: the license ${license} is not on the list in .ci/licenses.mjs`);
if (refused.length > 0) process.exit(1);
