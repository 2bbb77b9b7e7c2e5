import { describe, expect, test } from '@jest/globals';
import type { Config } from '../../src/config/config.ts';
import { Refused } from '../../src/persistence/open.ts';
import { newFolder, usher } from './harness.ts';

const COMMANDS = ['serve', 'migrate', 'demo', 'token', 'check', 'effective', 'apply', 'export', 'superadmin', 'config'];
const { file } = newFolder();

describe('help', () => {
  test('help lists every command', async () => {
    const { code, stdout } = await usher(['--help']);
    expect(code).toBe(0);
    for (const command of COMMANDS) expect(stdout).toMatch(new RegExp(`^  ${command}\\b`, 'm'));
  });

  test.each([
    ...COMMANDS.map((name) => [name]),
    ['superadmin', 'add'],
    ['superadmin', 'remove'],
    ['superadmin', 'list'],
  ])('%s %s has its own help with the common options', async (...command) => {
    const { code, stdout, stderr } = await usher([...command.filter((name) => name !== undefined), '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`Usage: usher ${command.join(' ')}`);
    expect(stdout).toContain('--json');
  });

  test('--version prints the version', async () => {
    expect(await usher(['--version'])).toEqual({ code: 0, stdout: '1.2.3\n', stderr: '' });
  });
});

describe('invalid command lines', () => {
  test.each([
    [[], /^Usage: usher/],
    [['nonsense'], /unknown command 'nonsense'/],
    [['check', 'ada@example.com'], /missing required argument 'app'/],
    [['check', 'a', 'b', 'c', '--nonsense'], /unknown option '--nonsense'/],
    [['effective', 'a', 'b', 'c'], /too many arguments/],
    [['apply'], /missing required argument 'file'/],
    [
      ['superadmin', 'add', 'nobody'],
      /^"nobody" is not a valid e-mail address: it must be an e-mail address such as /m,
    ],
    [['check', 'a@example.com', 'b', 'c', '--resource', 'project'], /^--resource must be TYPE:ID/],
    [['check', 'a@example.com', 'b', 'c', '--url', 'ftp://x'], /^ftp:\/\/x is not an http or https URL/],
    [['apply', '/nowhere/x.yaml'], /^\/nowhere\/x\.yaml does not exist\.$/m],
    [['config', '--config', '/nowhere/x.yaml'], /^The configuration file \/nowhere\/x\.yaml does not exist\.$/m],
  ])('%j exits with 1 and the reason on stderr', async (argv, message) => {
    const { code, stdout, stderr } = await usher(argv);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });
});

describe('with --json', () => {
  test.each([
    [['--json'], /^A command is missing/],
    [['superadmin', '--json'], /^A command is missing/],
    [['nonsense', '--json'], /^unknown command 'nonsense'/],
    [['--json', 'check', 'ada@example.com'], /^missing required argument 'app'/],
    [['config', '--json', '--nonsense'], /^unknown option '--nonsense'/],
  ])('%j fails in JSON with --json', async (argv, message) => {
    const { code, stdout, stderr } = await usher(argv);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(JSON.parse(stderr)).toEqual({ success: false, code: 'USAGE', message: expect.stringMatching(message) });
  });

  test('--json does not change help', async () => {
    const { code, stdout, stderr } = await usher(['check', '--json', '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('Usage: usher check');
  });
});

describe('config', () => {
  test('config prints values with their sources, and no secret', async () => {
    const config = file('usher.yaml', 'http:\n  port: 9000\ninternal:\n  apiKeys: [a-key-in-a-file-for-checks]\n');
    const env = { USHER_CONFIG: config, LOG_LEVEL: 'warn', DATABASE_URL: 'postgresql://usher:hunter22@db/usher' };
    const text = await usher(['config'], { env });
    expect(text.code).toBe(0);
    expect(text.stdout).toMatch(/^http\.port +HTTP_PORT +9000 {2}\(file\)$/m);
    expect(text.stdout).toMatch(/^log\.level +LOG_LEVEL +warn {2}\(environment\)$/m);
    expect(text.stdout).toMatch(/^database\.url +DATABASE_URL +\*\*\* {2}\(environment\)$/m);
    const json = await usher(['config', '--json'], { env });
    expect(JSON.parse(json.stdout)).toContainEqual({
      key: 'http.port',
      variable: 'HTTP_PORT',
      value: 9000,
      source: 'file',
    });
    for (const secret of ['hunter22', 'a-key-in-a-file']) expect(text.stdout + json.stdout).not.toContain(secret);
  });

  test('config lists every fault of an invalid configuration', async () => {
    const env = { HTTP_PORT: 'x', LOG_LEVEL: 'loud', INTERNAL_API_KEY: 'a:b' };
    const { code, stdout, stderr } = await usher(['config'], { env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.split('\n').map((line) => line.split(':')[0])).toEqual(
      expect.arrayContaining([
        'The configuration is invalid',
        '  http.port (HTTP_PORT)',
        '  log.level (LOG_LEVEL)',
        '  internal.apiKeys (INTERNAL_API_KEY)',
      ]),
    );
    const json = await usher(['serve', '--json'], { env });
    expect(JSON.parse(json.stderr)).toMatchObject({
      success: false,
      code: 'CONFIGURATION',
      details: { faults: expect.anything() },
    });
  });

  test('config keeps numbers of a file as written, in names and values', async () => {
    const id = '285181292485707968';
    const config = file('ids.yaml', `idp: {orgToApp: {${id}: crm}, clientId: ${id}}\nhttp: {port: 9003}\n`);
    const { code, stdout } = await usher(['config', '--json'], { env: { USHER_CONFIG: config } });
    expect(code).toBe(0);
    const values = Object.fromEntries(
      JSON.parse(stdout).map((row: { key: string; value: unknown }) => [row.key, row.value]),
    );
    expect(values).toMatchObject({ 'idp.orgToApp': { [id]: 'crm' }, 'idp.clientId': id, 'http.port': 9003 });
  });

  test('config gives the place of a syntax error in the file', async () => {
    const config = file('broken.yaml', 'http: [1\nx: 2');
    const { code, stderr } = await usher(['config', '--config', config]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/broken\.yaml:\d+:\d+ is not YAML: /);
  });
});

describe('serve', () => {
  test('serve passes on the checked configuration, and ends with the service', async () => {
    let config: Config | undefined;
    const outcome = await usher(['serve'], {
      env: { HTTP_PORT: '9001' },
      serve: async (options) => {
        config = options.config;
        options.print('hello');
        expect(await options.stopped).toBe('SIGTERM');
      },
    });
    expect(outcome).toEqual({ code: 0, stdout: 'hello\n', stderr: '' });
    expect(config?.http.port).toBe(9001);
  });

  test.each([
    [
      'the database is held',
      new Refused('Another process is using the embedded database in x.'),
      /^Another process is using the embedded database in x\.\n$/,
    ],
    [
      'a port is taken',
      Object.assign(new Error('listen'), { code: 'EADDRINUSE', address: '127.0.0.1', port: 8080 }),
      /^The address 127\.0\.0\.1:8080 is taken by another process: .*\n$/,
    ],
    [
      'the data directory is a file',
      Object.assign(new Error('mkdir'), { code: 'ENOTDIR', syscall: 'mkdir', path: '/srv/file/x' }),
      /^\/srv\/file\/x cannot be used \(ENOTDIR\): dataDir \(DATA_DIR\) must be .*\n$/,
    ],
    [
      'a host is not of this machine',
      Object.assign(new Error('x'), { code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: 'no.such.host' }),
      /^no\.such\.host is not an address of this machine \(ENOTFOUND\): set http\.host.*\(HTTP_HOST, .*\n$/,
    ],
    [
      'a port is not allowed',
      Object.assign(new Error('x'), { code: 'EACCES', syscall: 'listen', port: 80 }),
      /^Port 80 needs more rights than this user has: .*HTTP_PORT.*\n$/,
    ],
    [
      'a defect of the service',
      new Error('a mistake'),
      /^Internal error: this is a defect of usher\.\n {2}Error: a mistake\n/,
    ],
  ])('a failed start explains the cause: %s', async (_, error, message) => {
    const { code, stderr } = await usher(['serve'], { serve: () => Promise.reject(error) });
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
  });
});
