import { describe, expect, test } from '@jest/globals';
import {
  ALICE,
  action,
  BOB,
  binary,
  decisionsOf,
  type Endpoint,
  type Facts,
  granted,
  user,
  useService,
} from './point.ts';

/** The examples of the OpenID Authorization API 1.0. */

const standard: Facts = {
  application: { code: 'standard', name: 'Standard' },
  permissions: binary('can_read', 'can_edit', 'read'),
  overrides: [
    granted(ALICE, 'can_read', 'account', '123'),
    granted(ALICE, 'can_read', 'account', '456'),
    granted(ALICE, 'can_read', 'account', '789'),
    granted(ALICE, 'can_edit', 'account', '123'),
    granted(BOB, 'can_read', 'account', '123'),
    granted(ALICE, 'can_read', 'document', 'boxcarring.md'),
    granted(ALICE, 'can_read', 'document', 'subject-search.md'),
    granted(ALICE, 'can_edit', 'document', 'resource-search.md'),
    granted(ALICE, 'read', 'document', '1'),
    granted(ALICE, 'read', 'document', '3'),
    granted(BOB, 'read', 'document', '2'),
  ],
};

const service = useService([standard]);

const document = (id: string) => ({ type: 'document', id });
const TIME = { time: '2024-05-31T15:22-07:00' };

describe('the examples of the standard', () => {
  const ask = (endpoint: Endpoint, body: unknown) => service.ask('standard', endpoint, body);

  test('an evaluation with an action that has properties, and a context', async () => {
    const { status, headers, body } = await ask('evaluation', {
      subject: user(ALICE),
      resource: { type: 'account', id: '123' },
      action: { name: 'can_read', properties: { method: 'GET' } },
      context: { time: '1985-10-26T01:22-07:00' },
    });
    const revision = headers.get('usher-revision');
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(body).toEqual({ decision: true, context: { source: 'override', access_level: 'allowed', revision } });
  });

  const full = (name: string, id: string) => ({ subject: user(ALICE), action: action(name), resource: document(id) });

  test.each<[string, object, boolean[]]>([
    [
      'without defaults',
      {
        evaluations: ['boxcarring.md', 'subject-search.md', 'resource-search.md'].map((id) => {
          return { ...full('can_read', id), context: TIME };
        }),
      },
      [true, true, false],
    ],
    [
      'of one subject and one context',
      {
        subject: user(ALICE),
        context: TIME,
        evaluations: ['boxcarring.md', 'subject-search.md', 'resource-search.md'].map((id) => {
          return { action: action('can_read'), resource: document(id) };
        }),
      },
      [true, true, false],
    ],
    [
      'with a default action that the third overrides',
      {
        subject: user(ALICE),
        context: TIME,
        action: action('can_read'),
        evaluations: [
          { resource: document('boxcarring.md') },
          { resource: document('subject-search.md') },
          { action: action('can_edit'), resource: document('resource-search.md') },
        ],
      },
      [true, true, true],
    ],
    [
      'about a subject of a type that nobody knows, with an option that nobody knows',
      {
        evaluations: [
          { action: action('read'), resource: { type: 'doc', id: '1' }, subject: { type: 'doc', id: '2' } },
        ],
        options: { evaluations_semantic: 'execute_all', another_option: 'value' },
      },
      [false],
    ],
  ])('evaluations %s', async (_, body, expected) => {
    const answer = await ask('evaluations', body);
    expect([answer.status, decisionsOf(answer.body)]).toEqual([200, expected]);
  });

  test.each([
    ['execute_all', ALICE, [true, false, true]],
    [undefined, ALICE, [true, false, true]],
    ['deny_on_first_deny', ALICE, [true, false]],
    ['permit_on_first_permit', ALICE, [true]],
    ['deny_on_first_deny', BOB, [false]],
    ['permit_on_first_permit', BOB, [false, true]],
    ['permit_on_first_permit', 'nobody@example.com', [false, false, false]],
  ])('three documents are evaluated by %s for %s as in the standard', async (semantic, email, expected) => {
    const { status, body } = await ask('evaluations', {
      subject: user(email),
      action: action('read'),
      ...(semantic === undefined ? {} : { options: { evaluations_semantic: semantic } }),
      evaluations: ['1', '2', '3'].map((id) => ({ resource: document(id) })),
    });
    expect([status, decisionsOf(body)]).toEqual([200, expected]);
    expect(Object.keys(body)).toEqual(['evaluations']);
  });

  test('the three searches answer as in the standard', async () => {
    const context = { time: '2024-10-26T01:22-07:00' };
    const account = { type: 'account', id: '123' };
    const resultsOf = async (endpoint: Endpoint, body: unknown) => {
      const answer = await ask(endpoint, body);
      expect([answer.status, Object.keys(answer.body)]).toEqual([200, ['page', 'context', 'results']]);
      return answer.body.results;
    };
    const subjects = await resultsOf('search/subject', {
      subject: { type: 'user' },
      action: action('can_read'),
      resource: account,
      context,
    });
    expect(subjects).toEqual(expect.arrayContaining([user(ALICE), user(BOB)]));
    const resources = { subject: user(ALICE), action: action('can_read'), resource: { type: 'account' } };
    const accounts = ['123', '456', '789'].map((id) => ({ type: 'account', id }));
    expect(await resultsOf('search/resource', resources)).toEqual(accounts);
    const actions = { subject: user(ALICE), resource: account, context };
    expect(await resultsOf('search/action', actions)).toEqual([action('can_edit'), action('can_read')]);
  });

  test('a search returns three results in pages of two, the second page without a limit', async () => {
    const asked = { subject: user(ALICE), action: action('can_read'), resource: { type: 'account' } };
    const first = await ask('search/resource', { ...asked, page: { limit: 2 } });
    expect(first.body.page).toEqual({ next_token: expect.stringMatching(/./), count: 2 });
    const second = await ask('search/resource', { ...asked, page: { token: first.body.page.next_token } });
    expect(second.body.page).toEqual({ next_token: '', count: 1 });
    const found = [...first.body.results, ...second.body.results].map((one: { id: string }) => one.id);
    expect(found).toEqual(['123', '456', '789']);
  });
});
