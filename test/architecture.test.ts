import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';

/**
 * The direction of imports (docs/architecture.md), as one table. A room may import itself and what its row names; a new edge
 * is a line here, in a commit that says why. Packages are held the same way: what a database or a transport is called, one
 * room knows.
 */
const SRC = resolve(import.meta.dirname, '../src');
const PANEL = resolve(import.meta.dirname, '../panel/src');
const CLIENT = resolve(import.meta.dirname, '../clients/typescript/src');
const REACT_CLIENT = resolve(import.meta.dirname, '../clients/react/src');
const FRONT = resolve(import.meta.dirname, '../packages/http2-front/src');

/** Stores of persistence that every feature may use. */
const SHARED_STORES = ['database', 'audit', 'settings', 'people'].map((store) => `persistence/${store}`);
/** What every feature may import beside the store of its own name. */
const FEATURE = ['base', 'config', 'outbound', 'administration', ...SHARED_STORES, 'engine/types', 'engine/evaluate'];

/** A file's room is the first folder of its path. An entry names a room, or a file or folder in one. */
const ROOMS: Record<string, { imports: readonly string[] }> = {
  gen: { imports: [] },
  base: { imports: [] },
  config: { imports: ['base'] },
  outbound: { imports: ['base'] },
  engine: { imports: ['base', 'config'] },
  rpc: { imports: ['gen', 'base', 'engine'] },
  grpc: { imports: ['gen', 'base', 'engine', 'rpc'] },
  // The other end of the gRPC port: facts from a service, and calls that it answers for a caller of ours.
  upstream: { imports: ['gen', 'base', 'engine', 'rpc', 'grpc'] },
  persistence: { imports: ['base', 'config', 'engine/types'] },
  identity: { imports: ['base', 'config', 'outbound'] },
  // A dry run compares policies before and behind a write, by the engine's own rules.
  administration: {
    imports: ['base', 'persistence', 'engine/types', 'engine/evaluate', 'engine/policy', 'engine/question'],
  },
  catalog: { imports: [...FEATURE, 'persistence/catalog'] },
  // Superadmins are people, and the command line changes them on the database. Users are told of changes by the engine. Who comes to work with all others at once waits
  // in a queue before the database's own. Preferences stand in an application, a locale in the registry.
  directory: {
    imports: [
      ...FEATURE,
      'engine/watch',
      ...['directory', 'catalog/applications', 'catalog/languages'].map((store) => `persistence/${store}`),
    ],
  },
  brands: { imports: [...FEATURE, 'persistence/brands', 'delivery/mail', 'delivery/layout'] },
  delivery: { imports: [...FEATURE, 'persistence/delivery'] },
  // Large sends wait in a queue of their own, as crowds of people do. Types and templates are in manifests as well: their tables
  // have one owner. A template is in a language of the registry.
  notifications: {
    imports: [
      ...FEATURE,
      'persistence/notifications',
      ...['applications', 'languages', 'notification-types', 'templates'].map(
        (table) => `persistence/catalog/${table}`,
      ),
      'delivery',
      'directory/work-queue',
    ],
  },
  provider: {
    imports: [
      ...FEATURE,
      'persistence/provider',
      'notifications/render',
      // An auth mail is chosen by language as every notification is.
      'notifications/variant',
      'delivery',
      'brands',
      'directory',
      // Its events make people's records and change them, in one transaction with what it keeps itself.
      'persistence/directory',
    ],
  },
  // What grows with time, over all tables.
  retention: { imports: ['base', 'persistence/database', 'persistence/operations/partitions'] },
  // Who is told of what ends is handed in.
  timekeeper: {
    imports: ['base', 'persistence/database', 'persistence/timekeeper'],
  },
  gateway: {
    imports: [
      'gen',
      'base',
      'config',
      'engine',
      'rpc',
      'identity',
      'administration',
      'catalog',
      'directory',
      'brands',
      'notifications',
      'delivery',
      'provider',
    ],
  },
  // Policy tests decide by the engine's own rules on a manifest's own reader.
  'policy-tests': { imports: ['base', 'catalog/manifest', 'engine'] },
  // It asks a service over REST, with the types of the API that are made from its routes. What it does on this machine itself is handed
  // in (cli/io.ts): the database and its driver, the local issuer and features are not for it.
  cli: {
    imports: ['base', 'gen/api', 'config', 'policy-tests', 'catalog/manifest/parse', 'persistence/driver/refused'],
  },
  app: { imports: ['*'] },
  // Its playground decides in the browser, by the service's own reader and rules.
  panel: {
    imports: [
      'base',
      'gen/api',
      'engine/evaluate',
      'engine/explanation',
      'engine/policy',
      'engine/question',
      'engine/types',
      'catalog/manifest/examine',
      'catalog/manifest/faults',
      'catalog/manifest/format',
      'catalog/manifest/places',
      'catalog/manifest/source',
      'catalog/manifest/standalone',
      // Whether the colors of a brand are legible in a mail.
      'delivery/colors',
      'policy-tests/cases',
      'policy-tests/run',
      'policy-tests/world',
    ],
  },
};

/** Packages that only these rooms may name. */
const PACKAGES: Record<string, readonly string[]> = {
  '@mikro-orm/': ['persistence'],
  kysely: ['persistence'],
  pg: ['persistence'],
  '@electric-sql/': ['persistence'],
  '@grpc/': ['grpc', 'upstream'],
  'grpc-health-check': ['grpc'],
  express: ['gateway'],
  '@connectrpc/': ['gateway'],
  'lru-cache': ['base', 'delivery', 'engine', 'identity', 'directory', 'outbound'],
  // The provider's side seals the cookie of its login with it.
  jose: ['identity', 'provider'],
  nodemailer: ['delivery'],
  'web-push': ['delivery'],
  liquidjs: ['notifications'],
  'html-to-text': ['notifications'],
  'sanitize-html': ['brands'],
  // Access tokens of mail accounts are asked for where they are used.
  'openid-client': ['provider', 'delivery'],
  undici: ['outbound'],
  commander: ['cli'],
  '#http2-front/': ['grpc'],
};

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : /\.tsx?$/.test(path) ? [path] : [];
  });
}

function roomOf(file: string): string {
  const path = relative(SRC, file);
  return path === 'main.ts' ? 'app' : (path.split('/')[0] ?? '');
}

/** `values`: without those that only name types, which are gone when the code runs. */
function importsOf(file: string, { values = false } = {}): string[] {
  const source = readFileSync(file, 'utf8');
  const text = values ? source.replace(/^\s*(?:import|export) type [^;]*;/gm, '') : source;
  const found = text.matchAll(
    /^\s*(?:import|export)\b[^'";]*?from\s*'([^']+)'|^\s*import\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm,
  );
  return [...found].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
}

/** Without comments and without the examples of the API's documentation. */
function uncommented(file: string): string {
  return readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|^\s*example: .*$/gm, '');
}

function mayImport(from: string, targetFile: string): boolean {
  const target = roomOf(targetFile);
  const path = relative(SRC, targetFile).replace(/\.ts$/, '');
  const allowed = ROOMS[from]?.imports ?? [];
  return (
    target === from ||
    allowed.includes('*') ||
    allowed.some((entry) => entry === target || entry === path || path.startsWith(`${entry}/`))
  );
}

const files = filesBelow(SRC);
/** With the packages that are of the service's program. */
const program = [...files, ...filesBelow(FRONT)];
const edges = files.flatMap((file) => importsOf(file).map((specifier) => ({ file, specifier })));

describe('the direction of imports', () => {
  test('every source file belongs to a folder of the table', () => {
    expect(files.filter((file) => !(roomOf(file) in ROOMS)).map((file) => relative(SRC, file))).toEqual([]);
  });

  test('folders import only what their row allows', () => {
    const wrong = edges
      .filter(({ specifier }) => specifier.startsWith('.'))
      .map(({ file, specifier }) => ({ file, target: resolve(dirname(file), specifier) }))
      .filter(({ file, target }) => !mayImport(roomOf(file), target) || !existsSync(target))
      .map(({ file, target }) => `${relative(SRC, file)} -> ${relative(SRC, target)}`);
    expect(wrong).toEqual([]);
  });

  test('the front of frames imports itself and Node.js: everything else is handed in (service.ts)', () => {
    const specifiers = filesBelow(FRONT).flatMap((file) => importsOf(file));
    expect(specifiers.length).toBeGreaterThan(100);
    expect(specifiers.filter((specifier) => !/^(?:\.\/[\w-]+\.ts|node:\w+)$/.test(specifier))).toEqual([]);
  });

  test('the client that decides in its own process imports what an edge does', () => {
    const own = filesBelow(CLIENT).flatMap((file) =>
      importsOf(file)
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => resolve(dirname(file), specifier)),
    );
    const outside = own.filter((target) => !target.startsWith(CLIENT));
    expect(outside.length).toBeGreaterThan(5);
    const rooms = ['gen', 'base', 'engine', 'rpc', 'upstream'];
    expect(outside.filter((target) => !target.startsWith(SRC) || !rooms.includes(roomOf(target)))).toEqual([]);
  });

  test('the client for React imports React and itself, and its stores do without React', () => {
    const files = filesBelow(REACT_CLIENT);
    const packages = files.flatMap((file) => importsOf(file).filter((specifier) => !specifier.startsWith('.')));
    expect([...new Set(packages)]).toEqual(['react']);
    const own = files.flatMap((file) => importsOf(file).filter((specifier) => specifier.startsWith('.')));
    expect(own.filter((specifier) => specifier.startsWith('..'))).toEqual([]);
    const reached = new Set([join(REACT_CLIENT, 'client.ts')]);
    for (const file of reached)
      for (const specifier of importsOf(file)) {
        expect(specifier).toMatch(/^\.\//);
        reached.add(resolve(dirname(file), specifier));
      }
    expect(reached.size).toBeGreaterThan(8);
  });

  test('the panel imports of the service what its row allows, and nothing that needs Node.js', () => {
    const own = filesBelow(PANEL).flatMap((file) =>
      importsOf(file).map((specifier) => ({ file, target: resolve(dirname(file), specifier) })),
    );
    const outside = own.filter(({ target }) => target.startsWith(`${SRC}/`));
    const wrong = outside.filter(({ target }) => !mayImport('panel', target));
    expect(wrong.map(({ file, target }) => `${relative(PANEL, file)} -> ${relative(SRC, target)}`)).toEqual([]);
    expect(outside.length).toBeGreaterThan(0);
    const reached = new Set(outside.map(({ target }) => target));
    const packages = new Set<string>();
    for (const file of reached) {
      for (const specifier of importsOf(file, { values: true })) {
        if (specifier.startsWith('.')) reached.add(resolve(dirname(file), specifier));
        else packages.add(specifier);
      }
    }
    expect([...packages].sort()).toEqual(['js-yaml', 'leven', 'lru-cache', 'zod']);
  });

  test('requests leave by src/outbound alone, which knows the proxy: nothing else has a client of HTTP', () => {
    // The command line asks a service, and `usher doctor` whether one runs beside it.
    const asking = program.filter((file) => roomOf(file) !== 'cli' && relative(SRC, file) !== 'app/doctor/machine.ts');
    const clients = asking.filter((file) => {
      const text = uncommented(file);
      const imports = [...text.matchAll(/^import (?:type )?(.*) from 'node:https?';$/gm)].map(
        ([, names]) => names ?? '',
      );
      const asks = imports.some((names) => /\b(?:request|get|Agent|globalAgent)\b|\* as/.test(names));
      return (
        asks ||
        /(?<![\w.#])fetch\(|\bnew (?:XMLHttpRequest|EventSource|WebSocket)\b/.test(
          text.replace(/\bfetch\([^)]*\):/g, ''),
        )
      );
    });
    expect(clients.map((file) => relative(SRC, file))).toEqual([]);
    expect(files.filter((file) => /\bcreateOutbound\(/.test(uncommented(file))).map((file) => roomOf(file))).toEqual(
      expect.arrayContaining(['app', 'outbound']),
    );
  });

  test('packages are imported only by the folders that own them', () => {
    const wrong = edges
      .filter(({ specifier }) => !specifier.startsWith('.'))
      .filter(({ file, specifier }) => {
        const rule = Object.keys(PACKAGES).find(
          (name) => specifier === name || specifier.startsWith(name.endsWith('/') ? name : `${name}/`),
        );
        return rule !== undefined && !PACKAGES[rule]?.includes(roomOf(file));
      })
      .map(({ file, specifier }) => `${relative(SRC, file)} -> ${specifier}`);
    expect(wrong).toEqual([]);
  });

  test.each([
    ['service', SRC],
    ['front of frames', FRONT],
    ['panel', PANEL],
    ['client for React', REACT_CLIENT],
    ['client for TypeScript', CLIENT],
  ])('the import graph of the files of the %s has no cycles', (_, root) => {
    const own = filesBelow(root);
    const graph = new Map(
      own.map(
        (file) =>
          [
            file,
            importsOf(file)
              .filter((s) => s.startsWith('.'))
              .map((s) => resolve(dirname(file), s)),
          ] as const,
      ),
    );
    const done = new Set<string>();
    const cycles: string[] = [];
    const visit = (file: string, path: string[]) => {
      if (path.includes(file)) {
        cycles.push([...path.slice(path.indexOf(file)), file].map((step) => relative(root, step)).join(' -> '));
        return;
      }
      if (done.has(file)) return;
      for (const next of graph.get(file) ?? []) visit(next, [...path, file]);
      done.add(file);
    };
    expect(own.length).toBeGreaterThan(5);
    for (const file of own) visit(file, []);
    expect(cycles).toEqual([]);
  });

  test('kysely is of the version that MikroORM asks for: its types are those of the transactions', () => {
    const read = (path: string) => JSON.parse(readFileSync(join(SRC, '..', path), 'utf8'));
    const asked = read('node_modules/@mikro-orm/sql/package.json').dependencies.kysely;
    expect([read('package.json').dependencies.kysely, read('node_modules/kysely/package.json').version]).toEqual([
      asked,
      asked,
    ]);
  });

  test('the sources contain no barrels, and no file over 400 lines', () => {
    const written = program.filter((file) => !relative(SRC, file).startsWith('gen/'));
    expect(written.filter((file) => /(^|\/)(index|utils)\.ts$/.test(file))).toEqual([]);
    expect(
      written.filter((file) => readFileSync(file, 'utf8').split('\n').length > 401).map((file) => relative(SRC, file)),
    ).toEqual([]);
  });

  test('the fields and lanes of a channel are made from the list of channels, and written out nowhere else', () => {
    const names = /emailEnabled|pushEnabled|default_?(?:email|push)|(?:email|push)_enabled|push:%|'email' \| 'push'/i;
    // The seed says which of them the type of the identity provider has; the migration is as it was released.
    const allowed = [
      'base/channels.ts',
      'catalog/seed.ts',
      'gen/api.ts',
      'persistence/migrations/0003-notifications.ts',
    ];
    const named = files.filter((file) => names.test(uncommented(file)) && !allowed.includes(relative(SRC, file)));
    expect(named.map((file) => relative(SRC, file))).toEqual([]);
  });

  test('only main.ts reads the process', () => {
    const readers = program.filter((file) =>
      /\bprocess\.(env|argv|exit|stdin|stdout|stderr|cwd)\b/.test(readFileSync(file, 'utf8')),
    );
    expect(readers.map((file) => relative(SRC, file)).filter((file) => file !== 'main.ts')).toEqual([]);
  });
});
