import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { Guests } from '#http2-front/guests';
import { RefusedCall } from '#http2-front/refused-call';
import { UnfinishedMessages } from '#http2-front/unfinished';

function guests(limits = { connection: 100, address: 250, all: 400 }, turnBytes = 1000) {
  let overweight = 0;
  const ended: string[] = [];
  const all = new Guests(() => overweight++, limits, turnBytes);
  const enter = (address: string, name: string) => all.enter(address, { end: () => ended.push(name) });
  return { all, enter, ended, overweight: () => overweight };
}

describe('what connections keep on which no right was shown', () => {
  test('is bounded for a connection, to the byte', () => {
    const { all, enter, ended } = guests();
    const guest = enter('a', 'one');
    guest.weigh(100);
    expect(ended).toEqual([]);
    guest.weigh(101);
    expect(ended).toEqual(['one']);
    expect(all.bytes).toBe(0);
  });

  test('is bounded for an address: the heaviest of it goes, nobody of another', () => {
    const { enter, ended, overweight } = guests();
    enter('b', 'other').weigh(100);
    const [light, heavy, last] = ['light', 'heavy', 'last'].map((name) => enter('a', name));
    light?.weigh(70);
    heavy?.weigh(100);
    last?.weigh(80);
    expect(ended).toEqual([]);
    last?.weigh(81);
    expect([ended, overweight()]).toEqual([['heavy'], 1]);
  });

  test('is bounded in all: the heaviest goes, and who has just come stays', () => {
    const { all, enter, ended } = guests();
    for (let n = 0; n < 4; n++) enter(`attacker-${n}`, `attacker-${n}`).weigh(99);
    enter('caller', 'caller').weigh(5);
    expect(ended).toEqual(['attacker-0']);
    expect(all.bytes).toBe(3 * 99 + 5);
  });

  test('is forgotten when they leave, once', () => {
    const { all, enter } = guests();
    const guest = enter('a', 'one');
    guest.weigh(60);
    guest.leave();
    guest.leave();
    expect([all.bytes, all.size]).toEqual([0, 0]);
    for (let n = 0; n < 3; n++) enter('a', `${n}`).weigh(80);
    expect(all.bytes).toBe(240);
  });

  test('gets a part of each turn for all of them, in the order in which they wait', async () => {
    const { enter } = guests(undefined, 1000);
    const [one, two] = [enter('a', 'one'), enter('b', 'two')];
    one.spend(999);
    expect(two.mustWait).toBe(false);
    two.spend(1500);
    expect(one.mustWait).toBe(true);
    const went: string[] = [];
    one.wait(() => {
      went.push('one');
      one.spend(600);
    });
    two.wait(() => went.push('two'));
    await turn();
    // What was taken too much is taken from the next turn.
    expect(went).toEqual([]);
    await turn();
    expect(went).toEqual(['one']);
    await turn();
    expect(went).toEqual(['one', 'two']);
    expect(one.mustWait).toBe(false);
  });
});

describe('unfinished messages of those who have shown a right', () => {
  const open = (address = 'a') => unfinished.open(address);
  const unfinished = new UnfinishedMessages({ connection: 100, address: 150, all: 220 });

  test('are bounded for a connection, for an address and in all', () => {
    const [one, two, other] = [open(), open(), open('b')];
    one.take(100);
    expect(() => one.take(1)).toThrow(RefusedCall);
    two.take(50);
    expect(() => two.take(1)).toThrow('unfinished bytes');
    other.take(70);
    expect(() => other.take(1)).toThrow(RefusedCall);
    expect(unfinished.held).toBe(220);
    one.take(-100);
    other.take(1);
    expect([one.held, two.held, other.held, unfinished.held]).toEqual([0, 50, 71, 121]);
  });
});
