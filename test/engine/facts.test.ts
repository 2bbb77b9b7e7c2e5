import { describe, expect, test } from '@jest/globals';
import { NOT_KEPT } from '../../src/engine/fact.ts';
import { Facts, isKnownScope } from '../../src/engine/facts.ts';
import { Level, type MemberAnswer, type MemberFacts, type PersonFacts } from '../../src/engine/types.ts';
import { FakeClock } from './fakes.ts';

const MEGABYTE = 2 ** 20;

function make(sizes: Partial<ConstructorParameters<typeof Facts>[0]> = {}): Facts {
  const options = { clock: new FakeClock(), ttlMs: 1000, tickMs: 0, bytes: MEGABYTE, policyBytes: MEGABYTE };
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

  test('an unchanged fact takes the boundary of the reading, and a first one ends what was made of it', () => {
    const facts = make();
    const put = (at: number, ends: number | null) => {
      facts.putPerson(person('one'), 1, at, { statement: at, ends });
      facts.putMember(member('a', 'one'), 1, at, { statement: at, ends });
      const about = facts.about('one');
      return [about?.person, about?.members.get('a')?.fact];
    };
    const without = put(0, null);
    expect(without.map((fact) => [fact?.bound, fact?.due])).toEqual([
      [null, 400],
      [null, 400],
    ]);
    const first = put(100, 300);
    expect(without.map((fact) => fact?.lease.live)).toEqual([false, false]);
    expect(first.map((fact) => [fact?.bound, fact?.due])).toEqual(
      Array.from({ length: 2 }, () => [{ ends: 300, due: 500 }, NOT_KEPT]),
    );
    expect(put(200, 700)).toEqual(first);
    expect(first.map((fact) => [fact?.lease.live, fact?.bound, fact?.due, fact?.statement])).toEqual(
      Array.from({ length: 2 }, () => [true, { ends: 700, due: 600 }, NOT_KEPT, 200]),
    );
    expect(put(300, null).map((fact) => [fact?.lease.live, fact?.bound, fact?.due])).toEqual(
      Array.from({ length: 2 }, () => [true, null, 700]),
    );
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

describe('the memory of facts', () => {
  const levels = [{ permissionId: 1, level: Level.VIEW }];
  const overrides = (email: string, resourceId: string) => {
    return { app: 'a', email, resourceType: 'order', resourceId, levels };
  };
  const answer = (email: string) => ({ member: member('a', email) }) as MemberAnswer;
  const roomy = (sizes: { bytes: number }) => make({ persons: 100_000, members: 100_000, ...sizes });

  test('facts are counted while they are held, and no longer', () => {
    const facts = roomy({ bytes: 10 * MEGABYTE });
    for (let n = 0; n < 100; n++) {
      facts.putPerson(person(`p${n}`), 1, 0);
      for (const app of ['a', 'b']) facts.putMember(member(app, `p${n}`), 1, 0);
      for (let id = 0; id < 5; id++) facts.putOverrides(overrides(`p${n}`, `${id}`), answer(`p${n}`), 1, 0);
    }
    const all = facts.bytes.people;
    expect(all).toBeGreaterThan(100 * 1000);
    // Read again, given other roles, without the overrides, evicted by their own kind: each is counted once.
    facts.putMember(member('a', 'p1'), 2, 1);
    facts.putOverrides(overrides('p1', '1'), answer('p1'), 2, 1);
    expect(facts.bytes.people).toBe(all);
    facts.putMember(member('a', 'p2', { roleIds: [] }), 2, 1);
    expect(facts.bytes.people).toBeLessThan(all);
    for (const scope of ['a:a', 'u:p3', 'm:b:p4']) facts.kill(scope);
    for (let n = 0; n < 100; n++) facts.kill(`u:p${n}`);
    expect(facts.bytes.people).toBe(0);
    expect(facts.sizes).toMatchObject({ persons: 0, members: 0 });
  });

  test('people leave for others when the memory is full, the least recently needed first', () => {
    const facts = roomy({ bytes: MEGABYTE });
    for (let n = 0; n < 5000; n++) {
      facts.putPerson(person(`p${n}`), 1, 0);
      facts.putMember(member('a', `p${n}`), 1, 0);
      facts.about('p0');
      expect(facts.bytes.people).toBeLessThan(MEGABYTE + 1000);
    }
    expect(facts.about('p0')).toBeDefined();
    expect(facts.about('p1')).toBeUndefined();
    expect(facts.about('p4999')?.members.get('a')).toBeDefined();
    expect(facts.sizes.persons).toBeGreaterThan(1000);
  });

  test('the facts of one statement fit together, and one person takes no more than twice the memory', () => {
    const facts = roomy({ bytes: 50_000 });
    for (let n = 0; n < 100; n++) {
      facts.putPerson(person(`p${n}`), 1, 0);
      facts.putMember(member('a', `p${n}`), 1, 0);
    }
    expect(facts.sizes.persons).toBe(100);
    for (let n = 0; n < 1000; n++) facts.putMember(member(`app${n}`, 'p7'), 1, 0);
    expect(facts.bytes.people).toBeLessThan(101_000);
    expect(facts.about('p7')?.members.get('app999')).toBeDefined();
    facts.putMember(member('a', 'p7'), 2, 1);
    for (let n = 0; n < 256; n++) facts.putOverrides(overrides('p7', `${n}`), answer('p7'), 1, 0);
    expect(facts.about('p7')?.members.get('a')?.overrides?.get('order')?.get('255')).toBeDefined();
  });

  test('policies take their part of the memory at most, and the newest is kept however large it is', () => {
    const facts = make({ policies: 1000, bytes: 4 * MEGABYTE, policyBytes: 100_000 });
    const large = (app: string, permissions: number) => ({
      ...policy(app),
      permissions: Array.from({ length: permissions }, (_, id) => {
        return { id, code: `p${id}`, tiered: false, global: false, groupName: null };
      }),
    });
    for (let n = 0; n < 50; n++) facts.putPolicy(large(`a${n}`, 50), 1, 0);
    expect(facts.bytes.policies).toBeLessThanOrEqual(100_000);
    expect(facts.policy('a49')).toBeDefined();
    expect(facts.policy('a0')).toBeUndefined();
    facts.putPolicy(large('huge', 5000), 1, 0);
    expect(facts.policy('huge')).toBeDefined();
  });
});
