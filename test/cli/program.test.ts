import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Config } from '../../src/config/config.ts';
import { Refused } from '../../src/persistence/open.ts';
import { freePort } from '../support/postgres.ts';
import { usher } from './harness.ts';

const COMMANDS = ['serve', 'migrate', 'demo', 'token', 'check', 'effective', 'apply', 'export', 'superadmin', 'config'];
const folder = mkdtempSync(join(tmpdir(), 'usher-cli-'));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe('help', () => {
  test('lists every command', async () => {
    const { code, stdout } = await usher(['--help']);
    expect(code).toBe(0);
    for (const command of COMMANDS) expect(stdout).toMatch(new RegExp(`^  ${command}\\b`, 'm'));
  });

  test.each([
    ...COMMANDS.map((name) => [name]),
    ['superadmin', 'add'],
    ['superadmin', 'remove'],
    ['superadmin', 'list'],
  ])('%s %s has its own, with the options of all', async (...command) => {
    const { code, stdout, stderr } = await usher([...command.filter((name) => name !== undefined), '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`Usage: usher ${command.join(' ')}`);
    expect(stdout).toContain('--json');
  });

  test('the version', async () => {
    expect(await usher(['--version'])).toEqual({ code: 0, stdout: '1.2.3\n', stderr: '' });
  });
});

describe('a command line that does not fit', () => {
  test.each([
    [[], /^Usage: usher/],
    [['nonsense'], /unknown command 'nonsense'/],
    [['check', 'ada@example.com'], /missing required argument 'app'/],
    [['check', 'a', 'b', 'c', '--nonsense'], /unknown option '--nonsense'/],
    [['effective', 'a', 'b', 'c'], /too many arguments/],
    [['apply'], /missing required argument 'file'/],
    [['superadmin', 'add', 'nobody'], /^"nobody" is no e-mail address\.$/m],
    [['check', 'a@example.com', 'b', 'c', '--resource', 'project'], /^--resource is TYPE:ID/],
    [['check', 'a@example.com', 'b', 'c', '--url', 'ftp://x'], /^ftp:\/\/x is no http or https URL/],
    [['apply', '/nowhere/x.yaml'], /^\/nowhere\/x\.yaml is not there\.$/m],
    [['config', '--config', '/nowhere/x.yaml'], /^The configuration file \/nowhere\/x\.yaml is not there\.$/m],
  ])('%j ends with 1 and says why on stderr', async (argv, message) => {
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
  ])('%j fails in JSON as well', async (argv, message) => {
    const { code, stdout, stderr } = await usher(argv);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(JSON.parse(stderr)).toEqual({ success: false, code: 'USAGE', message: expect.stringMatching(message) });
  });

  test('help is help', async () => {
    const { code, stdout, stderr } = await usher(['check', '--json', '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('Usage: usher check');
  });
});

describe('config', () => {
  test('shows values with where they come from, and no secret', async () => {
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

  test('that is wrong lists every fault', async () => {
    const env = { HTTP_PORT: 'x', LOG_LEVEL: 'loud', INTERNAL_API_KEY: 'a:b' };
    const { code, stdout, stderr } = await usher(['config'], { env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.split('\n').map((line) => line.split(':')[0])).toEqual(
      expect.arrayContaining([
        'The configuration does not fit',
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

  test('numbers of a file count as they are written, names and values alike', async () => {
    const id = '285181292485707968';
    const config = file('ids.yaml', `idp: {orgToApp: {${id}: crm}, clientId: ${id}}\nhttp: {port: 9003}\n`);
    const { code, stdout } = await usher(['config', '--json'], { env: { USHER_CONFIG: config } });
    expect(code).toBe(0);
    const values = Object.fromEntries(
      JSON.parse(stdout).map((row: { key: string; value: unknown }) => [row.key, row.value]),
    );
    expect(values).toMatchObject({ 'idp.orgToApp': { [id]: 'crm' }, 'idp.clientId': id, 'http.port': 9003 });
  });

  test('in a file that is no YAML says where', async () => {
    const config = file('broken.yaml', 'http: [1\nx: 2');
    const { code, stderr } = await usher(['config', '--config', config]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/broken\.yaml:\d+:\d+ is not YAML: /);
  });
});

describe('serve', () => {
  test('hands over the checked configuration, and ends with its end', async () => {
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
      new Refused('Another process works with the embedded database in x.'),
      /^Another process works with the embedded database in x\.\n$/,
    ],
    [
      'a port is taken',
      Object.assign(new Error('listen'), { code: 'EADDRINUSE', address: '127.0.0.1', port: 8080 }),
      /^The address 127\.0\.0\.1:8080 is taken by another process: .*\n$/,
    ],
    [
      'the data directory is none',
      Object.assign(new Error('mkdir'), { code: 'ENOTDIR', syscall: 'mkdir', path: '/srv/file/x' }),
      /^\/srv\/file\/x cannot be used \(ENOTDIR\): dataDir \(DATA_DIR\) must be .*\n$/,
    ],
    [
      'a host is none of this machine',
      Object.assign(new Error('x'), { code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: 'no.such.host' }),
      /^no\.such\.host is no address of this machine \(ENOTFOUND\): set http\.host.*\(HTTP_HOST, .*\n$/,
    ],
    [
      'a port is not allowed',
      Object.assign(new Error('x'), { code: 'EACCES', syscall: 'listen', port: 80 }),
      /^Port 80 is not allowed to this user: .*HTTP_PORT.*\n$/,
    ],
    [
      'a mistake of ours',
      new Error('a mistake'),
      /^Something went wrong here that should not have\.\n {2}Error: a mistake\n/,
    ],
  ])('that cannot start: %s', async (_, error, message) => {
    const { code, stderr } = await usher(['serve'], { serve: () => Promise.reject(error) });
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
  });
});

describe('a service', () => {
  const received: { url: string; headers: Record<string, unknown>; body: string }[] = [];
  let answer: { status: number; body: string; headers?: Record<string, string> } = { status: 200, body: '{}' };
  const server = createServer((req, res) => {
    let body = '';
    req.on('data', (chunk: Buffer) => {
      body += chunk.toString('utf8');
    });
    req.on('end', () => {
      received.push({ url: req.url ?? '', headers: req.headers, body });
      res.writeHead(answer.status, answer.headers ?? { 'content-type': 'application/json' }).end(answer.body);
    });
  });
  let url = '';
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  test('that is not there: one line with the URL and what to do', async () => {
    const closed = `http://127.0.0.1:${await freePort()}`;
    const { code, stdout, stderr } = await usher(['export', 'atelier', '--url', closed]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      `No service answers at ${closed} (ECONNREFUSED): start it (npm start), or name another with --url or USHER_URL.\n`,
    );
  });

  test.each([
    { status: 200, body: '<html>' },
    { status: 502, body: '<html>' },
    { status: 404, body: '{"detail": "?"}' },
  ])('that is no Usher: %j', async (other) => {
    answer = other;
    const { code, stderr } = await usher(['effective', 'a@example.com', 'b', '--url', url]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^What answers at .* is no Usher \(status \d+\): .*\n$/);
  });

  test('that refuses: its words, its issues, and as JSON all of it', async () => {
    const body = {
      success: false,
      code: 'BAD_REQUEST',
      message: 'email: is missing',
      details: { code: 'VALIDATION_FAILED', issues: [{ path: 'email', message: 'is missing' }] },
    };
    answer = { status: 400, body: JSON.stringify(body) };
    const text = await usher(['effective', 'x', 'y', '--url', url]);
    expect(text).toEqual({ code: 1, stdout: '', stderr: 'email: is missing\n  email: is missing\n' });
    const json = await usher(['effective', 'x', 'y', '--url', url, '--json']);
    expect(JSON.parse(json.stderr)).toEqual({
      success: false,
      code: 'VALIDATION_FAILED',
      message: body.message,
      details: body.details,
    });
  });

  test('is told the token and the key that were named, the options before the environment', async () => {
    answer = { status: 401, body: '{"success": false, "code": "UNAUTHENTICATED", "message": "No."}' };
    const env = { USHER_URL: url, USHER_TOKEN: 'of-env', USHER_API_KEY: 'key-of-env' };
    const { stderr } = await usher(['export', 'atelier'], { env });
    expect(stderr).toMatch(/^No\. Name a token with --token .* or a key with --key/);
    await usher(['export', 'atelier', '--token', 'given', '--key', 'key-given'], { env });
    expect(received.slice(-2).map(({ headers }) => [headers.authorization, headers['x-internal-api-key']])).toEqual([
      ['Bearer of-env', 'key-of-env'],
      ['Bearer given', 'key-given'],
    ]);
  });

  test('that is remote is never told a token of the local issuer', async () => {
    await usher(['export', 'atelier', '--url', `${url.replace('127.0.0.1', '0.0.0.0')}`], {
      env: { DATA_DIR: folder },
    });
    expect(received.at(-1)?.headers.authorization).toBeUndefined();
  });

  test('that is asked by a user about himself is asked as a user', async () => {
    const token = `x.${Buffer.from('{"email": "Ada@example.com"}').toString('base64url')}.x`;
    answer = { status: 200, body: '[]', headers: { 'content-type': 'application/json', 'usher-revision': '7' } };
    const own = await usher(['effective', 'ada@example.com', 'atelier', '--token', token, '--url', url, '--json']);
    expect(JSON.parse(own.stdout)).toEqual({
      email: 'ada@example.com',
      app: 'atelier',
      permissions: [],
      revision: '7',
    });
    expect(received.at(-1)).toMatchObject({ url: '/api/profile/me/check/effective', body: '{"app":"atelier"}' });
    await usher(['effective', 'ben@example.com', 'atelier', '--token', token, '--url', url]);
    expect(received.at(-1)?.url).toBe('/api/check/effective');
  });

  test('that ends in the middle of an apply: the outcome is said to be unknown', async () => {
    const manifest = file('m.yaml', 'application: {code: a}');
    answer = { status: 200, body: '{"progress": {"done": 1, "total": 2}}\n' };
    const { code, stderr } = await usher(['apply', manifest, '--url', url]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^The service ended before its answer: .* Applying again is safe\.\n$/);
  });

  test('that fails after the first line of progress: its words', async () => {
    const manifest = file('m.yaml', 'application: {code: a}');
    answer = {
      status: 200,
      body: '{"progress": {"done": 0, "total": 2}}\n{"success": false, "code": "UNAVAILABLE", "message": "The database is away."}\n',
    };
    expect(await usher(['apply', manifest, '--url', url])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'The database is away.\n',
    });
  });

  test('shows a plan: signs, what differs, counts; colours for a person only', async () => {
    const plan = {
      application: 'atelier',
      dryRun: true,
      prune: true,
      summary: { create: 2, change: 2, remove: 1, keep: 3 },
      assignmentsEnded: 1,
      changes: [
        { action: 'create', kind: 'permission', key: 'a.b', after: { code: 'a.b', type: 'tiered', global: true } },
        {
          action: 'change',
          kind: 'application',
          key: 'atelier',
          before: { name: 'A', supportedLanguages: [] },
          after: { name: 'B', supportedLanguages: ['cs', 'en'] },
        },
        {
          action: 'change',
          kind: 'role',
          key: 'lead',
          before: { permissions: { a: 'view', b: 'edit' } },
          after: { permissions: { a: 'edit', c: 'view' } },
        },
        {
          action: 'remove',
          kind: 'assignment',
          key: 'ada@example.com:lead',
          before: { email: 'ada@example.com', role: 'lead' },
        },
        {
          action: 'create',
          kind: 'override',
          key: 'ada@example.com:a:project:1',
          after: { granted: false, accessLevel: null },
        },
      ],
    };
    const manifest = file('m.yaml', 'application: {code: a}');
    answer = { status: 200, body: `${JSON.stringify({ success: true, data: plan })}\n` };
    const { code, stdout } = await usher(['apply', manifest, '--dry-run', '--prune', '--url', url]);
    expect(code).toBe(2);
    expect(stdout).toBe(`Application atelier
  + permission a.b (tiered, global)
  ~ application atelier (name: A → B; supportedLanguages: none → cs en)
  ~ role lead (permissions: a view → edit, b edit → none, c none → view)
  - assignment ada@example.com:lead
  + override ada@example.com:a:project:1 (denies)
To do: create 2, change 2, remove 1, keep 3. This would end 1 assignment.
`);
    expect(received.at(-1)).toMatchObject({
      url: '/api/manifests/apply?dryRun=true&prune=true',
      headers: { 'content-type': 'application/yaml', accept: 'application/x-ndjson' },
    });
    const coloured = await usher(['apply', manifest, '--url', url], { tty: true });
    expect(coloured.code).toBe(0);
    expect(coloured.stdout).toContain('\u001b[32m  + permission');
    const plain = await usher(['apply', manifest, '--url', url], { tty: true, env: { NO_COLOR: '1' } });
    expect(plain.stdout).not.toContain('\u001b');
  });

  test('takes a manifest from standard input, and JSON by its name', async () => {
    await usher(['apply', '-', '--url', url], { stdin: 'application: {code: ž}' });
    expect(received.at(-1)?.body).toBe('application: {code: ž}');
    await usher(['apply', file('m.json', '{}'), '--url', url]);
    expect(received.at(-1)?.headers['content-type']).toBe('application/json');
  });

  test('of several manifests gets all as dry runs first', async () => {
    const before = received.length;
    await usher(['apply', file('a.yaml', 'a'), file('b.yaml', 'b'), '--url', url]);
    expect(
      received.slice(before).map(({ url: path, body }) => `${path.includes('dryRun=true') ? 'plan' : 'apply'} ${body}`),
    ).toEqual(['plan a', 'plan b', 'apply a', 'apply b']);
  });
});
