import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { MAX_IDS } from '../../src/catalog/entity-items.ts';
import { KINDS } from '../support/databases.ts';
import { manifestOf } from '../support/exported.ts';
import { Keeper } from '../support/keeper.ts';
import { outcome, useRegistry } from '../support/registry.ts';

const BILLING = `
application: { code: billing, name: Billing }
entities: [{ code: invoice, name: Invoice }]
admins: [nora@example.com]
`;
const ENTITIES = '/api/applications/billing/entities';
const RECORDS = [
  { id: 7, name: 'Paper (2026)' },
  { id: '8', name: 'paper clips', description: 'Small ones.' },
  { id: 'a,b', name: 'Odd' },
  { id: '100%', name: 'Whole' },
];

for (const kind of KINDS) {
  describe(`the records of an entity that are searched for (${kind})`, () => {
    const registry = useRegistry(kind, [BILLING]);
    const nora = registry.as('nora');
    const keeper = new Keeper();
    let port = 0;
    let entity = 0;

    beforeAll(async () => {
      port = await keeper.listen();
      entity = (await nora.get(ENTITIES)).body.data[0].id;
    });
    afterAll(() => keeper.close());
    beforeEach(() => {
      keeper.json(RECORDS);
      keeper.requests.length = 0;
    });

    const here = async (listSearch: boolean, path = '/invoices?open=a%20b'): Promise<void> => {
      const listEndpoint = `http://localhost:${port}${path}`;
      expect((await nora.put(`${ENTITIES}/${entity}`, { listEndpoint, listSearch })).status).toBe(200);
    };
    const items = (query = '', rest = nora) => rest.get(`${ENTITIES}/invoice/items${query}`);
    const asked = () => keeper.requests.map(({ url }) => url);

    describe('of an endpoint that declares it', () => {
      test('a query is passed on as it is, beside what the endpoint has of its own', async () => {
        await here(true);
        const answer = await items(`?q=${encodeURIComponent('A & b=c#d?é')}&cursor=${encodeURIComponent('x y+z/=')}`);
        // Nothing is searched here: the endpoint has answered the question.
        expect([answer.status, answer.body.items.length, answer.body.page]).toEqual([200, 4, { nextCursor: null }]);
        expect(answer.body.endpoint).toBe(`http://localhost:${port}/invoices?open=a%20b`);
        await items('?ids=7,a%252Cb,100%2525');
        await items();
        const [first = '', second = '', third = ''] = asked();
        expect(first).toBe('/invoices?open=a%20b&q=A%20%26%20b%3Dc%23d%3F%C3%A9&cursor=x%20y%2Bz%2F%3D');
        expect(new URL(first, 'http://x').searchParams.get('q')).toBe('A & b=c#d?é');
        expect(new URL(second, 'http://x').searchParams.get('ids')).toBe('7,a%2Cb,100%25');
        expect(third).toBe('/invoices?open=a%20b');
        expect(keeper.requests.every(({ headers }) => headers.authorization?.startsWith('Bearer '))).toBe(true);
      });

      test('an endpoint gets each parameter once', async () => {
        await here(true, '/invoices?q=fixed&x=1');
        await items('?q=mine');
        await items('?cursor=2');
        expect(asked()).toEqual(['/invoices?x=1&q=mine', '/invoices?q=fixed&x=1&cursor=2']);
      });

      test.each<[object, string | null]>([
        [{ items: [{ id: 1 }], nextCursor: 'next' }, 'next'],
        [{ data: [{ id: 1 }], page: { nextCursor: 'deep' } }, 'deep'],
        [{ data: [{ id: 1 }], nextCursor: 12 }, '12'],
        [{ data: [], nextCursor: 'more' }, 'more'],
        [{ data: [{ id: 1 }], nextCursor: null, page: null }, null],
        [{ data: [{ id: 1 }], nextCursor: '' }, null],
        [{ data: [{ id: 1 }], nextCursor: { a: 1 } }, null],
        [[{ id: 1 }], null],
      ])('the next page of %j begins at %j', async (answer, cursor) => {
        await here(true);
        keeper.json(answer);
        expect((await items()).body.page).toEqual({ nextCursor: cursor });
      });

      test.each(['x'.repeat(1001), 'a\nb', '\ud800'])(
        'a cursor that cannot be sent back is 502',
        async (nextCursor) => {
          await here(true);
          keeper.json({ items: [{ id: 1 }], nextCursor });
          const answer = await items();
          expect([...outcome(answer), answer.body.details.reason]).toEqual([502, 'LIST_ENDPOINT_FAILED', 'bad_cursor']);
        },
      );

      test('a query that makes the URL too long is refused by name, and nobody is asked', async () => {
        await here(true);
        for (const [query, path] of [
          [`?ids=${Array.from({ length: 10 }, (_, at) => `${at}${'x'.repeat(250)}`).join(',')}`, 'ids'],
          [`?q=${'é'.repeat(200)}&cursor=${'é'.repeat(200)}`, 'cursor'],
        ] as const) {
          const answer = await items(query);
          expect(outcome(answer)).toEqual([400, 'VALIDATION_FAILED']);
          expect(answer.body.details.issues).toEqual([
            { path, message: 'makes the URL of the list endpoint longer than 2048 characters; send less' },
          ]);
        }
        expect(asked()).toEqual([]);
      });

      test.each([
        '?q=@evil.invalid',
        '?q=//evil.invalid/',
        `?q=${encodeURIComponent('\\..\\..\r\nHost: evil.invalid')}`,
        `?ids=${encodeURIComponent('http://evil.invalid')}`,
        `?cursor=${encodeURIComponent('#@evil.invalid')}`,
      ])('%s cannot lead the request elsewhere', async (query) => {
        await here(true, '/invoices');
        const { status } = await items(query);
        expect([200, 400]).toContain(status);
        const urls = asked().map((url) => new URL(url ?? '', `http://localhost:${port}`));
        expect(urls.map(({ pathname, host }) => [pathname, host])).toEqual(
          urls.map(() => ['/invoices', `localhost:${port}`]),
        );
      });

      test('an unlisted origin is not asked, whatever the query', async () => {
        const listEndpoint = 'https://unlisted.invalid/items';
        expect((await nora.put(`${ENTITIES}/${entity}`, { listEndpoint, listSearch: true })).status).toBe(200);
        const answer = await items('?q=x');
        expect(answer.body.details.reason).toBe('origin_not_allowed');
      });
    });

    describe('of an endpoint that does not', () => {
      const found = async (query: string) => (await items(query)).body.items.map(({ id }: { id: string }) => id);

      test('the whole answer is fetched and searched, as text and in either case', async () => {
        await here(false);
        expect(await found('?q=PAPER')).toEqual(['7', '8']);
        expect(await found('?q=small')).toEqual(['8']);
        expect(await found(`?q=${encodeURIComponent('(2026)')}`)).toEqual(['7']);
        expect(await found('?q=%25')).toEqual(['100%']);
        expect(await found('?q=.')).toEqual(['8']);
        expect(await found('?q=nothing')).toEqual([]);
        expect(new Set(asked())).toEqual(new Set(['/invoices?open=a%20b']));
        expect('page' in (await items('?q=paper')).body).toBe(false);
      });

      test('ids are whole ids, and go together with text', async () => {
        await here(false);
        expect(await found('?ids=8,7,unknown')).toEqual(['7', '8']);
        expect(await found('?ids=a%252Cb,100%2525')).toEqual(['a,b', '100%']);
        expect(await found('?ids=a,b')).toEqual([]);
        expect(await found('?ids=7,8&q=clips')).toEqual(['8']);
      });

      test('a record behind the first 1,000 is found, and more matches than these are marked', async () => {
        await here(false);
        keeper.json(Array.from({ length: 3000 }, (_, id) => ({ id, name: id < 2999 ? 'many' : 'last' })));
        expect(await found('?q=last')).toEqual(['2999']);
        const many = (await items('?q=many')).body;
        expect([many.items.length, many.truncated]).toEqual([1000, true]);
      });

      test('a cursor is refused by name, and nobody is asked', async () => {
        await here(false);
        const answer = await items('?cursor=x');
        expect(outcome(answer)).toEqual([400, 'VALIDATION_FAILED']);
        expect(answer.body.details.issues).toEqual([
          { path: 'cursor', message: expect.stringContaining('listSearch') },
        ]);
        expect(asked()).toEqual([]);
      });
    });

    test.each<[string, string]>([
      ['?q=a&q=b', 'q'],
      [`?q=${'x'.repeat(201)}`, 'q'],
      ['?cursor=', 'cursor'],
      [`?cursor=${'x'.repeat(1001)}`, 'cursor'],
      ['?ids=', 'ids'],
      ['?ids=1,', 'ids'],
      ['?ids=%25zz', 'ids'],
      ['?ids=%2500', 'ids'],
      [`?ids=${'x'.repeat(257)}`, 'ids'],
      [`?ids=${Array.from({ length: MAX_IDS + 1 }, (_, at) => at).join(',')}`, 'ids'],
      ['?limit=1', 'limit'],
    ])('%s is refused by name', async (query, field) => {
      await here(true);
      const answer = await items(query);
      expect(outcome(answer)).toEqual([400, 'VALIDATION_FAILED']);
      expect(answer.body.details.issues.map(({ path }: { path: string }) => path)).toEqual([field]);
      expect(asked()).toEqual([]);
    });

    test('a manifest declares it, and an export says so', async () => {
      const text = BILLING.replace('name: Invoice', 'name: Invoice, listSearch: true');
      await registry.usher.app.manifests.apply(text, { actor: 'cli', prune: true });
      expect((await nora.get(ENTITIES)).body.data[0].listSearch).toBe(true);
      expect((await manifestOf(registry.usher.app.manifests, 'billing')).entities).toEqual([
        { code: 'invoice', name: 'Invoice', listSearch: true },
      ]);
      // A named record is described whole: left out, it is false again.
      await registry.usher.app.manifests.apply(BILLING, { actor: 'cli' });
      expect((await nora.get(ENTITIES)).body.data[0].listSearch).toBe(false);
    });
  });
}
