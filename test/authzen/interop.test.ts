import { beforeAll, describe, expect, test } from '@jest/globals';
import { action, type Endpoint, keepAccount, user, useService } from './point.ts';
import { ACCOUNTS, type Case, GATEWAY, NAMES, publishedCases, RECORDS, SEARCH, TODO } from './scenarios.ts';

/** The interoperability scenarios of AuthZEN as they are published, subjects by `sub` (docs/reference/authzen.md#subjects). */

/** Each suite with its number of cases. */
const SUITES: [name: string, app: string, endpoint: Endpoint, cases: number][] = [
  ['todo-1.0-00', 'todo', 'evaluation', 40],
  ['todo-1.0-01', 'todo', 'evaluation', 40],
  ['todo-1.0-02', 'todo', 'evaluation', 40],
  ['todo-1.0-02-evaluations', 'todo', 'evaluations', 3],
  ['gateway', 'gateway', 'evaluation', 25],
  ['search-subject', 'search', 'search/subject', 60],
  ['search-resource', 'search', 'search/resource', 18],
  ['search-action', 'search', 'search/action', 120],
  ['idp', 'search', 'search/resource', 6],
];

interface Decision {
  decision: boolean;
}
interface Result {
  type?: string;
  id?: string;
  name?: string;
}
const inOrder = (results: Result[]) => results.map((one) => JSON.stringify(one)).toSorted();

describe('the interoperability scenarios', () => {
  // The scenarios of search say `user` and mean accounts.
  const service = useService([TODO, GATEWAY, SEARCH], { AUTHZEN_ACCOUNT_TYPES: 'user,identity' });

  beforeAll(async () => {
    for (const [email, sub] of ACCOUNTS) await keepAccount(service, email, sub);
  });

  /** What was answered and what is published, in the same form. A decision may have a `context`, and results have no order. */
  async function compared(app: string, endpoint: Endpoint, { request, expected }: Case): Promise<[unknown, unknown]> {
    const { status, body } = await service.ask(app, endpoint, request);
    if (status !== 200) return [status, 200];
    if (endpoint === 'evaluation') return [body.decision, expected];
    if (endpoint === 'evaluations') return [body.evaluations.map(({ decision }: Decision) => ({ decision })), expected];
    return [inOrder(body.results), inOrder((expected as { results: Result[] }).results)];
  }

  test.each(SUITES)('%s is answered as published', async (name, app, endpoint, count) => {
    const cases = publishedCases(name);
    expect(cases).toHaveLength(count);
    for (const one of cases) {
      const [said, expected] = await compared(app, endpoint, one);
      expect([one.request, said]).toEqual([one.request, expected]);
    }
  });

  test('a search names exactly the results that an evaluation allows', async () => {
    const reached = publishedCases('search-resource');
    const evaluations = NAMES.flatMap((person) =>
      RECORDS.map((id) => ({ subject: user(person), resource: { type: 'record', id } })),
    );
    for (const name of ['view', 'edit', 'delete']) {
      const { body } = await service.ask('search', 'evaluations', { action: action(name), evaluations });
      const allowed = evaluations.filter((_, index) => body.evaluations[index].decision);
      const published = reached
        .filter(({ request }) => (request.action as { name: string }).name === name)
        .flatMap(({ request, expected }) =>
          (expected as { results: Result[] }).results.map((resource) => ({ subject: request.subject, resource })),
        );
      expect(new Set(allowed.map((one) => JSON.stringify(one)))).toEqual(
        new Set(published.map((one) => JSON.stringify(one))),
      );
    }
  });

  test.each([
    ['somebody whom nobody knows', { subject: user('nobody@example.com'), action: action('view') }],
    ['an action that nobody defines', { subject: user('alice'), action: action('shred') }],
    ['an account that nobody has', { subject: user('mallory'), action: action('view') }],
  ])('a search for %s is empty', async (_, asked) => {
    const { status, body } = await service.ask('search', 'search/resource', { ...asked, resource: { type: 'record' } });
    expect([status, body.results, body.page]).toEqual([200, [], { next_token: '', count: 0 }]);
  });
});
