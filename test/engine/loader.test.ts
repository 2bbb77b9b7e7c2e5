import { describe, expect, test } from '@jest/globals';
import { MAX_WAITING } from '../../src/engine/loader.ts';
import { ADA, ask, at, fixture, settled } from './fakes.ts';

const email = (index: number) => `user${index}@example.com`;

describe('batches of needs', () => {
  test('the needs of one turn share a statement, up to 256', async () => {
    const { engine, source } = await fixture();
    await Promise.all(Array.from({ length: 600 }, (_, index) => engine.check(ask({ email: email(index) }))));
    expect(source.of('members').map(({ needs }) => needs.length)).toEqual([256, 256, 88]);
    expect(source.of('policy')).toHaveLength(1);
    expect(engine.counters).toMatchObject({ memberLoads: 3, memberNeeds: 600, policyLoads: 1 });
    expect([...engine.counters.batchSizes]).toEqual([0, 0, 0, 0, 0, 0, 0, 1, 2]);
  });

  test('at most `parallelism` statements run at once, and needs are collected meanwhile', async () => {
    const { engine, source } = await fixture();
    source.parallelism = 2;
    source.held = true;
    const answers: Promise<unknown>[] = [];
    for (let index = 0; index < 10; index++) {
      answers.push(engine.check(ask({ email: email(index) })));
      await settled();
    }
    expect(source.calls.slice(1).map(({ kind, needs }) => [kind, needs.length])).toEqual([
      ['policy', 0],
      ['members', 1],
    ]);
    await source.calls[1]?.deliver();
    expect(source.calls[3]).toMatchObject({ kind: 'members', needs: { length: 9 } });
    await source.calls[2]?.deliver();
    await source.calls[3]?.deliver();
    await Promise.all(answers);
    expect(source.calls).toHaveLength(4);
  });

  test('policies and members alternate', async () => {
    const { engine, source } = await fixture();
    source.parallelism = 1;
    source.held = true;
    const answers = ['a', 'b', 'c'].map((app) => engine.check(ask({ app })));
    for (let index = 1; index <= 4; index++) {
      await settled();
      await source.calls[index]?.deliver();
    }
    await Promise.all(answers);
    expect(source.calls.slice(1).map(({ kind }) => kind)).toEqual(['policy', 'members', 'policy', 'policy']);
  });

  test('one need serves all its callers', async () => {
    const { engine, source } = await fixture();
    const order = { resourceType: 'order', resourceId: '7' };
    await Promise.all([engine.check(ask()), engine.check(ask()), engine.check(ask({ permission: 'pay' }))]);
    expect(source.of('members').map(({ needs }) => needs)).toEqual([
      [{ email: ADA, app: 'shop', resourceType: '', resourceId: '' }],
    ]);
    await Promise.all([engine.check(ask(order)), engine.check(ask({ ...order, permission: 'pay' }))]);
    expect(source.of('members').at(-1)?.needs).toEqual([{ email: ADA, app: 'shop', ...order }]);
    expect(source.of('policy')).toHaveLength(1);
  });

  test('waiting needs are bounded while the database is silent, and further ones are refused at once', async () => {
    const { engine, source } = await fixture();
    source.held = true;
    const outcomes: string[] = [];
    const check = (who: string) =>
      engine.check(ask({ email: who })).then(
        () => outcomes.push(who),
        (error: { code: string }) => outcomes.push(`${who}: ${error.code}`),
      );
    for (let index = 0; index < MAX_WAITING; index++) void check(email(index));
    void check('one-more@example.com');
    void check(email(0)); // waits with the earlier caller
    await settled();
    expect(outcomes).toEqual(['one-more@example.com: UNAVAILABLE']);
    expect(source.of('members')).toHaveLength(3);
    void check('and-now@example.com'); // what was sent has made room
    await settled();
    expect(outcomes).toHaveLength(1);
  });

  test('every need gets its own answer', async () => {
    const { engine, source } = await fixture();
    const emails = Array.from({ length: 40 }, (_, index) => email(index));
    source.database.write(
      emails
        .filter((_, index) => index % 3 === 0)
        .map((who) => ({ kind: 'app-admin', app: 'shop', email: who, is: true })),
    );
    await engine.reach(at(1));
    const answers = await Promise.all(emails.map((who) => engine.check(ask({ email: who }))));
    expect(answers.map(({ decision }) => decision.granted)).toEqual(emails.map((_, index) => index % 3 === 0));
  });
});
