import { describe, expect, test } from '@jest/globals';
import {
  ADA,
  action,
  BEN,
  BOSS,
  type Endpoint,
  type Facts,
  granted,
  issuesOf,
  ROOT,
  user,
  useService,
} from './point.ts';

/** What AuthZEN's searches find in Usher, in pages, and what they cannot say. */

const MANY = 'many@example.com';
const PEOPLE = Array.from({ length: 25 }, (_, index) => `user${index}@example.com`);
/** Identifiers in the order in which they are listed. */
const IDS = Array.from({ length: 30 }, (_, index) => `${100 + index}`);

const shop: Facts = {
  application: { code: 'shop', name: 'Shop' },
  permissions: [
    { code: 'pages', type: 'tiered' },
    { code: 'pay', type: 'binary' },
  ],
  roles: [{ code: 'reader', permissions: { pages: 'view' } }],
  assignments: [...PEOPLE, ADA].map((email) => ({ email, roles: ['reader'] })),
  overrides: [
    ...IDS.map((id) => ({ ...granted(MANY, 'pages', 'page', id), accessLevel: 'view' })),
    { ...granted(ADA, 'pages', 'page', '100'), accessLevel: 'edit' },
    { ...granted(BEN, 'pay', 'application', 'shop') },
    { ...granted(BEN, 'pay', 'application', 'other') },
  ],
  admins: [BOSS],
};
const strict: Facts = {
  application: { code: 'strict', name: 'Strict', strictCodes: true },
  entities: [{ code: 'page', name: 'Page' }],
  permissions: [{ code: 'read', type: 'binary' }],
};

const PAGES = action('pages');
const EDIT = { name: 'pages', properties: { accessLevel: 'edit' } };
const PAGE = { type: 'page', id: '100' };
const SUBJECTS = { subject: { type: 'user' }, action: PAGES, resource: PAGE };
const RESOURCES = { subject: user(MANY), action: PAGES, resource: { type: 'page' } };
const ACTIONS = { subject: user(ADA), resource: PAGE };
const SEARCHES: [Endpoint, object][] = [
  ['search/subject', SUBJECTS],
  ['search/resource', RESOURCES],
  ['search/action', ACTIONS],
];

describe('searches', () => {
  const service = useService([shop, strict]);

  const ask = (endpoint: Endpoint, body: unknown, headers?: Record<string, string>) =>
    service.ask('shop', endpoint, body, headers);
  const idsOf = (results: { id: string }[]) => results.map(({ id }) => id);

  /** Everything that a search finds, in pages of `limit`. */
  async function all(endpoint: Endpoint, body: object, limit: number): Promise<string[]> {
    const found: string[] = [];
    for (let token: string | undefined; token !== ''; ) {
      const page = token === undefined ? { limit } : { limit, token };
      const answer = await ask(endpoint, { ...body, page });
      expect(answer.status).toBe(200);
      expect(answer.body.page.count).toBe(answer.body.results.length);
      expect(answer.body.results.length).toBeLessThanOrEqual(limit);
      expect(answer.body.context.revision).toBe(answer.headers.get('usher-revision'));
      found.push(...idsOf(answer.body.results));
      token = answer.body.page.next_token as string;
    }
    return found;
  }

  test('a subject search lists everybody once, administrators included, in pages of any size', async () => {
    const everybody = [...PEOPLE, ADA, BOSS, MANY, ROOT].sort();
    for (const limit of [1, 7, 29, 1000, 5_000_000]) {
      expect((await all('search/subject', SUBJECTS, limit)).sort()).toEqual(everybody);
    }
  });

  test('a subject search filters by level, and works without a record', async () => {
    const atLevel = await all('search/subject', { ...SUBJECTS, action: EDIT }, 100);
    expect(atLevel.sort()).toEqual([ADA, BOSS, ROOT]);
    const application = { type: 'application', id: 'shop' };
    const payers = await all('search/subject', { ...SUBJECTS, action: action('pay'), resource: application }, 100);
    // Ben's override is for a record of that name.
    expect(payers.sort()).toEqual([BOSS, ROOT]);
  });

  test('a resource search lists the records of a subject in pages of any size', async () => {
    for (const limit of [1, 11, 30, 10_000, 5_000_000]) {
      expect(await all('search/resource', RESOURCES, limit)).toEqual(IDS);
    }
    expect(await all('search/resource', { ...RESOURCES, action: EDIT }, 10)).toEqual([]);
    expect(await all('search/resource', { ...RESOURCES, subject: user(ADA), action: EDIT }, 10)).toEqual(['100']);
  });

  test('a resource search leaves out a record with the code of the application, which names the application itself', async () => {
    const asked = { subject: user(BEN), action: action('pay'), resource: { type: 'application' } };
    expect(await all('search/resource', asked, 10)).toEqual(['other']);
    const evaluate = (id: string) => ask('evaluation', { ...asked, resource: { type: 'application', id } });
    expect((await evaluate('shop')).body.decision).toBe(false);
    expect((await evaluate('other')).body.decision).toBe(true);
  });

  test.each([ADA, BOSS, ROOT])(
    'a resource search for %s, who can reach all records but some, is refused as UNBOUNDED',
    async (email) => {
      const { status, body } = await ask('search/resource', { ...RESOURCES, subject: user(email) });
      expect([status, body.code, body.details]).toEqual([400, 'BAD_REQUEST', { code: 'UNBOUNDED' }]);
      expect(body.message).toContain('/api/check/resources');
    },
  );

  test('an action search lists all allowed actions, whatever page is requested', async () => {
    const expected = { next_token: '', count: 1 };
    for (const page of [undefined, null, {}, { limit: 1 }, { limit: 500, properties: { sort: 'name' } }]) {
      const { status, body } = await ask('search/action', { ...ACTIONS, page });
      expect([status, body.page, body.results]).toEqual([200, expected, [PAGES]]);
    }
    const boss = await ask('search/action', { ...ACTIONS, subject: user(BOSS) });
    expect(boss.body.results).toEqual([PAGES, action('pay')]);
  });

  test.each([
    ['a subject of another type', { subject: { type: 'service', id: ROOT } }, 'shop'],
    ['an application that does not exist', { subject: user(ADA) }, 'nowhere'],
    ['a resource of a type that cannot be', { subject: user(ADA), resource: { type: 'No type', id: '1' } }, 'shop'],
  ])('a search finds nothing for %s', async (_, more, app) => {
    for (const [endpoint, body] of SEARCHES) {
      const answer = await service.ask(app, endpoint, { ...body, ...more });
      // A SuperAdmin is allowed everything, also where there is no application.
      const found = answer.body.results.filter(({ id }: { id?: string }) => id !== ROOT);
      expect([endpoint, answer.status, found]).toEqual([endpoint, 200, []]);
      expect(answer.body.page.next_token).toBe('');
    }
  });

  test('no search finds a subject of another type, not even a SuperAdmin', async () => {
    for (const [endpoint, body] of SEARCHES) {
      const answer = await ask(endpoint, { ...body, subject: { type: 'robot', id: ROOT } });
      expect(answer.body).toEqual({
        page: { next_token: '', count: 0 },
        context: { revision: answer.headers.get('usher-revision') },
        results: [],
      });
    }
  });

  test.each<[string, unknown, string]>([
    ['a limit of 0', { limit: 0 }, 'page.limit: must be at least 1'],
    ['a limit that is not a whole number', { limit: 1.5 }, 'page.limit: must be a whole number'],
    ['a limit that is text', { limit: '5' }, 'page.limit: must be a number'],
    [
      'an empty token',
      { token: '' },
      'page.token: must not be empty: an empty next_token says that there is no next page',
    ],
    ['a token that is a number', { token: 1 }, 'page.token: must be a string'],
    ['a page that is text', 'next', 'page: must be an object'],
    [
      'a token of its own making',
      { token: 'bm9uc2Vuc2U' },
      'page.token: must be the cursor of the previous page, with the same question',
    ],
    ['a token that is too long', { token: 'x'.repeat(5000) }, expect.stringMatching(/^page\.token: must be /) as never],
  ])('a search is refused: %s', async (_, page, issue) => {
    for (const [endpoint, body] of SEARCHES) {
      const answer = await ask(endpoint, { ...body, page });
      expect([endpoint, answer.status, issuesOf(answer)]).toEqual([endpoint, 400, [issue]]);
    }
  });

  test('a search refuses the page token of another question', async () => {
    const subjects = (await ask('search/subject', { ...SUBJECTS, page: { limit: 1 } })).body.page.next_token;
    const resources = (await ask('search/resource', { ...RESOURCES, page: { limit: 1 } })).body.page.next_token;
    const others: [Endpoint, object, string][] = [
      ['search/subject', { ...SUBJECTS, resource: { type: 'page', id: '101' } }, subjects],
      ['search/subject', { ...SUBJECTS, action: EDIT }, subjects],
      ['search/subject', { ...SUBJECTS, subject: { type: 'robot' } }, subjects],
      ['search/subject', SUBJECTS, resources],
      ['search/resource', { ...RESOURCES, subject: user(BEN) }, resources],
      ['search/resource', { ...RESOURCES, resource: { type: 'leaf' } }, resources],
      ['search/resource', RESOURCES, subjects],
    ];
    for (const [endpoint, body, token] of others) {
      const answer = await ask(endpoint, { ...body, page: { token } });
      expect([answer.status, issuesOf(answer)]).toEqual([
        400,
        ['page.token: must be the cursor of the previous page, with the same question'],
      ]);
    }
  });

  test('a search in a strict application refuses undefined codes', async () => {
    const paths: string[] = [];
    for (const [endpoint, body] of SEARCHES) {
      const { status, body: said } = await service.ask('strict', endpoint, body);
      if (status === 400) paths.push(`${said.details.code} ${said.details.path}`);
    }
    expect(paths).toEqual(['UNKNOWN_CODE action.name', 'UNKNOWN_CODE action.name']);
    const typed = { subject: user(ADA), resource: { type: 'leaf', id: '1' } };
    const { body } = await service.ask('strict', 'search/action', typed);
    expect(body.details).toMatchObject({ code: 'UNKNOWN_CODE', path: 'resource.type' });
  });

  test('a search is as fresh as a given revision, and an unknown revision is refused', async () => {
    for (const [endpoint, body] of SEARCHES) {
      const revision = (await ask(endpoint, body)).headers.get('usher-revision') ?? '';
      expect((await ask(endpoint, body, { 'usher-min-revision': revision })).status).toBe(200);
      const answer = await ask(endpoint, body, { 'usher-min-revision': 'never' });
      expect([answer.status, answer.body.details.code]).toEqual([400, 'UNKNOWN_REVISION']);
    }
  });

  test("a resource search starts over when the subject's access changed between two pages", async () => {
    const first = await ask('search/resource', { ...RESOURCES, page: { limit: 5 } });
    await service.apply({
      ...shop,
      overrides: [...(shop.overrides ?? []), { ...granted(MANY, 'pages', 'page', '999'), accessLevel: 'view' }],
    });
    const token = first.body.page.next_token;
    const { status, body } = await ask('search/resource', { ...RESOURCES, page: { limit: 5, token } });
    expect([status, body.details]).toEqual([409, { code: 'LIST_CHANGED' }]);
    expect(await all('search/resource', RESOURCES, 10)).toEqual([...IDS, '999']);
  });
});
