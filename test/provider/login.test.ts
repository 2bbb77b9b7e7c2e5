import { beforeEach, describe, expect, test } from '@jest/globals';
import { CompactEncrypt } from 'jose';
import { Rest, type RestAnswer } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { useWorld, type World } from './fixture.ts';

const CLIENT = '285181292935381355';

/** As the provider in the field: JWTs that name no address; userinfo does. */
const env = (idp: { url: string }) => ({
  AUTH_ISSUER: idp.url,
  AUTH_AUDIENCE: 'https://usher.test/api',
  IDP_PUBLIC_URL: idp.url,
  IDP_CLIENT_ID: CLIENT,
  INTERNAL_API_KEY: 'an-internal-key-of-many-characters',
});

/** A browser: follows redirects by hand, and keeps cookies by origin. */
class Browser {
  readonly #cookies = new Map<string, Map<string, string>>();

  cookiesOf(url: string): Map<string, string> {
    const { origin } = new URL(url);
    const jar = this.#cookies.get(origin) ?? new Map<string, string>();
    this.#cookies.set(origin, jar);
    return jar;
  }

  async go(url: string): Promise<Response> {
    const jar = this.cookiesOf(url);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [name = '', ...value] = (line.split(';', 1)[0] ?? '').split('=');
      if (/max-age=0/i.test(line)) jar.delete(name);
      else jar.set(name, value.join('='));
    }
    return response;
  }

  /** Through the provider, as the account with that subject, to the address that it sends the browser back to. */
  async login(usher: RunningUsher, subject: string): Promise<string> {
    let response = await this.go(`${usher.rest}/api/idp/login?client_id=${CLIENT}`);
    let url = new URL(response.headers.get('location') ?? '');
    // A person would type this.
    url.searchParams.set('login_hint', subject);
    for (let hop = 0; hop < 10; hop++) {
      if (url.pathname === '/api/idp/callback') return usher.rest + url.pathname + url.search;
      response = await this.go(url.href);
      const next = response.headers.get('location');
      if (next === null) throw new Error(`the provider answered ${response.status}: ${await response.text()}`);
      url = new URL(next, url);
    }
    throw new Error('the provider redirects for ever');
  }
}

async function read(response: Response): Promise<RestAnswer> {
  return { status: response.status, headers: response.headers, body: await response.json() };
}

function know(world: World, jwt = true): void {
  const redirect = `http://localhost:${new URL(world.usher.rest).port}/api/idp/callback`;
  world.idp.oidc.addClient({ clientId: CLIENT, redirectUris: [redirect], jwt });
  world.idp.oidc.accounts.set('ada', {
    email: 'ada@example.com',
    email_verified: true,
    given_name: 'Ada',
    family_name: 'Lovelace',
    name: 'Ada Lovelace',
  });
}

describe('login for development', () => {
  const world = useWorld({ env });
  let known = false;
  beforeEach(() => {
    world.idp.oidc.faults.clear();
    if (!known) know(world);
    known = true;
  });

  test('login redirects with PKCE, and keeps its state in an opaque cookie', async () => {
    const response = await new Browser().go(`${world.usher.rest}/api/idp/login?client_id=${CLIENT}`);
    const location = new URL(response.headers.get('location') ?? '');
    const query = Object.fromEntries(location.searchParams);
    expect([response.status, location.origin + location.pathname]).toEqual([
      302,
      `${world.idp.url}/oauth/v2/authorize`,
    ]);
    expect(query).toMatchObject({
      client_id: CLIENT,
      response_type: 'code',
      redirect_uri: `http://localhost:${new URL(world.usher.rest).port}/api/idp/callback`,
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{20,}$/),
      nonce: expect.stringMatching(/^[\w-]{20,}$/),
    });
    expect(query.scope?.split(' ')).toEqual(expect.arrayContaining(['openid', 'email', 'profile']));
    const [cookie = ''] = response.headers.getSetCookie();
    expect(cookie).toMatch(/^usher_login=[\w.-]+; Path=\/api\/idp; Max-Age=600; HttpOnly; SameSite=Lax$/);
    expect(cookie).not.toContain(query.state);
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  test('a forged Host does not change where the browser is sent back to', async () => {
    const { port } = new URL(world.usher.rest);
    const response = await fetch(`${world.usher.rest}/api/idp/login?client_id=${CLIENT}`, {
      redirect: 'manual',
      headers: {
        'x-forwarded-host': 'evil.example.com',
        'x-forwarded-proto': 'https',
        forwarded: 'host=evil.example.com',
      },
    });
    expect(new URL(response.headers.get('location') ?? '').searchParams.get('redirect_uri')).toBe(
      `http://localhost:${port}/api/idp/callback`,
    );
  });

  test('the callback exchanges the code for a valid access token, and creates the profile', async () => {
    const browser = new Browser();
    const callback = await browser.login(world.usher, 'ada');
    const answer = await read(await browser.go(callback));
    expect(answer.status).toBe(200);
    const { data } = answer.body;
    expect(Object.keys(data).sort()).toEqual([
      'access_token',
      'access_token_claims',
      'id_token',
      'id_token_claims',
      'token_type',
      'userapi_verification',
    ]);
    expect(data).toMatchObject({
      token_type: 'Bearer',
      id_token_claims: { iss: world.idp.url, aud: CLIENT, sub: 'ada' },
      access_token_claims: { iss: world.idp.url, sub: 'ada' },
      userapi_verification: { valid: true, email: 'ada@example.com' },
    });
    // The provider in the field names no address in the token: userinfo was asked.
    expect(data.access_token_claims.email).toBeUndefined();
    expect(answer.headers.getSetCookie()[0]).toMatch(/^usher_login=; Path=\/api\/idp; Max-Age=0;/);
    const authorization = `Bearer ${data.access_token}`;
    const profile = await world.nobody.get('/api/profile/me', { authorization });
    expect([profile.status, profile.body.data]).toMatchObject([
      200,
      {
        email: 'ada@example.com',
        firstName: 'Ada',
        lastName: 'Lovelace',
        displayName: 'Ada Lovelace',
        identityProfileUrl: `${world.idp.url}/ui/console/users/me`,
      },
    ]);
    const question = { app: 'auth', permission: 'panel.access' };
    const check = await world.nobody.send('POST', '/api/profile/me/check', question, { authorization });
    expect([check.status, check.body]).toEqual([200, { allowed: false }]);
    // An ID token is not accepted by this service.
    const wrong = { authorization: `Bearer ${data.id_token}` };
    expect((await world.nobody.get('/api/profile/me', wrong)).status).toBe(401);
  });

  test('the same cookie, and the same code, are refused a second time', async () => {
    const browser = new Browser();
    const callback = await browser.login(world.usher, 'ada');
    const jar = browser.cookiesOf(world.usher.rest);
    const cookie = `usher_login=${jar.get('usher_login')}`;
    const send = () => fetch(callback, { headers: { cookie } });
    const both = await Promise.all([send(), send()]);
    expect(both.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 400]);
    expect((await send()).status).toBe(400);
  });

  test('a callback without its cookie, or with a foreign, doubled, forged or changed one, is 400', async () => {
    const [mine, others] = [new Browser(), new Browser()];
    const callback = await mine.login(world.usher, 'ada');
    await others.login(world.usher, 'ada');
    const good = mine.cookiesOf(world.usher.rest).get('usher_login') ?? '';
    const another = others.cookiesOf(world.usher.rest).get('usher_login') ?? '';
    const forged = await new CompactEncrypt(Buffer.from('{}'))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .encrypt(Buffer.alloc(32, 1));
    const changed = good.slice(0, -3) + (good.endsWith('AAA') ? 'BBB' : 'AAA');
    for (const cookie of [
      '',
      `usher_login=${another}`,
      `usher_login=${good}; usher_login=${good}`,
      `usher_login=${forged}`,
      `usher_login=${changed}`,
      `other_login=${good}`,
    ]) {
      const response = await fetch(callback, { headers: { cookie } });
      expect([cookie.slice(0, 20), response.status]).toEqual([cookie.slice(0, 20), 400]);
    }
    const url = new URL(callback);
    url.searchParams.set('state', 'another');
    expect((await fetch(url, { headers: { cookie: `usher_login=${good}` } })).status).toBe(400);
    // None of these has used it up.
    expect((await fetch(callback, { headers: { cookie: `usher_login=${good}` } })).status).toBe(200);
  });

  test("missing parameters are reported, and the provider's error is reported without its text", async () => {
    const { nobody } = world;
    for (const [path, field] of [
      ['/api/idp/login', 'client_id'],
      ['/api/idp/login?client_id=', 'client_id'],
      ['/api/idp/login?client_id=a&client_id=b', 'client_id'],
      ['/api/idp/login?client_id=a&next=//evil', 'next'],
      ['/api/idp/callback?code=x', 'state'],
    ] as const) {
      const answer = await nobody.get(path);
      expect([answer.status, answer.body.details.issues[0].path]).toEqual([400, field]);
    }
    const browser = new Browser();
    const callback = new URL(await browser.login(world.usher, 'ada'));
    const state = callback.searchParams.get('state');
    callback.search = `?error=access_denied&error_description=${encodeURIComponent('<b>call 555</b>')}&state=${state}`;
    const answer = await read(await browser.go(callback.href));
    expect([answer.status, answer.body.message]).toEqual([
      400,
      'The identity provider ended the login: access_denied.',
    ]);
  });

  test('a code unknown to the provider is 400, and a failing provider 502', async () => {
    const browser = new Browser();
    const callback = new URL(await browser.login(world.usher, 'ada'));
    callback.searchParams.set('code', 'guessed');
    expect((await browser.go(callback.href)).status).toBe(400);
    // Nor is it the provider's failure when the answer is not whole, or another's (RFC 9207).
    for (const change of [
      (query: URLSearchParams) => query.delete('code'),
      (query: URLSearchParams) => query.delete('iss'),
      (query: URLSearchParams) => query.set('iss', 'https://evil.example.com'),
    ]) {
      const third = new Browser();
      const url = new URL(await third.login(world.usher, 'ada'));
      change(url.searchParams);
      const answer = await read(await third.go(url.href));
      expect([answer.status, answer.body.code]).toEqual([400, 'BAD_REQUEST']);
    }
    for (const [path, code] of [
      ['/oauth/v2/token', 'IDP_UNREACHABLE'],
      ['/.well-known/openid-configuration', 'IDP_UNREACHABLE'],
    ] as const) {
      const again = new Browser();
      const good = await again.login(world.usher, 'ada');
      world.idp.oidc.faults.set(path, 'reset');
      const answer = await read(await again.go(good));
      world.idp.oidc.faults.clear();
      expect([path, answer.status, answer.body.details.code]).toEqual([path, 502, code]);
    }
  });
});

describe('an opaque access token', () => {
  const world = useWorld({ env });
  test('an opaque access token is returned, with the reason why it is not valid here', async () => {
    know(world, false);
    const browser = new Browser();
    const answer = await read(await browser.go(await browser.login(world.usher, 'ada')));
    expect(answer.body.data).toMatchObject({
      id_token_claims: { sub: 'ada' },
      access_token_claims: null,
      userapi_verification: { valid: false, error: expect.stringContaining('JWT') },
    });
  });
});

describe('health and metadata of the provider', () => {
  const world = useWorld({ env: () => ({ IDP_PUBLIC_URL: 'https://login.example.com' }) });

  test('health and metadata report a reachable provider', async () => {
    const { nobody, idp } = world;
    expect((await nobody.get('/api/idp/health')).body).toEqual({
      success: true,
      data: { idpUrl: 'https://login.example.com', status: 'ok' },
    });
    const document = await fetch(`${idp.url}/.well-known/openid-configuration`);
    expect((await nobody.get('/api/idp/discovery')).body).toEqual(await document.json());
    idp.oidc.faults.set('/debug/healthz', { status: 404, body: '' });
    expect((await nobody.get('/api/idp/health')).body.data.status).toBe('ok');
    idp.oidc.faults.clear();
  });

  test.each([{ status: 500, body: 'x' }, 'reset', 'hang'] as const)(
    'health and metadata report an unreachable provider (%j)',
    async (fault) => {
      world.idp.oidc.faults.set('*', fault);
      const health = await world.nobody.get('/api/idp/health');
      expect([health.status, health.body.data.status]).toEqual([200, 'unreachable']);
      const paths = ['/api/idp/discovery', '/api/idp/login?client_id=x'];
      for (const answer of await Promise.all(paths.map((path) => world.nobody.get(path)))) {
        expect([answer.status, answer.body.details.code]).toEqual([502, 'IDP_UNREACHABLE']);
      }
      world.idp.oidc.faults.clear();
    },
  );

  test('two instances share the key of the cookie', async () => {
    const second = await startUsher(
      { url: world.usher.app.config.database.url, dataDir: world.usher.app.config.dataDir },
      { env: { IDP_API_URL: world.idp.url, PUBLIC_URL: world.usher.rest } },
    );
    try {
      const jar = await Rest.as(second);
      const begun = await fetch(`${world.usher.rest}/api/idp/login?client_id=x`, { redirect: 'manual' });
      const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state');
      const cookie = (begun.headers.getSetCookie()[0] ?? '').split(';', 1)[0] ?? '';
      // It opens there: what is wrong is the code, not the cookie.
      const answer = await jar.get(`/api/idp/callback?state=${state}&error=access_denied`, { cookie });
      expect(answer.body.message).toContain('access_denied');
    } finally {
      await second.close();
    }
  });
});
