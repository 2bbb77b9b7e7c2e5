import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CONFIG_CHECKS } from '../../src/app/config-checks.ts';
import { ConfigError, toConfig } from '../../src/config/config.ts';
import { startService } from '../cli/harness.ts';
import { createDatabase } from '../support/postgres.ts';

/** docs/operations/install.md#production, carried out: what the page sets is what a start needs, in its order, on a real PostgreSQL. */
const ROOT = resolve(import.meta.dirname, '../..');
const PAGE = readFileSync(join(ROOT, 'docs/operations/install.md'), 'utf8');
const TOUR = /<!-- tour -->\n+```sh\n([\s\S]*?)```\n+<!-- \/tour -->/.exec(PAGE)?.[1] ?? '';
/** By the order of the page. */
const NAMES = [...TOUR.matchAll(/^export (\w+)=/gm)].map(([, name = '']) => name);
const OPTIONAL = new Set(['NODE_ENV', 'SUPERADMINS']);

describe('the list of install.md', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  const folder = mkdtempSync(join(tmpdir(), 'usher-install-'));
  let env: Record<string, string> = {};

  beforeAll(async () => {
    database = await createDatabase({ empty: true });
  });
  afterAll(async () => {
    await database?.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('migrates the database by its commands, which print what the page says', () => {
    expect(NAMES).toContain('DATABASE_URL');
    const steps = TOUR.replace(/^export DATABASE_URL=.*$/m, `export DATABASE_URL='${database.url}'`);
    const { PATH = '', HOME = '' } = process.env;
    const script = `set -e\n${steps}\nenv -0 > '${folder}/env'`;
    const { status, stdout, stderr } = spawnSync('bash', ['-c', script], {
      cwd: ROOT,
      encoding: 'utf8',
      env: { PATH, HOME, DATA_DIR: folder },
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const [expected = ''] = /(?<=^# → ).*$/m.exec(TOUR) ?? [];
    expect(stdout.startsWith(expected.replace(/…$/, ''))).toBe(true);
    const set = readFileSync(`${folder}/env`, 'utf8').split('\0');
    env = Object.fromEntries(
      set.flatMap((entry) => {
        const at = entry.indexOf('=');
        return NAMES.includes(entry.slice(0, at)) ? [[entry.slice(0, at), entry.slice(at + 1)]] : [];
      }),
    );
    expect(Object.keys(env).toSorted()).toEqual(NAMES.toSorted());
  }, 60_000);

  test('is enough for a start', async () => {
    const service = await startService({ ...env, HTTP_HOST: '127.0.0.1', GRPC_HOST: '127.0.0.1' });
    try {
      expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
      const { servers } = (await (await fetch(`${service.url}/api/openapi.json`)).json()) as { servers: unknown };
      expect(servers).toBeDefined();
    } finally {
      await service.remove();
    }
  }, 60_000);

  test.each(NAMES.filter((name) => !OPTIONAL.has(name)))('is refused a start without %s, by that name', (missing) => {
    const { [missing]: _, ...rest } = env;
    let faults: readonly { variable?: string | undefined }[] = [];
    try {
      toConfig({ env: rest }, CONFIG_CHECKS);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      faults = error.faults;
    }
    expect(faults.map(({ variable }) => variable)).toEqual([missing]);
  });

  test('a process without the gateway, and an edge, need no PUBLIC_URL', () => {
    const { PUBLIC_URL: _, ...rest } = env;
    expect(() => toConfig({ env: { ...rest, USHER_ROLES: 'rpc,worker' } })).not.toThrow();
    const { NODE_ENV = '', INTERNAL_API_KEY = '' } = env;
    const edge = { NODE_ENV, INTERNAL_API_KEY, UPSTREAM_ADDRESS: 'usher.internal:50051', UPSTREAM_KEY: 'x'.repeat(24) };
    expect(() => toConfig({ env: edge })).not.toThrow();
  });
});
