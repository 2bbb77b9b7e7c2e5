import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Findings } from '../../src/app/doctor/finding.ts';
import { checkPublicUrl } from '../../src/app/doctor/public-url.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import { toConfig } from '../../src/config/config.ts';
import { createOutbound } from '../../src/outbound/outbound.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** What `usher doctor` says of publicUrl and of the panel's client (docs/reference/command-line.md#doctor). */
describe('doctor at publicUrl', () => {
  let storage: TestStorage;
  let usher: RunningUsher;
  const other = createServer((_, res) => res.end('{"hello": "world"}'));
  const outbound = createOutbound({ clock, proxy: toConfig({ env: {} }).outbound });

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    usher = await startUsher(storage);
    await new Promise<void>((resolve) => void other.listen(0, '127.0.0.1', resolve));
  }, 60_000);
  afterAll(async () => {
    other.close();
    await outbound.close();
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  const look = async (env: Record<string, string>): Promise<string[]> => {
    const findings = new Findings('publicUrl');
    await checkPublicUrl(toConfig({ env }), outbound, findings);
    return findings.list.map(({ result, found }) => `${result}: ${found}`);
  };
  const PRODUCTION = {
    NODE_ENV: 'production',
    DATABASE_EMBEDDED: 'true',
    AUTH_ISSUER: 'https://idp.example.com',
    AUTH_AUDIENCE: 'usher',
    INTERNAL_API_KEY: 'a:check:0123456789abcdef01234567',
    PANEL_CLIENT_ID: 'panel',
  };

  test('this service is recognised, and another is not', async () => {
    expect(await look({ PUBLIC_URL: usher.rest })).toEqual([`ok: ${usher.rest} answers as Usher`]);
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    expect(await look({ PUBLIC_URL: url })).toEqual([`failed: ${url} answers, but not as Usher (status 200)`]);
  });

  test('no answer is a warning in production; a process without the gateway is not asked', async () => {
    const env = { ...PRODUCTION, PUBLIC_URL: 'http://127.0.0.1:1' };
    expect(await look(env)).toEqual([expect.stringMatching(/^warning: http:\/\/127\.0\.0\.1:1: /)]);
    expect(await look({ PUBLIC_URL: 'http://127.0.0.1:1' })).toEqual([]);
    expect(await look({ ...env, USHER_ROLES: 'rpc' })).toEqual([]);
  });

  test('a panel without a client is told', async () => {
    const { PANEL_CLIENT_ID: _, ...env } = PRODUCTION;
    expect(await look({ ...env, PUBLIC_URL: usher.rest })).toEqual([
      'warning: the panel has no client at the identity provider, so nobody can sign in to it',
      `ok: ${usher.rest} answers as Usher`,
    ]);
    expect(await look({ ...env, PUBLIC_URL: usher.rest, PANEL_ENABLED: 'false' })).toHaveLength(1);
  });
});
