import { METHODS } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { RawConnection } from '../support/raw-http.ts';
import { ask, CHECK_KEY, errorShape, NOTIFY_KEY, useWorld } from './fixture.ts';
import { fillShop } from './memory-facts.ts';

/** The door whose status is the answer (docs/reference/decisions.md#the-status-as-the-answer). */

const JANA = 'jana@example.com';
const USER = 'x-auth-request-email';
const PATH = '/api/gateway/shop/check';
const by = (email: string) => ({ 'x-internal-api-key': CHECK_KEY, [USER]: email });
const asked = (more: Record<string, string> = {}) =>
  `?${new URLSearchParams({ permission: 'pages', ...more }).toString()}`;

describe('the status as the answer', () => {
  const world = useWorld({ fill: fillShop });
  const at = (target: string) => world.url + target;

  test.each<[string, Record<string, string>, number, [level: string | null, source: string | null]]>([
    ['a role', {}, 204, ['view', 'role']],
    ['at the level held', { accessLevel: 'view' }, 204, ['view', 'role']],
    ['above it', { accessLevel: 'edit' }, 403, ['view', 'role']],
    ['a denying override', { resourceType: 'page', resourceId: '7' }, 403, [null, 'override']],
    ['a granting one', { resourceType: 'page', resourceId: '8', accessLevel: 'edit' }, 204, ['edit', 'override']],
    ['another record', { resourceType: 'page', resourceId: '9' }, 204, ['view', 'role']],
    ['an unknown permission', { permission: 'nothing' }, 403, [null, null]],
    ['a malformed permission', { permission: 'pages:' }, 403, [null, null]],
  ])(
    'is that of a check, of a token and of a proxy that names the user: %s',
    async (_, more, status, [level, source]) => {
      const bearer = { authorization: await world.bearer(JANA) };
      for (const headers of [
        bearer,
        by(JANA),
        by(' Jana@Example.COM '),
        { ...bearer, 'x-internal-api-key': CHECK_KEY },
      ]) {
        const reply = await ask(at(PATH + asked(more)), { headers });
        expect(reply.status).toBe(status);
        expect(['email', 'access-level', 'source'].map((name) => reply.headers.get(`x-usher-${name}`))).toEqual([
          JANA,
          level,
          source,
        ]);
        expect(reply.headers.get('cache-control')).toBe('no-store');
        expect(reply.headers.get('usher-revision')).toBe(String(world.engine.revision));
        if (status === 204) expect(reply.text).toBe('');
        else expect(reply).toMatchObject(errorShape(403, 'FORBIDDEN'));
      }
    },
  );

  test.each<[string, string, Record<string, string>, number]>([
    ['an inactive SuperAdmin', PATH, by('gone@example.com'), 403],
    ['a SuperAdmin in an application that does not exist', '/api/gateway/nowhere/check', by('root@example.com'), 204],
    ['an application that does not exist', '/api/gateway/nowhere/check', by(JANA), 403],
    ['a code that no application has', '/api/gateway/No%20Code/check', by('root@example.com'), 403],
    ['somebody unknown', PATH, by('nobody@example.com'), 403],
    ['a name that is no address', PATH, by('jana'), 403],
    ['two names in one header', PATH, by(`${JANA}, root@example.com`), 403],
    ['an address that folds to a known one', PATH, by('jan\u00e1@example.com'), 403],
    ['a name that is too long', PATH, by(`${'x'.repeat(250)}@example.com`), 400],
  ])('answers %s', async (_, path, headers, status) => {
    expect((await ask(at(path + asked()), { headers })).status).toBe(status);
  });

  test.each<[string, () => Promise<Record<string, string>>, number, string]>([
    ['nothing', async () => ({}), 401, 'UNAUTHENTICATED'],
    ['a key without a user', async () => ({ 'x-internal-api-key': CHECK_KEY }), 401, 'UNAUTHENTICATED'],
    ['a key and an empty header', async () => by(''), 401, 'UNAUTHENTICATED'],
    ['a user without a key', async () => ({ [USER]: 'root@example.com' }), 401, 'UNAUTHENTICATED'],
    ['a wrong key', async () => ({ ...by(JANA), 'x-internal-api-key': 'x'.repeat(24) }), 401, 'UNAUTHENTICATED'],
    ['a key without the scope', async () => ({ ...by(JANA), 'x-internal-api-key': NOTIFY_KEY }), 403, 'FORBIDDEN'],
    ['a wrong token', async () => ({ authorization: 'Bearer x.y.z' }), 401, 'UNAUTHENTICATED'],
    ['an empty token', async () => ({ authorization: 'Bearer' }), 401, 'UNAUTHENTICATED'],
    [
      'a token that is over',
      async () => ({ authorization: await world.bearer(JANA, { exp: 1 }) }),
      401,
      'UNAUTHENTICATED',
    ],
    ['another scheme', async () => ({ authorization: 'Basic YTpi' }), 401, 'UNAUTHENTICATED'],
    ['a key as bearer', async () => ({ authorization: `Bearer ${CHECK_KEY}` }), 401, 'UNAUTHENTICATED'],
    [
      'a right token beside a wrong key',
      async () => ({ authorization: await world.bearer(JANA), 'x-internal-api-key': 'x'.repeat(24) }),
      401,
      'UNAUTHENTICATED',
    ],
    [
      'a wrong token beside a key and a name',
      async () => ({ ...by(JANA), authorization: 'Bearer x.y.z' }),
      401,
      'UNAUTHENTICATED',
    ],
    ['a token and a name', async () => ({ ...by(JANA), authorization: await world.bearer(JANA) }), 400, 'BAD_REQUEST'],
    [
      'a token and a name without a key',
      async () => ({ [USER]: 'root@example.com', authorization: await world.bearer(JANA) }),
      400,
      'BAD_REQUEST',
    ],
  ])('refuses %s', async (_, headers, status, code) => {
    const reply = await ask(at(PATH + asked()), { headers: await headers() });
    expect(reply).toMatchObject(errorShape(status, code));
    // For the proxy's client, which has no key.
    if (status === 401)
      expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer realm="usher"(?:, error="invalid_token")?$/);
    expect(reply.headers.get('x-usher-email')).toBeNull();
  });

  test('a scheme that belongs to what stands behind the proxy does not count as a token', async () => {
    const reply = await ask(at(PATH + asked()), { headers: { ...by(JANA), authorization: 'Basic YTpi' } });
    expect(reply.status).toBe(204);
  });

  test.each<[string, string, string[] | string]>([
    ['no permission', '', ['permission']],
    ['an empty permission', '?permission=', ['permission']],
    ['an unknown parameter', asked({ resourcetype: 'page' }), ['resourcetype']],
    ['a parameter twice', `${asked()}&permission=reports.read`, ['permission']],
    ['the user in the query', asked({ email: 'root@example.com' }), ['email']],
    ['a wrong level', asked({ accessLevel: 'allowed' }), ['accessLevel']],
    ['an empty half of a record', asked({ resourceType: 'page', resourceId: '' }), ['resourceId']],
    ['half a record', asked({ resourceType: 'page' }), 'INCOMPLETE_RESOURCE'],
  ])('refuses a question with %s', async (_, query, fault) => {
    const reply = await ask(at(PATH + query), { headers: by('root@example.com') });
    expect(reply.status).toBe(400);
    const { code, issues } = reply.json.details;
    expect(typeof fault === 'string' ? code : issues.map(({ path }: { path: string }) => path)).toEqual(fault);
  });

  test('every method is answered alike, at the path and below it, with every Origin', async () => {
    const port = Number(new URL(world.url).port);
    const wrong: string[] = [];
    const paths = [
      '',
      '/',
      '/orders',
      '/orders/7/',
      '//x',
      '/..',
      '/../../../healthz',
      '/%2e%2e/x',
      '/%zz',
      '/%00',
      '/a%2Fb',
      '/*',
    ];
    for (const method of METHODS.filter((name) => name !== 'CONNECT')) {
      for (const path of method === 'GET' ? paths : ['', '/orders']) {
        for (const [id, status] of [
          ['9', 204],
          ['7', 403],
        ] as const) {
          const connection = new RawConnection(port);
          const target = `${PATH}${path}${asked({ resourceType: 'page', resourceId: id })}`;
          const lines = [
            `${method} ${target} HTTP/1.1`,
            'host: localhost',
            'origin: https://evil.example',
            'access-control-request-method: DELETE',
            'access-control-request-headers: x-auth-request-email',
            ...Object.entries(by(JANA)).map(([name, value]) => `${name}: ${value}`),
          ];
          const answer = await connection.send(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), {
            bodiless: method === 'HEAD',
          });
          connection.close();
          if (answer.status !== status || /access-control|\nvary|\nallow:/i.test(answer.head)) {
            wrong.push(`${method} ${path}: ${answer.status}`);
          }
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  test.each([
    '/api/gateway/shop/checks',
    '/api/gateway/shop/Check',
    '/api/gateway/shop',
    '/api/gateway/check',
    '/api/gateway//check',
  ])('answers nothing at %s', async (path) => {
    expect((await ask(at(path + asked()), { headers: by('root@example.com') })).status).toBe(404);
  });

  test('what a proxy says of the request decides nothing', async () => {
    const headers = {
      ...by(JANA),
      'x-forwarded-uri': '/api/gateway/shop/check?permission=reports.read',
      'x-original-url': 'https://shop.example/?permission=reports.read',
      'x-original-uri': '/x',
      'x-forwarded-method': 'DELETE',
      'x-forwarded-host': 'evil.example',
      'x-http-method-override': 'DELETE',
      'usher-min-revision': 'nonsense',
      accept: 'text/html',
    };
    const target = PATH + asked({ resourceType: 'page', resourceId: '7' });
    expect((await ask(at(target), { headers })).status).toBe(403);
    expect((await ask(at(PATH + asked()), { headers })).status).toBe(204);
  });

  test('a body is not read, whatever it is, and the connection serves the next request', async () => {
    const connection = new RawConnection(Number(new URL(world.url).port));
    const head = (id: string, more: string[]) =>
      [
        `POST ${PATH}${asked({ resourceType: 'page', resourceId: id })} HTTP/1.1`,
        'host: localhost',
        ...Object.entries(by(JANA)).map(([name, value]) => `${name}: ${value}`),
        ...more,
        '',
        '',
      ].join('\r\n');
    const bodies: [string[], string][] = [
      [['content-type: text/plain', 'content-length: 9'], 'not json\n'],
      [['content-type: application/json', 'content-encoding: gzip', 'content-length: 3'], 'xyz'],
      [['transfer-encoding: chunked'], '5\r\nhello\r\n0\r\n\r\n'],
      [['content-length: 200000'], 'x'.repeat(200_000)],
    ];
    for (const [more, body] of bodies) {
      for (const [id, status] of [
        ['9', 204],
        ['7', 403],
      ] as const) {
        expect((await connection.send(Buffer.from(head(id, more) + body))).status).toBe(status);
      }
    }
    connection.close();
    // Announced and never sent: answered all the same.
    const early = new RawConnection(Number(new URL(world.url).port));
    expect((await early.send(Buffer.from(head('9', ['content-length: 1000000000'])))).status).toBe(204);
    early.close();
    const waiting = new RawConnection(Number(new URL(world.url).port));
    expect((await waiting.send(Buffer.from(head('9', ['content-length: 10', 'expect: 100-continue'])))).status).toBe(
      204,
    );
    waiting.close();
  });

  test('trouble is 503, never a 2xx', async () => {
    world.facts.away = true;
    try {
      world.engine.dropAll();
      for (const method of ['GET', 'OPTIONS', 'DELETE']) {
        const reply = await ask(at(PATH + asked()), { method, headers: by(JANA) });
        expect(reply).toMatchObject(errorShape(503, 'UNAVAILABLE'));
        expect(reply.headers.get('retry-after')).not.toBeNull();
      }
    } finally {
      world.facts.away = false;
    }
  });
});

describe('the status as the answer, configured otherwise', () => {
  const world = useWorld({ fill: fillShop, config: { gateway: { userHeader: 'X-Forwarded-Email' } } });

  test('the user is named by the configured header alone', async () => {
    const target = world.url + PATH + asked();
    const headers = { 'x-internal-api-key': CHECK_KEY };
    expect((await ask(target, { headers: { ...headers, 'x-forwarded-email': JANA } })).status).toBe(204);
    expect((await ask(target, { headers: { ...headers, [USER]: JANA } })).status).toBe(401);
  });
});

describe('the status as the answer, with a limit of requests', () => {
  const world = useWorld({
    fill: fillShop,
    config: { http: { host: '127.0.0.1', port: 0, trustProxy: false, rateLimit: 5 } },
  });

  test("wrong tokens of a proxy's clients do not count as guesses of its key", async () => {
    const target = world.url + PATH + asked();
    const wrong = { 'x-internal-api-key': CHECK_KEY, authorization: 'Bearer x.y.z' };
    for (let turn = 0; turn < 12; turn++) await ask(target, { headers: wrong });
    expect((await ask(target, { headers: by(JANA) })).status).toBe(204);
    for (let turn = 0; turn < 12; turn++)
      await ask(target, { headers: { ...by(JANA), 'x-internal-api-key': 'x'.repeat(24) } });
    expect((await ask(target, { headers: by(JANA) })).status).toBe(429);
  });
});

describe('the status as the answer, without keys', () => {
  const world = useWorld({ fill: fillShop, keys: [] });

  test('is open to this machine alone, as every check', async () => {
    const port = Number(new URL(world.url).port);
    const status = async (host: string) => {
      const connection = new RawConnection(port);
      const { status: said } = await connection.send(
        Buffer.from(`GET ${PATH}${asked()} HTTP/1.1\r\nhost: ${host}\r\n${USER}: ${JANA}\r\n\r\n`),
      );
      connection.close();
      return said;
    };
    expect([await status('localhost'), await status('evil.example')]).toEqual([204, 403]);
  });
});
