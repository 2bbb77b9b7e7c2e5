import { readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { expect, test } from '@jest/globals';

const SRC = resolve(import.meta.dirname, '../../src');

/** What is loaded before a command runs: imports of values, from file to file, without those that an action makes itself. */
function loadedBy(entry: string): { files: string[]; packages: string[] } {
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    const found = readFileSync(file, 'utf8').matchAll(
      /^(?:import|export)\s+(?!type\b)[\w{][^'"=;()]*?\bfrom\s+'([^']+)'|^import\s+'([^']+)'/gm,
    );
    for (const [, from, bare] of found) {
      const specifier = from ?? bare ?? '';
      if (specifier.startsWith('.')) visit(resolve(dirname(file), specifier));
      else if (!specifier.startsWith('node:')) packages.add(specifier);
    }
  };
  visit(resolve(SRC, entry));
  return { files: [...files].map((file) => relative(SRC, file)), packages: [...packages] };
}

test('the command line starts without loading database, identity, configuration and service code', () => {
  const { files, packages } = loadedBy('cli/program.ts');
  expect(files.length).toBeGreaterThan(20);
  expect(packages).toEqual(['commander']);
  const heavy = files.filter((file) => !file.startsWith('cli/'));
  expect(heavy.sort()).toEqual([
    'base/command.ts',
    'base/errors.ts',
    'base/grammar.ts',
    'base/ip-address.ts',
    'base/members.ts',
    'base/operations.ts',
    'base/own-keys.ts',
    'base/reason.ts',
    'base/trim.ts',
    'persistence/driver/refused.ts',
  ]);
});

test("only serve loads the service's code", () => {
  expect(readFileSync(resolve(SRC, 'main.ts'), 'utf8')).not.toMatch(/^(?:import|const).*app\/serve/m);
});
