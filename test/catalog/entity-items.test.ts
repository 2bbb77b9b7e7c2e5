import type { RequestListener } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readItems } from '../../src/catalog/entity-items.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { Keeper } from '../support/keeper.ts';
import { Rest, type RestAnswer } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const ENTITIES = '/api/applications/billing/entities';
const outcome = ({ status, body }: RestAnswer): unknown[] => [status, body?.details?.code, body?.details?.reason];

describe('the records of an entity', () => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let root: Rest;
  let nora: Rest;
  let entity = 0;
  let port = 0;
  const keeper = new Keeper();

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    usher = await startUsher(storage, {
      env: { ENTITIES_ALLOWED_ORIGINS: 'https://listed.invalid,http://169.254.169.254' },
    });
    root = await Rest.as(usher, 'admin@example.com');
    nora = await Rest.as(usher, 'nora@example.com');
    port = await keeper.listen();
    await usher.app.manifests.apply(
      `application: { code: billing, name: Billing }
entities: [{ code: invoice, name: Invoice }]
admins: [nora@example.com]`,
      { actor: 'cli' },
    );
    entity = (await nora.get(ENTITIES)).body.data[0].id;
  }, 60_000);
  afterAll(async () => {
    await keeper.close();
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  const endpoint = async (listEndpoint: string | null): Promise<void> => {
    expect((await nora.put(`${ENTITIES}/${entity}`, { listEndpoint })).status).toBe(200);
  };
  const here = (path = '/invoices?open=1') => endpoint(`http://localhost:${port}${path}`);
  const items = (rest = nora) => rest.get(`${ENTITIES}/invoice/items`);

  test("entity items are requested with the caller's token, and returned bare", async () => {
    await here();
    keeper.requests.length = 0;
    keeper.json([
      { id: 7, name: 'Seven', description: 'The seventh.' },
      { code: 'c-1', title: 'By code' },
      { uuid: 'u-1', label: 'By uuid' },
      { id: 'bare' },
    ]);
    const answer = await items();
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        entityCode: 'invoice',
        endpoint: `http://localhost:${port}/invoices?open=1`,
        items: [
          { id: '7', label: 'Seven', description: 'The seventh.' },
          { id: 'c-1', label: 'By code', description: null },
          { id: 'u-1', label: 'By uuid', description: null },
          { id: 'bare', label: 'bare', description: null },
        ],
      },
    ]);
    const [request] = keeper.requests;
    expect([request?.method, request?.url]).toEqual(['GET', '/invoices?open=1']);
    const { authorization = '' } = request?.headers ?? {};
    const claims = JSON.parse(Buffer.from(authorization.split('.')[1] ?? '', 'base64url').toString());
    expect([authorization.startsWith('Bearer '), claims.email]).toEqual([true, 'nora@example.com']);
  });

  test.each(['data', 'items', 'results'])('entity items are found in an envelope (%s)', async (name) => {
    await here();
    keeper.json({ success: true, [name]: [{ id: 'a', name: 'A' }] });
    expect((await items()).body.items).toEqual([{ id: 'a', label: 'A', description: null }]);
  });

  test('entity items beyond 1,000 are cut off, and the answer is marked as truncated', async () => {
    await here();
    const many = (count: number) => Array.from({ length: count }, (_, id) => ({ id }));
    keeper.json(many(1000));
    const whole = (await items()).body;
    expect([whole.items.length, 'truncated' in whole]).toEqual([1000, false]);
    keeper.json({ data: many(1001) });
    const cut = (await items()).body;
    expect([cut.items.length, cut.items[999].id, cut.truncated]).toEqual([1000, '999', true]);
  });

  test("an entity item's number beyond a double keeps its digits", async () => {
    await here();
    keeper.json('[{"id": 9007199254740993, "name": 12345678901234567890}, {"id": 1.5}]');
    expect((await items()).body.items).toEqual([
      { id: '9007199254740993', label: '12345678901234567890', description: null },
      { id: '1.5', label: '1.5', description: null },
    ]);
  });

  test('viewers of the application read entity items, and unknown entities and missing endpoints are 404', async () => {
    await here();
    keeper.requests.length = 0;
    expect((await items(await Rest.as(usher))).status).toBe(401);
    expect((await items(await Rest.as(usher, 'ben@example.com'))).status).toBe(403);
    expect(keeper.requests).toEqual([]);
    expect((await nora.get(`${ENTITIES}/unknown/items`)).status).toBe(404);
    expect((await root.get('/api/applications/unknown/entities/invoice/items')).status).toBe(404);
    await endpoint(null);
    expect(outcome(await items())).toEqual([404, 'NO_LIST_ENDPOINT', undefined]);
  });

  test.each<[string, RequestListener, string]>([
    ['a redirect', (_q, a) => a.writeHead(302, { location: '/elsewhere' }).end(), 'redirected'],
    ['an error', (_q, a) => a.writeHead(500).end('[]'), 'bad_status'],
    ['not found', (_q, a) => a.writeHead(404).end('[]'), 'bad_status'],
    ['no JSON', (_q, a) => a.end('<html>'), 'not_json'],
    ['what is nested too deep', (_q, a) => a.end(`${'['.repeat(400_000)}${']'.repeat(400_000)}`), 'not_json'],
    ['no list', (_q, a) => a.end('{"data": {"id": 1}}'), 'not_a_list'],
    ['null', (_q, a) => a.end('null'), 'not_a_list'],
    ['a list of nothing that has an id', (_q, a) => a.end('[1, "a", {"name": "x"}]'), 'not_a_list'],
    ['a hang-up', (q) => q.socket.destroy(), 'unreachable'],
    ['one byte over 1 MiB', (_q, a) => a.end(`["${'x'.repeat(1024 * 1024 - 3)}"]`), 'too_large'],
  ])('a failing list endpoint is 502 with a reason: %s', async (_name, answer, reason) => {
    await here();
    keeper.answer = answer;
    expect(outcome(await items())).toEqual([502, 'LIST_ENDPOINT_FAILED', reason]);
  });

  test('an entity list of 1 MiB is accepted', async () => {
    await here();
    const head = '[{"id":1,"name":"';
    keeper.answer = (_request, response) => response.end(`${head}${'x'.repeat(1024 * 1024 - head.length - 3)}"}]`);
    expect((await items()).status).toBe(200);
  });

  test('an entity list endpoint that is silent for 5 seconds is 502', async () => {
    await here();
    keeper.answer = () => undefined;
    const begun = performance.now();
    expect(outcome(await items())).toEqual([502, 'LIST_ENDPOINT_FAILED', 'timeout']);
    expect(performance.now() - begun).toBeLessThan(8000);
  }, 20_000);

  test.each([
    'http://10.0.0.1/items',
    'https://unlisted.invalid/items',
    'http://listed.invalid/items',
    'https://listed.invalid:8443/items',
    'http://[::ffff:10.0.0.1]/items',
    'http://localhost.evil.invalid/items',
  ])('no request goes to the unlisted origin %s', async (url) => {
    await endpoint(url);
    const answer = await items();
    expect(outcome(answer)).toEqual([502, 'LIST_ENDPOINT_FAILED', 'origin_not_allowed']);
    expect(answer.body.message).toContain('entities.allowedOrigins');
  });

  test.each([
    ['https://listed.invalid/items', 'unreachable'],
    ['http://169.254.169.254/latest/meta-data', 'refused_address'],
    ['http://127.0.0.1:1/items', 'unreachable'],
  ])('%s cannot be reached: %s', async (url, reason) => {
    await endpoint(url);
    expect(outcome(await items())).toEqual([502, 'LIST_ENDPOINT_FAILED', reason]);
  });
});

describe('the fields of an entity item', () => {
  test.each<[unknown, unknown]>([
    [
      { id: '', code: 'c' },
      { id: 'c', label: 'c', description: null },
    ],
    [
      { id: null, uuid: 'u', name: null, title: 't' },
      { id: 'u', label: 't', description: null },
    ],
    [
      { id: 0, name: '', label: 3, description: 4 },
      { id: '0', label: '3', description: null },
    ],
    [{ id: { a: 1 }, code: true, uuid: ['x'] }, null],
    [{ id: 'x'.repeat(257) }, null],
    [{ id: 'a\nb' }, null],
    [JSON.parse('{"__proto__": {"id": "p"}}'), null],
    ['text', null],
    [null, null],
  ])('an entity item is read from %j', async (record, item) => {
    expect((await readItems([{ id: 'first' }, record])).slice(1)).toEqual(item === null ? [] : [item]);
  });
});
