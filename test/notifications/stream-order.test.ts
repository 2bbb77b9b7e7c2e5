import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { StreamOrder } from '../../src/notifications/stream-order.ts';
import { StreamSession } from '../../src/notifications/stream-session.ts';
import type { StreamNews } from '../../src/persistence/database.ts';

const LIMIT = 3;
const EMAIL = 'ann@example.com';

interface Node {
  readonly at: string;
  readonly order: StreamOrder;
  /** News that it has heard. */
  heard: number;
}

/** Instances that hear all that any of them tells in one order, each as late as it likes. */
class Instances {
  readonly told: StreamNews[] = [];
  readonly #nodes: Node[] = ['a', 'b', 'c'].map((at) => ({ at, order: new StreamOrder(at, LIMIT), heard: 0 }));
  readonly open: { session: StreamSession; at: string }[] = [];

  begin(index: number): void {
    const { at, order } = this.#node(index);
    const session = new StreamSession(
      { email: EMAIL, expiresAt: 1_000_000, cursor: 0 },
      {
        begun: () => undefined,
        over: () => {
          order.ended(session);
          this.told.push({ what: 'ended', email: EMAIL, at, number: session.number, expiresAt: 0 });
          this.open.splice(
            this.open.findIndex((other) => other.session === session),
            1,
          );
        },
      },
    );
    void session.next();
    this.open.push({ session, at });
    order.opened(session);
    if (session.isOver) return;
    this.told.push({ what: 'opened', email: EMAIL, at, number: session.number, expiresAt: 1000 });
  }

  close(index: number): void {
    this.open[index % Math.max(1, this.open.length)]?.session.end();
  }

  /** Whether there was anything to hear. */
  hear(index: number): boolean {
    const node = this.#node(index);
    const news = this.told[node.heard];
    if (news === undefined) return false;
    node.heard++;
    node.order.heard(news);
    return true;
  }

  hearAll(): void {
    while ([0, 1, 2].map((index) => this.hear(index)).some((heard) => heard));
  }

  #node(index: number): Node {
    return this.#nodes[index % 3] as Node;
  }
}

const step = fc.record({ what: fc.constantFrom('begin', 'begin', 'close', 'hear', 'hear', 'hear'), index: fc.nat(50) });

describe('streams of one user across instances', () => {
  test('with any delays the newest streams within the limit stay open in the end', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const all = new Instances();
        for (const { what, index } of steps) {
          if (what === 'begin') all.begin(index);
          else if (what === 'hear') all.hear(index);
        }
        all.hearAll();
        const opened = all.told.filter(({ what }) => what === 'opened');
        const newest = opened.slice(-LIMIT).map(({ at, number }) => `${at}${number}`);
        expect(all.open.map(({ at, session }) => `${at}${session.number}`).toSorted()).toEqual(newest.toSorted());
      }),
      { numRuns: 500 },
    );
  });

  test('when streams end by themselves, the limit holds and freed places are used', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const all = new Instances();
        for (const { what, index } of steps) {
          if (what === 'begin') all.begin(index);
          else if (what === 'close') all.close(index);
          else all.hear(index);
        }
        all.hearAll();
        expect(all.open.length).toBeLessThanOrEqual(LIMIT);
        while (all.open.length > 0) all.close(0);
        all.hearAll();
        for (let n = 0; n < LIMIT; n++) {
          all.begin(n);
          all.hearAll();
        }
        expect(all.open).toHaveLength(LIMIT);
      }),
      { numRuns: 500 },
    );
  });

  test('streams of a killed instance are forgotten after their expiry', () => {
    const order = new StreamOrder('a', 2);
    const session = new StreamSession(
      { email: EMAIL, expiresAt: 9_000_000, cursor: 0 },
      { begun: () => undefined, over: () => undefined },
    );
    order.opened(session);
    order.heard({ what: 'opened', email: EMAIL, at: 'a', number: session.number, expiresAt: 9000 });
    order.heard({ what: 'opened', email: EMAIL, at: 'killed', number: 1, expiresAt: 5 });
    order.forgetExpired(5001);
    order.heard({ what: 'opened', email: EMAIL, at: 'b', number: 1, expiresAt: 9000 });
    expect(session.isOver).toBe(false);
    order.heard({ what: 'opened', email: EMAIL, at: 'b', number: 2, expiresAt: 9000 });
    expect(session.isOver).toBe(true);
  });
});
