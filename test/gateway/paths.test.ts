import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { routableTarget } from '../../src/gateway/http/target.ts';
import { bare } from '../../src/gateway/route/envelopes.ts';
import { open } from '../../src/gateway/route/guards.ts';
import { defineRoute, type Method, type Route } from '../../src/gateway/route/route.ts';
import { ask, errorShape, parseRaw, rawRequest, startWorld, useWorld } from './fixture.ts';

/** Answers its own pattern, and the parameters that it was given. */
function route(method: Method, path: `/${string}`): Route {
  const names = path.split('/').filter((segment) => segment.startsWith(':'));
  return defineRoute({
    method,
    path,
    operation: 'answerPattern',
    tag: 'Operations',
    summary: path,
    guard: open,
    params: z.strictObject(Object.fromEntries(names.map((name) => [name.slice(1), z.string()]))),
    envelope: bare,
    status: 200,
    response: z.object({ pattern: z.string(), values: z.array(z.unknown()) }),
    handle: (_services, { params }) => ({ pattern: path, values: Object.values(params) }),
  });
}

// Documented neighbours, where a literal and a parameter meet; the parameters come first.
const routes = [
  route('get', '/api/profile/:email'),
  route('get', '/api/profile/me'),
  route('put', '/api/profile/me'),
  route('get', '/api/profile/me/notifications/:appCode'),
  route('get', '/api/profile/me/notifications/inbox'),
  route('get', '/api/profile/me/notifications/inbox/unread-count'),
  route('put', '/api/profile/me/notifications/preferences/:notificationTypeId'),
  route('put', '/api/profile/me/notifications/preferences/bulk'),
  route('get', '/api/users/admins/super'),
  route('get', '/api/users/:email/apps/:appCode/roles'),
  route('get', '/api/users/:email'),
  route('put', '/api/users/:email/apps/:appCode/resources/:resourceType/:resourceId/permissions'),
];
const world = useWorld({ routes });

/** Sends a target as it is, which `fetch` would normalise. */
async function send(target: string, method = 'GET'): Promise<ReturnType<typeof parseRaw>> {
  const head = `${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;
  return parseRaw(await rawRequest(world.port, head));
}

describe('routing', () => {
  test.each([
    ['GET', '/api/profile/me', '/api/profile/me', []],
    ['GET', '/api/profile/you', '/api/profile/:email', ['you']],
    ['GET', '/api/profile/me/notifications/inbox', '/api/profile/me/notifications/inbox', []],
    ['GET', '/api/profile/me/notifications/crm', '/api/profile/me/notifications/:appCode', ['crm']],
    ['PUT', '/api/profile/me/notifications/preferences/bulk', '/api/profile/me/notifications/preferences/bulk', []],
    [
      'PUT',
      '/api/profile/me/notifications/preferences/7',
      '/api/profile/me/notifications/preferences/:notificationTypeId',
      ['7'],
    ],
    ['GET', '/api/users/admins/super', '/api/users/admins/super', []],
    // The literal `admins` leads nowhere here, so the parameter takes it: a user may be called what they like.
    ['GET', '/api/users/admins/apps/crm/roles', '/api/users/:email/apps/:appCode/roles', ['admins', 'crm']],
    ['GET', '/api/users/admins', '/api/users/:email', ['admins']],
    [
      'PUT',
      '/api/users/a%40b.c/apps/crm/resources/page/a%2Fb/permissions',
      '/api/users/:email/apps/:appCode/resources/:resourceType/:resourceId/permissions',
      ['a@b.c', 'crm', 'page', 'a/b'],
    ],
    // A parameter is decoded once, and stays whole.
    ['GET', '/api/users/a%2540b/apps/a%2Fb/roles', '/api/users/:email/apps/:appCode/roles', ['a%40b', 'a/b']],
    // What a URL parser would cut off or turn around is part of the segment in which it came.
    ['GET', '/api/profile/me#x', '/api/profile/:email', ['me#x']],
    ['GET', '/api/profile/me\\x', '/api/profile/:email', ['me\\x']],
    ['GET', '/api/profile/..', '/api/profile/:email', ['..']],
    ['GET', '/api/profile/%2e%2e', '/api/profile/:email', ['..']],
    ['GET', 'http://elsewhere.example/api/profile/me', '/api/profile/me', []],
  ])('%s %p is answered by %s', async (method, target, pattern, values) => {
    expect(JSON.parse((await send(target, method)).body)).toEqual({ pattern, values });
  });

  test.each([
    '/api/profile/me/',
    '/api//profile/me',
    '//api/profile/me',
    '/api/profile',
    '/api/profile/',
    '/API/profile/me',
    '/api/./profile/me',
    '/api/x/../profile/me',
    '/api\\profile\\me',
    '/api/%70rofile/me',
    '/api/%ff/me',
    '/api/users//apps/crm/roles',
    '/api/users/a/apps/crm/resources/page/a/b/permissions',
    '/constructor',
    '/__proto__',
    '/api/__proto__/me',
    '/*',
    `/api/profile/me${'/x'.repeat(5000)}`,
  ])('%p is not a path of this service', async (target) => {
    const reply = await send(target);
    expect({ status: reply.status, json: JSON.parse(reply.body) }).toMatchObject(errorShape(404, 'NOT_FOUND'));
  });

  test('a target that names no path is 404, whatever the method', async () => {
    for (const method of ['GET', 'OPTIONS']) expect((await send('*', method)).status).toBe(404);
  });

  test('Allow names every method of the path', async () => {
    const allowed = async (path: string) => (await ask(`${world.url}${path}`, { method: 'POST' })).headers.get('allow');
    expect(await allowed('/api/profile/me')).toBe('GET, PUT, HEAD, OPTIONS');
    expect(await allowed('/api/profile/me/notifications/preferences/bulk')).toBe('PUT, OPTIONS');
  });

  test.each(['%', '%ff', '%ed%a0%80', 'a%00b'])('a parameter %s is an issue of its name', async (segment) => {
    const reply = await ask(`${world.url}/api/users/${segment}`);
    expect(reply).toMatchObject(errorShape(400, 'BAD_REQUEST', 'VALIDATION_FAILED'));
    expect(reply.json.details.issues.map(({ path }: { path: string }) => path)).toEqual(['email']);
  });

  test('two parameter names for one place, and a duplicate route, fail at start', async () => {
    const mounting = (...wrong: Route[]) => startWorld({ routes: wrong });
    await expect(mounting(route('get', '/a/:b'), route('put', '/a/:c'))).rejects.toThrow('are one path');
    await expect(mounting(route('get', '/a'), route('get', '/a'))).rejects.toThrow('defined twice');
  });
});

describe('the request target', () => {
  test.each([
    ['/a?b=c', '/a?b=c'],
    ['/a?', '/a?'],
    ['/a?b?c', '/a?b?c'],
    ['/a?b=%ff', '/a?b=%ff'],
    ['/a?b=c#d', '/a?b=c%23d'],
    ['/a#b', '/a%23b'],
    ['/a\u00a0', '/a%C2%A0'],
    ['/%ff/%41', '/%00/%41'],
    ['http://other.example/a?b', '/a?b'],
    ['HTTP://other.example', '/'],
    ['*', '/*'],
    ['other.example:443', '/*'],
    ['http:///a', '/*'],
    ['', '/*'],
  ])('%p is routed as %p', (target, routed) => {
    expect(routableTarget(target)).toBe(routed);
  });
});
