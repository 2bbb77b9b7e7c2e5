import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { CONFIG_CHECKS } from '../../src/app/config-checks.ts';
import { toConfig } from '../../src/config/config.ts';

/** What needs no systemd; deploy/test/systemd.ts has the rest. */

const unit = readFileSync(join(import.meta.dirname, '../../deploy/systemd/usher.service'), 'utf8');
const set = [...unit.matchAll(/^Environment=(\w+)=(.+)$/gm)].map(([, name = '', value = '']) => [name, value] as const);

/** What its first lines have its reader put into files. */
const SECRETS: Record<string, string> = {
  'database-url': 'postgresql://usher@db.internal/usher',
  'internal-api-key': 'billing:check:0123456789abcdef01234567',
};

test('usher.service starts with the variables that it sets and the secrets that it loads', () => {
  const loaded = [...unit.matchAll(/^LoadCredential=([\w-]+):\/etc\/usher\/\1$/gm)].map(([, name]) => name);
  expect(loaded).toEqual(Object.keys(SECRETS));
  const secretFiles = new Map(
    set
      .filter(([, value]) => value.startsWith('%d/'))
      .map(([name, value]) => [name, { text: SECRETS[value.slice(3)] ?? '' }] as const),
  );
  expect(secretFiles.size).toBe(loaded.length);
  // What stands in /etc/usher/usher.env.
  const own = {
    AUTH_ISSUER: 'https://idp.example.com',
    AUTH_AUDIENCE: 'usher',
    PUBLIC_URL: 'https://usher.example.com',
  };
  const env = { ...Object.fromEntries(set), ...own };
  const config = toConfig({ env, secretFiles }, CONFIG_CHECKS);
  expect(config).toMatchObject({ production: true, database: { url: SECRETS['database-url'] }, ops: { port: 9090 } });
  expect(config.internal.apiKeys).toEqual([SECRETS['internal-api-key']]);
});

test('usher.service is given longer than a shutdown takes', () => {
  const stopMs = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]) * 1000;
  const env = { NODE_ENV: 'production', DATABASE_URL: 'postgresql://usher@db.internal/usher' };
  const { shutdown } = toConfig({
    env: {
      ...env,
      AUTH_ISSUER: 'https://idp.example.com',
      AUTH_AUDIENCE: 'usher',
      PUBLIC_URL: 'https://usher.example.com',
      INTERNAL_API_KEY: 'a'.repeat(24),
    },
  });
  expect(stopMs).toBeGreaterThanOrEqual(shutdown.noticeMs + 25_000);
});
