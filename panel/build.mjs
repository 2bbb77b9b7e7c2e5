// Builds the panel into dist/panel, with a `.br` and a `.gz` beside each file that compresses. `npm ci` runs it (`prepare`) and `npm run panel`;
// a start never does. It does nothing when the sources and the lock file are those of the last build.
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const root = resolve(import.meta.dirname, '..');
const out = join(root, 'dist/panel');
const stamp = join(out, '.made-of');

const { build } = await import('vite').catch((error) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  return { build: null };
});
if (build === null) {
  console.log('The panel is not built: Vite is a development dependency, and those are not installed.');
} else {
  const made = madeOf();
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== made) await make(made);
}

/** A hash of everything that the built files depend on. The panel reads manifests and decides by the service's own code. */
function madeOf() {
  const hash = createHash('sha256');
  const patterns = ['panel/**', 'src/**/*.ts', 'examples/demo.yaml', 'package-lock.json'];
  for (const file of globSync(patterns, { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()) {
    hash.update(file.slice(root.length)).update('\0').update(readFileSync(file)).update('\0');
  }
  return hash.digest('hex');
}

async function make(hash) {
  const started = performance.now();
  const { output } = await build({ configFile: join(root, 'panel/vite.config.ts') });
  for (const [from, to] of [
    ['panel/preview.html', 'preview.html'],
    ['node_modules/swagger-ui-dist/swagger-ui.css', 'docs/swagger-ui.css'],
    ['node_modules/swagger-ui-dist/swagger-ui-bundle.js', 'docs/swagger-ui-bundle.js'],
  ]) {
    mkdirSync(dirname(join(out, to)), { recursive: true });
    // The source map of Swagger UI is not served.
    writeFileSync(
      join(out, to),
      readFileSync(join(root, from), 'utf8').replace(/\n\/[/*]# sourceMappingURL=.*\s*$/, '\n'),
    );
  }
  writeFileSync(join(out, 'licenses.txt'), licensesOf(output));
  const files = globSync('**/*.{html,js,css,svg,txt,json}', { cwd: out });
  await Promise.all(files.map((file) => compress(join(out, file))));
  writeFileSync(stamp, hash);
  console.log(`The panel is built in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
}

async function compress(file) {
  const content = readFileSync(file);
  // As for answers of the API: less is not worth a header.
  if (content.length <= 1024) return;
  // 11 takes twice as long for one hundredth less.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 10, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
  writeFileSync(`${file}.br`, await promisify(brotliCompress)(content, { params }));
  writeFileSync(`${file}.gz`, await promisify(gzip)(content, { level: 9 }));
}

/** The licenses of the packages whose code is in the built files, as they ask to be passed on. */
function licensesOf(chunks) {
  const names = new Set(['swagger-ui-dist']);
  for (const { moduleIds = [] } of chunks) {
    for (const id of moduleIds) {
      const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id);
      if (found !== null) names.add(found[1]);
    }
  }
  return [...names].sort().map(licenseOf).join('\n\n');
}

function licenseOf(name) {
  const folder = join(root, 'node_modules', name);
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const texts = globSync('{LICENSE,LICENCE,NOTICE}*', { cwd: folder }).sort();
  const text = texts.map((file) => readFileSync(join(folder, file), 'utf8').trim()).join('\n\n');
  return `${name} ${version}${license === undefined ? '' : ` (${license})`}\n\n${text}\n`;
}
