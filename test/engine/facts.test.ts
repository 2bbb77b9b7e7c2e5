import { describe, expect, test } from '@jest/globals';
import { Facts, isKnownScope } from '../../src/engine/facts.ts';
import type { MemberFacts, PersonFacts } from '../../src/engine/types.ts';
import { FakeClock } from './fakes.ts';

function make(sizes: { policies?: number; persons?: number; members?: number } = {}): Facts {
  const options = { clock: new FakeClock(), ttlMs: 1000, tickMs: 0 };
  return new Facts({ ...options, policies: 2, persons: 3, members: 4, ...sizes });
}

const person = (email: string, more: Partial<PersonFacts> = {}): PersonFacts => {
  return { email, active: true, superadmin: false, ...more };
};
const member = (app: string, email: string, more: Partial<MemberFacts> = {}): MemberFacts => {
  return { app, email, appId: 1, admin: false, roleIds: [1, 2], ...more };
};
const policy = (app: string) => ({
  app,
  appId: 1,
  strictCodes: false,
  resourceTypes: [],
  permissions: [],
  rolePermissions: [],
});

function putAll(facts: Facts, app: string, email: string, resourceId = '', revision = 1): void {
  facts.putPerson(person(email), revision, 0);
  facts.putMember(member(app, email), revision, 0);
  if (resourceId === '') return;
  const answer = { person: person(email), member: member(app, email), overrides: null };
  facts.putOverrides({ app, email, resourceType: 't', resourceId, levels: [] }, answer, revision, 0);
}

describe('evicted facts end their leases', () => {
  test('evicting, replacing or dropping a policy ends its lease', () => {
    const facts = make();
    const leases = ['a', 'b', 'c'].map((app) => {
      facts.putPolicy(policy(app), 1, 0);
      return facts.policy(app)?.lease;
    });
    expect(leases.map((lease) => lease?.live)).toEqual([false, true, true]);
    facts.putPolicy(policy('b'), 2, 0);
    facts.dropPolicy('c');
    expect(leases.map((lease) => lease?.live)).toEqual([false, false, false]);
    expect(facts.policy('b')?.lease.live).toBe(true);
  });

  test('evicting a person ends the leases of their members and overrides', () => {
    const facts = make({ members: 100 });
    putAll(facts, 'a', 'one', '7');
    const about = facts.about('one');
    const [own, overrides] = [about?.members.get('a'), about?.members.get('a')?.overrides?.get('t')?.get('7')];
    for (const email of ['two', 'three', 'four']) putAll(facts, 'a', email);
    expect(facts.about('one')).toBeUndefined();
    expect([about?.person?.lease.live, own?.fact.lease.live, overrides?.lease.live]).toEqual([false, false, false]);
    expect(facts.sizes).toEqual({ policies: 0, persons: 3, members: 3 });
  });

  test('members are bounded over all people, and the least recently used person goes', () => {
    const facts = make({ persons: 100 });
    for (const email of ['one', 'two', 'three', 'four']) putAll(facts, 'a', email);
    facts.about('one');
    const two = facts.about('two')?.members.get('a')?.fact.lease;
    facts.about('one');
    facts.about('three');
    facts.about('four');
    putAll(facts, 'a', 'five');
    expect(facts.sizes.members).toBe(4);
    expect(two?.live).toBe(false);
    expect(facts.about('one')).toBeDefined();
  });

  test('a person with more memberships than fit loses the first', () => {
    const facts = make();
    const apps = ['a', 'b', 'c', 'd', 'e'];
    const leases = apps.map((app) => {
      putAll(facts, app, 'one', '7');
      return facts.about('one')?.members.get(app)?.fact.lease;
    });
    expect(leases.map((lease) => lease?.live)).toEqual([false, true, true, true, true]);
    expect([...(facts.about('one')?.members.keys() ?? [])]).toEqual(['b', 'c', 'd', 'e']);
    expect(facts.sizes.members).toBe(4);
  });

  test('a member keeps the overrides of 256 resources', () => {
    const facts = make();
    putAll(facts, 'a', 'one', '0');
    const first = facts.about('one')?.members.get('a')?.overrides?.get('t')?.get('0');
    for (let id = 1; id <= 255; id++) putAll(facts, 'a', 'one', String(id));
    expect(first?.lease.live).toBe(true);
    putAll(facts, 'a', 'one', '256');
    expect(first?.lease.live).toBe(false);
    const own = facts.about('one')?.members.get('a');
    expect([own?.resources, own?.overrides?.get('t')?.size]).toEqual([256, 256]);
    facts.putMember(member('a', 'one', { admin: true }), 2, 0);
    expect(own?.overrides?.get('t')?.get('256')?.lease.live).toBe(false);
  });

  test('clear ends every lease', () => {
    const facts = make();
    putAll(facts, 'a', 'one', '7');
    facts.putPolicy(policy('a'), 1, 0);
    const about = facts.about('one');
    const leases = [
      facts.policy('a')?.lease,
      about?.person?.lease,
      about?.members.get('a')?.fact.lease,
      about?.members.get('a')?.overrides?.get('t')?.get('7')?.lease,
    ];
    expect(leases.map((lease) => lease?.live)).toEqual([true, true, true, true]);
    facts.clear();
    expect(leases.map((lease) => lease?.live)).toEqual([false, false, false, false]);
    expect(facts.sizes).toEqual({ policies: 0, persons: 0, members: 0 });
  });
});

describe('facts read again', () => {
  test('an unchanged fact keeps its lease and gets more time', () => {
    const facts = make();
    putAll(facts, 'a', 'one', '7');
    const about = facts.about('one');
    const before = [about?.person, about?.members.get('a')?.fact];
    facts.putPerson(person('one'), 2, 500);
    facts.putMember(member('a', 'one', { roleIds: [2, 1] }), 2, 500);
    expect([about?.person, about?.members.get('a')?.fact]).toEqual(before);
    expect(before.map((fact) => [fact?.lease.live, fact?.revision, fact?.readAt, fact?.expires])).toEqual([
      [true, 2, 500, 1500],
      [true, 2, 500, 1500],
    ]);
    expect(about?.members.get('a')?.overrides?.get('t')?.get('7')?.lease.live).toBe(true);
  });

  // Only rows changed by hand can be so: what the log announces has ended the fact before.
  test.each([
    ['a person', (facts: Facts) => facts.putPerson(person('one', { active: false }), 1, 500), 'person'],
    ['a person', (facts: Facts) => facts.putPerson(person('one', { superadmin: true }), 1, 500), 'person'],
    ['a member', (facts: Facts) => facts.putMember(member('a', 'one', { roleIds: [1] }), 1, 500), 'member'],
    ['a member', (facts: Facts) => facts.putMember(member('a', 'one', { roleIds: [1, 3] }), 1, 500), 'member'],
    ['a member', (facts: Facts) => facts.putMember(member('a', 'one', { admin: true }), 1, 500), 'member'],
    ['a member', (facts: Facts) => facts.putMember(member('a', 'one', { appId: 2 }), 1, 500), 'member'],
  ] as const)('a changed %s ends the lease', (_name, put, which) => {
    const facts = make();
    putAll(facts, 'a', 'one');
    const before = { person: facts.about('one')?.person, member: facts.about('one')?.members.get('a')?.fact };
    put(facts);
    expect(before[which]?.lease.live).toBe(false);
    const after = { person: facts.about('one')?.person, member: facts.about('one')?.members.get('a')?.fact };
    expect(after[which]?.lease.live).toBe(true);
    expect(facts.sizes.members).toBe(1);
  });

  test('a fact older than the cached one is ignored', () => {
    const facts = make();
    putAll(facts, 'a', 'one', '7', 5);
    facts.putPolicy(policy('a'), 5, 100);
    const held = facts.policy('a');
    facts.putPolicy(policy('a'), 4, 200);
    facts.putPolicy(policy('a'), 5, 100);
    facts.putPerson(person('one', { active: false }), 4, 900);
    facts.putMember(member('a', 'one', { admin: true }), 4, 900);
    expect(facts.policy('a')).toBe(held);
    expect(facts.about('one')?.person?.value.active).toBe(true);
    expect(facts.about('one')?.members.get('a')?.fact.value.admin).toBe(false);
  });

  test('overrides need their member', () => {
    const facts = make();
    facts.putPerson(person('one'), 1, 0);
    const answer = { person: person('one'), member: member('a', 'one'), overrides: null };
    facts.putOverrides({ app: 'a', email: 'one', resourceType: 't', resourceId: '7', levels: [] }, answer, 1, 0);
    expect(facts.about('one')?.members.size).toBe(0);
  });
});

test('only known scopes are recognized', () => {
  const known = ['*', 'p:shop', 'a:shop', 'u:ada@example.com', 'm:shop:ada@example.com', 'p:constructor'];
  const unknown = [
    '',
    'p',
    'p:',
    'p:a:b',
    'u:',
    'u:a:b',
    'm:',
    'm:shop',
    'm:shop:',
    'm::a',
    'm:a:b:c',
    'a:',
    '**',
    'x:y',
    'P:shop',
    ' *',
  ];
  expect(known.filter((scope) => !isKnownScope(scope))).toEqual([]);
  expect(unknown.filter(isKnownScope)).toEqual([]);
});
