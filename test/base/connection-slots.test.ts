import { describe, expect, test } from '@jest/globals';
import { ConnectionSlots, type Slot, slotLimits } from '../../src/base/connection-slots.ts';
import { connectionsPerPort, descriptorLimit } from '../../src/base/descriptors.ts';

function port(all: number) {
  const ended: string[] = [];
  let refused = 0;
  const slots = new ConnectionSlots(slotLimits(all), () => refused++);
  const come = (address: string | null, name: string): Slot | null => slots.enter(address, () => ended.push(name));
  return { slots, ended, come, refused: () => refused };
}

describe('connections of a port', () => {
  test('half of them are for callers who have shown a right, the rest gives way to whoever comes', () => {
    const { slots, ended, come, refused } = port(20);
    for (let n = 0; n < 30; n++) come(`a${n}`, `stranger-${n}`);
    expect([slots.count, slots.guests, refused()]).toEqual([10, 10, 20]);
    expect(ended).toEqual(Array.from({ length: 20 }, (_, n) => `stranger-${n}`));
    // Each caller comes as a stranger, and is let in.
    for (let n = 0; n < 10; n++) {
      const slot = come(`b${n}`, `caller-${n}`);
      expect(slot).not.toBeNull();
      slot?.prove();
    }
    expect([slots.count, slots.guests]).toEqual([19, 9]);
    for (let n = 0; n < 30; n++) come(`c${n}`, 'late');
    expect(ended.filter((name) => name.startsWith('caller'))).toEqual([]);
    expect(slots.count).toBe(20);
  });

  test('an address has a half of them: the oldest of its own give way, nobody else', () => {
    const { slots, ended, come } = port(40);
    come('other', 'other');
    for (let n = 0; n < 100; n++) come('a', `${n}`);
    expect([slots.guests, ended.includes('other'), ended[0], ended.length]).toEqual([20, false, '0', 81]);
    for (let n = 0; n < 20; n++) come('a', 'caller')?.prove();
    expect([come('a', 'late'), come('b', 'another') === null, slots.count]).toEqual([null, false, 22]);
  });

  test('of many addresses, the one with most gives way', () => {
    const { ended, come } = port(16);
    for (let n = 0; n < 3; n++) come('many', `many-${n}`);
    for (let n = 0; n < 5; n++) come(`one-${n}`, `one-${n}`);
    come('new', 'new');
    expect(ended).toEqual(['many-0']);
  });

  test('callers who have shown a right give way to nobody: there is no room any more', () => {
    const { slots, ended, come, refused } = port(4);
    for (let n = 0; n < 4; n++) come(`${n}`, 'caller')?.prove();
    expect(come('5', 'late')).toBeNull();
    expect([ended, slots.count, refused()]).toEqual([[], 4, 1]);
  });

  test('where the address says nothing of the caller, it bounds nothing', () => {
    const { slots, ended, come } = port(16);
    for (let n = 0; n < 16; n++) come(null, 'behind a proxy')?.prove();
    expect([slots.count, ended]).toEqual([16, []]);
  });

  test('a place is free again, once, when its connection is closed', () => {
    const { slots, come } = port(10);
    const one = come('a', 'one');
    const two = come('a', 'two');
    two?.prove();
    two?.prove();
    for (const slot of [one, one, two, two]) slot?.leave();
    expect([slots.count, slots.guests]).toEqual([0, 0]);
  });
});

describe('what descriptors leave for ports', () => {
  test.each([
    ['400, PostgreSQL, both ports', 400, 17, 2, 143],
    ['400, an edge', 400, 0, 1, 304],
    ['1024, embedded, both ports', 1024, 32, 2, 448],
    ['few', 64, 17, 2, 16],
  ])('%s', (_, limit, database, ports, expected) => {
    expect(connectionsPerPort(limit, database, ports)).toBe(expected);
  });

  test('the limit of this process is known', () => {
    expect(descriptorLimit()).toBeGreaterThan(100);
  });
});
