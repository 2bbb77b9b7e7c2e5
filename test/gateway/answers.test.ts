import { describe, expect, test } from '@jest/globals';
import { exampleRoutes, waiting } from './example-routes.ts';
import { ask, CHECK_KEY, errorShape, useWorld } from './fixture.ts';

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

describe('HTTP answers', () => {
  test('a creation is 201 with Location and revision, or the other documented status', async () => {
    const made = await ask(`${world.url}/t/things`, { body: { name: 'a' }, headers: keyed });
    expect(made).toMatchObject({ status: 201, json: { success: true, data: { name: 'a' } } });
    expect(made.headers.get('location')).toBe('/t/things/7');
    expect(made.headers.get('usher-revision')).toBe('41');
    expect((await ask(`${world.url}/t/things`, { body: { name: 'again' }, headers: keyed })).status).toBe(200);
  });

  test('a deletion is 204 without a body, with the revision', async () => {
    const gone = await ask(`${world.url}/t/things/7`, {
      method: 'DELETE',
      headers: { authorization: await world.bearer(admin) },
    });
    expect(gone).toMatchObject({ status: 204, text: '' });
    expect(gone.headers.get('usher-revision')).toBe('42');
    expect(gone.headers.get('content-type')).toBeNull();
  });

  test('every answer has the security headers, and is not to be stored', async () => {
    for (const path of ['/t/things/7', '/t/nothing', '/t/me', '/t/things']) {
      const { headers } = await ask(`${world.url}${path}`);
      expect(Object.fromEntries(headers)).toMatchObject({
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
        'x-request-id': expect.any(String),
      });
      expect(headers.get('x-powered-by')).toBeNull();
      expect(headers.get('set-cookie')).toBeNull();
    }
  });

  test('etags are quoted, envelopes may add headers, and routes may set caching', async () => {
    expect((await ask(`${world.url}/t/things/7`)).headers.get('etag')).toBe('"v1"');
    const page = await ask(`${world.url}/t/text`);
    expect(page).toMatchObject({ status: 200, text: 'žluťoučký' });
    expect(page.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(page.headers.get('cache-control')).toBe('public, max-age=60');
    expect(page.headers.get('x-own')).toBe('yes');
  });

  test('HEAD is GET without the body', async () => {
    const head = await ask(`${world.url}/t/things/7`, { method: 'HEAD' });
    const got = await ask(`${world.url}/t/things/7`);
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(head.headers.get('content-length')).toBe(String(got.text.length));
    expect((await ask(`${world.url}/t/stream`, { method: 'HEAD' })).text).toBe('');
    expect((await ask(`${world.url}/t/things`, { method: 'HEAD' })).status).toBe(405);
  });

  test('a stream arrives piece by piece', async () => {
    const reply = await ask(`${world.url}/t/stream`);
    expect(reply.headers.get('content-type')).toBe('application/x-ndjson');
    expect(reply.text).toBe('1\n2\n');
  });

  test('only clients that accept progress get it, from the same handler', async () => {
    const send = (query: string, accept?: string) =>
      fetch(`${world.url}/t/long${query}`, {
        method: 'POST',
        body: 'a: 1',
        headers: { 'content-type': 'application/yaml', ...(accept === undefined ? {} : { accept }) },
      });
    const data = { bytes: 4, media: 'application/yaml' };
    expect(await (await send('')).json()).toEqual({ success: true, data });

    const lines = (await (await send('', 'application/x-ndjson')).text())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toEqual([
      { progress: { done: 1, total: 2 } },
      { progress: { done: 2, total: 2 } },
      { success: true, data },
    ]);

    const early = await send('?fail=1', 'application/x-ndjson');
    expect(early.status).toBe(400);
    expect(await early.json()).toMatchObject({ success: false, details: { code: 'UNKNOWN_REFERENCE' } });

    const late = await send('?late=1', 'application/x-ndjson');
    const last = (await late.text()).trimEnd().split('\n').at(-1) ?? '';
    expect(JSON.parse(last)).toMatchObject({
      success: false,
      code: 'BAD_REQUEST',
      requestId: late.headers.get('x-request-id'),
    });
    expect((await send('?late=1')).status).toBe(400);
  });

  test('internal details stay in the log', async () => {
    const reply = await ask(`${world.url}/t/broken`, { method: 'POST' });
    expect(reply).toMatchObject(errorShape(500, 'INTERNAL'));
    expect(reply.text).not.toMatch(/secret|vault|passwd|at .*\.ts/);
    const logged = world.lines.find((line) => line.requestId === reply.json.requestId && line.msg === 'request failed');
    expect(JSON.stringify(logged)).toContain('vault');
  });

  test('a deadline is 503 UNAVAILABLE, and aborts the handler', async () => {
    const reply = await ask(`${world.url}/t/wait`);
    expect(reply).toMatchObject(errorShape(503, 'UNAVAILABLE'));
    expect(waiting.current?.signal.aborted).toBe(true);
    waiting.current?.release();
  });

  test('a change at its deadline is reported as unknown', async () => {
    const reply = await ask(`${world.url}/t/wait`, { method: 'PUT' });
    expect(reply).toMatchObject(errorShape(503, 'UNAVAILABLE', 'OUTCOME_UNKNOWN'));
  });

  test('a signal requested after the end is already aborted', async () => {
    await ask(`${world.url}/t/wait`, { method: 'PUT' });
    expect(waiting.givenUp?.()).toBe(true);
    waiting.givenUp = null;
    const leave = new AbortController();
    const gone = fetch(`${world.url}/t/wait`, { method: 'PUT', signal: leave.signal }).catch(() => 'gone');
    const lines = world.lines.length;
    while (waiting.givenUp === null) await new Promise((resolve) => setImmediate(resolve));
    leave.abort();
    await gone;
    while (!world.lines.slice(lines).some(({ status }) => status === 499)) await new Promise(setImmediate);
    expect((waiting.givenUp as () => boolean)()).toBe(true);
    // A defect is written down though nobody is there to be told.
    waiting.fail();
    await new Promise(setImmediate);
    expect(world.lines.slice(lines)).toContainEqual(expect.objectContaining({ msg: 'request failed', level: 'error' }));
  });

  test('a caller that leaves aborts the handler', async () => {
    waiting.current = null;
    const leave = new AbortController();
    const gone = fetch(`${world.url}/t/wait`, { signal: leave.signal }).catch((error: Error) => error.name);
    const { signal, release } = await waiting.arrived();
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
    leave.abort();
    expect(await gone).toBe('AbortError');
    await aborted;
    expect((signal.reason as Error).name).toBe('CallerGone');
    release();
  });
});

describe('request ids', () => {
  test.each(['abcdefgh', 'A-Z.0_9-x', 'x'.repeat(64)])('the request id %s is kept', async (id) => {
    const reply = await ask(`${world.url}/t/nothing`, { headers: { 'x-request-id': id } });
    expect([reply.headers.get('x-request-id'), reply.json.requestId]).toEqual([id, id]);
  });

  test.each(['short', 'x'.repeat(65), 'has space', 'semi;colon', '<script>alert'])(
    'the request id %s is replaced',
    async (id) => {
      const reply = await ask(`${world.url}/t/nothing`, { headers: { 'x-request-id': id } });
      expect(reply.headers.get('x-request-id')).not.toBe(id);
      expect(reply.json.requestId).toBe(reply.headers.get('x-request-id'));
    },
  );
});

describe('log and metrics', () => {
  test('each request logs one line by pattern, without address, token, key or query', async () => {
    const before = world.lines.length;
    const authorization = await world.bearer('jana@example.com');
    await ask(`${world.url}/t/me?email=jana%40example.com&token=${authorization.slice(7, 40)}`, {
      headers: { authorization },
    });
    await ask(`${world.url}/t/things/jana%40example.com`);
    await ask(`${world.url}/jana@example.com`);
    await ask(`${world.url}/t/things`, { body: { name: 'a' }, headers: keyed });
    const count = () => world.lines.slice(before).filter((line) => line.msg === 'request');
    while (count().length < 4) await new Promise((resolve) => setImmediate(resolve));
    expect(count().map(({ route, status, caller }) => [route, status, caller])).toEqual([
      ['/t/me', 400, 'user'],
      ['/t/things/:id', 400, null],
      ['unmatched', 404, null],
      ['/t/things', 201, 'key:shop'],
    ]);
    const text = JSON.stringify(world.lines.slice(before));
    for (const secret of ['jana', CHECK_KEY, authorization.slice(7, 40)]) expect(text).not.toContain(secret);
  });

  test('requests are counted by pattern and status', async () => {
    await ask(`${world.url}/t/nothing`);
    const metrics = await ask(`${world.opsUrl}/metrics`);
    expect(metrics.text).toMatch(/usher_http_requests_total\{method="GET",route="unmatched",status="404"\} \d+/);
    expect(metrics.text).toMatch(
      /usher_http_request_duration_seconds_bucket\{le="0.01",method="GET",route="\/t\/me"\} \d+/,
    );
    expect(metrics.text).not.toContain('@');
  });
});
