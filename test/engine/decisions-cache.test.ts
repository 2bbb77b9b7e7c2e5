import { describe, expect, test } from '@jest/globals';
import { type DecisionFacts, Decisions, questionKey } from '../../src/engine/decisions.ts';
import { DENIED } from '../../src/engine/evaluate.ts';
import type { Fact, Lease } from '../../src/engine/fact.ts';
import { ask, CACHE, fixture } from './fakes.ts';

const fact = <T>(value: T, lease: Lease = { live: true }): Fact<T> => {
  return {
    value,
    revision: 1,
    readAt: 0,
    expires: 1000,
    due: 1000,
    statement: 0,
    bound: null,
    lease,
    renew: () => undefined,
  };
};
const grounds = (lease?: Lease): DecisionFacts => ({
  policy: fact(
    { app: 'a', appId: 1, strictCodes: false, resourceTypes: null, permissions: new Map(), ordered: [] },
    lease,
  ),
  person: fact({ email: 'e', active: true, superadmin: false }),
  member: fact({ app: 'a', email: 'e', appId: 1, admin: false, roleIds: [] }),
  overrides: null,
});
const key = (n: number) => questionKey(ask({ permission: `p${n}` }));

describe('the cache of decisions', () => {
  test('the cache stores each decision while there is room', () => {
    const decisions = new Decisions(10);
    for (let n = 0; n < 10; n++) decisions.put(key(n), DENIED, grounds());
    expect(decisions.size).toBe(10);
    for (let n = 0; n < 10; n++) expect(decisions.get(key(n), 1)).toBe(DENIED);
  });

  test('a full cache stores a repeated decision in place of the least recently used', () => {
    const decisions = new Decisions(3);
    for (let n = 0; n < 3; n++) decisions.put(key(n), DENIED, grounds());
    decisions.get(key(0), 1);
    decisions.put(key(9), DENIED, grounds());
    expect(decisions.get(key(9), 1)).toBeUndefined();
    decisions.put(key(9), DENIED, grounds());
    expect(decisions.get(key(9), 1)).toBe(DENIED);
    expect(decisions.get(key(1), 1)).toBeUndefined();
    expect(decisions.get(key(0), 1)).toBe(DENIED);
    expect(decisions.size).toBe(3);
  });

  test('a full cache replaces an ended decision, and never answers with it', () => {
    const decisions = new Decisions(1);
    const lease = { live: true };
    decisions.put(key(0), DENIED, grounds(lease));
    lease.live = false;
    for (let times = 0; times < 2; times++) {
      expect(decisions.get(key(0), 1)).toBeUndefined();
      decisions.put(key(0), DENIED, grounds());
    }
    expect(decisions.get(key(0), 1)).toBe(DENIED);
  });

  test('a flood of different questions evicts few frequent decisions', async () => {
    const { engine } = await fixture({ cache: { ...CACHE, maxEntries: 64 } });
    const hot = Array.from({ length: 20 }, (_, n) => ask({ permission: `hot${n}` }));
    for (const question of [...hot, ...hot]) await engine.check(question);
    const asked = 5000;
    let hits = 0;
    for (let n = 0; n < asked; n++) {
      engine.peek(ask({ permission: `once${n}` }));
      const before = engine.counters.decisionHits;
      engine.peek(hot[n % hot.length] as (typeof hot)[number]);
      hits += engine.counters.decisionHits - before;
    }
    expect(hits).toBe(asked);
    expect(engine.sizes().decisions).toBe(64);
    await engine.close();
  });
});
