import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { KINDS } from '../support/databases.ts';
import { SERVICE_TOKEN } from '../support/provider/double.ts';
import { useWorld } from './fixture.ts';
import { Logos, PNG } from './logos.ts';

const ORGS = '/api/idp/admin/orgs';
for (const kind of KINDS) {
  describe(`organizations of the provider (${kind})`, () => {
    const world = useWorld({ kind });
    const logos = new Logos();
    beforeAll(() => logos.start());
    afterAll(() => logos.stop());
    beforeEach(() => {
      Object.assign(world.idp.state, { orgs: [], projects: [], apps: [] });
      world.idp.oidc.faults.clear();
      world.idp.hidden.clear();
      world.idp.calls.length = 0;
    });

    const created = async (name = 'Acme', domain = 'acme.example.com'): Promise<string> => {
      const answer = await world.root.post(ORGS, { name, domain });
      expect(answer.status).toBe(201);
      return answer.body.data.id;
    };
    const org = (id: string) => {
      const found = world.idp.state.orgs.find((one) => one.id === id);
      if (found === undefined) throw new Error('no such organization');
      return found;
    };

    test('organizations are created with their domain and listed, and a second one of the name is 409', async () => {
      expect((await world.root.get(ORGS)).body).toEqual({ success: true, data: [] });
      const id = await created();
      const record = { id, name: 'Acme', state: 'ORGANIZATION_STATE_ACTIVE', primaryDomain: 'acme.example.com' };
      expect((await world.root.get(ORGS)).body).toEqual({ success: true, data: [record] });
      const again = await world.root.post(ORGS, { name: 'Acme', domain: 'acme.example.com' });
      expect([again.status, again.body.details.code]).toEqual([409, 'ALREADY_EXISTS']);
      expect((await world.audits('organization.created')).at(-1)).toMatchObject({
        actor: 'user:admin@example.com',
        subject: id,
        after: { name: 'Acme' },
      });
    });

    test('more than one page of organizations is listed completely', async () => {
      for (let at = 0; at < 205; at++) {
        world.idp.state.orgs.push({ ...newOrg(), id: String(1000 + at), name: `Org ${at}` });
      }
      const { data } = (await world.root.get(ORGS)).body;
      expect(new Set(data.map(({ id }: { id: string }) => id)).size).toBe(205);
    });

    test('a read whose answer is lost is repeated, and a creation is not', async () => {
      const asked = () => world.idp.count('POST', '/v2/organizations/_search');
      const before = asked();
      world.idp.lost.add('/v2/organizations/_search');
      expect((await world.root.get(ORGS)).status).toBe(200);
      expect(asked() - before).toBe(2);
      const made = world.idp.count('POST', '/v2/organizations');
      world.idp.lost.add('/v2/organizations');
      const answer = await world.root.post(ORGS, { name: 'Unheard', domain: 'unheard.example.com' });
      expect([answer.status, answer.body.details.code]).toEqual([502, 'IDP_UNREACHABLE']);
      expect(world.idp.count('POST', '/v2/organizations') - made).toBe(1);
      await created('Unheard', 'unheard.example.com');
    });

    test('a creation that stopped before its domain is completed, not repeated', async () => {
      const path = '/management/v1/orgs/me/domains';
      world.idp.oidc.faults.set(path, { status: 503, body: '{"code":14,"message":"unavailable"}' });
      const failed = await world.root.post(ORGS, { name: 'Half', domain: 'half.example.com' });
      expect([failed.status, failed.body.details.code]).toEqual([502, 'IDP_UNREACHABLE']);
      world.idp.oidc.faults.clear();
      const id = await created('Half', 'half.example.com');
      expect(world.idp.state.orgs).toMatchObject([{ id, primaryDomain: 'half.example.com' }]);
      expect((await world.root.post(ORGS, { name: 'Half', domain: 'half.example.com' })).status).toBe(409);

      // The answer to the creation itself is lost.
      world.idp.lost.add('/v2/organizations');
      expect((await world.root.post(ORGS, { name: 'Lost', domain: 'lost.example.com' })).status).toBe(502);
      await created('Lost', 'lost.example.com');
      expect(world.idp.state.orgs).toHaveLength(2);
    });

    test('the name or domain of another organization is not taken over', async () => {
      const id = await created();
      const foreign = await world.root.post(ORGS, { name: 'Other', domain: 'acme.example.com' });
      expect([foreign.status, foreign.body.details.code]).toEqual([409, 'ALREADY_EXISTS']);
      expect(org(id).primaryDomain).toBe('acme.example.com');
      expect((await world.root.post(ORGS, { name: 'Other', domain: 'other.example.com' })).status).toBe(201);
      // Refused here, made there by somebody else: it is not what an earlier try left.
      world.idp.oidc.faults.set('/v2/organizations', { status: 403, body: '{"code":7,"message":"no permission"}' });
      expect((await world.root.post(ORGS, { name: 'Theirs', domain: 'theirs.example.com' })).status).toBe(502);
      world.idp.oidc.faults.clear();
      world.idp.state.orgs.push({ ...newOrg(), id: '9', name: 'Theirs' });
      expect((await world.root.post(ORGS, { name: 'Theirs', domain: 'theirs.example.com' })).status).toBe(409);
      expect(org('9').primaryDomain).toBe('');
      const both = await Promise.all(
        [1, 2].map(() => world.root.post(ORGS, { name: 'Two', domain: 'two.example.com' })),
      );
      expect(both.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 409]);
    });

    test("an organization's look is written completely, with the logo fetched and uploaded, and published", async () => {
      const id = await created();
      const url = `${logos.url}/logo.png`;
      const answer = await world.root.put(`${ORGS}/${id}/branding`, { primaryColor: '#112233', logoUrl: url });
      expect([answer.status, answer.body.data]).toMatchObject([200, { orgId: id, primaryColor: '#112233' }]);
      expect(answer.body.data.logoUrl).toMatch(/\/logo-1$/);
      expect(org(id).logo).toMatchObject({ media: 'image/png', filename: 'logo.png' });
      expect(org(id).logo?.bytes.equals(PNG)).toBe(true);
      // What was not sent is as it was: the provider's write is of the whole.
      expect(org(id).label).toMatchObject({
        primaryColor: '#112233',
        fontColor: '#000000',
        backgroundColor: '#fafafa',
      });
      expect(org(id).shown).toMatchObject({ primaryColor: '#112233', logo: 'logo.png' });
      // Unchanged is success, too.
      const again = await world.root.put(`${ORGS}/${id}/branding`, { primaryColor: '#112233' });
      expect([again.status, again.body.data.primaryColor]).toEqual([200, '#112233']);
      expect((await world.root.put(`${ORGS}/${id}/branding`, { primaryColor: '#445566' })).status).toBe(200);
      expect(org(id).shown).toMatchObject({ primaryColor: '#445566', fontColor: '#000000', logo: 'logo.png' });
    });

    test.each([
      ['a page', '/page.png'],
      ['SVG', '/logo.svg'],
      ['too large', '/large.png'],
      ['a redirect', '/elsewhere.png'],
      ['nothing', '/none.png'],
    ])('a logo that is %s is refused with its field, and changes nothing', async (_what, path) => {
      const id = await created();
      const answer = await world.root.put(`${ORGS}/${id}/branding`, {
        primaryColor: '#000000',
        logoUrl: logos.url + path,
      });
      expect([answer.status, answer.body.details.issues?.[0].path]).toEqual([400, 'logoUrl']);
      expect(org(id)).toMatchObject({ label: null, logo: null });
    });

    test.each([
      'http://169.254.169.254/latest/meta-data/',
      'http://[fd00:ec2::254]/',
      'http://10.0.0.1/logo.png',
      'http://0xa9fea9fe/',
      'file:///etc/passwd',
      'http://user:pass@example.com/logo.png',
      'javascript:alert(1)',
    ])('a logo at %s is refused', async (logoUrl) => {
      const id = await created();
      const answer = await world.root.put(`${ORGS}/${id}/branding`, { logoUrl });
      expect([answer.status, answer.body.details.issues[0].path]).toEqual([400, 'logoUrl']);
      expect(org(id).label).toBeNull();
    });

    test('setup creates project and client once, and stores the application', async () => {
      await world.usher.app.manifests.apply('application: { code: billing, name: Billing }', { actor: 'cli' });
      const id = await created();
      const body = {
        projectName: 'Billing',
        appName: 'Web',
        redirectUris: ['http://localhost:3000/cb'],
        userApiAppCode: 'billing',
      };
      const made = await world.root.post(`${ORGS}/${id}/setup`, body);
      const [[project], [app]] = [world.idp.state.projects, world.idp.state.apps];
      const expected = { projectId: project?.id, appId: app?.id, clientId: app?.clientId };
      expect([made.status, made.body]).toEqual([200, { success: true, data: expected }]);
      expect(app?.config).toMatchObject({
        redirectUris: ['http://localhost:3000/cb'],
        devMode: true,
        appType: 'OIDC_APP_TYPE_USER_AGENT',
        authMethodType: 'OIDC_AUTH_METHOD_TYPE_NONE',
        accessTokenType: 'OIDC_TOKEN_TYPE_JWT',
      });
      const again = await Promise.all([1, 2].map(() => world.root.post(`${ORGS}/${id}/setup`, body)));
      for (const answer of again) expect([answer.status, answer.body.data]).toEqual([200, expected]);
      expect([world.idp.state.projects.length, world.idp.state.apps.length]).toEqual([1, 1]);

      const kept = await world.usher.app.database.read((tx) =>
        tx.kysely
          .selectFrom('organization as o')
          .innerJoin('application as a', 'a.id', 'o.applicationId')
          .select('a.code')
          .where('o.orgId', '=', id)
          .execute(),
      );
      expect(kept).toEqual([{ code: 'billing' }]);
      expect((await world.audits('organization.set_up')).at(-1)).toMatchObject({ subject: id, after: expected });
    });

    test.each([
      ['with a search', []],
      ['where searches are hidden', ['/management/v1/projects/_search', '/management/v1/projects/ID/apps/_search']],
    ])('a setup that failed in the middle continues with what exists, %s', async (_how, hidden) => {
      await world.usher.app.manifests.apply('application: { code: billing, name: Billing }', { actor: 'cli' });
      const id = await created();
      const body = {
        projectName: 'P',
        appName: 'A',
        redirectUris: ['https://a.example.com/cb'],
        userApiAppCode: 'billing',
      };
      for (const path of hidden) world.idp.hidden.add(path);
      // The project's id is in the path of the client's creation: any failure there stands for all.
      const stop = () => {
        for (const project of world.idp.state.projects) {
          world.idp.oidc.faults.set(`/management/v1/projects/${project.id}/apps/oidc`, { status: 500, body: '{}' });
          if (hidden.length > 0) world.idp.hidden.add(`/management/v1/projects/${project.id}/apps/_search`);
        }
      };
      await world.root.post(`${ORGS}/${id}/setup`, {
        ...body,
        redirectUris: ['https://a.example.com/cb'],
        appName: 'First',
      });
      stop();
      const failed = await world.root.post(`${ORGS}/${id}/setup`, body);
      expect([failed.status, failed.body.details.code]).toEqual([502, 'IDP_UNREACHABLE']);
      world.idp.oidc.faults.clear();
      const [first, second] = [
        await world.root.post(`${ORGS}/${id}/setup`, body),
        await world.root.post(`${ORGS}/${id}/setup`, body),
      ];
      expect([first.status, second.body.data]).toEqual([200, first.body.data]);
      expect([world.idp.state.projects.length, world.idp.state.apps.length]).toEqual([1, 2]);
    });

    test('an unknown organization is 404 and an unknown application 400, before anything is created', async () => {
      const id = await created();
      const body = {
        projectName: 'P',
        appName: 'A',
        redirectUris: ['https://a.example.com/cb'],
        userApiAppCode: 'auth',
      };
      expect((await world.root.post(`${ORGS}/999/setup`, body)).status).toBe(404);
      expect((await world.root.put(`${ORGS}/999/branding`, { primaryColor: '#fff' })).status).toBe(404);
      const unknown = await world.root.post(`${ORGS}/${id}/setup`, { ...body, userApiAppCode: 'nowhere' });
      expect([unknown.status, unknown.body.details.code]).toEqual([400, 'UNKNOWN_REFERENCE']);
      expect(world.idp.state.projects).toEqual([]);
    });

    test.each([
      ['post', ORGS, { name: '', domain: 'a.example.com' }, 'name'],
      ['post', ORGS, { name: 'A', domain: 'no host' }, 'domain'],
      ['post', ORGS, { name: 'A' }, 'domain'],
      ['post', ORGS, { name: 'A', domain: 'a.example.com', admins: [] }, 'admins'],
      ['put', `${ORGS}/1/branding`, { primaryColor: 'red; x' }, 'primaryColor'],
      ['put', `${ORGS}/1/branding`, { colour: '#fff' }, 'colour'],
      ['put', `${ORGS}/a%0d%0ab/branding`, {}, 'orgId'],
      [
        'post',
        `${ORGS}/1/setup`,
        { projectName: 'P', appName: 'A', redirectUris: [], userApiAppCode: 'auth' },
        'redirectUris',
      ],
      [
        'post',
        `${ORGS}/1/setup`,
        { projectName: 'P', appName: 'A', redirectUris: ['javascript:x'], userApiAppCode: 'auth' },
        'redirectUris.0',
      ],
    ] as const)('%s %s %j is refused for %s, without a call', async (method, path, body, field) => {
      const answer = await world.root.send(method.toUpperCase(), path, body);
      expect([answer.status, answer.body.details.code]).toEqual([400, 'VALIDATION_FAILED']);
      expect(answer.body.details.issues.map((issue: { path: string }) => issue.path)).toContain(field);
      expect(world.idp.calls).toEqual([]);
    });

    test('only SuperAdmins manage organizations', async () => {
      const setup = { projectName: 'P', appName: 'A', redirectUris: ['https://a.example.com'], userApiAppCode: 'auth' };
      for (const [rest, status] of [
        [world.nobody, 401],
        [world.plain, 403],
      ] as const) {
        const answers = await Promise.all([
          rest.get(ORGS),
          rest.post(ORGS, { name: 'A', domain: 'a.example.com' }),
          rest.put(`${ORGS}/1/branding`, {}),
          rest.post(`${ORGS}/1/setup`, setup),
        ]);
        expect(answers.map((answer) => answer.status)).toEqual([status, status, status, status]);
      }
      expect(world.idp.calls).toEqual([]);
      expect((await world.audits('organization.created.refused')).length).toBeGreaterThan(0);
    });

    test('a provider that refuses, echoes our token, or is away is 502, and the token stays hidden', async () => {
      const path = '/v2/organizations/_search';
      const words = `{"code":16,"message":"token ${SERVICE_TOKEN} is expired (AUTH-7fs1e)"}`;
      world.idp.oidc.faults.set(path, { status: 401, body: words });
      const refused = await world.root.get(ORGS);
      expect([refused.status, refused.body.details.code]).toEqual([502, 'IDP_REJECTED']);
      expect(refused.body.message).toContain('is expired');
      expect(JSON.stringify(refused.body)).not.toContain(SERVICE_TOKEN);
      for (const fault of [{ status: 500, body: '<html>' }, 'reset', { status: 200, body: 'no json' }] as const) {
        world.idp.oidc.faults.set(path, fault);
        const answer = await world.root.get(ORGS);
        expect([answer.status, answer.body.details.code]).toEqual([502, 'IDP_UNREACHABLE']);
      }
      world.idp.oidc.faults.set(path, { status: 200, body: '{"result":[{"id":7}]}' });
      expect((await world.root.get(ORGS)).body.details.code).toBe('IDP_UNREACHABLE');
    });
  });
}

function newOrg() {
  return { domains: new Set<string>(), primaryDomain: '', label: null, shown: null, logo: null };
}
