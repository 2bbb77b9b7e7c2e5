// Builds dist: one module, without React in it, the declarations, the style sheet and the service worker.
import { execFileSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'vite';

const here = import.meta.dirname;
const out = join(here, 'dist');

rmSync(out, { recursive: true, force: true });
await build({
  configFile: false,
  logLevel: 'warn',
  build: {
    outDir: out,
    // What the browsers of the last two years read; applications compile it further with their own code.
    target: 'es2022',
    minify: false,
    lib: { entry: join(here, 'src/index.ts'), formats: ['es'], fileName: 'index' },
    rolldownOptions: {
      external: [/^react(\/|$)/],
      // Everything in it is of the client: frameworks with server components have to know.
      output: { banner: "'use client';" },
    },
  },
});

const tsc = resolve(here, '../../node_modules/typescript/bin/tsc');
execFileSync(process.execPath, [tsc, '-p', join(here, 'tsconfig.build.json'), '--outDir', out], { stdio: 'inherit' });
// Not by globSync, which Node.js 20 does not have.
for (const file of readdirSync(out, { recursive: true }).filter((name) => name.endsWith('.d.ts'))) {
  const text = readFileSync(join(out, file), 'utf8');
  writeFileSync(join(out, file), text.replace(/(from|import\()(\s*['"])(\.[^'"]*)\.tsx?(['"])/g, '$1$2$3.js$4'));
}
for (const file of ['styles.css', 'push-worker.js']) copyFileSync(join(here, 'src', file), join(out, file));
// TypeScript wants a type for every import, also where a bundler does not bring one for style sheets.
writeFileSync(join(out, 'styles.css.d.ts'), 'export {};\n');
