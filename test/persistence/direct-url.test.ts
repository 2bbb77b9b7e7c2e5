import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { MIGRATIONS } from '../../src/persistence/migrations/list.ts';
import { migrate, openDatabase } from '../../src/persistence/open.ts';
import { carryOut } from '../support/carry-out.ts';
import { createDatabase, freePort, type PostgresDatabase } from '../support/postgres.ts';
import { LineCutter } from '../support/proxy.ts';

const options = { dataDir: '', poolSize: 2, clock: systemClock, log: createLogger('silent') };

describe('a database with a direct line beside a pooler', () => {
  let server: PostgresDatabase;
  let direct: LineCutter;
  let lines = 0;

  beforeAll(async () => {
    server = await createDatabase({ empty: true });
    direct = await LineCutter.start(server.url, {
      answers: () => {
        lines++;
        return (bytes) => bytes;
      },
    });
  });
  afterAll(async () => {
    await direct.close();
    await server.drop();
  });

  /** Nobody answers there. */
  const nowhere = async () => {
    const url = new URL(server.url);
    url.host = `127.0.0.1:${await freePort()}`;
    return url.href;
  };

  test('is migrated by the direct line alone', async () => {
    const applied = await migrate({ ...options, url: await nowhere(), directUrl: direct.url(server.url) });
    expect(applied).toEqual(MIGRATIONS.map(({ name }) => name));
    expect(lines).toBeGreaterThan(0);
  });

  test('listens on the direct line, and does everything else on the other', async () => {
    const where = { ...options, url: server.url, migrateOnStart: false };
    lines = 0;
    const listening = await openDatabase({ ...where, directUrl: direct.url(server.url) });
    const writing = await openDatabase(where);
    let wake = (): void => undefined;
    const stop = await listening.facts.listen(() => wake());
    try {
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await writing.change((tx) => carryOut(tx, { kind: 'create-app', app: 'shop' }));
      await woken;
      await listening.change((tx) => carryOut(tx, { kind: 'create-app', app: 'depot' }));
      await listening.ping();
      expect(lines).toBe(1);
    } finally {
      await stop();
      await Promise.all([listening.close(), writing.close()]);
    }
  });
});
