import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { bare, successDataWithProgress } from '../../src/gateway/route/envelopes.ts';
import { open } from '../../src/gateway/route/guards.ts';
import { answer, defineRoute } from '../../src/gateway/route/route.ts';
import { gatewayRoutes } from '../../src/gateway/routes.ts';
import { exampleRoutes } from './example-routes.ts';
import { useWorld } from './fixture.ts';

const TEXT = 'žluťoučký kůň '.repeat(500);
const shared = { method: 'get', tag: 'Operations', guard: open, envelope: bare, status: 200 } as const;

const world = useWorld({
  routes: [
    ...exampleRoutes,
    defineRoute({
      ...shared,
      path: '/t/large',
      operation: 'tried1',
      summary: 'Much',
      headers: ['if-none-match'],
      response: z.string(),
      handle: () => answer(TEXT, { etag: 'v7', revision: '41' }),
    }),
    defineRoute({
      ...shared,
      path: '/t/bytes/:count',
      operation: 'tried2',
      summary: 'So many bytes of JSON',
      params: z.strictObject({ count: z.coerce.number() }),
      response: z.string(),
      handle: (_services, { params }) => 'x'.repeat(params.count - 2),
    }),
    defineRoute({
      ...shared,
      path: '/t/secret',
      operation: 'tried3',
      summary: 'Much, with a token',
      holdsSecret: true,
      response: z.string(),
      handle: () => answer(TEXT, { etag: 'v7' }),
    }),
    defineRoute({
      ...shared,
      path: '/t/lines',
      operation: 'tried4',
      summary: 'Much, behind progress',
      envelope: successDataWithProgress,
      response: z.string(),
      handle: async (_services, { progress }) => {
        progress(1, 1);
        await Promise.resolve();
        return TEXT;
      },
    }),
  ],
});

interface Raw {
  status: number | undefined;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** One request whose body is not decompressed. */
function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Raw> {
  const { promise, resolve, reject } = Promise.withResolvers<Raw>();
  request(world.url + path, { method, headers, agent: false }, (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('end', () => {
      resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) });
    });
    response.on('error', reject);
  })
    .on('error', reject)
    .end();
  return promise;
}

describe('compression of answers', () => {
  test.each([
    ['br', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['br;q=0, gzip', 'gzip', gunzipSync],
    ['*', 'br', brotliDecompressSync],
  ])('a caller with `Accept-Encoding: %s` gets %s', async (accept, coding, unpack) => {
    const { status, headers, body } = await ask('/t/large', { 'accept-encoding': accept });
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-encoding': coding,
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(body.length),
      etag: '"v7"',
      'usher-revision': '41',
    });
    expect(headers.vary).toMatch(/accept-encoding/i);
    expect(body.length).toBeLessThan(1024);
    expect(JSON.parse(unpack(body).toString())).toBe(TEXT);
  });

  test.each([['identity'], ['deflate'], ['br;q=0, gzip;q=0'], ['*;q=0'], [undefined]])(
    'a caller with `Accept-Encoding: %s` gets the body as it is',
    async (accept) => {
      const { headers, body } = await ask('/t/large', accept === undefined ? {} : { 'accept-encoding': accept });
      expect(headers['content-encoding']).toBeUndefined();
      expect(headers.vary).toMatch(/accept-encoding/i);
      expect(headers['content-length']).toBe(String(body.length));
      expect(JSON.parse(body.toString())).toBe(TEXT);
    },
  );

  test('HEAD has the headers of GET and no body', async () => {
    const got = await ask('/t/large', { 'accept-encoding': 'br' });
    const head = await ask('/t/large', { 'accept-encoding': 'br' }, 'HEAD');
    const same = ['content-encoding', 'content-length', 'content-type', 'etag', 'vary'];
    for (const name of same) expect([name, head.headers[name]]).toEqual([name, got.headers[name]]);
    expect(head.body.length).toBe(0);
  });

  test('a caller that has the state gets 304, whatever the coding of what it has', async () => {
    const { status, headers, body } = await ask('/t/large', { 'accept-encoding': 'br', 'if-none-match': '"v7"' });
    expect([status, body.length, headers['content-encoding']]).toEqual([304, 0, undefined]);
    expect(headers).toMatchObject({ etag: '"v7"', vary: expect.stringMatching(/accept-encoding/i) });
  });

  test('an answer of 1 KiB stays as it is, and one of a byte more is compressed', async () => {
    const accept = { 'accept-encoding': 'gzip' };
    const small = await ask('/t/bytes/1024', accept);
    expect([small.headers['content-encoding'], small.body.length]).toEqual([undefined, 1024]);
    expect(String(small.headers.vary)).not.toMatch(/accept-encoding/i);
    expect((await ask('/t/bytes/1025', accept)).headers['content-encoding']).toBe('gzip');
  });

  test('answers with secrets, streams and progress lines are never compressed', async () => {
    const accept = { 'accept-encoding': 'br, gzip', accept: 'application/x-ndjson' };
    for (const path of ['/t/secret', '/t/stream', '/t/lines']) {
      const { status, headers, body } = await ask(path, accept);
      expect([path, status, headers['content-encoding']]).toEqual([path, 200, undefined]);
      expect(String(headers.vary)).not.toMatch(/accept-encoding/i);
      expect(body.length).toBeGreaterThan(0);
    }
  });

  test('the routes whose answers hold tokens say so', () => {
    const secret = gatewayRoutes({ production: false }).filter(({ holdsSecret }) => holdsSecret);
    expect(secret.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual([
      'get /api/idp/callback',
      'get /api/notifications/unsubscribe',
      'get /dev/mail',
      'get /dev/mail/:id',
      'post /api/notifications/unsubscribe',
      'post /dev/sign-in',
    ]);
  });

  test('a caller that leaves while its answer is compressed harms nobody', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const call = request(`${world.url}/t/large`, { headers: { 'accept-encoding': 'br' }, agent: false });
    call.on('error', () => resolve());
    // On a busy machine all of it may have come before it leaves.
    call.on('close', () => resolve());
    call.end();
    await sleep(1);
    call.destroy();
    await promise;
    expect((await ask('/t/large', { 'accept-encoding': 'br' })).status).toBe(200);
  });
});
