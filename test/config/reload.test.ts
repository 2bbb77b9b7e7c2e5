import { describe, expect, test } from '@jest/globals';
import { checked, type RawConfig, toConfig } from '../../src/config/config.ts';
import { KEYS } from '../../src/config/keys.ts';
import type { Key } from '../../src/config/kinds.ts';
import { reloadConfig } from '../../src/config/reload.ts';
import { apiKeyFaults } from '../../src/identity/api-keys.ts';

const CHECKS = [apiKeyFaults];
const running = (file: object, env: RawConfig['env'] = {}) => checked({ env, file }, CHECKS);
const reloaded = (before: object, after: object, env: RawConfig['env'] = {}) =>
  reloadConfig(running(before, env), { env, file: after }, CHECKS);

describe('what a reload takes', () => {
  test('the values that can be taken, and nothing else, whatever is given', () => {
    const before = { internal: { apiKeys: ['one'] }, cache: { ttlMs: 1000 } };
    const after = { internal: { apiKeys: ['two'] }, cache: { ttlMs: 2000 }, log: { level: 'warn' } };
    const { next, changed, restart, given } = reloaded(before, after);
    expect({ changed, restart }).toEqual({ changed: ['internal.apiKeys', 'log.level'], restart: ['cache.ttlMs'] });
    expect(next.config).toMatchObject({
      internal: { apiKeys: ['two'] },
      cache: { ttlMs: 1000 },
      log: { level: 'warn' },
    });
    expect(given.config.cache.ttlMs).toBe(2000);
    const shown = next.config.effective.filter(({ key }) => ['log.level', 'cache.ttlMs'].includes(key));
    expect(shown.map(({ value, source }) => [value, source])).toEqual([
      [1000, 'file'],
      ['warn', 'file'],
    ]);
  });

  test('the keys of a process that is reached from outside cannot go, however well the rest of the file would fit', () => {
    // The address counts from the next start: until then everybody would be admitted at the one that is open.
    const auth = { issuer: 'https://idp.example.com', audience: 'usher' };
    const before = { http: { host: '0.0.0.0' }, internal: { apiKeys: ['one'] }, auth };
    expect(() => running({})).not.toThrow();
    expect(() => reloaded(before, {})).toThrow(/internal\.apiKeys .*is required while a listener is not on loopback/);
  });

  test('a listener neither begins to speak TLS nor ceases to; another file is taken', () => {
    const tls = (cert: string, more: object = {}) => ({ http: { tls: { cert, key: '/a.key', ...more } } });
    expect(reloaded({}, tls('/a.crt')).restart).toEqual(['http.tls.cert', 'http.tls.key']);
    expect(reloaded(tls('/a.crt'), {}).restart).toEqual(['http.tls.cert', 'http.tls.key']);
    expect(reloaded(tls('/a.crt'), {}).next.config.http.tls).toMatchObject({ cert: '/a.crt' });
    expect(reloaded(tls('/a.crt'), tls('/b.crt', { clientCa: '/ca.crt' }))).toMatchObject({
      changed: ['http.tls.cert'],
      restart: ['http.tls.clientCa'],
      next: { config: { http: { tls: { cert: '/b.crt', clientCa: null } } } },
    });
  });

  test('the contents of a file of a secret are another value', () => {
    const raw = (text: string): RawConfig => {
      const env = { INTERNAL_API_KEY_FILE: '/run/keys', DATABASE_URL_FILE: '/run/db' };
      const secretFiles = new Map([
        ['INTERNAL_API_KEY_FILE', { text }],
        ['DATABASE_URL_FILE', { text: `postgresql://usher:${text}@db/usher` }],
      ]);
      return { env, secretFiles };
    };
    const { next, changed, restart } = reloadConfig(checked(raw('one'), CHECKS), raw('two'), CHECKS);
    expect({ changed, restart }).toEqual({ changed: ['internal.apiKeys'], restart: ['database.url'] });
    expect(next.config.database.url).toBe('postgresql://usher:one@db/usher');
  });

  test('nothing is different where nothing has changed', () => {
    const file = { idp: { orgToApp: { 1: 'billing' } }, cors: { origins: ['https://a.example.com'] } };
    expect(reloaded(file, structuredClone(file))).toMatchObject({ changed: [], restart: [] });
  });

  test('docs/guides/reload-and-tls.md names every key that is taken', async () => {
    const { readFileSync } = await import('node:fs');
    const page = readFileSync(new URL('../../docs/guides/reload-and-tls.md', import.meta.url), 'utf8');
    const taken = Object.entries<Key<unknown>>(KEYS).filter(([, { reload }]) => reload !== undefined);
    expect(taken.length).toBeGreaterThan(5);
    expect(taken.map(([key]) => key).filter((key) => !page.includes(`\`${key}\``))).toEqual([]);
    expect(toConfig({ env: {} }).http.tls).toBeNull();
  });
});
