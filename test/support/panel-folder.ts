import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';

export interface BuiltPanel {
  readonly path: string;
  remove(): Promise<void>;
}

const ROOT = resolve(import.meta.dirname, '../..');
/** Types that the panel's build compresses. */
const COMPRESSED = /\.(?:html|js|css|svg|txt|json)$/;

/** A folder as the panel's build writes it: each file, a `.br` and a `.gz` beside what shrinks, and a hidden file of its own. */
export async function buildPanel(files: Readonly<Record<string, string | Buffer>>): Promise<BuiltPanel> {
  const path = await mkdtemp(join(tmpdir(), 'usher-panel-'));
  await writePanel(path, files);
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

export async function writePanel(path: string, files: Readonly<Record<string, string | Buffer>>): Promise<void> {
  await writeFile(join(path, '.made-of'), 'a hash');
  for (const [name, content] of Object.entries(files)) {
    const file = join(path, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
    if (!COMPRESSED.test(name)) continue;
    await writeFile(`${file}.br`, brotliCompressSync(content));
    await writeFile(`${file}.gz`, gzipSync(content));
  }
}

/** The files of the documentation page, as the build copies them. */
export async function documentationFiles(): Promise<Record<string, Buffer>> {
  const from: [string, string][] = [
    ...['swagger-ui.css', 'swagger-ui-bundle.js'].map((name): [string, string] => [
      name,
      `node_modules/swagger-ui-dist/${name}`,
    ]),
    ...['start.js', 'docs.css'].map((name): [string, string] => [name, `panel/static/docs/${name}`]),
  ];
  return Object.fromEntries(
    await Promise.all(from.map(async ([name, path]) => [`docs/${name}`, await readFile(join(ROOT, path))] as const)),
  );
}
