import { chmodSync, existsSync, mkdirSync, mkdtempSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { holdDirectory } from '../../src/persistence/driver/data-dir-lock.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { spawnWriter as spawn, type Writer } from '../support/spawn-writer.ts';
import type { WriterOrders } from '../support/writer-process.ts';

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);

describe('the directory of an embedded database', () => {
  let storage: TestStorage;
  let scratch: string;
  const writers: Writer[] = [];
  const spawnWriter = (orders: Partial<WriterOrders>): Writer => {
    const writer = spawn({
      url: null,
      dataDir: storage.dataDir,
      prefix: 'w',
      writes: 1,
      dieAt: null,
      dieIn: 0,
      ...orders,
    });
    writers.push(writer);
    return writer;
  };

  beforeAll(async () => {
    storage = await createStorage('pglite');
    scratch = mkdtempSync(join(tmpdir(), 'usher-directory-'));
  }, 60_000);

  afterAll(async () => {
    for (const writer of writers) await writer.kill();
    await storage.remove();
    await rm(scratch, { recursive: true, force: true });
  });

  test('an embedded directory refuses a second process, and is free after kill -9 of the first', async () => {
    const writer = spawnWriter({ prefix: 'held' });
    await writer.says('acknowledged 0');

    const refused = storage.open();
    await expect(refused).rejects.toMatchObject({ name: 'Refused' });
    await expect(refused).rejects.toThrow(/^Another process is using the embedded database in .+ \(DATABASE_URL\)\.$/);
    const second = spawnWriter({ prefix: 'second' });
    await expect(second.says('open')).rejects.toThrow('Another process is using the embedded database');

    await writer.kill();
    const database = await storage.open();
    const rows = await database.read((tx) => tx.kysely.selectFrom('application').select('code').execute());
    expect(rows).toEqual([{ code: 'held0' }]);
    await expect(storage.open()).rejects.toThrow('Another process');
    await database.close();
    await (await storage.open()).close();
    // Processes start one after the other here, which takes its time on a busy machine.
  }, 240_000);

  test('a first start that was killed half-way is repeated by the next', async () => {
    const dataDir = join(scratch, 'first');
    const orders = { dataDir, prefix: 'first', migrateOnStart: true };
    const first = spawnWriter(orders);
    // Its files are written one after the other.
    const { child } = first;
    while (child.exitCode === null && !existsSync(join(dataDir, 'database', 'base'))) await sleep(5);
    await first.kill();
    expect(first.lines).toEqual([]);

    const second = spawnWriter(orders);
    await second.says('acknowledged 0');
    await second.kill();
  }, 240_000);

  test('an embedded database is kept once complete, and discarded before', () => {
    const dataDir = join(scratch, 'half');
    const begin = () => {
      const held = holdDirectory(dataDir);
      const file = join(held.database, 'file');
      return { held, file, kept: existsSync(file) };
    };
    const killed = begin();
    writeFileSync(killed.file, '');
    killed.held.release();
    const whole = begin();
    expect(whole.kept).toBe(false);
    writeFileSync(whole.file, '');
    whole.held.finished();
    whole.held.release();
    for (let time = 0; time < 2; time++) {
      const next = begin();
      expect(next.kept).toBe(true);
      next.held.release();
    }
  });

  test('an embedded directory is created for its owner only', () => {
    const dataDir = join(scratch, 'deep', 'new');
    const held = holdDirectory(dataDir);
    expect([mode(dataDir), mode(held.database), mode(join(dataDir, 'usher.lock'))]).toEqual(['700', '700', '600']);
    held.release();
    // One that has become looser, or was made empty for it, is closed again.
    chmodSync(dataDir, 0o755);
    holdDirectory(dataDir).release();
    const empty = join(scratch, 'empty');
    mkdirSync(empty, { mode: 0o755 });
    holdDirectory(empty).release();
    expect([mode(dataDir), mode(empty)]).toEqual(['700', '700']);
  });

  test('a directory with other content keeps its mode, and the database in it is private', () => {
    const shared = join(scratch, 'shared');
    mkdirSync(shared);
    chmodSync(shared, 0o755);
    writeFileSync(join(shared, 'of-somebody'), '');
    const held = holdDirectory(shared);
    expect([mode(shared), mode(held.database), mode(join(shared, 'usher.lock'))]).toEqual(['755', '700', '600']);
    held.release();
  });
});
