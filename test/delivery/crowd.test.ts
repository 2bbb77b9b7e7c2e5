import { describe, expect, test } from '@jest/globals';
import { CircuitBreaker } from '../../src/base/circuit-breaker.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger, createRegistry } from '../../src/base/telemetry.ts';
import type { Channel } from '../../src/delivery/attempt.ts';
import { DeliveryMetrics } from '../../src/delivery/metrics.ts';
import { DeliveryBell } from '../../src/delivery/queue.ts';
import { DeliveryWorker } from '../../src/delivery/worker.ts';
import { useDatabase } from '../support/databases.ts';
import { PerTurn } from '../support/turns.ts';
import { accept, insertType, settled, stateOf, until } from './rows.ts';

const SENT = { sent: true, againInMs: null, attempted: true, error: null, pushDone: [] };

describe('a worker with many claimed deliveries', () => {
  const fixture = useDatabase('postgresql');

  test('a worker with many claimed deliveries starts a few in each turn of the event loop', async () => {
    const { database } = fixture;
    const log = createLogger('silent');
    const bell = new DeliveryBell();
    const done: string[] = [];
    let begun: () => void = () => undefined;
    const channel: Channel = {
      attempt: (claimed) => {
        begun();
        done.push(claimed.channel);
        return Promise.resolve(SENT);
      },
    };
    const worker = new DeliveryWorker({
      database,
      clock: systemClock,
      log,
      channels: { email: channel, push: channel },
      breaker: new CircuitBreaker(systemClock),
      metrics: new DeliveryMetrics(createRegistry(), database),
      bell,
    });
    const wanted = Array.from({ length: 60 }, (_, at) => ({ to: `crowd${at}@example.com`, email: {}, push: {} }));
    const ids = await accept(database, await insertType(database, 'crowd'), wanted);
    const { total, most } = await PerTurn.while(async (happened) => {
      begun = happened;
      await worker.start();
      for (const id of ids) await until(() => stateOf(database, id), settled);
    });
    await worker.close();
    expect(done).toHaveLength(120);
    expect(total).toBe(120);
    // What had room in an earlier turn goes before them.
    expect(most).toBeLessThanOrEqual(8);
  });
});
