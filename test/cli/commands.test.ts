import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Command } from 'commander';
import { systemClock } from '../../src/base/clock.ts';
import { usherCommand } from '../../src/base/command.ts';
import type { Io } from '../../src/cli/io.ts';
import { createProgram } from '../../src/cli/program.ts';
import { Double, refusal } from './double.ts';
import { usher } from './harness.ts';

/** What holds for every command, of the commands that there are: a new one is held to it without a line here. */

const NOTHING: Io = {
  env: {},
  cwd: '/',
  stdin: (async function* () {})(),
  stdout: { write: () => true },
  stderr: { write: () => true },
  stopped: () => Promise.resolve('SIGTERM'),
  onHangUp: () => undefined,
  serve: () => Promise.resolve(),
  demo: () => Promise.resolve({}),
  doctor: () => Promise.resolve([]),
  local: () => Promise.reject(new Error('no work here')),
  configChecks: () => Promise.resolve([]),
  version: '1.2.3',
  clock: systemClock,
};

function leaves(command: Command, path: readonly string[] = []): { path: readonly string[]; command: Command }[] {
  if (command.commands.length === 0) return [{ path, command }];
  return command.commands.flatMap((child) => leaves(child, [...path, child.name()]));
}

const program = createProgram({ io: NOTHING, exitCode: 0 }, false);
const LEAVES = leaves(program).map(({ path, command }) => ({
  name: path.join(' '),
  path,
  addServiceOptions: command.options.some(({ long }) => long === '--url') && path[0] !== 'login',
  needed: [
    ...command.registeredArguments
      .filter(({ required }) => required)
      .map((argument) => argument.argChoices?.[0] ?? (argument.name() === 'email' ? 'a@b' : 'x')),
    ...command.options.flatMap(({ mandatory, long, argChoices }) =>
      mandatory ? [`${long}`, `${argChoices?.[0]}`] : [],
    ),
  ],
}));

const double = new Double();
beforeAll(() => double.start());
afterAll(() => double.stop());

test('the documented commands exist', () => {
  const named =
    'serve migrate token check effective apply export superadmin config grant revoke roles users audit completion';
  const there = program.commands.map((command) => command.name());
  expect(there).toEqual(expect.arrayContaining([...named.split(' '), 'login', 'context']));
  const below = LEAVES.map(({ name }) => name);
  for (const group of ['superadmin add', 'superadmin remove', 'superadmin list']) expect(below).toContain(group);
  for (const verb of ['list', 'use', 'remove', 'show']) expect(below).toContain(`context ${verb}`);
});

describe.each(LEAVES)('usher $name', ({ path, name, addServiceOptions, needed }) => {
  test('the command has its own help, with examples and the common options', async () => {
    const { code, stdout, stderr } = await usher([...path, '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`Usage: usher ${name} `);
    for (const option of ['--json', '-o, --output', '--config']) expect(stdout).toContain(option);
    expect(stdout).toMatch(new RegExp(`^Examples:\\n( {2}.*${usherCommand(name)}.*\\n?)+$`, 'm'));
    if (addServiceOptions)
      for (const option of ['USHER_URL', 'http://localhost:8080', 'USHER_TOKEN', 'USHER_API_KEY'])
        expect(stdout).toContain(option);
  });

  test('the command accepts the examples of its help', async () => {
    const help = await usher([...path, '--help']);
    const stdout = help.stdout
      .replaceAll('npm run --silent usher -- ', 'usher ')
      .replaceAll('npm start', 'usher serve');
    const examples = stdout.slice(stdout.indexOf('Examples:')).match(/\busher [^|>)<&\n]*/g) ?? [];
    expect(examples.length).toBeGreaterThan(0);
    double.answer = () => refusal(503, 'UNAVAILABLE');
    const env = {
      XDG_CONFIG_HOME: mkdtempSync(join(tmpdir(), 'usher-config-')),
      DATA_DIR: mkdtempSync(join(tmpdir(), 'usher-data-')),
      DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/nowhere',
      USHER_URL: double.url,
    };
    for (const example of examples) {
      const argv = example
        .trim()
        .replaceAll(/https?:\/\/\S+/g, double.url)
        .split(/\s+/)
        .slice(1);
      const around = { env, stdin: 'text', serve: () => Promise.resolve() };
      const { code, stderr } = await usher([...argv, '--json'], around);
      const failure = code === 0 || stderr === '' ? null : (JSON.parse(stderr) as { code: string });
      expect({ example, failure: failure?.code }).not.toMatchObject({ failure: 'USAGE' });
    }
  });

  test('the command fails with 1 and JSON on stderr for an unknown option', async () => {
    for (const format of [['--json'], ['-o', 'json'], ['--output=yaml'], ['-ojson']]) {
      const { code, stdout, stderr } = await usher([...path, ...needed, '--nonsense', ...format]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(JSON.parse(stderr)).toMatchObject({
        success: false,
        code: 'USAGE',
        message: expect.stringMatching(/--nonsense/),
      });
    }
  });
});

// `test` asks a service only where --url names one (test/policy-tests).
describe.each(LEAVES.filter(({ addServiceOptions, name }) => addServiceOptions && name !== 'test'))(
  'usher $name',
  ({ path, needed }) => {
    const readsFile = path[0] === 'apply' || path[0] === 'people';
    const argv = readsFile ? [...path, '-'] : [...path, ...needed];
    const stdin = path[0] === 'people' ? 'email\na@example.com\n' : undefined;
    const around = stdin === undefined ? {} : { stdin };

    test('the command exits with 1 and the message of a failing service', async () => {
      double.answer = () => refusal(503, 'UNAVAILABLE');
      const { code, stdout, stderr } = await usher([...argv, '--url', double.url, '--json'], around);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(JSON.parse(stderr)).toMatchObject({ success: false, code: 'UNAVAILABLE', message: 'No: UNAVAILABLE.' });
    });

    test('the command sends the given token and key', async () => {
      double.answer = () => refusal(503, 'UNAVAILABLE');
      await usher([...argv, '--url', double.url, '--token', 'a-token', '--key', 'a-key'], around);
      expect(double.received.at(-1)?.headers).toMatchObject({
        authorization: 'Bearer a-token',
        'x-internal-api-key': 'a-key',
      });
      await usher(argv, {
        ...around,
        env: { USHER_URL: double.url, USHER_TOKEN: 'of-env', USHER_API_KEY: 'key-of-env' },
      });
      expect(double.received.at(-1)?.headers).toMatchObject({
        authorization: 'Bearer of-env',
        'x-internal-api-key': 'key-of-env',
      });
    });
  },
);

describe('invalid option values', () => {
  test.each([
    [
      'check a@b c d --level write',
      "error: option '--level <level>' argument 'write' is invalid. Allowed choices are view, edit.",
    ],
    [
      'users -o xml',
      "error: option '-o, --output <format>' argument 'xml' is invalid. Allowed choices are table, json, yaml.",
    ],
    [
      'completion tcsh',
      "error: command-argument value 'tcsh' is invalid for argument 'shell'. Allowed choices are bash, zsh, fish.",
    ],
    [
      'users --limit 0',
      "error: option '--limit <n>' argument '0' is invalid. Must be a whole number from 1 to 100000.",
    ],
    [
      'audit --limit many',
      "error: option '--limit <n>' argument 'many' is invalid. Must be a whole number from 1 to 100000.",
    ],
    [
      'audit --from yesterday',
      "error: option '--from <when>' argument 'yesterday' is invalid. Must be a date, a date and time, or an age: 2026-11-30, 2026-11-30T09:30Z, 24h.",
    ],
    [
      'audit --to 2026-13-01',
      "error: option '--to <when>' argument '2026-13-01' is invalid. Must be a date, a date and time, or an age: 2026-11-30, 2026-11-30T09:30Z, 24h.",
    ],
  ])(
    'a value outside a closed set gets one message with the option and the valid values: %s',
    async (line, message) => {
      const argv = line.split(' ');
      const { code, stdout, stderr } = await usher(argv);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr.split('\n')).toEqual([
        message,
        expect.stringMatching(/^\(see npm run --silent usher -- .*--help\)$/),
        '',
      ]);
      const json = JSON.parse((await usher([...argv, '--json'])).stderr) as { code: string; message: string };
      expect(json).toEqual({
        success: false,
        code: 'USAGE',
        message: `${message.slice(7)} ${usherCommand('--help')} lists the commands.`,
      });
    },
  );

  test('two output formats at once are refused', async () => {
    const { code, stderr } = await usher(['config', '--json', '-o', 'yaml']);
    expect(code).toBe(1);
    expect(JSON.parse(stderr)).toMatchObject({
      code: 'USAGE',
      message: '--json and --output yaml conflict: give one format.',
    });
  });
});

describe('misspellings', () => {
  test.each([
    ['chek', 'check'],
    ['super-admin', 'superadmin'],
    ['superadmin lst', 'list'],
    ['context us', 'use'],
    ['check a b c --exitcode', '--exit-code'],
    ['users --ap x', '--app'],
    ['apply x --dryrun', '--dry-run'],
  ])('a misspelled name gets the nearest suggestion: %s', async (line, nearest) => {
    const { code, stderr } = await usher(line.split(' '));
    expect(code).toBe(1);
    expect(stderr).toContain(`(Did you mean ${nearest}?)`);
  });
});

describe('formats', () => {
  test('YAML and JSON output have the same content', async () => {
    const { parse } = await import('yaml');
    const env = { LOG_LEVEL: 'warn' };
    const json = await usher(['config', '-o', 'json'], { env });
    const yaml = await usher(['config', '-o', 'yaml'], { env });
    expect(parse(yaml.stdout)).toEqual(JSON.parse(json.stdout));
    expect((await usher(['config', '--json'], { env })).stdout).toBe(json.stdout);
    expect((await usher(['config', '-o', 'table'], { env })).stdout).toBe((await usher(['config'], { env })).stdout);
  });

  test('help has colors on a terminal only', async () => {
    expect((await usher(['--help'], { tty: true })).stdout).toContain('\u001b[1mUsage:');
    for (const around of [
      { tty: false },
      { tty: true, env: { NO_COLOR: '1' } },
      { tty: true, env: { TERM: 'dumb' } },
    ]) {
      expect((await usher(['--help'], around)).stdout).not.toContain('\u001b');
    }
    expect((await usher(['--help'], { env: { FORCE_COLOR: '1' } })).stdout).toContain('\u001b[1m');
  });
});
