import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { z } from 'zod';
import { UsherError } from '../../src/base/errors.ts';
import type { Route } from '../../src/gateway/route/route.ts';
import { gatewayRoutes } from '../../src/gateway/routes.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const KEY = 'the-internal-key-of-everything';
const routes = gatewayRoutes({ production: false });
const nameOf = ({ method, path }: Route): string => `${method} ${path}`;

/** Dear whatever is asked (docs/reference/http.md#dear-reads): written from the words, not from the routes. */
const ALWAYS = [
  'get /api/applications/:appCode/manifest',
  'get /api/profile/me/export',
  'get /api/users/:email/export',
  'post /api/check/subjects',
  'post /api/check/resources',
  'post /api/profile/me/check/resources',
  'post /api/applications/:appCode/subjects',
  'post /api/applications/:appCode/resources',
  'post /authzen/:appCode/access/v1/search/subject',
  'post /authzen/:appCode/access/v1/search/resource',
  'get /api/profile/me/access',
  'get /api/users/:email/access',
  'get /api/admin/overview',
  'get /api/admin/notifications/stats',
];

/** Searches that read no database: mails of a folder, and records of an application's own server. */
const ELSEWHERE = ['get /dev/mail', 'get /api/applications/:appCode/entities/:entityCode/items'];

const searches = (route: Route): string[] =>
  route.query instanceof z.ZodObject ? ['q', 'sort'].filter((name) => name in (route.query as z.ZodObject).shape) : [];

describe('dear reads at the routes', () => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let headers: Record<string, string>;

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    const env = {
      INTERNAL_API_KEY: `all:check+notify+profile+events+metrics+manifest:${KEY}`,
      SUPERADMINS: 'root@example.com',
    };
    usher = await startUsher(storage, { env });
    const text =
      'application: { code: shop, name: Shop }\npermissions: [{ code: orders.read, type: tiered }]\nentities: [{ code: order, name: Order }]\nroles: [{ code: clerk }]';
    await usher.app.manifests.apply(text, { actor: 'cli' });
    headers = { authorization: `Bearer ${await usher.token('root@example.com')}` };
    jest
      .spyOn(usher.app.dearReads, 'admit')
      .mockImplementation(() =>
        Promise.reject(new UsherError('RATE_LIMITED', 'refused by the test', { retryAfter: 2 })),
      );
  }, 60_000);
  afterAll(async () => {
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  async function ask(route: Route, query: string, body?: unknown): Promise<Response> {
    const values: Record<string, string> = { appCode: 'shop', email: 'root@example.com', roleId: '1', locale: 'en' };
    const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => values[name] ?? '1');
    const byKey = route.guard.kind === 'key' ? { 'x-internal-api-key': KEY } : headers;
    return await fetch(`${usher.rest}${path}${query}`, {
      method: route.method.toUpperCase(),
      headers: { ...byKey, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      redirect: 'manual',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  async function isRefused(route: Route, query = '', body?: unknown): Promise<boolean> {
    const answer = await ask(route, query, body);
    const { status } = answer;
    if (status === 200 && answer.headers.get('content-type') === 'text/event-stream') await answer.body?.cancel();
    else await answer.text();
    if (status === 429) expect(answer.headers.get('retry-after')).toBe('2');
    return status === 429;
  }

  test('every route is dear, a search, or neither, as its kind says', () => {
    const told = Object.fromEntries(
      routes.filter(({ dear }) => dear === true || dear === 'while-reading').map((route) => [nameOf(route), true]),
    );
    expect(Object.keys(told).toSorted()).toEqual(ALWAYS.toSorted());
    const wrong = routes.filter((route) => {
      if (ALWAYS.includes(nameOf(route))) return false;
      if (ELSEWHERE.includes(nameOf(route))) return route.dear !== false;
      const { dear } = route;
      return !Array.isArray(dear) || searches(route).some((name) => !dear.includes(name));
    });
    expect(wrong.map(nameOf)).toEqual([]);
    expect(routes.filter(({ rehearsal }) => rehearsal !== null && rehearsal.dear !== true).map(nameOf)).toEqual([]);
  });

  test('every read that is dear is bounded, and no other one', async () => {
    const bodies: Record<string, unknown> = {
      'post /authzen/:appCode/access/v1/search/subject': {
        subject: { type: 'user' },
        action: { name: 'orders.read' },
        resource: { type: 'order', id: '1' },
      },
      'post /authzen/:appCode/access/v1/search/resource': {
        subject: { type: 'user', id: 'root@example.com' },
        action: { name: 'orders.read' },
        resource: { type: 'order' },
      },
    };
    const wrong: string[] = [];
    for (const route of routes) {
      const { example, dear, method } = route;
      const body = bodies[nameOf(route)] ?? example.body;
      if (dear === true || dear === 'while-reading') {
        if (!(await isRefused(route, '', body))) wrong.push(`${nameOf(route)} is not bounded`);
      } else if (method === 'get' && !route.unsafe) {
        if (dear !== false) {
          for (const name of dear) {
            const value =
              { sort: 'email', orphan: 'true', permission: 'shop:orders.read', endingWithinDays: '7' }[name] ?? 'ann';
            const query =
              nameOf(route) === 'get /api/applications' && name === 'sort' ? '?sort=name' : `?${name}=${value}`;
            const more = name === 'permission' || name === 'endingWithinDays' ? '&appCode=shop' : '';
            if (!(await isRefused(route, query.replace('shop:', '') + more)))
              wrong.push(`${nameOf(route)}${query} is not bounded`);
          }
        }
        if (searches(route).length === 0 || nameOf(route) !== 'get /api/search') {
          if (await isRefused(route)) wrong.push(`${nameOf(route)} is bounded`);
        }
      }
    }
    expect(wrong).toEqual([]);
  }, 60_000);

  test('a dry run is bounded, and its write is not', async () => {
    const route = routes.find((one) => nameOf(one) === 'post /api/applications') as Route;
    const body = { code: 'other', name: 'Other' };
    expect(await isRefused(route, '?dryRun=true', body)).toBe(true);
    expect((await ask(route, '', body)).status).toBe(201);
  });
});
