import { expect, test } from '@jest/globals';
import pg from 'pg';
import { systemClock as clock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { openDatabase } from '../../src/persistence/open.ts';
import { createStorage } from '../support/databases.ts';

/**
 * A migration locks one table after another, and a check reads from all of them in its own order: each can wait for the other, and
 * PostgreSQL then ends one. The check is asked again.
 */
test('a read of facts that PostgreSQL ends in a deadlock is answered after all', async () => {
  const storage = await createStorage('postgresql');
  const url = storage.url ?? '';
  const own = await openDatabase({
    url,
    dataDir: '',
    poolSize: 2,
    migrateOnStart: true,
    clock,
    log: createLogger('silent'),
  });
  // Whoever waited longer than the shorter of these two times looks for a deadlock, and is ended.
  const [locker, admin] = [new pg.Client({ connectionString: url }), new pg.Client({ connectionString: url })];
  try {
    await Promise.all([locker.connect(), admin.connect()]);
    await locker.query(
      `begin; set local deadlock_timeout = '30s'; lock table resource_override in access exclusive mode`,
    );
    const reading = own.facts.members(0, [
      { email: 'ada@example.com', app: 'shop', resourceType: 'doc', resourceId: '1' },
    ]);
    const waits = `select from pg_locks where not granted and relation = 'resource_override'::regclass`;
    while ((await admin.query(waits)).rowCount === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const locking = locker.query('lock table person in access exclusive mode; commit');
    const [facts] = await Promise.all([reading, locking]);
    expect(facts.answers).toHaveLength(1);
  } finally {
    await Promise.all([locker.end(), admin.end()]);
    await own.close();
    await storage.remove();
  }
}, 60_000);
