import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import type { Route } from '../../src/gateway/route/route.ts';
import { gatewayRoutes } from '../../src/gateway/routes.ts';
import { usher as command } from '../cli/harness.ts';
import { call } from '../grpc/support.ts';
import { createDatabase, type PostgresDatabase } from '../support/postgres.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** Defaults of a database, each of which changes what a statement means or how an answer is written. */
const ODD = {
  DateStyle: 'German, DMY',
  IntervalStyle: 'sql_standard',
  TimeZone: 'America/St_Johns',
  array_nulls: 'off',
  standard_conforming_strings: 'off',
  bytea_output: 'escape',
  transform_null_equals: 'on',
};

const KEY = 'the-internal-key-of-everything';
const MANIFEST = {
  application: { code: 'shop', name: 'Shop' },
  entities: [
    { code: 'order', name: 'Order' },
    { code: 'desk', name: 'Desk', description: 'a \\ and a NULL' },
  ],
  permissions: [
    { code: 'orders.read', type: 'tiered' },
    { code: 'orders.pack', type: 'binary', description: 'NULL' },
  ],
  roles: [
    { code: 'clerk', permissions: { 'orders.read': 'view' } },
    { code: 'packer', description: "it's \\n" },
  ],
  notificationTypes: [{ code: 'news', name: 'News' }],
  templates: [{ type: 'news', locale: 'en', subject: 'News', html: '<p>{{ text }}</p>' }],
  admins: ['ann@example.com'],
  assignments: [{ email: 'bob@example.com', roles: ['clerk'] }],
  overrides: [
    {
      email: 'bob@example.com',
      resourceType: 'order',
      resourceId: 'NULL',
      permission: 'orders.read',
      granted: true,
      accessLevel: 'edit',
    },
  ],
};

interface Service {
  readonly usher: RunningUsher;
  readonly root: Rest;
  readonly bob: Rest;
  readonly dataDir: string;
}

/** What two services say of the same, whenever and wherever it was. */
function same(value: unknown): unknown {
  const text = JSON.stringify(value, (name, one: unknown) => {
    if (
      name === 'revision' ||
      name === 'nextCursor' ||
      name === 'etag' ||
      name === 'requestId' ||
      name === 'vapidPublicKey'
    )
      return `<${name}>`;
    return typeof one === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(one) ? '<time>' : one;
  });
  return text === undefined
    ? undefined
    : JSON.parse(text.replaceAll(/http:\/\/localhost:\d+/g, '<url>').replaceAll(/[0-9a-f-]{36}/g, '<uuid>'));
}

/** `npm run test:pooled` asks the same through a PgBouncer. */
describe('a database with other defaults', () => {
  let databases: PostgresDatabase[];
  let odd: Service;
  let plain: Service;

  async function start(url: string): Promise<Service> {
    const dataDir = mkdtempSync(join(tmpdir(), 'usher-settings-'));
    const env = {
      INTERNAL_API_KEY: `all:check+notify+profile+events+manifest:${KEY}`,
      SUPERADMINS: 'root@example.com',
    };
    const usher = await startUsher({ url, dataDir }, { env });
    return {
      usher,
      dataDir,
      root: await Rest.as(usher, 'root@example.com'),
      bob: await Rest.as(usher, 'bob@example.com'),
    };
  }

  async function alter({ url, name }: PostgresDatabase): Promise<void> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    for (const [setting, value] of Object.entries(ODD)) {
      await client.query(`alter database ${name} set ${setting} = '${value}'`);
    }
    await client.end();
  }

  beforeAll(async () => {
    databases = [await createDatabase({ empty: true }), await createDatabase({ empty: true })];
    const [first, second] = databases as [PostgresDatabase, PostgresDatabase];
    await alter(first);
    odd = await start(first.url);
    plain = await start(second.url);
    for (const { usher, root, bob } of [odd, plain]) {
      await usher.app.manifests.apply(JSON.stringify(MANIFEST), { actor: 'cli' });
      for (const answer of [
        await bob.get('/api/profile/me'),
        await bob.put('/api/profile/me', { displayName: 'Bob \\ "NULL"', timezone: 'Europe/Prague' }),
        await bob.post('/api/profile/me/apps/shop/activity'),
        await root.post('/api/users/carol@example.com/apps/shop/roles', { role: 'packer' }),
        await root.put('/api/users/carol@example.com/active', { active: false }),
      ]) {
        expect([Math.floor(answer.status / 100), answer.body]).toEqual([2, answer.body]);
      }
      const sent = await fetch(`${usher.rest}/api/internal/notifications`, {
        method: 'POST',
        headers: { 'x-internal-api-key': KEY, 'content-type': 'application/json' },
        body: JSON.stringify({
          appCode: 'shop',
          type: 'news',
          recipients: ['bob@example.com'],
          payload: { text: 'a \\ b' },
        }),
      });
      expect([sent.status, await sent.json()]).toEqual([202, expect.anything()]);
    }
  }, 120_000);
  afterAll(async () => {
    for (const one of [odd, plain]) {
      await one?.usher.close();
      await rm(one?.dataDir ?? '', { recursive: true, force: true });
    }
    await Promise.all((databases ?? []).map((database) => database.drop()));
  }, 60_000);

  test('what was accepted is sent', async () => {
    for (const { root } of [odd, plain]) {
      let rows: { status: string; createdAt: string | null }[] = [];
      while (rows.some(({ status }) => status !== 'sent') || rows.length === 0) {
        rows = (await root.get('/api/applications/shop/notifications')).body.data;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      expect(rows.map(({ createdAt }) => typeof createdAt)).toEqual(['string']);
    }
  }, 60_000);

  test('every read answers as on a database without them', async () => {
    const values: Record<string, string> = {
      appCode: 'shop',
      email: 'bob@example.com',
      entityCode: 'order',
      resourceType: 'order',
      resourceId: 'NULL',
      locale: 'en',
    };
    const isAsked = (route: Route) =>
      route.method === 'get' &&
      !route.unsafe &&
      !/^\/(dev|metrics|readyz|healthz|api\/(idp|docs|openapi|admin\/config))/.test(route.path) &&
      !route.path.endsWith('stream');
    const wrong: unknown[] = [];
    const answered: string[] = [];
    for (const route of gatewayRoutes({ production: true }).filter(isAsked)) {
      const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => values[name] ?? '1');
      const asked = async ({ usher, root, bob }: Service) => {
        if (route.guard.kind === 'key') {
          const answer = await fetch(usher.rest + path, { headers: { 'x-internal-api-key': KEY } });
          return [answer.status, same(await answer.json().catch(() => null))];
        }
        const answer = await (path.includes('/me') ? bob : root).get(path, { accept: 'application/json' });
        return [answer.status, same(answer.body)];
      };
      const [there, here] = [await asked(odd), await asked(plain)];
      if (JSON.stringify(there) !== JSON.stringify(here)) wrong.push({ path, there, here });
      else if (here?.[0] === 200) answered.push(path);
    }
    expect(wrong).toEqual([]);
    expect(answered.length).toBeGreaterThan(30);
  }, 60_000);

  test('checks by every door are right, and stay so after a write', async () => {
    const { usher, root } = odd;
    const grpc = new Client(usher.grpc, credentials.createInsecure());
    const question = { email: 'bob@example.com', app: 'shop', permission: 'orders.read' };
    const metadata = { 'x-internal-api-key': KEY };
    const ask = async (resource: object) => [
      (await call(grpc, 'Check', { ...question, ...resource }, { metadata })).message.accessLevel,
      await fetch(`${usher.rest}/api/check`, {
        method: 'POST',
        headers: { ...metadata, 'content-type': 'application/json' },
        body: JSON.stringify({ ...question, ...resource }),
      }).then((answer) => answer.text()),
    ];
    expect([await ask({}), await ask({ resourceType: 'order', resourceId: 'NULL' })]).toEqual([
      [2, expect.stringContaining('true')],
      [3, expect.stringContaining('true')],
    ]);
    expect((await root.delete('/api/users/bob@example.com/apps/shop/roles/clerk')).status).toBe(204);
    expect(await ask({})).toEqual([0, expect.stringContaining('false')]);
    grpc.close();
  });

  test('the doctor names them', async () => {
    const [database] = databases as [PostgresDatabase];
    const { stdout } = await command(['doctor'], { env: { DATABASE_URL: database.url, DATA_DIR: odd.dataDir } });
    for (const [name, value] of Object.entries(ODD)) expect(stdout).toContain(`${name}=${value}`);
  }, 60_000);
});
