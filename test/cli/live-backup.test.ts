import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, describe, expect, test } from '@jest/globals';
import { newFolder, type RunningService, startService, usher } from './harness.ts';

/** Backups of the embedded database while the service runs (docs/operations/backup.md#the-embedded-database). */
const { folder } = newFolder();
const running = new Set<RunningService>();

async function start(env: Record<string, string> = {}): Promise<RunningService> {
  const service = await startService({ SUPERADMINS: 'admin@example.com', ...env });
  running.add(service);
  return service;
}
afterAll(async () => {
  for (const service of running) await service.remove();
}, 60_000);

async function until(what: () => boolean, ms = 60_000): Promise<void> {
  for (const end = Date.now() + ms; !what(); await setTimeout(20)) if (Date.now() > end) throw new Error('too late');
}

async function applicationsOf(file: string, into: string): Promise<string> {
  const env = { DATABASE_EMBEDDED: 'true', DATA_DIR: join(folder, into) };
  expect(await usher(['restore', file], { env })).toMatchObject({ code: 0, stderr: '' });
  return (await usher(['superadmin', 'list', '--json'], { env })).stdout;
}

const BACKUP = /^usher-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.backup$/;
const backupsIn = (dir: string) => (existsSync(dir) ? readdirSync(dir).filter((name) => BACKUP.test(name)) : []);

describe('a backup while the service runs', () => {
  test('usher backup asks the service for it, which goes on answering', async () => {
    const service = await start();
    const file = join(folder, 'live.backup');
    const backup = usher(['backup', file], { env: { ...service.env, DATABASE_EMBEDDED: 'true' } });
    const statuses: number[] = [];
    let done = false;
    const asking = (async () => {
      while (!done) statuses.push((await fetch(`${service.url}/readyz`)).status);
    })();
    const outcome = await backup;
    done = true;
    await asking;
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(service.dataDir, 'backup-requests'))).toEqual([]);
    expect(await applicationsOf(file, 'live')).toContain('admin@example.com');
    const again = await usher(['backup', file], { env: { ...service.env, DATABASE_EMBEDDED: 'true' } });
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('exists already')]);
    expect(await service.stop()).toBe(0);
    expect(existsSync(join(service.dataDir, 'backup-requests'))).toBe(false);
    const offline = await usher(['backup', file, '--force'], { env: { ...service.env, DATABASE_EMBEDDED: 'true' } });
    expect(offline).toMatchObject({ code: 0, stderr: '' });
  }, 120_000);

  test('on a schedule: one at the start, none again before it is due, the newest kept', async () => {
    const dir = join(folder, 'scheduled');
    const service = await start({ BACKUP_EVERY_HOURS: '1', BACKUP_DIR: dir, BACKUP_KEEP: '2' });
    await until(() => backupsIn(dir).length === 1);
    const [name = ''] = backupsIn(dir);
    expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    expect(await applicationsOf(join(dir, name), 'scheduled-again')).toContain('admin@example.com');
    await service.stop();
    const again = await startService({ DATA_DIR: service.dataDir, BACKUP_EVERY_HOURS: '1', BACKUP_DIR: dir });
    running.add(again);
    await fetch(`${again.url}/readyz`);
    await again.stop();
    expect(backupsIn(dir)).toEqual([name]);
  }, 120_000);

  test('a kill leaves whole backups alone, at any moment', async () => {
    const dir = join(folder, 'killed');
    let service = await start();
    const { dataDir } = service;
    await service.stop();
    for (const waitMs of [0, 5, 15, 40, 80, 150]) {
      // Its first act is a backup: none of an earlier round is new enough.
      for (const name of backupsIn(dir)) expect(readFileSync(join(dir, name)).length).toBeGreaterThan(1000);
      const at = join(dir, `${waitMs}`);
      service = await startService({ DATA_DIR: dataDir, BACKUP_EVERY_HOURS: '1', BACKUP_DIR: at });
      running.add(service);
      await setTimeout(waitMs);
      process.kill(service.pid, 'SIGKILL');
      await service.exited;
      for (const name of backupsIn(at)) {
        expect(await applicationsOf(join(at, name), `killed-${waitMs}`)).toContain('admin@example.com');
      }
    }
    // What a killed write left behind goes with the next backup.
    service = await startService({ DATA_DIR: dataDir, BACKUP_EVERY_HOURS: '1', BACKUP_DIR: join(dir, 'last') });
    running.add(service);
    await until(() => backupsIn(join(dir, 'last')).length === 1);
    expect(readdirSync(join(dir, 'last')).filter((name) => name.endsWith('.part'))).toEqual([]);
  }, 240_000);

  test('a command whose service is killed says so and leaves nothing', async () => {
    const service = await start();
    const file = join(folder, 'never.backup');
    const backup = usher(['backup', file], { env: { ...service.env, DATABASE_EMBEDDED: 'true' } });
    await until(() => existsSync(join(service.dataDir, 'backup-requests')));
    process.kill(service.pid, 'SIGKILL');
    const { code, stderr } = await backup;
    // The kill may have come before the request, or after the answer.
    if (code !== 0) expect(stderr).toMatch(/The service ended before|Another process is using|cannot be opened/);
    expect(existsSync(`${file}.part`)).toBe(false);
    expect(existsSync(file)).toBe(code === 0);
  }, 120_000);
});
