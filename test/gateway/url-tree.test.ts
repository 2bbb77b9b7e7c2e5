import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { readParams, splitTarget, UrlTree } from '../../src/gateway/http/url-tree.ts';
import { bare } from '../../src/gateway/route/envelopes.ts';
import { open } from '../../src/gateway/route/guards.ts';
import { defineRoute, type Method, type Route } from '../../src/gateway/route/route.ts';

function route(method: Method, path: `/${string}`): Route {
  const names = path.split('/').filter((segment) => segment.startsWith(':'));
  return defineRoute({
    method,
    path,
    tag: 'Operations',
    summary: path,
    guard: open,
    params: z.strictObject(Object.fromEntries(names.map((name) => [name.slice(1), z.string()]))),
    envelope: bare,
    status: 200,
    response: z.null(),
    handle: () => null,
  });
}

// Documented neighbours, where a literal and a parameter meet.
const tree = new UrlTree([
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
]);

describe('the tree of paths', () => {
  test.each([
    ['/api/profile/me', '/api/profile/me', []],
    ['/api/profile/you', '/api/profile/:email', ['you']],
    ['/api/profile/me/notifications/inbox', '/api/profile/me/notifications/inbox', []],
    ['/api/profile/me/notifications/crm', '/api/profile/me/notifications/:appCode', ['crm']],
    ['/api/profile/me/notifications/preferences/bulk', '/api/profile/me/notifications/preferences/bulk', []],
    [
      '/api/profile/me/notifications/preferences/7',
      '/api/profile/me/notifications/preferences/:notificationTypeId',
      ['7'],
    ],
    ['/api/users/admins/super', '/api/users/admins/super', []],
    // The literal `admins` leads nowhere here, so the parameter takes it: a user may be called what he likes.
    ['/api/users/admins/apps/crm/roles', '/api/users/:email/apps/:appCode/roles', ['admins', 'crm']],
    ['/api/users/admins', '/api/users/:email', ['admins']],
    [
      '/api/users/a%40b.c/apps/crm/resources/page/a%2Fb/permissions',
      '/api/users/:email/apps/:appCode/resources/:resourceType/:resourceId/permissions',
      ['a%40b.c', 'crm', 'page', 'a%2Fb'],
    ],
  ])('%s is %s', (path, pattern, segments) => {
    const match = tree.match(path);
    expect(match?.place.pattern).toBe(pattern);
    expect(match?.segments).toEqual(segments);
  });

  test.each([
    '/',
    '',
    'api/profile/me',
    '/api/profile/me/',
    '/api//profile/me',
    '/api/profile',
    '/api/profile/',
    '/API/profile/me',
    '/api/./profile/me',
    '/api/x/../profile/me',
    '/api/%70rofile/me',
    '/api/users//apps/crm/roles',
    '/api/users/a/apps/crm/resources/page/a/b/permissions',
    '/constructor',
    '/__proto__',
    '/api/__proto__/me',
    `/api/profile/me${'/x'.repeat(5000)}`,
  ])('%p is no path of ours', (path) => {
    expect(tree.match(path)).toBeNull();
  });

  test('Allow tells every method of the path', () => {
    expect(tree.match('/api/profile/me')?.place.allow).toBe('GET, PUT, HEAD, OPTIONS');
    expect(tree.match('/api/profile/me/notifications/preferences/bulk')?.place.allow).toBe('PUT, OPTIONS');
  });

  test('parameters are percent-decoded once, and stay whole', () => {
    const match = tree.match('/api/users/a%2540b/apps/a%2Fb/roles');
    expect(match && readParams(match)).toEqual({ values: { email: 'a%40b', appCode: 'a/b' }, issues: [] });
  });

  test.each([
    ['%', 'is not percent-encoded UTF-8'],
    ['%ff', 'is not percent-encoded UTF-8'],
    ['%ed%a0%80', 'is not percent-encoded UTF-8'],
    ['a%00b', 'holds a NUL character'],
  ])('a parameter %s is an issue, and empty for the guard', (segment, message) => {
    const match = tree.match(`/api/users/${segment}`);
    expect(match && readParams(match)).toEqual({ values: { email: '' }, issues: [{ path: 'email', message }] });
  });

  test('two names for one place, and one route twice, are faults of the program', () => {
    expect(() => new UrlTree([route('get', '/a/:b'), route('put', '/a/:c')])).toThrow('are one path');
    expect(() => new UrlTree([route('get', '/a'), route('get', '/a')])).toThrow('defined twice');
  });
});

describe('the request target', () => {
  test.each([
    ['/a?b=c', { path: '/a', search: 'b=c' }],
    ['/a?', { path: '/a', search: '' }],
    ['/a?b?c', { path: '/a', search: 'b?c' }],
    ['http://other.example/a?b', { path: '/a', search: 'b' }],
    ['HTTP://other.example', { path: '/', search: '' }],
    ['*', null],
    ['other.example:443', null],
    ['http:///a', null],
    ['', null],
  ])('%p', (target, split) => {
    expect(splitTarget(target)).toEqual(split);
  });
});
