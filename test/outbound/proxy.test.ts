import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { createOutbound, OPERATOR_POLICY, type Outbound, type Resolve } from '../../src/outbound/outbound.ts';
import { createAuthority } from '../grpc/certificates.ts';
import { HttpProxy } from '../support/http-proxy.ts';
import { endings, listen, reasonOf, serve, startCanary, untilFree } from '../support/outbound.ts';

const authority = createAuthority('Authority of a test');
beforeAll(() => setDefaultCACertificates([...getCACertificates('bundled'), authority.cert]));
afterAll(() => setDefaultCACertificates(getCACertificates('bundled')));

/** A network in which the proxy alone finds names. */
const knowsNothing: Resolve = (_name, _options, callback) =>
  callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []);

async function startProxy(options: Parameters<typeof HttpProxy.start>[0] = {}): Promise<HttpProxy> {
  const proxy = await HttpProxy.start(options);
  endings.push(() => proxy.close());
  return proxy;
}

function by(url: string, options: { noProxy?: string[]; resolve?: Resolve } = {}): Outbound {
  const { noProxy = [], resolve = knowsNothing } = options;
  const outbound = createOutbound({ clock: systemClock, proxy: { proxy: url, noProxy }, resolve });
  endings.push(() => outbound.close());
  return outbound;
}

type Handler = Parameters<typeof serve>[0];
const echo: Handler = (request, response) =>
  void request.pipe(response.writeHead(200, { 'content-type': 'application/json' }));

/** A target with TLS, by the name `target.example`. */
async function startTarget(handle: Handler = echo) {
  const requests: { url: string | undefined; headers: object }[] = [];
  const server = createTlsServer(authority.issue('target', ['target.example']), (request, response) => {
    requests.push({ url: request.url, headers: request.headers });
    handle(request, response);
  });
  return { port: await listen(server, '127.0.0.1'), requests };
}

const failureOf = (outbound: Outbound, url: string, timeoutMs = 5000) =>
  outbound.send({ url, policy: OPERATOR_POLICY, timeoutMs, maxBytes: 1000 }).then(
    ({ status }) => Promise.reject(new Error(`an answer: ${status}`)),
    (error: Error & { reason: string }) => error,
  );

describe('a target with TLS', () => {
  test('is reached by CONNECT, with TLS to the target, and the tunnel is kept', async () => {
    const [proxy, target] = [await startProxy(), await startTarget()];
    proxy.names.set('target.example', target.port);
    const outbound = by(proxy.url());
    for (let time = 0; time < 2; time++) {
      const response = await outbound.send({
        url: 'https://target.example/a/path?with=query',
        policy: OPERATOR_POLICY,
        method: 'POST',
        headers: { authorization: 'Bearer canary' },
        body: '{"over":"TLS"}',
        timeoutMs: 5000,
        maxBytes: 1000,
      });
      expect([response.status, response.json()]).toEqual([200, { over: 'TLS' }]);
      await untilFree();
    }
    expect(proxy.targets).toEqual(['CONNECT target.example:443']);
    expect(target.requests.map(({ url }) => url)).toEqual(['/a/path?with=query', '/a/path?with=query']);
    expect(JSON.stringify(proxy.asked)).not.toMatch(/canary|path|proxy-authorization/);
  });

  test('another port is named to the proxy', async () => {
    const [proxy, target] = [await startProxy(), await startTarget()];
    proxy.names.set('target.example', target.port);
    expect(await reasonOf(by(proxy.url()), 'https://target.example:8443/')).toBe(200);
    expect(proxy.targets).toEqual(['CONNECT target.example:8443']);
  });

  test('a certificate of another name or authority is refused, even where the environment disables the check', async () => {
    const [proxy, target] = [await startProxy(), await startTarget()];
    const foreign = createTlsServer(createAuthority('Another').issue('server', ['target.example']), echo);
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    try {
      proxy.names.set('other.example', target.port);
      expect(await reasonOf(by(proxy.url()), 'https://other.example/')).toBe('unreachable');
      proxy.names.set('target.example', await listen(foreign, '127.0.0.1'));
      expect(await reasonOf(by(proxy.url()), 'https://target.example/')).toBe('unreachable');
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    }
    expect(target.requests).toEqual([]);
  });

  test('a tunnel that was closed is replaced for a GET', async () => {
    const proxy = await startProxy();
    const target = await startTarget((request, response) => {
      response.end('{}');
      request.socket.once('data', () => request.socket.destroy());
    });
    proxy.names.set('target.example', target.port);
    const outbound = by(proxy.url());
    expect(await reasonOf(outbound, 'https://target.example/')).toBe(200);
    expect(await reasonOf(outbound, 'https://target.example/')).toBe(200);
  });
});

describe('a target without TLS', () => {
  test('is asked in absolute form, and is not told the credentials of the proxy', async () => {
    const proxy = await startProxy({ credentials: 'name:password' });
    const { url, requests } = await serve(echo);
    proxy.names.set('target.example', Number(new URL(url).port));
    const response = await by(proxy.url('name:password')).send({
      url: 'http://target.example:8080/path?query',
      policy: OPERATOR_POLICY,
      method: 'POST',
      body: '"here"',
      timeoutMs: 5000,
      maxBytes: 1000,
    });
    expect([response.status, response.json()]).toEqual([200, 'here']);
    expect(proxy.targets).toEqual(['POST http://target.example:8080/path?query']);
    expect(requests[0]?.headers).toMatchObject({ host: 'target.example:8080', 'user-agent': 'usher' });
    expect(requests[0]?.headers['proxy-authorization']).toBeUndefined();
  });
});

describe('credentials', () => {
  test.each([
    ['name:password', 'name:password'],
    ['n%C3%A4me:p%40ss%3Aword%25', 'näme:p@ss:word%'],
    ['name', 'name:'],
  ])('%s is sent as HTTP Basic', async (written, credentials) => {
    const [proxy, target] = [await startProxy({ credentials }), await startTarget()];
    proxy.names.set('target.example', target.port);
    expect(await reasonOf(by(proxy.url(written)), 'https://target.example/')).toBe(200);
  });

  test('a proxy with TLS is spoken to in TLS, for both kinds of targets', async () => {
    const certificate = authority.issue('proxy');
    const proxy = await startProxy({ credentials: 'name:password', certificate });
    const target = await startTarget();
    const { url } = await serve(echo);
    proxy.names.set('target.example', target.port);
    const outbound = by(proxy.url('name:password'));
    expect(await reasonOf(outbound, 'https://target.example/')).toBe(200);
    expect(await reasonOf(outbound, url)).toBe(200);
    expect(proxy.targets).toEqual(['CONNECT target.example:443', `GET ${url}`]);
  });

  test('a proxy whose certificate is not trusted gets nothing', async () => {
    const certificate = createAuthority('Another').issue('proxy');
    const proxy = await startProxy({ certificate });
    const { url } = await serve(echo);
    for (const target of ['https://target.example/', url]) {
      const error = await failureOf(by(proxy.url()), target);
      expect([error.reason, error.message]).toEqual(['unreachable', `The proxy ${proxy.host} cannot be reached.`]);
    }
    expect(proxy.asked).toEqual([]);
  });
});

describe('a proxy that does not pass a request on', () => {
  const passes = 'The proxy HOST does not let this request pass';
  test.each<[number, string, string]>([
    [407, 'proxy_refused', 'The proxy HOST does not take the credentials (407): outbound.proxy.'],
    [403, 'proxy_refused', `${passes} (403).`],
    [405, 'proxy_refused', `${passes} (405).`],
    [204, 'proxy_refused', `${passes} (204).`],
    [500, 'unreachable', 'The proxy HOST cannot reach the target (500).'],
    [502, 'unreachable', 'The proxy HOST cannot reach the target (502).'],
    [503, 'unreachable', 'The proxy HOST cannot reach the target (503).'],
    [504, 'unreachable', 'The proxy HOST cannot reach the target (504).'],
  ])('%s to CONNECT is %s', async (status, reason, message) => {
    const proxy = await startProxy();
    proxy.fault = status;
    const error = await failureOf(by(proxy.url('name:canary')), 'https://target.example/canary');
    expect([error.reason, error.message]).toEqual([reason, message.replace('HOST', proxy.host)]);
    expect(inspect(error, { depth: 20, showHidden: true })).not.toMatch(/canary|bmFtZT/);
  });

  test('407 to a request without TLS is the proxy, and every other status is an answer', async () => {
    const proxy = await startProxy({ credentials: 'name:password' });
    const { url, requests } = await serve(echo);
    const error = await failureOf(by(proxy.url('name:canary')), url);
    expect([error.reason, error.message]).toEqual([
      'proxy_refused',
      `The proxy ${proxy.host} does not take the credentials (407): outbound.proxy.`,
    ]);
    proxy.fault = 503;
    const outbound = by(proxy.url('name:password'));
    expect(await reasonOf(outbound, url)).toBe(503);
    proxy.fault = null;
    expect(await reasonOf(outbound, url)).toBe(200);
    expect(requests).toHaveLength(1);
  });

  test('one that is away is named without its credentials', async () => {
    const proxy = await startProxy();
    const [host, url] = [proxy.host, proxy.url('name:canary')];
    await proxy.close();
    for (const target of ['https://target.example/canary', 'http://target.example/canary']) {
      const error = await failureOf(by(url), target);
      expect([error.reason, error.message]).toEqual(['unreachable', `The proxy ${host} cannot be reached.`]);
      expect(inspect(error, { depth: 20, showHidden: true })).not.toMatch(/canary|bmFtZT/);
    }
  });

  test.each(['https://target.example/', 'http://target.example/'])('one that hangs is a timeout: %s', async (url) => {
    const proxy = await startProxy();
    proxy.fault = 'hang';
    expect((await failureOf(by(proxy.url()), url, 200)).reason).toBe('timeout');
    expect(proxy.asked).toHaveLength(1);
  });

  test('one that hangs for longer than a connection may take is named', async () => {
    const proxy = await startProxy();
    proxy.fault = 'hang';
    const error = await failureOf(by(proxy.url()), 'https://target.example/', 60_000);
    expect(error.message).toBe(`The proxy ${proxy.host} did not answer within 5000 ms.`);
  }, 30_000);

  test.each(['https://target.example/', 'http://target.example/'])('one that ends the line: %s', async (url) => {
    const proxy = await startProxy();
    proxy.fault = 'cut';
    const error = await failureOf(by(proxy.url()), url);
    expect(error.reason).toBe('unreachable');
    expect(error.message).toContain(`The proxy ${proxy.host}`);
  });

  test('one that ends a tunnel that was made, or the body of an answer', async () => {
    const [proxy, target] = [await startProxy(), await startTarget()];
    proxy.names.set('target.example', target.port);
    proxy.fault = 'cut tunnel';
    expect((await failureOf(by(proxy.url()), 'https://target.example/')).reason).toBe('unreachable');
    const { url } = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('x');
    });
    expect((await failureOf(by(proxy.url()), url)).reason).toBe('unreachable');
  });

  test('one that is no proxy', async () => {
    const server = createTcpServer((socket) => socket.on('error', () => undefined).end('220 smtp.example.com\r\n'));
    const host = `127.0.0.1:${await listen(server, '127.0.0.1')}`;
    for (const url of ['https://target.example/', 'http://target.example/']) {
      const error = await failureOf(by(`http://${host}`), url);
      expect(['unreachable', 'bad_response']).toContain(error.reason);
      expect(error.message).toContain(`The proxy ${host}`);
    }
  });
});

describe('limits hold by the proxy', () => {
  const handlers: [string, string | number, Handler][] = [
    ['a redirect', 'redirected', (_request, response) => response.writeHead(302, { location: '/' }).end()],
    ['a long body', 'too_large', (_request, response) => response.end(Buffer.alloc(1001))],
    ['long headers', 'too_large', (_request, response) => response.writeHead(200, { x: 'x'.repeat(20_000) }).end()],
    [
      'a compressed body',
      'bad_response',
      (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x')),
    ],
    ['no answer', 'timeout', () => undefined],
    ['no end', 'timeout', (_request, response) => response.writeHead(200).flushHeaders()],
    ['an answer', 404, (_request, response) => response.writeHead(404).end()],
    ['407 of the target, in a tunnel', 407, (_request, response) => response.writeHead(407).end()],
  ];
  test.each(handlers)('%s: %s', async (name, expected, handle) => {
    const [proxy, target] = [await startProxy(), await startTarget(handle)];
    const { url } = await serve(handle);
    proxy.names.set('target.example', target.port);
    const limits = { timeoutMs: expected === 'timeout' ? 500 : 20_000, maxBytes: 1000 };
    expect(await reasonOf(by(proxy.url()), 'https://target.example/', limits)).toBe(expected);
    if (!name.includes('tunnel')) expect(await reasonOf(by(proxy.url()), url, limits)).toBe(expected);
    expect(proxy.asked.length).toBeGreaterThan(0);
  });

  test('the caller can cancel, also while the proxy hangs', async () => {
    const proxy = await startProxy();
    proxy.fault = 'hang';
    const controller = new AbortController();
    const sent = by(proxy.url()).send({
      url: 'https://target.example/',
      policy: OPERATOR_POLICY,
      timeoutMs: 60_000,
      maxBytes: 10,
      signal: controller.signal,
    });
    setTimeout(() => controller.abort(), 100);
    await expect(sent).rejects.toMatchObject({ reason: 'aborted' });
  });

  test('the end of the service ends tunnels', async () => {
    const [proxy, target] = [await startProxy(), await startTarget(() => undefined)];
    proxy.names.set('target.example', target.port);
    const outbound = by(proxy.url());
    const reason = reasonOf(outbound, 'https://target.example/', { timeoutMs: 60_000 });
    while (target.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    await outbound.close();
    expect(await reason).toBe('unreachable');
  });
});

describe('which proxy', () => {
  test('variables of the environment are not read, neither for a proxy nor for exceptions', async () => {
    const [proxy, foreign] = [await startProxy(), await startCanary()];
    const { url, requests } = await serve(echo);
    const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'];
    const variables = {
      ...Object.fromEntries(names.map((name) => [name, `http://127.0.0.1:${foreign.port}`])),
      NO_PROXY: '*',
      no_proxy: '*',
      NODE_USE_ENV_PROXY: '1',
    };
    const before = { ...process.env };
    Object.assign(process.env, variables);
    try {
      expect(await reasonOf(by(proxy.url()), url)).toBe(200);
      expect(proxy.targets).toEqual([`GET ${url}`]);
      const direct = createOutbound({ clock: systemClock, proxy: { proxy: null, noProxy: [] } });
      endings.push(() => direct.close());
      expect(await reasonOf(direct, url)).toBe(200);
    } finally {
      for (const name of Object.keys(variables)) {
        const value = before[name];
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    }
    expect([requests.length, foreign.connections()]).toEqual([2, 0]);
  });

  test.each<[string, boolean]>([
    ['listed.example', false],
    ['LISTED.example', false],
    ['listed.example.', false],
    ['below.listed.example', true],
    ['unlisted.example', true],
    ['one.below.example', false],
    ['two.one.below.example', false],
    ['below.example', true],
    ['notbelow.example', true],
    ['127.0.0.1', false],
    ['127.1', false],
    ['127.0.0.2', true],
  ])('with exceptions, http://%s is asked by the proxy: %s', async (host, expected) => {
    const proxy = await startProxy();
    const { url } = await serve(echo);
    const { port } = new URL(url);
    proxy.names.set('127.0.0.2', Number(port));
    for (const name of ['below.listed', 'unlisted', 'below', 'notbelow'])
      proxy.names.set(`${name}.example`, Number(port));
    const resolve: Resolve = (_name, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]);
    const outbound = by(proxy.url(), { noProxy: ['listed.example', '.below.example', '127.0.0.1'], resolve });
    expect(await reasonOf(outbound, `http://${host}:${port}/`)).toBe(200);
    expect(proxy.asked.length > 0).toBe(expected);
  });

  test('what is reached without the proxy is guarded as ever', async () => {
    const [proxy, canary] = [await startProxy(), await startCanary()];
    const resolve: Resolve = (_name, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]);
    const outbound = by(proxy.url(), { noProxy: ['listed.example'], resolve });
    const policy = { reach: 'internet', http: true, anyPort: true } as const;
    expect(await reasonOf(outbound, `http://listed.example:${canary.port}/`, { policy })).toBe('refused_address');
    expect([proxy.connections, canary.connections()]).toEqual([0, 0]);
  });
});
