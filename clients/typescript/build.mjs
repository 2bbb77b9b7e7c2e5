// Builds dist: one bundle an entry, with the service's engine inside, and the declarations of what is public.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'vite';

const here = import.meta.dirname;
const out = join(here, 'dist');
const { exports } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));
const entries = Object.values(exports).map(({ default: file }) => file.replace(/^\.\/dist\/(.*)\.js$/, '$1'));

rmSync(out, { recursive: true, force: true });
await build({
  configFile: false,
  logLevel: 'warn',
  build: {
    outDir: out,
    target: 'node20',
    minify: false,
    ssr: true,
    rolldownOptions: {
      input: Object.fromEntries(entries.map((name) => [name, join(here, 'src', `${name}.ts`)])),
      // What the package depends on stays outside of it.
      external: [
        /^node:/,
        /^@grpc\/grpc-js/,
        /^@bufbuild\/protobuf/,
        /^@connectrpc\//,
        /^@opentelemetry\/api/,
        /^lru-cache/,
        /^openapi-fetch/,
      ],
      output: { entryFileNames: '[name].js', chunkFileNames: 'shared/[name]-[hash].js' },
    },
  },
});

const types = mkdtempSync(join(tmpdir(), 'usher-client-types-'));
try {
  const tsc = resolve(here, '../../node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, '-p', join(here, 'tsconfig.build.json'), '--outDir', types], {
    stdio: 'inherit',
  });
  const own = join(types, 'clients/typescript/src');
  for (const file of declarationsIn(own)) {
    const text = readFileSync(join(own, file), 'utf8').replace(
      /(from|import\()(\s*['"])(\.[^'"]*)\.ts(['"])/g,
      '$1$2$3.js$4',
    );
    if (text.includes('/src/gen/') || text.includes('/src/engine/')) continue;
    cpSync(join(own, file), join(out, file));
    writeFileSync(join(out, file), text);
  }
  // Where one is missing, what it declares is `any` to the package's users, and no compiler of theirs says so.
  for (const file of declarationsIn(out)) {
    for (const [, name] of readFileSync(join(out, file), 'utf8').matchAll(/['"](\.[^'"]*)\.js['"]/g)) {
      const declared = join(out, file, '..', `${name}.d.ts`);
      if (!existsSync(declared))
        throw new Error(`${file} needs ${declared}, which names what the package does not hold`);
    }
  }
} finally {
  rmSync(types, { recursive: true, force: true });
}

/** Their paths in a folder. Not by globSync, which Node.js 20 does not have. */
function declarationsIn(folder) {
  return readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.d.ts'));
}
