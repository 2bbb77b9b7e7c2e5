import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { usherCommand } from '../../src/base/command.ts';

const SRC = resolve(import.meta.dirname, '../../src');
const COMMANDS =
  'serve|migrate|demo|token|check|effective|apply|export|superadmin|config|grant|revoke|roles|users|audit|completion|login|context|--help';

describe('commands in messages', () => {
  test("commands in messages use npm for the sources, and the program's own name once built", () => {
    expect(usherCommand('migrate', true)).toBe('npm run --silent usher -- migrate');
    expect(usherCommand('serve', true)).toBe('npm start');
    expect(usherCommand('migrate', false)).toBe('usher migrate');
    expect(usherCommand('serve', false)).toBe('usher serve');
    expect(usherCommand('migrate')).toBe('npm run --silent usher -- migrate');
  });

  test('every command in a message comes from usherCommand', () => {
    const named = new RegExp(`\\busher (?:${COMMANDS})(?![\\w-])|npm start|npm run `);
    const wrong = globSync('**/*.ts', {
      cwd: SRC,
      exclude: ['gen/**', 'base/command.ts', 'cli/completion-scripts.ts'],
    }).flatMap((file) =>
      withoutExamples(withoutComments(readFileSync(join(SRC, file), 'utf8')))
        .split('\n')
        .filter((line) => named.test(line))
        .map((line) => `${file}: ${line.trim()}`),
    );
    expect(wrong).toEqual([]);
  });
});

function withoutComments(text: string): string {
  return text.replaceAll(/^\s*(?:\/\*\*?[\s\S]*?\*\/|\/\/.*)$/gm, '');
}

/** What `withExamples` is given: it writes commands by usherCommand itself. Completion is for an installed `usher` alone. */
function withoutExamples(text: string): string {
  return text.replaceAll(/\bwithExamples\([\s\S]*?\]\);/g, '');
}
