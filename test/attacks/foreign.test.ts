import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Route } from '../../src/gateway/route/route.ts';
import { gatewayRoutes } from '../../src/gateway/routes.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/**
 * An administrator of one application with the ids of another: in every path and body that takes one, made from the routes. And
 * the type that no administrator may write in their own application: the one that sends the identity provider's codes.
 */
const manifest = (code: string, admin: string) => `
application: { code: ${code}, name: ${code} }
admins: [${admin}]
entities:
  - { code: thing, name: Thing, description: A thing, idLabel: Number }
permissions:
  - { code: read, type: tiered }
roles:
  - { code: reader, description: Reads, permissions: { read: view } }
assignments:
  - { email: user@example.com, roles: [reader] }
overrides:
  - { email: user@example.com, resourceType: thing, resourceId: "1", permission: read, granted: true, accessLevel: edit }
notificationTypes:
  - { code: news, name: News }
`;
const MINE = '/api/applications/mine';

let storage: TestStorage;
let usher: RunningUsher;
let root: Rest;
let mallory: Rest;

beforeAll(async () => {
  storage = await createStorage('postgresql');
  usher = await startUsher(storage, {
    // Without a worker: what is compared must not be delivered meanwhile.
    env: { IDP_NOTIFICATION_APP_CODE: 'mine', SUPERADMINS: 'admin@example.com', USHER_ROLES: 'gateway' },
  });
  await usher.app.manifests.apply(manifest('mine', 'mallory@example.com'), { actor: 'cli' });
  await usher.app.manifests.apply(manifest('other', 'olga@example.com'), { actor: 'cli' });
  root = await Rest.as(usher, 'admin@example.com');
  mallory = await Rest.as(usher, 'mallory@example.com');
  for (const app of ['mine', 'other']) {
    const { body } = await root.get(`/api/applications/${app}/notification-types`);
    const news = body.data.find(({ code }: { code: string }) => code === 'news').id;
    const template = { notificationTypeId: news, locale: 'en', subject: 'S', html: 'H' };
    expect((await root.post(`/api/applications/${app}/templates`, template)).status).toBe(201);
  }
}, 60_000);
afterAll(async () => {
  await usher?.close();
  await storage?.remove();
}, 60_000);

/** All that the other application consists of, as it stands. */
async function standing(): Promise<unknown> {
  const lists = ['permissions', 'roles', 'entities', 'notification-types', 'templates', 'notifications', 'manifest'];
  const paths = [...lists.map((list) => `/api/applications/other/${list}`), '/api/users/user@example.com'];
  const answers = await Promise.all(paths.map((path) => root.get(path, { accept: 'application/json' })));
  return answers.map(({ status, body }) => [status, body.data]);
}

async function idIn(list: string): Promise<number> {
  const { body } = await root.get(`/api/applications/other/${list}`);
  const [first] = body.data;
  return first.id;
}

/** Bodies with which each route would do something, had the record been one's own; by the path's end. */
const BODIES: Readonly<Record<string, unknown>> = {
  'PUT /permissions/:permissionId': { description: 'taken' },
  'PUT /roles/:roleId': { description: 'taken' },
  'PUT /roles/:roleId/permissions': { permissions: [] },
  'POST /roles/:roleId/users': { add: ['mallory@example.com'], remove: ['user@example.com'] },
  'PUT /entities/:id': { name: 'taken' },
  'PUT /notification-types/:id': { name: 'taken' },
  'PUT /templates/:id': { subject: 'taken' },
  'POST /templates/:id/preview': { payload: {} },
};

describe('ids of another application', () => {
  test('an id of another application is unknown in every path', async () => {
    const key = usher.app.localKey ?? '';
    const notified = await (await Rest.as(usher)).send(
      'POST',
      '/api/internal/notifications',
      { appCode: 'other', recipients: ['user@example.com'] },
      { 'x-internal-api-key': key },
    );
    expect(notified.status).toBe(202);
    const before = await standing();
    const routes = gatewayRoutes({ production: false }).filter(
      ({ path }) => path.startsWith('/api/applications/:appCode/') && /:(?!appCode)/.test(path),
    );
    const takesCode = (path: string) => path.endsWith('/entities/:entityCode/items') || path.endsWith('/i18n/:locale');
    const wrong: string[] = [];
    const asked = routes.filter(({ path }) => !takesCode(path));
    for (const route of asked) {
      const status = await ask(route);
      if (status !== 404) wrong.push(`${route.method} ${route.path}: ${status}`);
    }
    expect(wrong).toEqual([]);
    expect(asked.length).toBeGreaterThan(12);
    expect(await standing()).toEqual(before);
  }, 60_000);

  async function ask({ method, path }: Route): Promise<number> {
    const rest = path.slice('/api/applications/:appCode'.length);
    const id = await idIn(rest.split('/')[1] ?? '');
    const verb = method.toUpperCase();
    const { status } = await mallory.send(
      verb,
      `${MINE}${rest.replace(/:\w+/, String(id))}`,
      BODIES[`${verb} ${rest}`],
    );
    return status;
  }

  test('an id of another application is an unknown reference in every body', async () => {
    const [permission, role, type] = await Promise.all(['permissions', 'roles', 'notification-types'].map(idIn));
    const own = await root.get(`${MINE}/roles`);
    const templates = await root.get(`${MINE}/templates`);
    const before = await standing();
    const template = { notificationTypeId: type, locale: 'cs', subject: 'S', html: 'H' };
    const bodies: [string, string, unknown][] = [
      ['POST', `${MINE}/permissions`, { code: 'child', type: 'binary', parentPermissionId: permission }],
      [
        'PUT',
        `${MINE}/roles/${own.body.data[0].id}/permissions`,
        { permissions: [{ permissionId: permission, accessLevel: 'view' }] },
      ],
      ['PUT', '/api/users/user@example.com/apps/mine/roles', { roleIds: [role] }],
      [
        'PUT',
        '/api/users/user@example.com/apps/mine/resources/thing/1/permissions',
        { permissions: [{ permissionId: permission, granted: true }] },
      ],
      ['POST', `${MINE}/templates`, template],
      ['PUT', `${MINE}/templates/${templates.body.data[0].id}`, { notificationTypeId: type }],
    ];
    for (const [method, path, body] of bodies) {
      const answer = await mallory.send(method, path, body);
      expect([path, answer.status, answer.body.details.code]).toEqual([path, 400, 'UNKNOWN_REFERENCE']);
    }
    expect(await standing()).toEqual(before);
  });
});

describe("the type of the provider's e-mails, in any application", () => {
  const mail = {
    key: 'password_reset',
    locale: 'en',
    subject: 'Reset',
    html: '<a href="https://evil.example/{{ code }}">Reset</a>',
  };

  test('only SuperAdmins create, change and delete the auth type and its templates', async () => {
    const types = `${MINE}/notification-types`;
    const refused = (answer: { status: number; body: { code: string } }) =>
      expect([answer.status, answer.body.code]).toEqual([403, 'FORBIDDEN']);
    refused(await mallory.post(types, { code: 'auth_idp', name: 'Mine' }));

    const type = (await root.post(types, { code: 'auth_idp', name: 'Sign-in' })).body.data.id;
    refused(await mallory.put(`${types}/${type}`, { emailFromName: 'Bank' }));
    refused(await mallory.delete(`${types}/${type}`));

    const templates = `${MINE}/templates`;
    refused(await mallory.post(templates, { ...mail, notificationTypeId: type }));
    const good = await root.post(templates, { ...mail, html: '<p>{{ code }}</p>', notificationTypeId: type });
    expect(good.status).toBe(201);
    const path = `${templates}/${good.body.data.id}`;
    refused(await mallory.put(path, { html: mail.html }));
    refused(await mallory.delete(path));

    // Nor by a template of another type that becomes one of this.
    const own = (await root.get(types)).body.data.find(({ code }: { code: string }) => code === 'news').id;
    const detour = await mallory.post(templates, { ...mail, notificationTypeId: own });
    expect(detour.status).toBe(201);
    refused(await mallory.put(`${templates}/${detour.body.data.id}`, { notificationTypeId: type, locale: 'cs' }));
    // Nor by one of this that becomes another's.
    refused(await mallory.put(path, { notificationTypeId: own, locale: 'de' }));

    const { body } = await root.get(templates);
    expect(body.data.filter((one: { type: string }) => one.type === 'auth_idp')).toMatchObject([
      { key: 'password_reset', html: '<p>{{ code }}</p>' },
    ]);
    const audit = await root.get(`/api/admin/audit?actor=mallory@example.com&appCode=mine&limit=200`);
    const actions = audit.body.data.map(({ action }: { action: string }) => action);
    expect(actions).toEqual(expect.arrayContaining(['template.changed.refused', 'notification_type.created.refused']));
  });
});
