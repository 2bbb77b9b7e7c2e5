import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** Unknown codes name themselves and the nearest known that the caller may see (docs/reference/errors.md#did-you-mean). */
const ATELIER = {
  application: { code: 'atelier', name: 'Atelier' },
  entities: [{ code: 'project', name: 'Project' }],
  permissions: [{ code: 'project.access', type: 'tiered' }],
  roles: [{ code: 'lead', permissions: { 'project.access': 'edit' } }],
  admins: ['anna@example.com'],
  notificationTypes: [{ code: 'invoice_due', name: 'Invoice due' }],
  templates: [{ type: 'invoice_due', key: 'reminder', locale: 'en', subject: 'Due', html: '<p>Due</p>' }],
};
const SECRET = { application: { code: 'takeover', name: 'Takeover' }, roles: [{ code: 'spy', permissions: {} }] };

describe('did you mean', () => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let root: Rest;
  let anna: Rest;

  beforeAll(async () => {
    storage = await createStorage('postgresql');
    usher = await startUsher(storage, { env: { SUPERADMINS: 'root@example.com' } });
    root = await Rest.as(usher, 'root@example.com');
    anna = await Rest.as(usher, 'anna@example.com');
    await root.post('/api/admin/brands', { slug: 'northwing', name: 'Northwing' });
    await root.get('/api/profile/me');
    for (const manifest of [ATELIER, SECRET]) {
      const { status, body } = await root.post('/api/manifests/apply', manifest);
      expect([status, body]).toEqual([200, body]);
    }
  }, 60_000);
  afterAll(async () => {
    await usher?.close();
    await storage?.remove();
  }, 60_000);

  const user = '/api/users/clara@example.com/apps';
  const overrides = (permission: string) => ({ permissions: [{ permission, granted: true }] });

  test.each<[string, string, string, unknown, string, string]>([
    ['a role that is given', 'post', `${user}/atelier/roles`, { role: 'leed' }, 'leed', 'lead'],
    ['a role of a set', 'put', `${user}/atelier/roles`, { roles: ['lead', 'laed'] }, 'laed', 'lead'],
    [
      'a permission of an override',
      'put',
      `${user}/atelier/resources/project/1/permissions`,
      overrides('project.acess'),
      'project.acess',
      'project.access',
    ],
    [
      'an entity of an override',
      'put',
      `${user}/atelier/resources/projekt/1/permissions`,
      overrides('project.access'),
      'projekt',
      'project',
    ],
    [
      'a permission of overrides',
      'post',
      '/api/applications/atelier/overrides/delete',
      { overrides: [{ email: 'a@example.com', resourceType: 'project', resourceId: '1', permission: 'project.aces' }] },
      'project.aces',
      'project.access',
    ],
    [
      'a cell of the matrix',
      'put',
      '/api/applications/atelier/matrix',
      { changes: [{ role: 'leat', permission: 'project.access', accessLevel: 'view' }] },
      'leat',
      'lead',
    ],
    [
      'a parent',
      'post',
      '/api/applications/atelier/permissions',
      { code: 'x', type: 'binary', parentPermission: 'project.acces' },
      'project.acces',
      'project.access',
    ],
    [
      'a notification type',
      'post',
      '/api/applications/atelier/notifications',
      { type: 'invoice_dew', recipients: ['a@example.com'], payload: {} },
      'invoice_dew',
      'invoice_due',
    ],
    [
      'a template of a send',
      'post',
      '/api/applications/atelier/notifications',
      { type: 'invoice_due', templateKey: 'remainder', recipients: ['a@example.com'], payload: {} },
      'remainder',
      'reminder',
    ],
    ['a language of a profile', 'put', '/api/profile/me', { locale: 'pt-bt' }, 'pt-bt', 'pt-br'],
    ['a brand of a profile', 'put', '/api/profile/me', { brand: 'nordwing' }, 'nordwing', 'northwing'],
    [
      'a language of an application',
      'put',
      '/api/applications/atelier',
      { name: 'Atelier', supportedLanguages: ['en', 'pt-bt'] },
      'pt-bt',
      'pt-br',
    ],
    [
      'the fallback of a language',
      'post',
      '/api/languages',
      { code: 'tlh', name: 'Klingon', nativeName: 'tlhIngan Hol', fallback: 'pt-bt' },
      'pt-bt',
      'pt-br',
    ],
    [
      'the language of a template',
      'post',
      '/api/applications/atelier/templates/preview',
      { type: 'invoice_due', locale: 'pt-bt', subject: 's', html: 'h' },
      'pt-bt',
      'pt-br',
    ],
    [
      'the brand of a preview',
      'post',
      '/api/applications/atelier/templates/preview',
      { type: 'invoice_due', locale: 'en', subject: 's', html: 'h', brand: 'northwink' },
      'northwink',
      'northwing',
    ],
    ['an application', 'post', `${user}/atelir/roles`, { role: 'lead' }, 'atelir', 'atelier'],
    ['another application', 'get', '/api/applications/atelie/roles', undefined, 'atelie', 'atelier'],
  ])('%s', async (_, method, path, body, given, meant) => {
    const answer = await root.send(method.toUpperCase(), path, body);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.body.message).toContain(given);
    expect([answer.body.message, answer.body.message.endsWith(`; did you mean ${meant}?`)]).toEqual([
      answer.body.message,
      true,
    ]);
    expect(answer.body.details.known).toBe(meant);
  });

  test('a role that is taken names the one that was meant', async () => {
    const { status, body } = await root.delete(`${user}/atelier/roles/leed`);
    expect([status, body.message]).toEqual([
      404,
      'clara@example.com does not hold the role leed in atelier; did you mean lead?',
    ]);
  });

  test('to somebody who may not see an application, its codes do not exist', async () => {
    const mine = await anna.get('/api/applications/atelir/roles');
    expect([mine.status, mine.body.details.known]).toEqual([403, 'atelier']);
    const foreign = await anna.get('/api/applications/takeover/roles');
    const misspelt = await anna.get('/api/applications/takeove/roles');
    expect([foreign.status, misspelt.status]).toEqual([403, 403]);
    expect(misspelt.body.message).toBe(foreign.body.message);
    expect(JSON.stringify([foreign.body, misspelt.body])).not.toContain('did you mean');
    const nobody = await Rest.as(usher, 'nobody@example.com');
    for (const path of ['/api/applications/atelir/roles', '/api/profile/me/apps/atelir'])
      expect(JSON.stringify((await nobody.get(path)).body)).not.toContain('did you mean');
  });

  test('a path names the nearest', async () => {
    const { status, body } = await root.get('/api/aplications');
    expect([status, body.message]).toEqual([404, 'No route at this path; did you mean /api/applications?']);
    expect((await root.get('/api/users/clara@example.com/acess')).body.details.known).toBe(
      '/api/users/clara@example.com/access',
    );
    expect((await root.get('/nothing/like/it')).body.message).toBe('No route at this path.');
  });
});
