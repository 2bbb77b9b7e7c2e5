import { describe, expect, test } from '@jest/globals';
import { type Held, InFlight } from '../../src/delivery/in-flight.ts';

const LIMITS = {
  total: 10,
  atOnce: 4,
  perLane: { email: { claimed: 4, underWay: 2 }, push: { claimed: 6, underWay: 3 } },
};

let ids = 0;
function held(lane: string, id = ++ids, attempts = 1): Held {
  const channel = lane.startsWith('push:') ? 'push' : 'email';
  const rest = {
    notificationId: id,
    brandId: null,
    content: {},
    personId: 1,
    active: true,
    expired: false,
    cancelled: false,
  };
  return { id, lane, channel, attempts, ...rest, pushDone: [], createdAt: new Date(0), targets: [], claimedAt: 0 };
}

function many(lane: string, count: number): Held[] {
  return Array.from({ length: count }, () => held(lane));
}

function begun(inFlight: InFlight): Held[] {
  const all: Held[] = [];
  for (let one = inFlight.next(); one !== undefined; one = inFlight.next()) all.push(one);
  return all;
}

describe('the claimed deliveries of a worker', () => {
  test('a lane never takes all places, and the lanes take turns', () => {
    const inFlight = new InFlight(LIMITS);
    inFlight.take([...many('brand:1', 4), ...many('brand:2', 3), ...many('brand:3', 1)], inFlight.room());
    const first = begun(inFlight);
    expect(first.map(({ lane }) => lane)).toEqual(['brand:1', 'brand:2', 'brand:3', 'brand:1']);
    expect([inFlight.size, inFlight.underWay]).toEqual([8, 4]);
    inFlight.ended(first[1] as Held);
    expect(begun(inFlight).map(({ lane }) => lane)).toEqual(['brand:2']);
    inFlight.ended(first[2] as Held);
    // Two of the first lane are under way: the place is the second lane's, whose turn it is not.
    expect(begun(inFlight).map(({ lane }) => lane)).toEqual(['brand:2']);
  });

  test('the room is limited for each lane and in total', () => {
    const inFlight = new InFlight(LIMITS);
    inFlight.take([...many('brand:1', 3), ...many('push:x', 6)], inFlight.room());
    const { limit, free } = inFlight.room();
    expect([limit, Object.fromEntries(free)]).toEqual([1, { 'brand:1': 1, 'push:x': 0 }]);
    inFlight.take(many('brand:2', 1), { limit, free });
    expect(inFlight.room().limit).toBe(0);
  });

  test('the worker claims again when half of a full lane, or half of all deliveries, is done', () => {
    const inFlight = new InFlight(LIMITS);
    inFlight.take([...many('brand:1', 4), ...many('brand:2', 1)], inFlight.room());
    const all = begun(inFlight);
    const of = (lane: string) => all.filter((one) => one.lane === lane);
    // Of this one there was no more.
    expect(inFlight.ended(of('brand:2')[0] as Held)).toBe(false);
    const [one, other] = of('brand:1');
    expect(inFlight.ended(one as Held)).toBe(false);
    expect(inFlight.ended(other as Held)).toBe(true);

    const full = new InFlight(LIMITS);
    const taken = ['a', 'b', 'c', 'd', 'e'].flatMap((name) => many(`brand:${name}`, 2));
    full.take(taken, full.room());
    const dropped: boolean[] = [];
    for (let count = 0; count < 5; count++) {
      const next = full.next() as Held;
      full.ended(next);
      dropped.push(full.drop(next));
    }
    expect(dropped).toEqual([false, false, false, false, true]);
  });

  test('a delivery claimed twice is started once, and settled under its new claim', () => {
    const inFlight = new InFlight(LIMITS);
    const [one] = many('brand:1', 1) as [Held];
    inFlight.take([one], inFlight.room());
    expect(begun(inFlight)).toEqual([one]);
    inFlight.take([held('brand:1', one.id, 2)], inFlight.room());
    expect(begun(inFlight)).toEqual([]);
    expect(one.attempts).toBe(2);
  });

  test('waiting deliveries can be released, and the started ones finish', () => {
    const inFlight = new InFlight(LIMITS);
    inFlight.take([...many('brand:1', 4), ...many('brand:2', 1)], inFlight.room());
    const first = begun(inFlight);
    expect(inFlight.takeWaiting()).toHaveLength(2);
    expect(begun(inFlight)).toEqual([]);
    for (const one of first) inFlight.ended(one);
    expect([inFlight.size, inFlight.underWay]).toEqual([5, 0]);
  });
});
