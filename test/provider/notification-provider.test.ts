import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { Sealing, SIGNING_KEY_CONTEXT } from '../../src/brands/sealing.ts';
import type { ErrorBody } from '../../src/gen/api.ts';
import { KINDS } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import type { RunningUsher } from '../support/usher.ts';
import { BRAND_KEY, useWorld } from './fixture.ts';

const PATH = '/api/idp/admin/notification-provider';

for (const kind of KINDS) {
  describe(`the notification provider (${kind})`, () => {
    const world = useWorld({ kind });

    const stored = async (): Promise<{ providerId: string; signingKey: string } | undefined> => {
      const row = await world.usher.app.database.read((tx) =>
        tx.kysely
          .selectFrom('setting')
          .select('value')
          .where('key', '=', 'idp.notification-provider')
          .executeTakeFirst(),
      );
      return row?.value as { providerId: string; signingKey: string } | undefined;
    };
    const forget = () =>
      world.usher.app.database.change(async (tx) => {
        await tx.kysely.deleteFrom('setting').where('key', '=', 'idp.notification-provider').execute();
        return { result: null, scopes: [] };
      });
    const opened = async () =>
      new Sealing([BRAND_KEY], systemClock).openText(SIGNING_KEY_CONTEXT, (await stored())?.signingKey ?? '');

    beforeEach(async () => {
      world.idp.state.emailProviders.length = 0;
      world.idp.oidc.faults.clear();
      world.idp.calls.length = 0;
      await forget();
    });

    test('setup creates the provider, stores the key sealed, activates it, and no answer contains the key', async () => {
      const endpoint = `http://localhost:${new URL(world.usher.rest).port}/api/idp/notifications/email`;
      const before = {
        configured: false,
        providerId: null,
        endpoint,
        hasSigningKey: false,
        serviceAccountConfigured: true,
      };
      expect((await world.root.get(PATH)).body).toEqual(before);
      expect((await world.root.post(`${PATH}/activate`)).status).toBe(404);

      const made = await world.root.post(`${PATH}/setup`, {});
      const [row] = world.idp.state.emailProviders;
      const after = { ...before, configured: true, providerId: row?.id, hasSigningKey: true };
      expect([made.status, made.body]).toEqual([200, { success: true, data: after }]);
      expect((await world.root.get(PATH)).body).toEqual(after);
      expect(row).toMatchObject({ active: true, endpoint });
      expect(await opened()).toBe(row?.signingKey);
      expect(JSON.stringify([made.body, await stored()])).not.toContain(row?.signingKey);
      expect(await world.audits('notification_provider.set_up')).toContainEqual({
        actor: 'user:admin@example.com',
        subject: row?.id,
        after: { endpoint, step: 'created' },
      });
    });

    test("the provider's next mails are verified with the stored key", async () => {
      await world.root.post(`${PATH}/setup`, {});
      const key = world.idp.state.emailProviders[0]?.signingKey ?? '';
      const body = JSON.stringify({
        contextInfo: { eventType: 'user.human.email.code.added', recipientEmailAddress: 'ada@example.com' },
        templateData: { subject: 'Verify', text: 'Code 1' },
        args: { orgID: '404', code: '1' },
      });
      const send = async (signingKey: string) => {
        const t = Math.floor(Date.now() / 1000);
        const v1 = createHmac('sha256', signingKey).update(`${t}.${body}`).digest('hex');
        const headers = { 'content-type': 'application/json', 'idp-signature': `t=${t},v1=${v1}` };
        const response = await fetch(`${world.usher.rest}/api/idp/notifications/email`, {
          method: 'POST',
          headers,
          body,
        });
        return ((await response.json()) as ErrorBody).details?.code;
      };
      expect(await send('k'.repeat(36))).toBe('SIGNATURE_INVALID');
      // Past the signature: no brand carries the organization.
      expect(await send(key)).toBe('UNKNOWN_ORGANIZATION');
    });

    test('repeating setup changes nothing, even when it is active already', async () => {
      await world.root.post(`${PATH}/setup`, {});
      const key = world.idp.state.emailProviders[0]?.signingKey;
      for (const path of ['setup', 'activate', 'setup']) {
        expect((await world.root.post(`${PATH}/${path}`, {})).status).toBe(200);
      }
      expect(world.idp.state.emailProviders).toMatchObject([{ active: true, signingKey: key }]);
      expect(await opened()).toBe(key);
      expect(world.idp.count('PUT', '')).toBe(0);
    });

    test('a provider whose creation was not confirmed is found again, and gets a new key', async () => {
      world.idp.lost.add('/admin/v1/email/http');
      const failed = await world.root.post(`${PATH}/setup`, {});
      expect([failed.status, failed.body.details.code]).toEqual([502, 'IDP_UNREACHABLE']);
      expect(world.idp.state.emailProviders).toHaveLength(1);
      const first = world.idp.state.emailProviders[0]?.signingKey;
      expect((await world.root.post(`${PATH}/setup`, {})).status).toBe(200);
      expect(world.idp.state.emailProviders).toMatchObject([{ active: true }]);
      expect(world.idp.state.emailProviders[0]?.signingKey).not.toBe(first);
      expect(await opened()).toBe(world.idp.state.emailProviders[0]?.signingKey);
    });

    test('a failed step keeps the completed ones, and the next try continues from there', async () => {
      const [search, create] = ['/admin/v1/email/_search', '/admin/v1/email/http'];
      for (const path of [search, create]) {
        world.idp.oidc.faults.set(path, { status: 500, body: '{}' });
        expect((await world.root.post(`${PATH}/setup`, {})).body.details.code).toBe('IDP_UNREACHABLE');
        world.idp.oidc.faults.clear();
      }
      expect(await stored()).toBeUndefined();
      const refused = (status: number) => ({
        status,
        body: '{"code":7,"message":"No matching permissions found (AUTH-5mWD2)"}',
      });
      await world.root.post(`${PATH}/setup`, {});
      const id = world.idp.state.emailProviders[0]?.id;
      await forget();
      world.idp.oidc.faults.set(`/admin/v1/email/${id}/_activate`, refused(403));
      const answer = await world.root.post(`${PATH}/setup`, {});
      expect([answer.status, answer.body.details.code]).toEqual([502, 'IDP_REJECTED']);
      expect(answer.body.message).toContain('No matching permissions found');
      expect((await world.root.get(PATH)).body).toMatchObject({
        configured: false,
        providerId: id,
        hasSigningKey: true,
      });
      world.idp.oidc.faults.clear();
      expect((await world.root.post(`${PATH}/activate`)).body.data).toMatchObject({ configured: true, providerId: id });
    });

    test('a provider deleted at the identity provider is created again, and concurrent setups create one', async () => {
      await world.root.post(`${PATH}/setup`, {});
      world.idp.state.emailProviders.length = 0;
      expect((await world.root.post(`${PATH}/activate`)).status).toBe(404);
      const both = await Promise.all([1, 2, 3].map(() => world.root.post(`${PATH}/setup`, {})));
      expect(both.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(world.idp.state.emailProviders).toMatchObject([{ active: true }]);
      expect(await opened()).toBe(world.idp.state.emailProviders[0]?.signingKey);
    });

    test('only SuperAdmins may run the setup, and others cause no call', async () => {
      for (const [rest, status] of [
        [world.nobody, 401],
        [world.plain, 403],
      ] as const) {
        expect((await rest.get(PATH)).status).toBe(status);
        for (const path of ['setup', 'activate']) expect((await rest.post(`${PATH}/${path}`, {})).status).toBe(status);
      }
      expect((await world.root.post(`${PATH}/setup`, { providerId: 'x' })).status).toBe(400);
      expect(world.idp.calls).toEqual([]);
      expect((await world.audits('notification_provider.set_up.refused')).map(({ actor }) => actor)).toContain(
        'user:ben@example.com',
      );
    });
  });
}

describe('two instances at the provider', () => {
  let other: RunningUsher;
  // Before the database is gone.
  afterAll(() => other?.close(), 60_000);
  const world = useWorld({ env: () => ({ PUBLIC_URL: 'https://usher.example.com' }) });
  beforeAll(async () => {
    other = await world.another();
  }, 60_000);

  test("instances that rename a person at once keep the provider's names", async () => {
    const email = 'ada@example.com';
    const user = { id: '300', email, profile: { givenName: 'A', familyName: 'B', displayName: 'C' } };
    world.idp.state.users = [user];
    const [here, there] = [await Rest.as(world.usher, email), await Rest.as(other, email)];
    world.idp.lagMs = () => Math.random() * 40;
    for (let round = 0; round < 10; round++) {
      const both = await Promise.all([
        here.put('/api/profile/me', { firstName: `Here ${round}`, lastName: `L${round}` }),
        there.put('/api/profile/me', { firstName: `There ${round}`, displayName: `D${round}`, theme: 'dark' }),
      ]);
      expect(both.map(({ status, body }) => [status, body.code])).toEqual([
        [200, undefined],
        [200, undefined],
      ]);
      const { firstName, lastName, displayName } = (await here.get('/api/profile/me')).body.data;
      const kept = { givenName: firstName, familyName: lastName, displayName };
      expect([round, kept]).toEqual([round, user.profile]);
    }
    world.idp.lagMs = () => 0;
    world.idp.state.users = [];
  });

  test('instances that set up at once create one of each', async () => {
    const roots = [world.root, await Rest.as(other, 'admin@example.com')];
    const both = await Promise.all(roots.map((root) => root.post(`${PATH}/setup`, {})));
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect(world.idp.state.emailProviders).toMatchObject([{ active: true }]);
    const acme = { name: 'Acme', domain: 'acme.example.com' };
    const made = await Promise.all(roots.map((root) => root.post('/api/idp/admin/orgs', acme)));
    expect(made.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409]);
    const id = made.find(({ status }) => status === 201)?.body.data.id;
    const client = {
      projectName: 'P',
      appName: 'A',
      redirectUris: ['http://localhost:3000/cb'],
      userApiAppCode: 'auth',
    };
    const clients = await Promise.all(roots.map((root) => root.post(`/api/idp/admin/orgs/${id}/setup`, client)));
    expect(clients.map(({ status }) => status)).toEqual([200, 200]);
    expect(clients[0]?.body).toEqual(clients[1]?.body);
    // What a crash left behind is waited for in vain, and says so.
    await world.usher.app.database.change(async (tx) => {
      const key = 'idp.lock:notification-provider';
      await tx.kysely.insertInto('setting').values({ key, value: '"gone"' }).execute();
      return { result: null, scopes: [] };
    });
    const waited = await world.root.post(`${PATH}/setup`, {});
    expect([waited.status, waited.headers.get('retry-after')]).toEqual([503, expect.any(String)]);
    await world.usher.app.database.change(async (tx) => {
      await tx.kysely
        .updateTable('setting')
        .set({ updatedAt: new Date(Date.now() - 61_000) })
        .execute();
      return { result: null, scopes: [] };
    });
    expect((await world.root.post(`${PATH}/setup`, {})).status).toBe(200);
  }, 60_000);
});

describe('missing requirements of the setup', () => {
  describe('without a key for brands', () => {
    const world = useWorld({ env: () => ({ BRAND_SMTP_KEY: undefined }) });
    test('setup reports a missing key for brands before any call', async () => {
      const answer = await world.root.post(`${PATH}/setup`, {});
      expect([answer.status, answer.body.details.code]).toEqual([503, 'IDP_NOT_CONFIGURED']);
      expect(answer.body.message).toContain('BRAND_SMTP_KEY');
      expect(world.idp.calls).toEqual([]);
    });
  });

  describe('without a provider', () => {
    const world = useWorld({
      env: () => ({ IDP_API_URL: undefined, IDP_SERVICE_ACCOUNT_TOKEN: undefined, IDP_WEBHOOK_SECRET: undefined }),
    });
    test('without a provider, calls that need one are 503 IDP_NOT_CONFIGURED, and states are reported', async () => {
      const { root, nobody } = world;
      const answers = await Promise.all([
        root.post(`${PATH}/setup`, {}),
        root.post(`${PATH}/activate`),
        root.get('/api/idp/admin/orgs'),
        root.post('/api/idp/admin/orgs', { name: 'Acme', domain: 'acme.example.com' }),
        root.put('/api/idp/admin/orgs/100/branding', { primaryColor: '#fff' }),
        root.post('/api/idp/admin/orgs/100/setup', {
          projectName: 'P',
          appName: 'A',
          redirectUris: ['https://a.example.com/cb'],
          userApiAppCode: 'auth',
        }),
        nobody.get('/api/idp/discovery'),
        nobody.get('/api/idp/login?client_id=x'),
        nobody.post('/api/idp/webhook', {}),
      ]);
      for (const answer of answers) {
        expect([answer.status, answer.body.details.code]).toEqual([503, 'IDP_NOT_CONFIGURED']);
        expect(answer.headers.get('retry-after')).not.toBeNull();
      }
      expect((await nobody.get('/api/idp/health')).body.data).toEqual({ idpUrl: null, status: 'not_configured' });
      expect((await root.get(PATH)).body).toMatchObject({ configured: false, serviceAccountConfigured: false });
    });
  });
});
