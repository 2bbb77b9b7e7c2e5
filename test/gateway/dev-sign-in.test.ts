import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { createLogger } from '../../src/base/telemetry.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { errorShape, parseRaw, rawRequest } from './fixture.ts';

/** As a page of the service asks, opened by `host`; `PORT` stands for the port. */
interface Asked {
  method?: string;
  code?: string | null;
  host?: string;
  site?: string | null;
  origin?: string;
  body?: unknown;
}

async function asked(usher: RunningUsher, { code, body, ...options }: Asked = {}) {
  const { method = body === undefined ? 'GET' : 'POST', host = 'localhost:PORT', site = 'same-origin' } = options;
  const port = Number(new URL(usher.rest).port);
  const text = body === undefined ? '' : JSON.stringify(body);
  const given = code === undefined ? usher.app.developmentSignIn?.code : code;
  const head = [
    `${method} /dev/sign-in${given === null ? '' : `?code=${given}`} HTTP/1.1`,
    `host: ${host.replace('PORT', String(port))}`,
    'connection: close',
    ...(site === null ? [] : [`sec-fetch-site: ${site}`]),
    ...(options.origin === undefined ? [] : [`origin: ${options.origin.replace('PORT', String(port))}`]),
    ...(body === undefined ? [] : ['content-type: application/json', `content-length: ${text.length}`]),
  ];
  const { status, headers, body: answer } = parseRaw(await rawRequest(port, `${head.join('\r\n')}\r\n\r\n${text}`));
  return { status, headers, json: JSON.parse(answer) };
}

const refusal = ({ status, json }: { status: number; json: unknown }) => ({ status, json });

const PEOPLE = `
application: { code: shop, name: Shop }
permissions: [{ code: pages.edit, type: tiered }]
roles: [{ code: author, permissions: { pages.edit: edit } }, { code: reader }]
admins: [olga@example.com, left@example.com]
assignments:
  - { email: ann@example.com, roles: [author, reader] }
  - { email: bob@example.com, roles: [reader] }
  - { email: cyd@example.com, roles: [reader] }
  - { email: olga@example.com, roles: [reader] }
`;
const PANEL = `
application: { code: auth, name: Administration }
assignments:
  - { email: looks@example.com, roles: [application_manager] }
  - { email: writes@example.com, roles: [application_manager] }
  - { email: runs@example.com, roles: [panel_admin] }
  - { email: admin@example.com, roles: [panel_admin] }
overrides:
  - { email: looks@example.com, resourceType: application, resourceId: shop, permission: applications.manage, granted: true, accessLevel: view }
  - { email: writes@example.com, resourceType: application, resourceId: shop, permission: applications.manage, granted: true, accessLevel: edit }
`;

for (const kind of KINDS) {
  describe(`the people of the development sign-in (${kind})`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;

    beforeAll(async () => {
      storage = await createStorage(kind);
      usher = await startUsher(storage);
    }, 60_000);
    afterAll(async () => {
      await usher?.close();
      await storage?.remove();
    }, 60_000);

    const people = async () =>
      (await asked(usher)).json.data.people as { email: string; name: string; role: string; description: string }[];

    test('of a new database it offers the SuperAdmin alone', async () => {
      expect(await people()).toEqual([
        {
          email: 'admin@example.com',
          name: 'admin@example.com',
          role: 'superadmin',
          description: 'SuperAdmin: is allowed everything.',
        },
      ]);
    });

    test('it offers a few active people of each kind, each once, by the most that they are', async () => {
      for (const text of [PEOPLE, PANEL]) await usher.app.manifests.apply(text, { actor: 'cli' });
      const root = await Rest.as(usher, 'admin@example.com');
      await root.put('/api/profile/me', { displayName: 'The Boss' });
      expect((await root.put('/api/users/left@example.com/active', { active: false })).status).toBe(200);
      const found = await people();
      expect(found.map(({ email, role }) => `${role} ${email}`)).toEqual([
        'superadmin admin@example.com',
        'app_admin olga@example.com',
        expect.stringMatching(/^panel_edit (?:writes|runs)@example\.com$/),
        'panel_view looks@example.com',
        'user ann@example.com',
        'user bob@example.com',
      ]);
      expect(found.map(({ name }) => name)[0]).toBe('The Boss');
      expect(found.map(({ description }) => description)).toEqual([
        'SuperAdmin: is allowed everything.',
        'Administrator of Shop.',
        'Panel user who changes applications.',
        'Panel user who only looks.',
        'Has the role author in Shop.',
        'Has the role reader in Shop.',
      ]);
    });

    test('among many people it offers eight', async () => {
      const all = (name: string) => Array.from({ length: 30 }, (_, n) => `${name}${n}@example.com`);
      const roles = all('r').map((email) => `  - { email: ${email}, roles: [reader] }`);
      const text = `application: { code: crowd, name: Crowd }\nroles: [{ code: reader }]\nadmins: [${all('a').join(', ')}]\nassignments:\n${roles.join('\n')}`;
      await usher.app.manifests.apply(text, { actor: 'cli' });
      const root = await Rest.as(usher, 'admin@example.com');
      for (const email of all('s').slice(0, 4)) await root.post('/api/users/admins/super', { email });
      const found = await people();
      expect(found).toHaveLength(8);
      expect(new Set(found.map(({ email }) => email)).size).toBe(8);
    });
  });
}

describe('the development sign-in', () => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let logged = '';

  async function restart(): Promise<void> {
    await usher?.close();
    logged = '';
    const log = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        logged += chunk.toString();
        done();
      },
    });
    usher = await startUsher(storage, { parts: { log: createLogger('trace', log) } });
  }

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    await restart();
  }, 60_000);
  afterAll(async () => {
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  test('with the code a page gets a token of anybody, for an hour', async () => {
    const before = Math.floor(Date.now() / 1000);
    const { status, json, headers } = await asked(usher, { body: { email: 'Ada@Example.com' } });
    expect([status, headers['cache-control'], json.success]).toEqual([200, 'no-store', true]);
    const { token, expiresAt } = json.data;
    const { email, exp = 0, iss } = decodeJwt(token);
    expect([email, iss]).toEqual(['ada@example.com', 'urn:usher:local']);
    expect(exp - before).toBeGreaterThanOrEqual(3600);
    expect(exp - before).toBeLessThan(3610);
    expect(Math.abs(Date.parse(expiresAt) / 1000 - exp)).toBeLessThanOrEqual(1);
    expect((await Rest.bearing(usher, token).get('/api/profile/me')).body.data.email).toBe('ada@example.com');
  });

  test('an invalid address and an unknown field are refused by name', async () => {
    for (const [body, path] of [
      [{ email: 'no address' }, 'email'],
      [{ email: 'ada@example.com', admin: true }, 'admin'],
      [{}, 'email'],
    ] as const) {
      const { status, json } = await asked(usher, { body });
      expect([status, json.details.issues[0].path]).toEqual([400, path]);
    }
  });

  test.each([null, '', 'wrong'])('with the code %j it answers nothing', async (code) => {
    expect(refusal(await asked(usher, { code }))).toEqual(errorShape(401, 'UNAUTHENTICATED'));
    const posted = await asked(usher, { code, body: { email: 'ada@example.com' } });
    expect(refusal(posted)).toEqual(errorShape(401, 'UNAUTHENTICATED'));
  });

  test('after ten wrong codes in a minute the right one is refused too', async () => {
    // Wrong codes of other tests count too.
    await restart();
    const statuses: number[] = [];
    for (let n = 0; n < 12; n++) statuses.push((await asked(usher, { code: `guess-${n}` })).status);
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429, 429]);
    const { status, headers, json } = await asked(usher);
    expect({ status, json }).toEqual(errorShape(429, 'RATE_LIMITED'));
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect((await asked(usher, { body: { email: 'ada@example.com' } })).status).toBe(429);
  });

  test('right codes are not counted', async () => {
    await restart();
    for (let n = 0; n < 15; n++) expect((await asked(usher)).status).toBe(200);
  });

  test.each(['evil.example:PORT', 'localhost.evil.example', '10.0.0.7:PORT', 'usher.local'])(
    'a page under the name %s is refused, whatever its code',
    async (host) => {
      expect(refusal(await asked(usher, { host }))).toEqual(errorShape(403, 'FORBIDDEN'));
    },
  );

  test.each([null, 'none', 'same-site', 'cross-site', 'SAME-ORIGIN'])(
    'a request that says sec-fetch-site: %s is refused, whatever its code',
    async (site) => {
      expect(refusal(await asked(usher, { site }))).toEqual(errorShape(403, 'FORBIDDEN'));
    },
  );

  test('a page of another port is refused, and reads nothing', async () => {
    const { status, headers, json } = await asked(usher, { origin: 'http://localhost:3000' });
    expect({ status, json }).toEqual(errorShape(403, 'FORBIDDEN', 'BROWSER_NOT_ALLOWED'));
    expect(headers['access-control-allow-origin']).toBeUndefined();
    expect((await asked(usher, { origin: 'http://localhost:PORT' })).status).toBe(200);
  });

  test('the code is new at each start, long, and in no line of the log', async () => {
    await restart();
    const first = usher.app.developmentSignIn?.code ?? '';
    expect(first).toMatch(/^[\w-]{32}$/);
    await asked(usher);
    await asked(usher, { code: 'guess-to-find' });
    await fetch(`${usher.rest}/panel/?code=${first}`);
    expect(logged).toContain('/dev/sign-in');
    expect(logged).not.toContain(first);
    expect(logged).not.toContain('guess-to-find');
    await usher.close();
    usher = await startUsher(storage);
    expect(usher.app.developmentSignIn?.code).not.toBe(first);
    expect((await asked(usher, { code: first })).status).toBe(401);
  });
});

test('with an identity provider there is no development sign-in', async () => {
  const storage = await createStorage('pglite');
  const env = { AUTH_ISSUER: 'https://idp.example.com', AUTH_AUDIENCE: 'usher' };
  const usher = await startUsher(storage, { env });
  expect(usher.app.developmentSignIn).toBeNull();
  for (const body of [undefined, { email: 'ada@example.com' }]) {
    expect(refusal(await asked(usher, { code: '', body }))).toEqual(errorShape(404, 'NOT_FOUND'));
  }
  await usher.close();
  await storage.remove();
}, 60_000);
