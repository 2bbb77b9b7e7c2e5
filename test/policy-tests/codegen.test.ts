import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from '@jest/globals';
import { type Codes, generate } from '../../src/policy-tests/codegen.ts';
import { usher } from '../cli/harness.ts';

const folder = mkdtempSync(join(tmpdir(), 'usher-codegen-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const ROOT = resolve(import.meta.dirname, '../..');
const DEMO = join(ROOT, 'examples/demo.yaml');

/** Codes that differ by what names leave out, and descriptions that would end a comment. `.ci/codegen` compiles them in all languages. */
const NASTY: Codes = {
  app: '7-seas',
  permissions: [
    { code: 'a.b', description: 'Ends */ a comment, \\u000a and """ a string.\nIn two lines.' },
    { code: 'a-b' },
    { code: 'a_b' },
    { code: 'a:b' },
    { code: 'a/b' },
    { code: 's3:GetObject' },
    { code: 'ab' },
    { code: 'A.b' },
    { code: '1st' },
    { code: 'class' },
    { code: 'constructor' },
  ],
  roles: [{ code: 'none' }, { code: 'true' }, { code: 'ROLE_ADMIN' }, { code: 'role:admin' }],
  entities: [],
};

describe('usher codegen', () => {
  test('codegen writes TypeScript in which a misspelled code does not compile', async () => {
    writeFileSync(join(folder, 'codes.ts'), generate(NASTY, 'ts'));
    const use = (code: string) =>
      `import { Permission } from './codes.ts';\nexport const used: Permission = ${code};\n`;
    const compile = async (source: string): Promise<number> => {
      writeFileSync(join(folder, 'use.ts'), source);
      const flags = [
        '--noEmit',
        '--strict',
        '--module',
        'nodenext',
        '--target',
        'es2022',
        '--allowImportingTsExtensions',
      ];
      return await promisify(execFile)(join(ROOT, 'node_modules/.bin/tsc'), [...flags, 'use.ts'], { cwd: folder }).then(
        () => 0,
        ({ code }: { code: number }) => code,
      );
    };
    expect(await compile(use('Permission.Class'))).toBe(0);
    expect(await compile(use("'a.b'"))).toBe(0);
    expect(await compile(use("'a.c'"))).not.toBe(0);
  }, 60_000);

  test('codegen writes Go in the format of gofmt', () => {
    const permissions = [{ code: 'a' }, { code: 'b.long' }, { code: 'c', description: 'Third.' }, { code: 'd.dd' }];
    expect(generate({ app: 'shop', permissions, roles: [], entities: [] }, 'go')).toContain(
      [
        'const (',
        '\tPermissionA     Permission = "a"',
        '\tPermissionBLong Permission = "b.long"',
        '\t// PermissionC: Third.',
        '\tPermissionC   Permission = "c"',
        '\tPermissionDDd Permission = "d.dd"',
        ')',
      ].join('\n'),
    );
  });

  test('codegen gives every code a unique name, in any order of the codes', () => {
    for (const language of ['ts', 'go', 'python', 'java'] as const) {
      const text = generate(NASTY, language);
      expect(generate({ ...NASTY, permissions: NASTY.permissions.toReversed() }, language)).toBe(text);
      for (const { code } of NASTY.permissions) expect(text).toContain(JSON.stringify(code));
    }
    const names = [...generate(NASTY, 'ts').matchAll(/^ {2}(\w+): /gm)].map(([, name]) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  test.each(['permission', 'role', 'entity', 'string'])(
    'codegen gives Java a class of its own name for the application %s',
    (app) => {
      const text = generate({ ...NASTY, app }, 'java');
      expect(text).toMatch(/^public final class (\w+)Codes \{\n {2}private \1Codes\(\) \{\}$/m);
    },
  );

  test.each(['func', 'go', 'import', 'package', 'type'])(
    'codegen gives Go a package name that is not the keyword %s',
    (app) => {
      expect(generate({ ...NASTY, app }, 'go')).toContain(`\npackage ${app}codes\n`);
    },
  );

  test('codegen reads a manifest, and refuses one of another application', async () => {
    const made = await usher(['codegen', 'atelier', '--lang', 'go', '--manifest', DEMO], { env: {} });
    expect([made.code, made.stdout]).toEqual([0, expect.stringContaining('package atelier')]);
    const other = await usher(['codegen', 'billing', '--lang', 'go', '--manifest', DEMO], { env: {} });
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('describes atelier, not billing')]);
    expect((await usher(['codegen', 'atelier', '--lang', 'cobol', '--manifest', DEMO], { env: {} })).code).toBe(1);
  });
});
