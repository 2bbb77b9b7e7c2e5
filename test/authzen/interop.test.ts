import { beforeAll, describe, expect, test } from '@jest/globals';
import { action, binary, type Facts, granted, identity, keepAccount, user, useService } from './point.ts';

/**
 * The scenarios of the AuthZEN interoperability events, from their tables of facts. Usher knows people by e-mail address, and what
 * the scenarios' policies compute from attributes (an owner, a department) stands here as roles and overrides.
 */

// ---- the todo application ----

const RICK = 'rick@the-citadel.com';
const MORTY = 'morty@the-citadel.com';
const SUMMER = 'summer@the-smiths.com';
const BETH = 'beth@the-smiths.com';
const JERRY = 'jerry@the-smiths.com';
const TODO_OF: Record<string, string> = {
  [MORTY]: '7240d0db-8ff0-41ec-98b2-34a096273b91',
  [RICK]: '7240d0db-8ff0-41ec-98b2-34a096273b92',
  [SUMMER]: '7240d0db-8ff0-41ec-98b2-34a096273b93',
  [BETH]: '7240d0db-8ff0-41ec-98b2-34a096273b94',
  [JERRY]: '7240d0db-8ff0-41ec-98b2-34a096273b95',
};
/** The accounts of the scenario's provider. */
const SUB_OF: Record<string, string> = {
  [RICK]: 'CiRmZDA2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs',
  [MORTY]: 'CiRmZDE2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs',
  [SUMMER]: 'CiRmZDI2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs',
  [BETH]: 'CiRmZDM2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs',
  [JERRY]: 'CiRmZDQ2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs',
};
const ROLES_OF: Record<string, string[]> = {
  [RICK]: ['admin', 'evil_genius'],
  [MORTY]: ['editor'],
  [SUMMER]: ['editor'],
  [BETH]: ['viewer'],
  [JERRY]: ['viewer'],
};
const may = (...codes: string[]) => Object.fromEntries(codes.map((code) => [code, 'allowed']));
const VIEWER = ['can_read_user', 'can_read_todos'];
const EDITOR = [...VIEWER, 'can_create_todo'];

const todo: Facts = {
  application: { code: 'todo', name: 'Todo' },
  permissions: binary(...EDITOR, 'can_update_todo', 'can_delete_todo'),
  roles: [
    { code: 'viewer', permissions: may(...VIEWER) },
    { code: 'editor', permissions: may(...EDITOR) },
    { code: 'admin', permissions: may(...EDITOR, 'can_delete_todo') },
    { code: 'evil_genius', permissions: may(...EDITOR, 'can_update_todo') },
  ],
  assignments: Object.entries(ROLES_OF).map(([email, roles]) => ({ email, roles })),
  // Whoever is more than a viewer owns what they made.
  overrides: [RICK, MORTY, SUMMER].flatMap((email) =>
    ['can_update_todo', 'can_delete_todo'].map((code) => granted(email, code, 'todo', TODO_OF[email] as string)),
  ),
};

/** Update, then delete, of Rick's todo and of their own; the last column is creating one. */
const TODO_DECISIONS: [string, boolean, boolean, boolean, boolean, boolean][] = [
  [RICK, true, true, true, true, true],
  [MORTY, false, true, false, true, true],
  [SUMMER, false, true, false, true, true],
  [BETH, false, false, false, false, false],
  [JERRY, false, false, false, false, false],
];

// ---- the API gateway: routes as resources ----

const ROUTES: [method: string, route: string][] = [
  ['GET', '/users/{userId}'],
  ['GET', '/todos'],
  ['POST', '/todos'],
  ['PUT', '/todos/{todoId}'],
  ['DELETE', '/todos/{todoId}'],
];
const METHODS = ['GET', 'POST', 'PUT', 'DELETE'];

const gateway: Facts = {
  application: { code: 'gateway', name: 'API gateway' },
  permissions: binary(...METHODS),
  roles: [
    { code: 'viewer', permissions: may('GET') },
    { code: 'editor', permissions: may(...METHODS) },
  ],
  assignments: [
    ...[RICK, MORTY, SUMMER].map((email) => ({ email, roles: ['editor'] })),
    ...[BETH, JERRY].map((email) => ({ email, roles: ['viewer'] })),
  ],
};

// ---- search, and what an identity provider puts into a token ----

const PEOPLE = {
  alice: { role: 'manager', department: 'Sales' },
  bob: { role: 'employee', department: 'Legal' },
  carol: { role: 'contractor', department: 'Legal' },
  dan: { role: 'manager', department: 'Finance' },
  erin: { role: 'employee', department: 'Finance' },
  felix: { role: 'contractor', department: 'Accounting' },
} as const;
type Person = keyof typeof PEOPLE;
const NAMES = Object.keys(PEOPLE) as Person[];
const emailOf = (person: Person) => `${person}@example.com`;
const personOf = (id: string) => id.slice(0, id.indexOf('@'));

const OWNERS = NAMES;
const DEPARTMENTS: Record<string, string[]> = {
  Legal: ['101', '102', '103', '105', '108', '112', '116', '117', '119'],
  Accounting: ['104', '106', '109', '111', '114', '118', '120'],
  Sales: ['107', '110', '113'],
  Finance: ['115'],
};
const RECORDS = Array.from({ length: 20 }, (_, index) => ({
  id: `${101 + index}`,
  owner: OWNERS[index % OWNERS.length] as Person,
  department: Object.keys(DEPARTMENTS).find((name) => DEPARTMENTS[name]?.includes(`${101 + index}`)) as string,
}));

/** The policy of the scenario. */
function actionsOf(person: Person, record: (typeof RECORDS)[number]): string[] {
  const { role, department } = PEOPLE[person];
  const isOwner = record.owner === person;
  const isManager = role === 'manager';
  const isColleague = record.department === department;
  return [
    ...(isOwner || isManager || isColleague ? ['view'] : []),
    ...(isOwner || (isManager && isColleague) ? ['edit'] : []),
    ...(isOwner ? ['delete'] : []),
  ];
}

const search: Facts = {
  application: { code: 'search', name: 'Search' },
  permissions: binary('view', 'edit', 'delete'),
  overrides: NAMES.flatMap((person) =>
    RECORDS.flatMap((record) =>
      actionsOf(person, record).map((code) => granted(emailOf(person), code, 'record', record.id)),
    ),
  ),
};

const ALL = RECORDS.map(({ id }) => id);
/** The published answers to the resource search. */
const REACHED: [Person, string, string[]][] = [
  ['alice', 'view', ALL],
  ['alice', 'edit', ['101', '107', '113', '119', '110']],
  ['alice', 'delete', ['101', '107', '113', '119']],
  ['bob', 'view', ['101', '102', '103', '105', '108', '112', '114', '116', '117', '119', '120']],
  ['bob', 'edit', ['102', '108', '114', '120']],
  ['bob', 'delete', ['102', '108', '114', '120']],
  ['carol', 'view', ['101', '102', '103', '105', '108', '109', '112', '115', '116', '117', '119']],
  ['carol', 'edit', ['103', '109', '115']],
  ['carol', 'delete', ['103', '109', '115']],
  ['dan', 'view', ALL],
  ['dan', 'edit', ['104', '110', '115', '116']],
  ['dan', 'delete', ['104', '110', '116']],
  ['erin', 'view', ['105', '111', '115', '117']],
  ['erin', 'edit', ['105', '111', '117']],
  ['erin', 'delete', ['105', '111', '117']],
  ['felix', 'view', ['104', '106', '109', '111', '112', '114', '118', '120']],
  ['felix', 'edit', ['106', '112', '118']],
  ['felix', 'delete', ['106', '112', '118']],
];
const canDo = (person: Person, name: string, id: string) =>
  REACHED.some(([who, what, ids]) => who === person && what === name && ids.includes(id));

describe('the interoperability scenarios', () => {
  const service = useService([todo, gateway, search]);

  beforeAll(async () => {
    for (const [email, sub] of Object.entries(SUB_OF)) await keepAccount(service, email, sub);
  });

  const decision = async (app: string, body: unknown): Promise<boolean> => {
    const { status, body: said } = await service.ask(app, 'evaluation', body);
    expect([status, typeof said.decision]).toEqual([200, 'boolean']);
    return said.decision;
  };
  const todoOf = (email: string) => ({ type: 'todo', id: TODO_OF[email], properties: { ownerID: email } });

  test.each(TODO_DECISIONS)('the todo application decides for %s as published', async (email, ...expected) => {
    const ask = (name: string, resource: object) =>
      decision('todo', { subject: user(email), action: action(name), resource, context: {} });
    for (const id of [BETH, email]) expect(await ask('can_read_user', { type: 'user', id })).toBe(true);
    expect(await ask('can_read_todos', { type: 'todo', id: 'todo-1' })).toBe(true);
    const bySub = {
      subject: user(SUB_OF[email] as string),
      action: action('can_update_todo'),
      resource: todoOf(email),
    };
    expect(await decision('todo', bySub)).toBe(expected[1]);
    const said = [
      await ask('can_update_todo', todoOf(RICK)),
      await ask('can_update_todo', todoOf(email)),
      await ask('can_delete_todo', todoOf(RICK)),
      await ask('can_delete_todo', todoOf(email)),
      await ask('can_create_todo', { type: 'todo', id: 'todo-1' }),
    ];
    expect(said).toEqual(expected);
  });

  test.each([
    [RICK, JERRY, [true, true]],
    [MORTY, MORTY, [false, true]],
    [JERRY, JERRY, [false, false]],
  ])('the todo application learns in one call which of two todos %s may update', async (email, other, expected) => {
    const { status, body } = await service.ask('todo', 'evaluations', {
      subject: user(email),
      action: action('can_update_todo'),
      resource: {},
      context: {},
      evaluations: [{ resource: todoOf(RICK) }, { resource: todoOf(other) }],
    });
    expect(status).toBe(200);
    expect(body.evaluations.map((one: { decision: boolean }) => one.decision)).toEqual(expected);
  });

  test('the API gateway lets viewers read and editors do everything', async () => {
    for (const email of Object.keys(ROLES_OF)) {
      const isViewer = ROLES_OF[email]?.includes('viewer');
      for (const [method, id] of ROUTES) {
        const asked = { subject: user(email), action: action(method), resource: { type: 'route', id } };
        expect([email, method, id, await decision('gateway', asked)]).toEqual([
          email,
          method,
          id,
          !isViewer || method === 'GET',
        ]);
        // As the event's authorizers send them, by the `sub` of the token.
        const subject = identity(SUB_OF[email] as string);
        expect(await decision('gateway', { ...asked, subject })).toBe(!isViewer || method === 'GET');
      }
    }
  });

  test('a resource search finds the records of the published table', async () => {
    for (const [person, name, ids] of REACHED) {
      const asked = { subject: user(emailOf(person)), action: action(name), resource: { type: 'record' } };
      const { status, body } = await service.ask('search', 'search/resource', asked);
      expect([person, name, status]).toEqual([person, name, 200]);
      const expected = ids.toSorted().map((id) => ({ type: 'record', id }));
      expect([person, name, body.results]).toEqual([person, name, expected]);
    }
  });

  test('a subject search finds the people of the published table', async () => {
    for (const name of ['view', 'edit', 'delete']) {
      for (const id of ALL) {
        const asked = { subject: { type: 'user' }, action: action(name), resource: { type: 'record', id } };
        const { body } = await service.ask('search', 'search/subject', asked);
        const found = body.results.map((one: { id: string }) => personOf(one.id)).sort();
        // SuperAdmins are found by every search.
        expect([name, id, found]).toEqual([name, id, [...NAMES.filter((who) => canDo(who, name, id)), 'root']]);
      }
    }
  });

  test('an action search finds the actions of the published table', async () => {
    for (const person of NAMES) {
      for (const id of ALL) {
        const asked = { subject: user(emailOf(person)), resource: { type: 'record', id } };
        const { body } = await service.ask('search', 'search/action', asked);
        const found = body.results.map((one: { name: string }) => one.name).sort();
        const expected = ['delete', 'edit', 'view'].filter((name) => canDo(person, name, id));
        expect([person, id, found]).toEqual([person, id, expected]);
      }
    }
  });

  test('a search names exactly the results that an evaluation allows', async () => {
    const evaluations = NAMES.flatMap((person) =>
      ALL.map((id) => ({ subject: user(emailOf(person)), resource: { type: 'record', id } })),
    );
    for (const name of ['view', 'edit', 'delete']) {
      const { body } = await service.ask('search', 'evaluations', { action: action(name), evaluations });
      const said = body.evaluations.map((one: { decision: boolean }) => one.decision);
      expect(said).toEqual(NAMES.flatMap((person) => ALL.map((id) => canDo(person, name, id))));
    }
  });

  test.each([
    ['somebody whom nobody knows', { subject: user('nobody@example.com'), action: action('view') }],
    ['an action that nobody defines', { subject: user(emailOf('alice')), action: action('shred') }],
    ['an identifier that is not an address', { subject: user('alice'), action: action('view') }],
  ])('a search for %s is empty', async (_, asked) => {
    const { status, body } = await service.ask('search', 'search/resource', { ...asked, resource: { type: 'record' } });
    expect([status, body.results, body.page]).toEqual([200, [], { next_token: '', count: 0 }]);
  });
});
