import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { OPERATOR_POLICY, OutboundError } from '../../src/outbound/outbound.ts';
import { createAuthority } from '../grpc/certificates.ts';
import { ANYWHERE, listen, outboundWith, reasonOf, resolvingTo, serve, startCanary } from '../support/outbound.ts';

describe('outbound answers', () => {
  const answer = async (handle: (response: ServerResponse, request: IncomingMessage) => void, options = {}) => {
    const { url } = await serve((request, response) => handle(response, request));
    return reasonOf(outboundWith(), url, { timeoutMs: 20_000, ...options });
  };

  test.each([301, 302, 303, 307, 308, 304, 399])('a redirect (%s) is not followed', async (status) => {
    const canary = await startCanary();
    const reason = await answer((response) =>
      response.writeHead(status, { location: `http://127.0.0.1:${canary.port}/` }).end(),
    );
    expect(reason).toBe('redirected');
    expect(canary.connections()).toBe(0);
  });

  test.each([200, 204, 400, 401, 404, 500, 503])('status %s is an answer', async (status) => {
    expect(await answer((response) => response.writeHead(status).end())).toBe(status);
  });

  test('a body at the limit is accepted, and one byte more refused, declared or not', async () => {
    const body = Buffer.alloc(1000);
    const chunked = (size: number) => (response: ServerResponse) => {
      response.write(body.subarray(0, 500));
      response.end(body.subarray(0, size - 500));
    };
    expect(await answer((response) => response.end(body), { maxBytes: 1000 })).toBe(200);
    expect(await answer((response) => response.end(body), { maxBytes: 999 })).toBe('too_large');
    expect(await answer(chunked(1000), { maxBytes: 1000 })).toBe(200);
    expect(await answer(chunked(1000), { maxBytes: 999 })).toBe('too_large');
  });

  test('an endless body ends at the limit, together with its connection', async () => {
    let closed: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const reason = await answer(
      (response) => {
        const timer = setInterval(() => response.write(Buffer.alloc(4096)), 1);
        response.on('close', () => {
          clearInterval(timer);
          closed();
        });
      },
      { maxBytes: 50_000, timeoutMs: 10_000 },
    );
    expect(reason).toBe('too_large');
    await gone;
  });

  test.each([
    ['no headers', () => undefined],
    ['no body', (response: ServerResponse) => response.writeHead(200).flushHeaders()],
    [
      'a drop of the body at a time',
      (response: ServerResponse) => {
        const timer = setInterval(() => response.write('x'), 20);
        response.on('close', () => clearInterval(timer));
      },
    ],
  ])('%s within the time is a timeout', async (_name, handle) => {
    const start = performance.now();
    expect(await answer(handle, { timeoutMs: 300 })).toBe('timeout');
    expect(performance.now() - start).toBeLessThan(3000);
  });

  test('headers sent a byte at a time are a timeout', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.write('HTTP/1.1 200 OK\r\nx: ');
      const timer = setInterval(() => socket.write('x'), 10);
      socket.on('close', () => clearInterval(timer));
    });
    const port = await listen(server, '127.0.0.1');
    expect(await reasonOf(outboundWith(), `http://127.0.0.1:${port}/`, { timeoutMs: 300 })).toBe('timeout');
  });

  test('headers over 16 KiB are too large', async () => {
    expect(await answer((response) => response.writeHead(200, { 'x-big': 'x'.repeat(20_000) }).end())).toBe(
      'too_large',
    );
  });

  test.each(['gzip', 'br', 'deflate', 'x-unknown'])('a body compressed with %s is refused', async (encoding) => {
    const bomb = gzipSync(Buffer.alloc(1_000_000));
    expect(await answer((response) => response.writeHead(200, { 'content-encoding': encoding }).end(bomb))).toBe(
      'bad_response',
    );
  });

  test('an answer that is not HTTP is a bad response', async () => {
    const server = createTcpServer((socket) =>
      socket.on('error', () => undefined).end('220 smtp.example.com ESMTP\r\n'),
    );
    const port = await listen(server, '127.0.0.1');
    expect(await reasonOf(outboundWith(), `http://127.0.0.1:${port}/`)).toBe('bad_response');
  });

  test('a closed port and a truncated body are unreachable', async () => {
    const { url } = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('x');
      setImmediate(() => response.destroy());
    });
    expect(await reasonOf(outboundWith(), url)).toBe('unreachable');
    expect(await reasonOf(outboundWith(), 'http://127.0.0.1:1/')).toBe('unreachable');
  });

  test('a kept connection that was closed is replaced for a GET', async () => {
    let served = 0;
    const server = createServer((request, response) => {
      served++;
      response.end('{}');
      request.socket.once('data', () => request.socket.destroy());
    });
    const port = await listen(server, '127.0.0.1');
    const outbound = outboundWith();
    expect(await reasonOf(outbound, `http://127.0.0.1:${port}/`)).toBe(200);
    expect(await reasonOf(outbound, `http://127.0.0.1:${port}/`)).toBe(200);
    expect(served).toBeGreaterThanOrEqual(2);
  });

  test('the caller can cancel, before and during the request', async () => {
    const { url } = await serve(() => undefined);
    const outbound = outboundWith();
    const send = (signal: AbortSignal) =>
      outbound.send({ url, policy: OPERATOR_POLICY, timeoutMs: 5000, maxBytes: 10, signal });
    await expect(send(AbortSignal.abort())).rejects.toMatchObject({ reason: 'aborted' });
    const controller = new AbortController();
    const sent = send(controller.signal);
    controller.abort();
    await expect(sent).rejects.toMatchObject({ reason: 'aborted' });
  });
});

/** Signed by itself for localhost, and used nowhere else. */
const SELF_SIGNED = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgBvzF04fvOS3z7/0z
Gf043jQ3E0/d75h0W5p5IoayrH2hRANCAAQDeJlMA+7EJlQBBolsFxvGSe2eQb3a
PWhDMje8bBfi68jGdowNykx320vXJkhrrhmHzCxInwZalyDI8GWwg/T4
-----END PRIVATE KEY-----
`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBmjCCAUGgAwIBAgIUUhBVCGWkjHxzJjA0o5aIJS7z6YkwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTEwNDIxMFoYDzIxMjYxMDI4
MTA0MjEwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQDeJlMA+7EJlQBBolsFxvGSe2eQb3aPWhDMje8bBfi68jGdowNykx3
20vXJkhrrhmHzCxInwZalyDI8GWwg/T4o28wbTAdBgNVHQ4EFgQUCE+GZVrZZWgn
a1JRDU8vuDRjoUMwHwYDVR0jBBgwFoAUCE+GZVrZZWgna1JRDU8vuDRjoUMwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDRwAwRAIgfrIb5qIBNSSZjxijvRup04Btgj2i4iHft1olItEOnroCIGnP
nNZ0+1L5g7gs8VCtKEeBWhMaTEwix6ry3pGYhJbY
-----END CERTIFICATE-----
`,
};

test('an untrusted certificate is refused, even where the environment disables the check', async () => {
  let requests = 0;
  const server = createTlsServer(SELF_SIGNED, (_request, response) => {
    requests++;
    response.end('{}');
  });
  const port = await listen(server, '127.0.0.1');
  const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  try {
    expect(await reasonOf(outboundWith(), `https://127.0.0.1:${port}/`)).toBe('unreachable');
  } finally {
    if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
  }
  expect(requests).toBe(0);
});

describe('certificates of a trusted authority', () => {
  const authority = createAuthority('Authority of a test');

  async function serveTls(certificate: { cert: string; key: string }) {
    let requests = 0;
    const server = createTlsServer(certificate, (request, response) => {
      requests++;
      request.pipe(response.writeHead(200, { 'content-type': 'application/json' }));
    });
    const port = await listen(server, '127.0.0.1');
    return { port, requests: () => requests };
  }

  beforeAll(() => setDefaultCACertificates([...getCACertificates('bundled'), authority.cert]));
  afterAll(() => setDefaultCACertificates(getCACertificates('bundled')));

  test('a trusted certificate is accepted for its address and name, and data goes both ways', async () => {
    const { port, requests } = await serveTls(authority.issue('server'));
    const named = outboundWith(resolvingTo(['127.0.0.1']));
    for (const [outbound, host] of [
      [outboundWith(), '127.0.0.1'],
      [named, 'localhost'],
    ] as const) {
      const response = await outbound.send({
        url: `https://${host}:${port}/path`,
        policy: OPERATOR_POLICY,
        method: 'POST',
        body: '{"over":"TLS"}',
        timeoutMs: 5000,
        maxBytes: 1000,
      });
      expect(response.status).toBe(200);
      expect(response.json()).toEqual({ over: 'TLS' });
    }
    expect(requests()).toBe(2);
  });

  test('a trusted certificate is refused for another name, and nothing is sent', async () => {
    const { port, requests } = await serveTls(authority.issue('server'));
    const outbound = outboundWith(resolvingTo(['127.0.0.1']));
    expect(await reasonOf(outbound, `https://other.example:${port}/`)).toBe('unreachable');
    expect(requests()).toBe(0);
  });

  test('a certificate of another authority with the same name is refused', async () => {
    const { port, requests } = await serveTls(createAuthority('Authority of a test').issue('server'));
    expect(await reasonOf(outboundWith(), `https://127.0.0.1:${port}/`)).toBe('unreachable');
    expect(requests()).toBe(0);
  });
});

describe('outbound requests', () => {
  test('method, headers and body are sent as given, without asking for compression', async () => {
    let body = '';
    const { url, requests } = await serve((request, response) => {
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => response.writeHead(200, { 'X-Two': ['a', 'b'] }).end('{"ok":true}'));
    });
    const response = await outboundWith().send({
      url: `${url}path?query=1#fragment`,
      policy: OPERATOR_POLICY,
      method: 'POST',
      headers: { authorization: 'Bearer t', 'accept-encoding': 'gzip' },
      body: '{"a":1}',
      timeoutMs: 5000,
      maxBytes: 100,
    });
    expect(response.json()).toEqual({ ok: true });
    expect(response.header('x-two')).toBe('a, b');
    expect(response.header('x-none')).toBeUndefined();
    expect(requests[0]).toMatchObject({ method: 'POST', url: '/path?query=1' });
    expect(requests[0]?.headers).toMatchObject({ authorization: 'Bearer t', 'accept-encoding': 'identity' });
    expect(body).toBe('{"a":1}');
  });

  test('a header with a line break is not sent', async () => {
    const { url, requests } = await serve((_request, response) => response.end());
    await expect(
      outboundWith().send({
        url,
        policy: OPERATOR_POLICY,
        headers: { a: 'b\r\nc: d' },
        timeoutMs: 20_000,
        maxBytes: 10,
      }),
    ).rejects.toMatchObject({ reason: 'refused_url' });
    expect(requests).toHaveLength(0);
  });

  test('a proxy of the environment is not used', async () => {
    const proxy = await startCanary();
    const { url, requests } = await serve((_request, response) => response.end());
    const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'];
    const before = names.map((name) => process.env[name]);
    for (const name of names)
      process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : `http://127.0.0.1:${proxy.port}`;
    try {
      expect(await reasonOf(outboundWith(), url)).toBe(200);
    } finally {
      names.forEach((name, at) => {
        const value = before[at];
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      });
    }
    expect(requests).toHaveLength(1);
    expect(proxy.connections()).toBe(0);
  });

  test.each([
    ['no JSON', 'hello'],
    ['cut off', '{"a":'],
    ['empty', ''],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0x22])],
  ])('JSON is read strictly: %s', async (_name, body) => {
    const { url } = await serve((_request, response) => response.end(body));
    const response = await outboundWith().send({ url, policy: OPERATOR_POLICY, timeoutMs: 5000, maxBytes: 100 });
    expect(() => response.json()).toThrow(expect.objectContaining({ reason: 'not_json' }));
  });

  test('no message contains the URL', async () => {
    const outbound = outboundWith();
    for (const url of ['https://127.0.0.1/canary', 'ftp://canary/', 'http://127.0.0.1:1/canary']) {
      const error = await outbound
        .send({ url, policy: { ...ANYWHERE, reach: 'internal' }, timeoutMs: 20_000, maxBytes: 10 })
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(OutboundError);
      expect((error as Error).message).not.toMatch(/canary|127\.0\.0\.1/);
    }
  });
});
