import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { UsherError } from '../../src/base/errors.ts';
import type { Database } from '../../src/persistence/database.ts';
import { Nightly } from '../../src/provider/nightly.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';

const at = (time: string) => Date.parse(`2026-03-0${time}Z`);

describe('the nightly comparison', () => {
  let storage: TestStorage;
  let database: Database;
  beforeAll(async () => {
    storage = await createStorage('postgresql');
    database = await storage.open();
  }, 60_000);
  afterAll(() => storage?.remove(), 60_000);

  /** A worker at a time of its own. `outcomes` are what its runs end with, null for well. */
  function worker(outcomes: (UsherError | null)[] = [], hour = '03:00') {
    const time = { now: 0, monotonic: 0 };
    const runs: string[] = [];
    const warnings: string[] = [];
    const nightly = new Nightly({
      database,
      at: hour,
      clock: { now: () => time.now, monotonic: () => time.monotonic, after: () => () => undefined },
      log: { warn: (_: unknown, message?: string) => void warnings.push(message ?? '') } as never,
      reconciliation: {
        run: ({ requestId }) => {
          runs.push(requestId);
          const failure = outcomes.shift() ?? null;
          return failure === null ? Promise.resolve(null as never) : Promise.reject(failure);
        },
      },
    });
    const look = (when: string): Promise<boolean> => {
      const now = at(when);
      if (time.now > 0) time.monotonic += now - time.now;
      time.now = now;
      return nightly.look();
    };
    return { look, runs, warnings };
  }

  test('it is made once a night, by whoever comes first, and not long after its time', async () => {
    const [one, another] = [worker(), worker()];
    expect(await one.look('1T02:59')).toBe(false);
    expect(await one.look('1T03:00')).toBe(true);
    expect(await one.look('1T03:01')).toBe(false);
    expect(await another.look('1T03:01')).toBe(false);
    expect(await another.look('2T03:20')).toBe(true);
    expect(await one.look('2T05:59')).toBe(false);
    // Started at noon, it does not make up for the night.
    expect(await worker().look('3T12:00')).toBe(false);
    expect([one.runs, another.runs]).toEqual([
      ['nightly-2026-03-01T03:00:00.000Z'],
      ['nightly-2026-03-02T03:00:00.000Z'],
    ]);
  });

  test('one that failed is tried again in a quarter of an hour, by another too; one that was braked is not', async () => {
    const one = worker([new UsherError('IDP_UNREACHABLE', 'away'), new UsherError('RECONCILIATION_RUNNING', 'busy')]);
    expect(await one.look('5T03:00')).toBe(false);
    expect(await one.look('5T03:14')).toBe(false);
    expect(await one.look('5T03:15')).toBe(false);
    expect([one.runs.length, one.warnings.length]).toEqual([2, 1]);
    const braked = worker([new UsherError('RECONCILIATION_BRAKED', 'too many')]);
    expect(await braked.look('5T03:20')).toBe(true);
    expect(await one.look('5T03:40')).toBe(false);
    expect(braked.warnings).toEqual([]);
  });

  test('a time near midnight belongs to the night before', async () => {
    const late = worker([], '23:30');
    expect(await late.look('7T02:31')).toBe(false);
    expect(await late.look('8T00:10')).toBe(true);
    expect(await late.look('8T00:11')).toBe(false);
    expect(late.runs).toEqual(['nightly-2026-03-07T23:30:00.000Z']);
  });
});
