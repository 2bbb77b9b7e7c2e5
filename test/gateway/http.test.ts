import http from 'node:http';
import net from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { exampleRoutes } from './example-routes.ts';
import { ask, CHECK_KEY, errorShape, NOTIFY_KEY, parseRaw, rawRequest, useWorld } from './fixture.ts';

const admin = 'root@example.com';
const world = useWorld({
  routes: exampleRoutes,
  fill: (facts) => {
    facts.superadmin(admin);
    facts.application('crm');
    facts.admin('crm', 'boss@example.com');
    facts.deactivate('gone@example.com');
  },
});
const keyed = { 'x-internal-api-key': CHECK_KEY };

describe('the order of refusals', () => {
  const bad = { body: 'not json', headers: { 'content-type': 'text/plain' } };

  test('an unknown path is 404 before anything else', async () => {
    const reply = await ask(`${world.url}/t/nothing?a=1&a=2`, { method: 'DELETE', ...bad });
    expect(reply).toMatchObject(errorShape(404, 'NOT_FOUND'));
  });

  test('a wrong method is 405 with Allow, before credentials', async () => {
    const reply = await ask(`${world.url}/t/things/%ff?a=1&a=2`, { method: 'PATCH', ...bad });
    expect(reply).toMatchObject(errorShape(405, 'METHOD_NOT_ALLOWED'));
    expect(reply.headers.get('allow')).toBe('GET, DELETE, HEAD, OPTIONS');
  });

  test('missing credentials are 401 before an invalid body, and before permission', async () => {
    const reply = await ask(`${world.url}/t/things`, { method: 'POST', ...bad });
    expect(reply).toMatchObject(errorShape(401, 'UNAUTHENTICATED'));
    expect(reply.headers.get('www-authenticate')).toContain('x-internal-api-key');
    const foreign = await ask(`${world.url}/t/things`, { ...bad, headers: { origin: 'https://evil.example' } });
    expect(foreign.status).toBe(401);
  });

  test('a missing permission is 403 before an invalid body', async () => {
    const headers = { ...bad.headers, 'x-internal-api-key': NOTIFY_KEY };
    expect(await ask(`${world.url}/t/things`, { ...bad, headers })).toMatchObject(
      errorShape(403, 'FORBIDDEN', 'KEY_SCOPE') as object,
    );
    const authorization = await world.bearer('jana@example.com');
    const level = { method: 'PUT', body: 'x', headers: { authorization, 'content-type': 'text/plain' } };
    expect(await ask(`${world.url}/t/apps/BAD%ff`, level)).toMatchObject(
      errorShape(403, 'FORBIDDEN', 'NO_APPLICATION_LEVEL') as object,
    );
  });

  test('413 precedes 415, 415 precedes 400, and 400 precedes an unknown record', async () => {
    const authorization = await world.bearer(admin);
    const put = (path: string, body: string, type: string) =>
      ask(`${world.url}${path}`, { method: 'PUT', body, headers: { authorization, 'content-type': type } });
    const big = 'x'.repeat(64 * 1024 + 1);
    expect(await put('/t/apps/nowhere', big, 'text/plain')).toMatchObject(errorShape(413, 'PAYLOAD_TOO_LARGE'));
    expect(await put('/t/apps/nowhere', 'x', 'text/plain')).toMatchObject(errorShape(415, 'UNSUPPORTED_MEDIA_TYPE'));
    expect(await put('/t/apps/nowhere', 'x', 'application/json')).toMatchObject(
      errorShape(400, 'BAD_REQUEST', 'VALIDATION_FAILED') as object,
    );
    expect(await put('/t/apps/nowhere', '{"name":"a"}', 'application/json')).toMatchObject(
      errorShape(404, 'NOT_FOUND') as object,
    );
  });
});

describe('credentials and permission', () => {
  test('an unknown application looks forbidden to all but SuperAdmins', async () => {
    const put = async (app: string, email: string) =>
      ask(`${world.url}/t/apps/${app}`, {
        method: 'PUT',
        body: { name: 'a' },
        headers: { authorization: await world.bearer(email) },
      });
    expect((await put('crm', 'boss@example.com')).json).toEqual({
      success: true,
      data: { actor: 'user:boss@example.com' },
    });
    const foreign = await put('nowhere', 'boss@example.com');
    const forbidden = await put('crm', 'jana@example.com');
    expect(foreign).toMatchObject(errorShape(403, 'FORBIDDEN', 'NO_APPLICATION_LEVEL'));
    expect({ ...foreign.json, requestId: '' }).toEqual({ ...forbidden.json, requestId: '' });
    expect((await put('nowhere', admin)).status).toBe(404);
  });

  test('an inactive user is 403 USER_INACTIVE', async () => {
    const authorization = await world.bearer('gone@example.com');
    expect(await ask(`${world.url}/t/me`, { headers: { authorization } })).toMatchObject(
      errorShape(403, 'FORBIDDEN', 'USER_INACTIVE') as object,
    );
  });

  test.each([
    ['none', {}, 'Bearer realm="usher"'],
    ['another scheme', { authorization: 'Basic YTpi' }, 'Bearer realm="usher", error="invalid_token"'],
    ['no token', { authorization: 'Bearer x.y.z' }, 'Bearer realm="usher", error="invalid_token"'],
  ])('a bearer that is %s is 401 with a challenge', async (_what, headers, challenge) => {
    const reply = await ask(`${world.url}/t/me`, { headers: headers as Record<string, string> });
    expect(reply).toMatchObject(errorShape(401, 'UNAUTHENTICATED'));
    expect(reply.headers.get('www-authenticate')).toBe(challenge);
  });

  test('two credentials in one request are refused', async () => {
    const authorization = await world.bearer('jana@example.com');
    const other = await world.bearer('boss@example.com');
    const lines = [`GET /t/me HTTP/1.1`, 'Host: x', `Authorization: ${authorization}`, `Authorization: ${other}`];
    const reply = parseRaw(await rawRequest(world.port, `${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`));
    expect(reply.status).toBe(401);
    const keys = [
      'POST /t/things HTTP/1.1',
      'Host: x',
      `X-Internal-Api-Key: ${CHECK_KEY}`,
      `X-Internal-Api-Key: ${CHECK_KEY}`,
    ];
    const doubled = parseRaw(await rawRequest(world.port, `${keys.join('\r\n')}\r\nConnection: close\r\n\r\n`));
    expect(doubled.status).toBe(401);
  });

  test('a refused administrative write of an identified caller is recorded, and only that', async () => {
    world.refusals.length = 0;
    const authorization = await world.bearer('jana@example.com');
    const requestId = 'the-request-of-jana';
    await ask(`${world.url}/t/things/7`, { method: 'DELETE', headers: { authorization, 'x-request-id': requestId } });
    await ask(`${world.url}/t/apps/crm`, { method: 'PUT', headers: { authorization, 'x-request-id': requestId } });
    await ask(`${world.url}/t/things/7`, { method: 'DELETE' });
    await ask(`${world.url}/t/me`, { headers: { authorization: await world.bearer('gone@example.com') } });
    expect(world.refusals).toEqual([
      { actor: 'user:jana@example.com', action: 'thing.removed.refused', appCode: null, subject: null, requestId },
      {
        actor: 'user:jana@example.com',
        action: 'application.changed.refused',
        appCode: 'crm',
        subject: null,
        requestId,
      },
    ]);
  });

  test('trouble while a caller is authenticated is 503, never 401 or 403', async () => {
    const authorization = await world.bearer('never-seen@example.com');
    world.facts.away = true;
    try {
      const reply = await ask(`${world.url}/t/me`, { headers: { authorization } });
      expect(reply).toMatchObject(errorShape(503, 'UNAVAILABLE'));
      expect(reply.headers.get('retry-after')).toMatch(/^\d+$/);
    } finally {
      world.facts.away = false;
    }
  });
});

describe('bodies on the wire', () => {
  const post = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
    ask(`${world.url}/t/things`, { method: 'POST', body, headers: { ...keyed, ...headers } });
  const sized = (bytes: number): string => `{"name":"${'x'.repeat(bytes - 11)}"}`;

  test('a body of 65,536 bytes is accepted, and one byte more refused', async () => {
    expect(sized(65_536)).toHaveLength(65_536);
    expect((await post(sized(65_536))).status).toBe(201);
    expect(await post(sized(65_537))).toMatchObject(errorShape(413, 'PAYLOAD_TOO_LARGE'));
  });

  test('the limit applies to a body without a declared length', async () => {
    const send = (bytes: number) =>
      new Promise<number>((resolve, reject) => {
        const request = http.request(`${world.url}/t/things`, {
          method: 'POST',
          headers: { ...keyed, 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
        });
        request.on('response', (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        request.on('error', reject);
        const body = sized(bytes);
        for (let at = 0; at < body.length; at += 7000) request.write(body.slice(at, at + 7000));
        request.end();
      });
    expect(await send(65_536)).toBe(201);
    expect(await send(65_537)).toBe(413);
  });

  test.each(['gzip', 'br', 'deflate', 'zstd', 'gzip, identity', ''])('Content-Encoding %p is 415', async (encoding) => {
    expect(await post('{"name":"a"}', { 'content-encoding': encoding })).toMatchObject(
      errorShape(415, 'UNSUPPORTED_MEDIA_TYPE') as object,
    );
  });

  test('a missing body is 400', async () => {
    const reply = await ask(`${world.url}/t/things`, { method: 'POST', headers: keyed });
    expect(reply.json.details.issues).toEqual([{ path: '', message: 'a JSON body is required' }]);
  });

  test('a route without a body accepts {}, and refuses anything else', async () => {
    const authorization = await world.bearer(admin);
    const remove = (body?: string, type = 'application/json') =>
      ask(`${world.url}/t/things/7`, {
        method: 'DELETE',
        headers: { authorization, ...(body === undefined ? {} : { 'content-type': type }) },
        ...(body === undefined ? {} : { body }),
      });
    expect((await remove()).status).toBe(204);
    expect((await remove('{}')).status).toBe(204);
    expect((await remove('{"id":8}')).json.details.issues).toEqual([{ path: 'id', message: 'is not a known field' }]);
    expect((await remove('id=8', 'application/x-www-form-urlencoded')).status).toBe(415);
  });

  test('all invalid fields are reported at once', async () => {
    const reply = await post('{"name":1,"size":"big","tags":["a",2],"colour":"red","__proto__":{}}');
    expect(reply).toMatchObject(errorShape(400, 'BAD_REQUEST', 'VALIDATION_FAILED'));
    const paths = reply.json.details.issues.map(({ path }: { path: string }) => path);
    expect(paths.sort()).toEqual(['__proto__', 'colour', 'name', 'size', 'tags.1']);
  });

  test('Expect: 100-continue is answered before the body, and not for refused callers', async () => {
    const head = (more: string) =>
      `POST /t/things HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 12\r\n${more}Expect: 100-continue\r\n\r\n`;
    const refused = parseRaw(await rawRequest(world.port, head(''), /\}$/));
    expect(refused.status).toBe(401);
    const welcome = await rawRequest(world.port, head(`X-Internal-Api-Key: ${CHECK_KEY}\r\n`), /100 Continue\r\n\r\n/);
    expect(welcome).toMatch(/^HTTP\/1\.1 100 Continue/);
  });

  test('a caller that leaves within its body affects nobody', async () => {
    const head = `POST /t/things HTTP/1.1\r\nHost: x\r\nX-Internal-Api-Key: ${CHECK_KEY}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"na`;
    const before = world.lines.length;
    const socket = net.connect(world.port, '127.0.0.1', () => socket.write(head, () => socket.destroy()));
    const logged = () => world.lines.slice(before).find((line) => line.status === 499);
    while (logged() === undefined) await new Promise((resolve) => setImmediate(resolve));
    expect(logged()).toMatchObject({ route: '/t/things', method: 'POST' });
    expect((await post('{"name":"a"}')).status).toBe(201);
  });
});

describe('paths and queries', () => {
  test.each([
    ['/t/things/7?limit=200', 200, undefined],
    ['/t/things/7?limit=201', 400, 'limit'],
    ['/t/things/7?limit=0', 400, 'limit'],
    ['/t/things/7?limit=', 400, 'limit'],
    ['/t/things/7?limit=1&limit=1', 400, 'limit'],
    ['/t/things/7?limit=1&LIMIT=1', 400, 'LIMIT'],
    ['/t/things/7?offset=1', 400, 'offset'],
    ['/t/things/7?limit=%ff', 400, 'limit'],
    ['/t/things/x', 400, 'id'],
    ['/t/things/9007199254740993', 400, 'id'],
    ['/t/things/%00', 400, 'id'],
    ['/t/things/%zz', 400, 'id'],
    ['/t/things/404', 404, undefined],
    ['/t/things/7/', 404, undefined],
    ['/t//things/7', 404, undefined],
    ['/T/things/7', 404, undefined],
  ])('GET %s is %i', async (path, status, issue) => {
    const { status: got, json } = await ask(`${world.url}${path}`);
    expect(got).toBe(status);
    if (issue !== undefined) expect(json.details.issues.map(({ path: at }: { path: string }) => at)).toEqual([issue]);
  });

  test('a route without a query accepts no parameter', async () => {
    const reply = await ask(`${world.url}/t/text?x=1`);
    expect(reply.json.details.issues).toEqual([{ path: 'x', message: 'is not a known parameter' }]);
  });

  test('the absolute form of a target is its path', async () => {
    const reply = parseRaw(
      await rawRequest(
        world.port,
        'GET http://elsewhere.example/t/text HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      ),
    );
    expect(reply.status).toBe(200);
  });
});

describe('invalid HTTP requests', () => {
  const raw = async (bytes: string) => parseRaw(await rawRequest(world.port, bytes));
  const shape = (code: string) => ({
    success: false,
    code,
    message: expect.any(String),
    requestId: expect.any(String),
  });

  test.each([
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['a method of nobody', 'FETCH / HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['two lengths', 'POST /t/things HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na', 400],
    [
      'length and chunks',
      'POST /t/things HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['a space before the colon', 'GET /t/text HTTP/1.1\r\nHost : x\r\n\r\n', 400],
    ['a bare line feed in a header', 'GET /t/text HTTP/1.1\r\nHost: x\r\nA: b\nC: d\r\n\r\n', 400],
    ['no Host', 'GET /t/text HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['a second Host', 'GET /t/text HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n', 400],
    ['headers of more than 16 KiB', `GET /t/text HTTP/1.1\r\nHost: x\r\nA: ${'b'.repeat(17_000)}\r\n\r\n`, 431],
    [
      'more than 100 headers',
      `GET /t/text HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${'a: b\r\n'.repeat(100)}\r\n`,
      431,
    ],
    ['another expectation', 'GET /t/text HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: more\r\n\r\n', 417],
  ])('%s is refused in the common error shape', async (_what, bytes, status) => {
    const reply = await raw(bytes);
    expect(reply.status).toBe(status);
    expect(JSON.parse(reply.body)).toEqual(shape('BAD_REQUEST'));
    expect(reply.headers['x-request-id']).toBe(JSON.parse(reply.body).requestId);
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  test('TRACE, CONNECT-like targets and upgrades are ordinary refusals', async () => {
    expect((await raw('TRACE /t/text HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')).status).toBe(405);
    expect((await raw('OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')).status).toBe(404);
    const upgrade = await raw(
      'GET /t/text HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade, close\r\n\r\n',
    );
    expect(upgrade.status).toBe(200);
  });

  // Express gives up on some of these before any middleware, and would answer with a page.
  test.each(['/\\a@#', '/\\', '//', '/#', '/a b', 'http://', 'http://[', '/%', '?', '#'])(
    'the target %p is 404 or 400, in the common error shape',
    async (target) => {
      const reply = await raw(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect([400, 404]).toContain(reply.status);
      expect(JSON.parse(reply.body)).toEqual(shape(reply.status === 404 ? 'NOT_FOUND' : 'BAD_REQUEST'));
      expect(reply.headers['x-request-id']).toBe(JSON.parse(reply.body).requestId);
    },
  );

  test('bytes smuggled after a refused request are not served', async () => {
    const inner = `POST /t/things HTTP/1.1\r\nHost: x\r\nX-Internal-Api-Key: ${CHECK_KEY}\r\nContent-Length: 0\r\n\r\n`;
    const outer = `POST /t/things HTTP/1.1\r\nHost: x\r\nContent-Length: ${inner.length}\r\nConnection: close\r\n\r\n${inner}`;
    const all = await rawRequest(world.port, outer);
    expect(all.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(parseRaw(all).status).toBe(401);
  });
});
