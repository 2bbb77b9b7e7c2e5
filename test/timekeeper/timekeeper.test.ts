import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger, createRegistry } from '../../src/base/telemetry.ts';
import type { Database } from '../../src/persistence/database.ts';
import { TIMEKEEPER_LOCK } from '../../src/persistence/timekeeper/turn.ts';
import { Timekeeper } from '../../src/timekeeper/timekeeper.ts';
import { until } from '../delivery/rows.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { spawnScript } from '../support/spawn-writer.ts';
import {
  countOf,
  giveOverride,
  giveRoles,
  giveSeat,
  makeShop,
  newest,
  revisionsAfter,
  timekeeperOf,
  toldOf,
  write,
} from './world.ts';

const DAY = 86_400;

describe.each(KINDS)('the timekeeper (%s)', (kind) => {
  let storage: TestStorage;
  let database: Database;

  beforeEach(async () => {
    storage = await createStorage(kind);
    database = await storage.open();
  }, 60_000);
  afterEach(async () => {
    await storage.remove();
  });

  test('what has ended is removed with a record each, in one revision that names whom it concerns', async () => {
    await makeShop(database, 5);
    await write(database, async (tx) => {
      await giveRoles(tx, 1, 2, { from: -10, to: -1 });
      await giveRoles(tx, 3, 3, { to: 100 });
      await giveRoles(tx, 4, 4, {});
      await giveOverride(tx, 1, '42', { to: -2 });
      await giveOverride(tx, 5, '43', {});
      await giveSeat(tx, 5, { to: -3 });
    });
    const before = await newest(database);
    const { timekeeper, metric } = timekeeperOf(database);
    await timekeeper.turn();
    expect([await countOf(database, 'user_role'), await countOf(database, 'resource_override')]).toEqual([2, 1]);
    expect(await countOf(database, 'app_admin')).toBe(0);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    const role = { action: 'assignment.ended', actor: 'system', app: 'shop', after: null };
    const told = await toldOf(database);
    expect(told.toSorted((a, b) => (a.action + a.subject < b.action + b.subject ? -1 : 1))).toEqual([
      { ...role, action: 'app_admin.ended', subject: 'p5@example.com', before: { startsAt: null, endsAt: time } },
      { ...role, subject: 'p1@example.com', before: { role: 'reader', startsAt: time, endsAt: time } },
      { ...role, subject: 'p2@example.com', before: { role: 'reader', startsAt: time, endsAt: time } },
      {
        ...role,
        action: 'override.ended',
        subject: 'p1@example.com',
        before: {
          resourceType: 'ticket',
          resourceId: '42',
          permission: 'ticket.read',
          granted: true,
          accessLevel: 'view',
          startsAt: null,
          endsAt: time,
        },
      },
    ]);
    const [made, ...others] = await revisionsAfter(database, before);
    expect(others).toEqual([]);
    expect(made?.actor).toBe('system');
    expect(made?.scopes.toSorted()).toEqual([1, 2, 5].map((n) => `m:shop:p${n}@example.com`));
    expect(await metric('usher_timekeeper_grants_total{event="ended"}')).toBe(4);
    // Nothing more is due.
    await timekeeper.turn();
    expect([await newest(database), await toldOf(database)]).toEqual([made?.revision, told]);
  });

  test('a beginning is noted once, when it comes, and none that had come when it was set', async () => {
    await makeShop(database, 4);
    await write(database, async (tx) => {
      await giveRoles(tx, 1, 1, { from: 3, to: 100 });
      await giveRoles(tx, 2, 2, { from: -5, to: 100 });
      await giveRoles(tx, 3, 3, { from: 3 });
      await giveOverride(tx, 1, '42', { from: 3 });
      await giveSeat(tx, 4, { from: 3 });
      await sql`delete from user_role u using person p where p.id = u.person_id and p.email = 'p3@example.com'`.execute(
        tx.kysely,
      );
    });
    const before = await newest(database);
    const { timekeeper } = timekeeperOf(database);
    expect(await timekeeper.turn()).toBeLessThanOrEqual(1000);
    expect(await toldOf(database)).toEqual([]);
    await until(
      async () => {
        await timekeeper.turn();
        return (await toldOf(database)).length;
      },
      (count) => count >= 3,
    );
    await timekeeper.turn();
    const told = await toldOf(database);
    expect(told.map(({ action, subject }) => `${action} ${subject}`).toSorted()).toEqual([
      'app_admin.began p4@example.com',
      'assignment.began p1@example.com',
      'override.began p1@example.com',
    ]);
    const began = told.find(({ action }) => action === 'assignment.began');
    expect(began).toMatchObject({ actor: 'system', before: null, after: { role: 'reader' } });
    for (const { at, scopes, actor } of await revisionsAfter(database, before)) {
      expect(actor).toBe('system');
      expect(scopes.every((scope) => /^m:shop:p[14]@example.com$/.test(scope))).toBe(true);
      expect(at.getTime()).toBeGreaterThanOrEqual(Date.parse(String(began?.after?.startsAt)) - 1);
    }
    expect(await countOf(database, 'grant_moment')).toBe(0);
  });

  test('moving a beginning moves its note, and whoever sets the window plans it', async () => {
    await makeShop(database, 1);
    await write(database, (tx) => giveRoles(tx, 1, 1, { from: 0.2 }));
    await write(database, (tx) => sql`update user_role set starts_at = now() + interval '1 hour'`.execute(tx.kysely));
    const { timekeeper } = timekeeperOf(database);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await timekeeper.turn();
    expect(await toldOf(database)).toEqual([]);
    expect(await countOf(database, 'grant_moment')).toBe(1);
    await write(database, (tx) => sql`update user_role set starts_at = null`.execute(tx.kysely));
    expect(await countOf(database, 'grant_moment')).toBe(0);
  });

  test('1,000 ends are one revision; what is more is another', async () => {
    await makeShop(database, 1200);
    await write(database, (tx) => giveRoles(tx, 1, 1200, { to: -1 }));
    const before = await newest(database);
    const { timekeeper } = timekeeperOf(database);
    await timekeeper.turn();
    expect([await countOf(database, 'user_role'), (await toldOf(database)).length]).toEqual([200, 1000]);
    expect(await revisionsAfter(database, before)).toMatchObject([{ actor: 'system', scopes: ['a:shop'] }]);
    await timekeeper.turn();
    const told = await toldOf(database);
    expect([await countOf(database, 'user_role'), new Set(told.map(({ subject }) => subject)).size]).toEqual([0, 1200]);
  }, 60_000);

  test('running, it tidies up within two seconds of the end and never before', async () => {
    await makeShop(database, 3);
    const { timekeeper } = timekeeperOf(database);
    timekeeper.start();
    await write(database, (tx) => giveRoles(tx, 1, 3, { to: 1.2 }));
    const before = await newest(database);
    const [made] = await until(
      () => revisionsAfter(database, before),
      ({ length }) => length > 0,
    );
    await timekeeper.stop();
    const [told] = await toldOf(database);
    const lateMs = (made?.at.getTime() ?? 0) - Date.parse(String(told?.before?.endsAt));
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThan(2000);
  });

  test('what has begun and ended since the last turn is told of both, in that order', async () => {
    await makeShop(database, 1);
    await write(database, (tx) => giveRoles(tx, 1, 1, { from: 0.2, to: 0.3 }));
    await new Promise((resolve) => setTimeout(resolve, 400));
    await timekeeperOf(database).timekeeper.turn();
    expect((await toldOf(database)).map(({ action }) => action)).toEqual(['assignment.began', 'assignment.ended']);
  });

  test('a grant that is extended while it is due stays', async () => {
    await makeShop(database, 1);
    await write(database, (tx) => giveRoles(tx, 1, 1, { to: -1 }));
    await write(database, (tx) => sql`update user_role set ends_at = now() + interval '1 day'`.execute(tx.kysely));
    const { timekeeper } = timekeeperOf(database);
    await timekeeper.turn();
    expect([await countOf(database, 'user_role'), await toldOf(database)]).toEqual([1, []]);
  });

  test('a warning is planned three days before the end of a grant that runs for more than seven', async () => {
    await makeShop(database, 6);
    await write(database, async (tx) => {
      await giveRoles(tx, 1, 1, { to: 8 * DAY });
      await giveRoles(tx, 2, 2, { to: 6 * DAY });
      await giveRoles(tx, 3, 3, { from: 2 * DAY, to: 8 * DAY });
      await giveRoles(tx, 4, 4, { from: -20 * DAY, to: 2 * DAY });
      await giveRoles(tx, 5, 5, { from: -20 * DAY, to: 4 * DAY });
    });
    const planned = await database.read(async (tx) => {
      const { rows } = await sql<{ email: string; days: number }>`
        select p.email, round(extract(epoch from m.at - now()) / ${DAY})::int as days
          from grant_moment m join person p on p.id = m.person_id where m.what = 'warning' order by p.email`.execute(
        tx.kysely,
      );
      return rows;
    });
    expect(planned).toEqual([
      { email: 'p1@example.com', days: 5 },
      { email: 'p5@example.com', days: 1 },
    ]);
  });
});

describe('timekeepers of several processes', () => {
  let storage: TestStorage;
  let database: Database;

  beforeEach(async () => {
    storage = await createStorage('postgresql');
    database = await storage.open();
    await makeShop(database, 3000);
  }, 60_000);
  afterEach(async () => {
    await storage.remove();
  });

  test('one works at a time, and each end is told once', async () => {
    const others = await Promise.all([storage.open(), storage.open()]);
    await write(database, (tx) => giveRoles(tx, 1, 3000, { to: -1 }));
    const before = await newest(database);
    const keepers = [database, ...others].map((one) => timekeeperOf(one).timekeeper);
    for (const keeper of keepers) keeper.start();
    await until(
      () => countOf(database, 'user_role'),
      (count) => count === 0,
    );
    await Promise.all(keepers.map((keeper) => keeper.stop()));
    const told = await toldOf(database);
    expect([told.length, new Set(told.map(({ subject }) => subject)).size]).toEqual([3000, 3000]);
    expect(await revisionsAfter(database, before)).toHaveLength(3);
  }, 60_000);

  test('while another session has the lock, it only says how late it is', async () => {
    const other = await storage.open();
    await write(database, (tx) => giveRoles(tx, 1, 1, { to: -90 }));
    const { timekeeper, metric } = timekeeperOf(database);
    await other.change(async (tx) => {
      await sql`select pg_advisory_xact_lock(${TIMEKEEPER_LOCK})`.execute(tx.kysely);
      await timekeeper.turn();
      return { result: null, scopes: [] };
    });
    expect(await countOf(database, 'user_role')).toBe(1);
    const late = await metric('usher_timekeeper_late_seconds');
    expect(late).toBeGreaterThan(89);
    expect(late).toBeLessThan(180);
    await timekeeper.turn();
    await timekeeper.turn();
    expect(await metric('usher_timekeeper_late_seconds')).toBeLessThan(60);
  });

  test('it says how late it is where nothing can be written, and while nobody can be asked', async () => {
    await write(database, (tx) => giveRoles(tx, 1, 1, { to: -90 }));
    const readOnly = { read: database.read.bind(database), change: () => Promise.reject(new Error('read-only')) };
    const registry = createRegistry();
    const parts = { clock: systemClock, log: createLogger('silent'), registry, tell: () => Promise.resolve(false) };
    const keeper = new Timekeeper({ ...parts, database: readOnly });
    await keeper.turn();
    const text = await registry.metrics();
    expect(Number(/^usher_timekeeper_late_seconds (\S+)$/m.exec(text)?.[1])).toBeGreaterThan(89);
    expect(text).toMatch(/^usher_timekeeper_failures_total 1$/m);
  });

  test.each(['before-log', 'committing', 'after-commit'] as const)(
    'killed at the point %s of its transaction: nothing is lost, and nothing is told twice',
    async (dieAt) => {
      await write(database, (tx) => giveRoles(tx, 1, 10, { to: -1 }));
      const { url, dataDir } = storage;
      const child = spawnScript('timekeeper-process.ts', { url, dataDir, dieAt });
      expect([await child.ended, child.complaints()]).toEqual(['SIGKILL', '']);
      const { timekeeper } = timekeeperOf(database);
      await until(
        async () => {
          await timekeeper.turn();
          return await countOf(database, 'user_role');
        },
        (count) => count === 0,
      );
      const told = await toldOf(database);
      expect([told.length, new Set(told.map(({ subject }) => subject)).size]).toEqual([10, 10]);
    },
    60_000,
  );
});
