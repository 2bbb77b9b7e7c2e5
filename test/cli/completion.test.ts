import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { usher } from './harness.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
const scripts = new Map<string, string>();
let bash: string;
let zsh: string;

beforeAll(async () => {
  for (const shell of SHELLS) {
    const { code, stdout, stderr } = await usher(['completion', shell]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    scripts.set(shell, stdout);
  }
  const folder = mkdtempSync(join(tmpdir(), 'usher-completion-'));
  bash = join(folder, 'usher.bash');
  zsh = join(folder, '_usher');
  writeFileSync(bash, scripts.get('bash') ?? '');
  writeFileSync(zsh, scripts.get('zsh') ?? '');
});

/** What bash offers for the last of these words; a real bash runs the function as readline would. */
function offered(...words: string[]): string[] {
  const run = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { echo "(files)"; }; _usher; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const output = execFileSync('bash', ['-c', run, bash, ...words], { encoding: 'utf8' });
  return output.split('\n').filter((line) => line !== '');
}

describe('in bash', () => {
  test.each([
    [['usher', 'ch'], ['check']],
    [
      ['usher', 'superadmin', ''],
      ['add', 'remove', 'list'],
    ],
    [['usher', 'context', 'u'], ['use']],
    [['usher', '--json', 'context', 's'], ['show']],
    [['usher', '-o', 'yaml', 'context', 's'], ['show']],
    [
      ['usher', 'completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['usher', 'check', '--l'], ['--level']],
    [
      ['usher', 'check', 'a@example.com', 'b', 'c', '--level', ''],
      ['view', 'edit'],
    ],
    [['usher', 'check', '--level', '=', 'v'], ['view']],
    [
      ['usher', 'check', '--level', '='],
      ['view', 'edit'],
    ],
    [['usher', 'check', '--level', 'view', '--exit'], ['--exit-code']],
    [['usher', 'check', '--level', '=', 'view', '--exit'], ['--exit-code']],
    [['usher', 'users', '-o', 'j'], ['json']],
    [
      ['usher', '--output', ''],
      ['table', 'json', 'yaml'],
    ],
    [['usher', 'apply', ''], ['(files)']],
    [['usher', '--config', 'u'], ['(files)']],
    [['usher', 'check', '--token', 'superadmin', 'a'], []],
    [['usher', 'export', ''], []],
  ])('bash completes %j with %j', (words, expected) => {
    expect(offered(...words)).toEqual(expected);
  });

  test('bash offers every command and each of its options', async () => {
    const { stdout } = await usher(['--help']);
    const listed = stdout.slice(stdout.indexOf('Commands:')).matchAll(/^ {2}([a-z]+) /gm);
    const commands = [...listed].map(([, name = '']) => name).filter((name) => name !== 'help' && name !== 'npm');
    expect(offered('usher', '')).toEqual(commands);
    expect(commands.length).toBeGreaterThan(12);
    for (const command of commands) {
      const help = await usher([command, '--help']);
      const options = [...help.stdout.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, flag]) => flag);
      expect(offered('usher', command, '--')).toEqual(
        expect.arrayContaining(options.filter((flag) => flag !== '--version')),
      );
    }
  });

  test('bash accepts the completion script', () => {
    expect(execFileSync('bash', ['-n', bash], { encoding: 'utf8' })).toBe('');
    expect(execFileSync('bash', ['-c', 'source "$0"; complete -p usher', bash], { encoding: 'utf8' })).toBe(
      'complete -F _usher usher\n',
    );
  });
});

/**
 * What the script for zsh offers, without a zsh: bash runs its function over stand-ins for what zsh brings. An array of zsh
 * begins at 1, so the words stand behind one that is never read.
 */
function offeredInZsh(...words: string[]): string[] {
  const standIns = `
    compdef() { :; }
    _files() { echo '(files)'; }
    _message() { echo "($1)"; }
    compadd() { shift; printf '%s\n' "$@"; }
    _describe() { local name="\${!#}[@]"; printf '%s\n' "\${!name}"; }`;
  const run = `${standIns}\nsource "$0"; words=(unread "$@"); CURRENT=$#; _usher`;
  const output = execFileSync('bash', ['-c', run, zsh, ...words], { encoding: 'utf8' });
  return output.split('\n').filter((line) => line !== '');
}

describe('in zsh and fish', () => {
  test.each([
    [
      ['usher', 'superadmin', ''],
      ['add', 'remove', 'list'],
    ],
    [
      ['usher', '-o', 'yaml', 'context', ''],
      ['list', 'use', 'show', 'remove'],
    ],
    [
      ['usher', 'completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [
      ['usher', 'check', '--level', ''],
      ['view', 'edit'],
    ],
    [['usher', 'check', '--token', ''], ['(value)']],
    [['usher', 'apply', ''], ['(files)']],
    [['usher', '--config', ''], ['(files)']],
    [['usher', 'export', ''], []],
  ])('zsh completes %j with %j', (words, expected) => {
    expect(offeredInZsh(...words).map((line) => line.split(':')[0])).toEqual(expected);
  });

  test('zsh offers commands and options with descriptions', () => {
    expect(offeredInZsh('usher', '')).toContain('check:ask whether a person has a permission, and why');
    expect(offeredInZsh('usher', 'check', '-')).toContain('--exit-code:exit with 2 when the answer is denied');
  });

  test('the zsh and fish scripts contain the same commands and values', () => {
    const script = scripts.get('zsh') ?? '';
    const fish = scripts.get('fish') ?? '';
    expect(script.split('\n')[0]).toBe('#compdef usher');
    expect(script).toContain("' superadmin') offered=('add:");
    expect(script).toContain('--level) compadd -- view edit; return ;;');
    expect(fish).toContain("complete -c usher -n '__fish_seen_subcommand_from check' -l level -x -a 'view edit'");
    expect(fish).toContain("complete -c usher -n '__fish_seen_subcommand_from apply' -F\n");
  });

  test('the zsh and fish scripts quote texts so that every line is balanced', () => {
    for (const shell of ['zsh', 'fish']) {
      for (const line of (scripts.get(shell) ?? '').split('\n').filter((text) => !text.startsWith('#'))) {
        expect({ line, quotes: line.split("'").length % 2 }).toEqual({ line, quotes: 1 });
      }
    }
    // zsh shares the grammar used here with bash, except for the words of completion itself.
    expect(() => execFileSync('bash', ['-n'], { input: scripts.get('zsh'), stdio: 'pipe' })).not.toThrow();
  });
});

test('an unknown shell is refused with the known ones', async () => {
  const { code, stderr } = await usher(['completion', 'tcsh']);
  expect(code).toBe(1);
  expect(stderr).toContain('Allowed choices are bash, zsh, fish.');
});
