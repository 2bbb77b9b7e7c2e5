import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freePort } from '../support/postgres.ts';
import { newFolder, usher } from './harness.ts';

const { folder, file } = newFolder();

describe('requests to a service', () => {
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

  test('an unreachable service is reported with its URL and a fix', async () => {
    const closed = `http://127.0.0.1:${await freePort()}`;
    const { code, stdout, stderr } = await usher(['export', 'atelier', '--url', closed]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      `No service answers at ${closed} (ECONNREFUSED): start it (npm start), or choose another with --url or USHER_URL.\n`,
    );
  });

  test.each([
    { status: 200, body: '<html>' },
    { status: 502, body: '<html>' },
    { status: 404, body: '{"detail": "?"}' },
  ])('a server that is not Usher is reported: %j', async (other) => {
    answer = other;
    const { code, stderr } = await usher(['effective', 'a@example.com', 'b', '--url', url]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^The server at .* is not Usher \(status \d+\): .*\n$/);
  });

  test('a refusal is printed with message and issues, and completely as JSON', async () => {
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

  test.each([
    ['Bearer realm="usher"', 'Give a token with --token (USHER_TOKEN).'],
    ['ApiKey realm="usher", header="x-internal-api-key"', 'Give a key with --key (USHER_API_KEY).'],
    [
      'Bearer realm="usher", ApiKey realm="usher", header="x-internal-api-key"',
      'Give a token with --token (USHER_TOKEN), or a key with --key (USHER_API_KEY).',
    ],
  ])('a refusal names the credential that the service accepts: %s', async (challenge, advice) => {
    answer = {
      status: 401,
      body: '{"success": false, "code": "UNAUTHENTICATED", "message": "No."}',
      headers: { 'content-type': 'application/json', 'www-authenticate': challenge },
    };
    const { code, stderr } = await usher(['access', 'ada@example.com', '--key', 'given', '--url', url]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: `No. ${advice}\n` });
  });

  test('options override the environment for token and key', async () => {
    answer = { status: 401, body: '{"success": false, "code": "UNAUTHENTICATED", "message": "No."}' };
    const env = { USHER_URL: url, USHER_TOKEN: 'of-env', USHER_API_KEY: 'key-of-env' };
    const { stderr } = await usher(['export', 'atelier'], { env });
    expect(stderr).toMatch(/^No\. Give a token with --token .* or a key with --key/);
    await usher(['export', 'atelier', '--token', 'given', '--key', 'key-given'], { env });
    expect(received.slice(-2).map(({ headers }) => [headers.authorization, headers['x-internal-api-key']])).toEqual([
      ['Bearer of-env', 'key-of-env'],
      ['Bearer given', 'key-given'],
    ]);
  });

  test('a remote service never gets a token of the local issuer', async () => {
    await usher(['export', 'atelier', '--url', `${url.replace('127.0.0.1', '0.0.0.0')}`], {
      env: { DATA_DIR: folder },
    });
    expect(received.at(-1)?.headers.authorization).toBeUndefined();
  });

  test('a check of users about themselves uses the user endpoints', async () => {
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
    // For people it looks whether there is such an application, where nothing is defined.
    expect(received.slice(-2).map(({ url: at }) => at)).toEqual(['/api/check/effective', '/api/applications/atelier']);
  });

  test('an apply that is cut off reports an unknown outcome', async () => {
    const manifest = file('m.yaml', 'application: {code: a}');
    answer = { status: 200, body: '{"progress": {"done": 1, "total": 2}}\n' };
    const { code, stderr } = await usher(['apply', manifest, '--url', url]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^The connection ended before the answer: .* Applying again is safe\.\n$/);
  });

  test("an apply that fails after the first progress line prints the service's message", async () => {
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

  test('a plan is printed with signs, differences and counts, with colors on a terminal only', async () => {
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
Planned: create 2, change 2, remove 1, keep 3. This would end 1 assignment.
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

  test('apply reads standard input, and recognizes JSON by the file name', async () => {
    await usher(['apply', '-', '--url', url], { stdin: 'application: {code: ž}' });
    expect(received.at(-1)?.body).toBe('application: {code: ž}');
    await usher(['apply', file('m.json', '{}'), '--url', url]);
    expect(received.at(-1)?.headers['content-type']).toBe('application/json');
  });

  test('several manifests are all dry-run first', async () => {
    const before = received.length;
    await usher(['apply', file('a.yaml', 'a'), file('b.yaml', 'b'), '--url', url]);
    expect(
      received.slice(before).map(({ url: path, body }) => `${path.includes('dryRun=true') ? 'plan' : 'apply'} ${body}`),
    ).toEqual(['plan a', 'plan b', 'apply a', 'apply b']);
  });
});
