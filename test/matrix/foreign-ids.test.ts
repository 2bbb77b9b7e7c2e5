import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Route } from '../../src/gateway/route/route.ts';
import { gatewayRoutes } from '../../src/gateway/routes.ts';
import { yamlOf } from '../support/exported.ts';
import { outcome, useRegistry } from '../support/registry.ts';
import type { Rest } from '../support/rest.ts';
import { nameOf } from './expectations.ts';

/**
 * Every application-scoped route, made from the route values, with the ids of another application's records: whoever may do
 * everything in one application reaches nothing of the other through it.
 */
const MINE = `
application: { code: mine, name: Mine }
permissions: [{ code: own.read, type: tiered }]
roles: [{ code: own }]
`;
const OTHER = `
application: { code: other, name: Other }
entities: [{ code: book, name: Book, listEndpoint: "http://127.0.0.1:9/books" }]
permissions: [{ code: book.read, type: tiered }]
roles: [{ code: reader, permissions: { book.read: view } }]
notificationTypes: [{ code: due, name: Due }]
templates: [{ type: due, locale: en, subject: Due, html: "<p>Due</p>" }]
assignments: [{ email: ada@example.com, roles: [reader] }]
`;
const PANEL = `
application: { code: auth, name: Administration }
assignments:
  - { email: view@example.com, roles: [application_manager] }
  - { email: edit@example.com, roles: [application_manager] }
  - { email: none@example.com, roles: [application_manager] }
overrides:
  - { email: view@example.com, resourceType: application, resourceId: mine, permission: applications.manage, granted: true, accessLevel: view }
  - { email: edit@example.com, resourceType: application, resourceId: mine, permission: applications.manage, granted: true, accessLevel: edit }
`;

/** Application-scoped routes whose path names a record beside. */
const routes = gatewayRoutes({ production: false }).filter(
  ({ path, guard }) =>
    guard.name.startsWith('applicationLevel') && /:(id|roleId|permissionId|roleCode|entityCode)\b/.test(path),
);

describe("ids of another application's records", () => {
  const registry = useRegistry('postgresql', [MINE, OTHER, PANEL]);
  const { root } = registry;
  /** By the part of a path that names the collection. */
  const foreign = new Map<string, string>();
  let snapshot: string;

  const exported = async (): Promise<string> => await yamlOf(registry.usher.app.manifests, 'other');

  beforeAll(async () => {
    for (const collection of ['entities', 'permissions', 'roles', 'notification-types', 'templates']) {
      const { data } = (await root.get(`/api/applications/other/${collection}`)).body;
      const record = data.find(({ code }: { code?: string }) => code !== 'generic');
      foreign.set(collection, String(record.id));
    }
    const sent = await root.post('/api/applications/other/notifications', {
      recipients: ['ada@example.com'],
      subject: 'Hello',
    });
    foreign.set('notifications', String(sent.body.data.notifications[0].id));
    snapshot = await exported();
  });

  function placed({ path }: Route): string {
    const collection = /:appCode\/([a-z-]+)\//.exec(path)?.[1] ?? '';
    const values: Record<string, string> = {
      appCode: 'mine',
      email: 'ada@example.com',
      roleCode: 'reader',
      entityCode: 'book',
    };
    return path.replaceAll(/:(\w+)/g, (_, name: string) => values[name] ?? foreign.get(collection) ?? 'missing');
  }

  const ask = async (rest: Rest, route: Route): Promise<[number, string | undefined]> => {
    // An example may name what only its own story has; a replaced set is foreign enough when it is empty.
    const example = (route.example as { body?: object } | undefined)?.body;
    const body = route.path.endsWith('/permissions') ? { permissions: [] } : example;
    return outcome(await rest.send(route.method.toUpperCase(), placed(route), route.body === null ? undefined : body));
  };

  test('every kind of record has a route in the table', () => {
    expect(routes.map(nameOf).length).toBeGreaterThanOrEqual(16);
    expect(routes.map(placed).filter((path) => path.includes('missing'))).toEqual([]);
  });

  test("an editor and a SuperAdmin get an unknown record for another application's id, and nothing changes", async () => {
    for (const rest of [registry.as('edit'), root]) {
      for (const route of routes) {
        expect([nameOf(route), ...(await ask(rest, route))]).toEqual([nameOf(route), 404, 'NOT_FOUND']);
      }
    }
    expect(await exported()).toBe(snapshot);
  });

  test("a viewer cannot read another application's records, and people without a level learn nothing", async () => {
    for (const route of routes) {
      const reads = route.guard.name === 'applicationLevel(view)';
      const expected = reads ? [404, 'NOT_FOUND'] : [403, 'NO_APPLICATION_LEVEL'];
      expect([nameOf(route), ...(await ask(registry.as('view'), route))]).toEqual([nameOf(route), ...expected]);
      expect([nameOf(route), ...(await ask(registry.as('none'), route))]).toEqual([
        nameOf(route),
        403,
        'NO_APPLICATION_LEVEL',
      ]);
    }
    expect(await exported()).toBe(snapshot);
  });

  test('a body that refers to a record of another application is refused', async () => {
    const edit = registry.as('edit');
    const own = (await root.get('/api/applications/mine/roles')).body.data[0].id;
    const [role, permission] = [Number(foreign.get('roles')), Number(foreign.get('permissions'))];
    const roles = '/api/users/ada@example.com/apps/mine/roles';
    const overrides = '/api/users/ada@example.com/apps/mine/resources/book/1/permissions';
    const template = { locale: 'en', subject: 'x', html: 'x' };
    const writes: [string, string, object][] = [
      ['put', roles, { roleIds: [role] }],
      ['put', roles, { roles: ['reader'] }],
      ['post', roles, { roleId: role }],
      ['post', roles, { role: 'reader' }],
      ['put', overrides, { permissions: [{ permissionId: permission, granted: true }] }],
      ['put', overrides, { permissions: [{ permission: 'book.read', granted: true }] }],
      [
        'put',
        `/api/applications/mine/roles/${own}/permissions`,
        { permissions: [{ permissionId: permission, accessLevel: 'view' }] },
      ],
      [
        'put',
        '/api/applications/mine/matrix',
        { changes: [{ roleId: role, permission: 'own.read', accessLevel: 'view' }] },
      ],
      [
        'put',
        '/api/applications/mine/matrix',
        { changes: [{ roleId: own, permissionId: permission, accessLevel: null }] },
      ],
      ['post', '/api/applications/mine/permissions', { code: 'x', type: 'binary', parentPermissionId: permission }],
      ['post', '/api/applications/mine/permissions', { code: 'x', type: 'binary', parentPermission: 'book.read' }],
      [
        'post',
        '/api/applications/mine/templates',
        { ...template, notificationTypeId: Number(foreign.get('notification-types')) },
      ],
      ['post', '/api/applications/mine/templates', { ...template, type: 'due' }],
      ['post', '/api/applications/mine/notifications', { recipients: ['ada@example.com'], type: 'due', subject: 'x' }],
    ];
    for (const [method, path, body] of writes) {
      const answer = await edit.send(method.toUpperCase(), path, body);
      expect([path, body, ...outcome(answer)]).toEqual([path, body, 400, 'UNKNOWN_REFERENCE']);
    }
    expect(await exported()).toBe(snapshot);
  });
});
