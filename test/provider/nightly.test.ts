import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { UsherError } from '../../src/base/errors.ts';
import type { Database } from '../../src/persistence/database.ts';
import { Nightly } from '../../src/provider/nightly.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { SERVICE_TOKEN, startIdp } from '../support/provider/double.ts';
import { startUsher } from '../support/usher.ts';

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

  test('a worker whose time has come compares, and one without the role does not', async () => {
    const idp = await startIdp();
    const profile = { givenName: 'Ada', familyName: 'Lovelace', displayName: 'Ada Lovelace' };
    idp.state.users.push({ id: '1', email: 'ada@example.com', profile });
    const now = new Date().toISOString().slice(11, 16);
    const timers: (() => void)[] = [];
    // What looks every minute looks when the test says so.
    const after: typeof systemClock.after = (ms, fn) => {
      if (ms !== 60_000) return systemClock.after(ms, fn);
      timers.push(fn);
      return () => undefined;
    };
    const people = () =>
      database.read(({ kysely }) => kysely.selectFrom('profile').select('displayName as name').execute());
    const night = async (roles: string): Promise<void> => {
      timers.length = 0;
      const env = {
        USHER_ROLES: roles,
        IDP_API_URL: idp.url,
        IDP_SERVICE_ACCOUNT_TOKEN: SERVICE_TOKEN,
        IDP_RECONCILE_AT: now,
      };
      const usher = await startUsher(storage, { env, parts: { clock: { ...systemClock, after } } });
      for (const timer of timers.splice(0)) timer();
      await new Promise((resolve) => setTimeout(resolve, 1500));
      await usher.close();
    };
    await night('gateway,rpc');
    expect([idp.calls.length, await people()]).toEqual([0, []]);
    await night('gateway,worker');
    expect([idp.calls.length, await people()]).toEqual([1, [{ name: 'Ada Lovelace' }]]);
    await night('gateway,worker');
    expect(idp.calls.length).toBe(1);
    await idp.close();
  }, 60_000);
});
