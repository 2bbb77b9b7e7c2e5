import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createLogger } from '../../src/base/telemetry.ts';
import { accept, insertType, settled, stateOf, until } from '../delivery/rows.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { HttpProxy } from '../support/http-proxy.ts';
import { AUDIENCE, type OidcDouble, PATHS, startOidc } from '../support/oidc.ts';
import { type PushService, startPushService } from '../support/push-service.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** Two services on PostgreSQL, whose deliveries have a thread of their own, behind one proxy that asks for credentials. */
describe('a service with outbound.proxy', () => {
  let storage: TestStorage;
  let proxy: HttpProxy;
  let oidc: OidcDouble;
  let push: PushService;
  const started: RunningUsher[] = [];
  const told: string[] = [];

  beforeAll(async () => {
    proxy = await HttpProxy.start({ credentials: 'name:canary' });
    [storage, oidc, push] = await Promise.all([createStorage('postgresql'), startOidc(), startPushService()]);
  }, 60_000);
  afterAll(async () => {
    for (const usher of started) await usher.close();
    await Promise.all([proxy?.close(), oidc?.close(), push?.close()]);
    await storage?.remove();
  }, 60_000);

  async function start(env: Record<string, string>): Promise<RunningUsher> {
    const log = createLogger('trace', { write: (line) => told.push(line) });
    const usher = await startUsher(storage, {
      env: { OUTBOUND_PROXY: proxy.url('name:canary'), ...env },
      parts: { threads: true, log },
    });
    started.push(usher);
    return usher;
  }

  test('pushes go by it, from the thread of deliveries', async () => {
    const usher = await start({ PUSH_ALLOWED_HOSTS: push.host, USHER_ROLES: 'gateway,worker' });
    const root = await Rest.as(usher, 'admin@example.com');
    const { vapidPublicKey } = (await root.get('/api/profile/me/push/vapid-key')).body.data;
    const subscription = push.browser('desktop', vapidPublicKey);
    expect((await root.post('/api/profile/me/push/subscribe', { subscription, deviceLabel: 'x' })).status).toBe(201);
    const type = await insertType(usher.app.database, 'billing');
    const [id = 0] = await accept(usher.app.database, type, [{ to: 'admin@example.com', push: { body: 'By it' } }]);
    usher.app.bell.ring();
    const { deliveries } = await until(() => stateOf(usher.app.database, id), settled, 60_000);
    expect(deliveries.map(({ status }) => status)).toEqual(['sent']);
    expect(push.pushes.map(({ payload }) => payload)).toMatchObject([{ body: 'By it' }]);
    expect(proxy.targets).toEqual([`POST ${subscription.endpoint}`]);
  }, 90_000);

  test('the provider is asked by it, and no credentials are logged', async () => {
    const usher = await start({
      AUTH_ISSUER: oidc.issuer,
      AUTH_AUDIENCE: AUDIENCE,
      INTERNAL_API_KEY: 'a-key-of-a-backend',
      USHER_ROLES: 'gateway',
    });
    const token = await oidc.mint({ ...oidc.claims('ada'), email: 'ada@example.com', email_verified: true });
    const answer = await fetch(`${usher.rest}/api/profile/me`, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(200);
    expect(proxy.targets).toEqual(
      expect.arrayContaining([`GET ${oidc.issuer}${PATHS.discovery}`, `GET ${oidc.issuer}${PATHS.jwks}`]),
    );
    proxy.fault = 403;
    await fetch(`${usher.rest}/api/profile/me`, { headers: { authorization: 'Bearer a.b.c' } });
    expect(told.join('')).not.toMatch(/canary|bmFtZTpjYW5hcnk/);
    expect(told.length).toBeGreaterThan(0);
  }, 60_000);
});
