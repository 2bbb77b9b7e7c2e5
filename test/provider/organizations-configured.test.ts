import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { useWorld } from './fixture.ts';
import { Logos } from './logos.ts';

const ORGS = '/api/idp/admin/orgs';

describe('organizations in idp.orgToApp', () => {
  const world = useWorld({ env: () => ({ IDP_ORG_TO_APP: '{"777":"billing"}' }) });

  test('an organization in idp.orgToApp is set up for that application only, and another one is 409', async () => {
    await world.usher.app.manifests.apply('application: { code: billing, name: Billing }', { actor: 'cli' });
    await world.usher.app.manifests.apply('application: { code: shop, name: Shop }', { actor: 'cli' });
    world.idp.calls.length = 0;
    const setUp = (userApiAppCode: string) =>
      world.root.post(`${ORGS}/777/setup`, {
        projectName: 'P',
        appName: 'A',
        redirectUris: ['https://a.example.com/cb'],
        userApiAppCode,
      });
    const refused = await setUp('shop');
    expect([refused.status, refused.body.code, refused.body.details]).toMatchObject([
      409,
      'CONFLICT',
      { code: 'ORGANIZATION_CONFIGURED', path: 'userApiAppCode', configured: 'billing' },
    ]);
    expect([world.idp.calls, world.idp.state.projects]).toEqual([[], []]);
    expect(await world.audits('organization.set_up')).toEqual([]);
    // The application of the configuration gets as far as the provider, which has no such organization.
    expect((await setUp('billing')).status).toBe(404);
  });
});

describe('organizations in production', () => {
  const world = useWorld({
    env: (idp) => ({
      NODE_ENV: 'production',
      HTTP_HOST: '127.0.0.1',
      GRPC_HOST: '127.0.0.1',
      PUBLIC_URL: 'https://usher.example.com',
      AUTH_ISSUER: idp.url,
      AUTH_AUDIENCE: 'https://usher.test/api',
      INTERNAL_API_KEY: 'an-internal-key-of-many-characters',
      SUPERADMINS: 'root@example.com',
      DATABASE_MIGRATE_ON_START: 'true',
    }),
  });
  const logos = new Logos();
  beforeAll(() => logos.start());
  afterAll(() => logos.stop());

  test('production refuses local logos and cleartext redirects, and has no login', async () => {
    world.idp.oidc.accounts.set('root', { email: 'root@example.com', email_verified: true });
    const authorization = `Bearer ${await world.idp.oidc.mint({ ...world.idp.oidc.claims('root'), email: 'root@example.com' })}`;
    const call = (method: string, path: string, body?: unknown) =>
      world.nobody.send(method, path, body, { authorization });
    const { body } = await call('POST', ORGS, { name: 'Acme', domain: 'acme.example.com' });
    const branding = await call('PUT', `${ORGS}/${body.data.id}/branding`, { logoUrl: `${logos.url}/logo.png` });
    expect([branding.status, logos.requests]).toEqual([400, 0]);
    const setup = await call('POST', `${ORGS}/${body.data.id}/setup`, {
      projectName: 'P',
      appName: 'A',
      redirectUris: ['http://a.example.com/cb'],
      userApiAppCode: 'auth',
    });
    expect([setup.status, setup.body.details.issues[0].path]).toEqual([400, 'redirectUris.0']);
    expect((await world.nobody.get('/api/idp/login?client_id=x')).status).toBe(404);
    expect((await world.nobody.get('/api/idp/callback')).status).toBe(404);
  });
});
