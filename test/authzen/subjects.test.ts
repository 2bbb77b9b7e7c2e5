import { beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import {
  ADA,
  ALICE,
  action,
  BEN,
  BOB,
  BOSS,
  binary,
  type Facts,
  granted,
  identity,
  issuesOf,
  keepAccount,
  ROOT,
  user,
  useService,
} from './point.ts';

/** Subjects by the `sub` of an account (docs/reference/authzen.md#subjects). */

const shop: Facts = {
  application: { code: 'shop', name: 'Shop' },
  permissions: binary('read', 'pay'),
  roles: [{ code: 'reader', permissions: { read: 'allowed' } }],
  assignments: [ADA, BEN, ALICE, BOB].map((email) => ({ email, roles: ['reader'] })),
  overrides: [granted(ADA, 'pay', 'page', '7')],
  admins: [BOSS],
};
const PAGE = { type: 'page', id: '7' };
const READ = { action: action('read'), resource: PAGE };

/** Whom each account is, or nobody. */
const ACCOUNTS: [sub: string, email: string | null][] = [
  ['362118240512', ADA],
  ['auth0|5f7c8ec7c33c6c004bbafe82', BEN],
  ['CiRmZDA2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs', BOSS],
  ['of-events-only', null],
  ['at-another-issuer', null],
  ['unknown', null],
  ['constructor', null],
  ['%', null],
  [ADA.slice(0, ADA.indexOf('@')), null],
];

async function keepAccounts(service: Pick<ReturnType<typeof useService>, 'usher'>): Promise<void> {
  for (const [sub, email] of ACCOUNTS) if (email !== null) await keepAccount(service, email, sub);
  await keepAccount(service, ALICE, 'of-events-only', { signsIn: false });
  await keepAccount(service, BOB, 'at-another-issuer', { issuer: 'https://other.example' });
}

describe('subjects by account', () => {
  const service = useService([shop]);
  beforeAll(() => keepAccounts(service));
  const ask = (endpoint: Parameters<typeof service.ask>[1], body: object) => service.ask('shop', endpoint, body);
  const decides = async (subject: object, rest: object = READ) => {
    const { status, body } = await ask('evaluation', { subject, ...rest });
    expect(status).toBe(200);
    return body.decision as boolean;
  };

  test.each(ACCOUNTS)('%s is answered as the person whose account it is, at every endpoint', async (sub, email) => {
    for (const form of [user, identity]) {
      const bySub = form(sub);
      const person = user(email ?? 'nobody@example.com');
      for (const question of [READ, { action: action('pay'), resource: PAGE }]) {
        expect(await decides(bySub, question)).toBe(await decides(person, question));
        const many = {
          ...question,
          evaluations: [{ subject: bySub }, { subject: person }, { subject: form('unknown') }],
        };
        const { body } = await ask('evaluations', many);
        const [first, second, third] = body.evaluations;
        expect([first, third.decision]).toEqual([second, false]);
      }
      for (const [endpoint, question] of [
        ['search/action', { resource: PAGE }],
        ['search/resource', { action: action('pay'), resource: { type: 'page' } }],
      ] as const) {
        const said = await ask(endpoint, { ...question, subject: bySub });
        const expected = await ask(endpoint, { ...question, subject: person });
        expect([said.status, said.body.results]).toEqual([expected.status, expected.body.results]);
      }
    }
    expect(await decides(identity(sub))).toBe(email !== null);
  });

  test('an id with an @ is an address in both types', async () => {
    expect([await decides(identity(ADA)), await decides(user(ADA))]).toEqual([true, true]);
    // The `sub` of the local issuer holds an address, and is none.
    expect(await decides(identity(`local:${ADA}`))).toBe(false);
  });

  test.each([
    ['too long', 'x'.repeat(256), 'subject.id: must be at most 254 characters'],
    ['with a control character', 'a\u0007', 'subject.id: must not hold control characters or lone surrogates'],
  ])('refuses an id that is %s', async (_, id, issue) => {
    const answer = await ask('evaluation', { subject: identity(id), ...READ });
    expect([answer.status, issuesOf(answer)]).toEqual([400, [issue]]);
  });

  test('a subject search answers in the form of its type, and an evaluation says yes to each result', async () => {
    const found = async (type: string) => (await ask('search/subject', { subject: { type }, ...READ })).body.results;
    const people = await found('user');
    expect(people.map(({ id }: { id: string }) => id).sort()).toEqual([ADA, ALICE, BEN, BOB, BOSS, ROOT].sort());
    const identities = await found('identity');
    const own = ACCOUNTS.filter(([, email]) => email !== null).map(([sub]) => identity(sub));
    // The local issuer's own account of the SuperAdmin does not exist before a token; who has no account is left out.
    expect(identities.toSorted(byId)).toEqual(own.toSorted(byId));
    for (const subject of [...people, ...identities])
      expect([subject, await decides(subject)]).toEqual([subject, true]);
    expect(await found('service')).toEqual([]);
  });

  test('an account whose address was changed at the provider is the person who had it last', async () => {
    await keepAccount(service, 'old@example.com', 'moved', { seenAt: '2020-01-01' });
    expect(await decides(identity('moved'))).toBe(false);
    await service.usher.app.database.change(async (tx) => {
      await sql`delete from person_account where user_id = 'auth0|5f7c8ec7c33c6c004bbafe82'`.execute(tx.kysely);
      return { result: null, scopes: [] };
    });
    await keepAccount(service, BEN, 'moved');
    expect(await decides(identity('moved'))).toBe(true);
    const { body } = await ask('search/subject', { subject: { type: 'identity' }, ...READ });
    expect(body.results.filter(({ id }: { id: string }) => id === 'moved')).toHaveLength(1);
  });

  test('an account that was unbound decides for nobody from the next question on', async () => {
    expect(await decides(identity('362118240512'))).toBe(true);
    await service.usher.app.database.change(async (tx) => {
      await sql`delete from person_account where user_id = '362118240512'`.execute(tx.kysely);
      return { result: null, scopes: [] };
    });
    expect(await decides(identity('362118240512'))).toBe(false);
  });
});

const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);

describe('subjects by account, where accounts are bound', () => {
  const service = useService([shop], { AUTH_BIND_SUBJECT: 'true' });

  test('an account that may not rule is nobody while its address rules', async () => {
    await keepAccount(service, BOSS, 'boss-not-vouched', { mayRule: false });
    await keepAccount(service, ADA, 'ada-not-vouched', { mayRule: false });
    const said = async (sub: string) => {
      const { body } = await service.ask('shop', 'evaluation', { subject: identity(sub), ...READ });
      return body.decision;
    };
    expect([await said('boss-not-vouched'), await said('ada-not-vouched')]).toEqual([false, true]);
    const { body } = await service.ask('shop', 'search/subject', { subject: { type: 'identity' }, ...READ });
    expect(body.results).toEqual([identity('ada-not-vouched')]);
  });
});

describe('subjects of configured types', () => {
  const service = useService([shop], { AUTHZEN_SUBJECT_TYPES: 'employee' });

  test('are people, and the usual ones are nobody', async () => {
    await keepAccount(service, ADA, '1');
    for (const id of [ADA, '1']) {
      for (const type of ['employee', 'user', 'identity']) {
        const { body } = await service.ask('shop', 'evaluation', { subject: { type, id }, ...READ });
        expect([type, id, body.decision]).toEqual([type, id, type === 'employee']);
      }
    }
    const { body } = await service.ask('shop', 'search/subject', { subject: { type: 'employee' }, ...READ });
    expect(body.results).toContainEqual({ type: 'employee', id: ADA });
  });
});
