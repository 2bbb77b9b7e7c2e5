import { beforeAll, describe, expect, test } from '@jest/globals';
import { useRegistry } from '../support/registry.ts';
import { Rest } from '../support/rest.ts';
import { deliveriesOf, MANIFEST, OTHER, sendBySystem, typeId } from './support.ts';

const TYPES = '/api/applications/billing/notification-types';
const TEMPLATES = '/api/applications/billing/templates';

describe('types and templates of an application', () => {
  const registry = useRegistry('postgresql', [MANIFEST, OTHER]);
  const { root } = registry;
  const nora = registry.as('nora');

  const audits = async (action: string) =>
    await registry.usher.app.database.read(
      async (tx) =>
        await tx.kysely.selectFrom('audit').selectAll().where('action', '=', action).orderBy('id').execute(),
    );

  describe('types', () => {
    test('notification types are created with defaults, listed by code, changed and deleted with audit records', async () => {
      const made = await nora.post(TYPES, { code: 'due', name: 'Due' });
      expect(made.status).toBe(201);
      expect(made.headers.get('location')).toBe(`${TYPES}/${made.body.data.id}`);
      expect(made.body.data).toEqual({
        id: made.body.data.id,
        code: 'due',
        name: 'Due',
        description: null,
        emailEnabled: true,
        pushEnabled: true,
        userCanDisable: true,
        defaultEmail: true,
        defaultPush: true,
        selfServiceEnabled: true,
        system: false,
        emailFromName: null,
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      });
      expect((await nora.get(TYPES)).body.data.map(({ code }: { code: string }) => code)).toEqual(['due', 'generic']);
      const path = `${TYPES}/${made.body.data.id}`;
      const put = await nora.put(path, { ...made.body.data, emailEnabled: false, emailFromName: 'Billing' });
      expect([put.status, put.body.data]).toMatchObject([
        200,
        { emailEnabled: false, emailFromName: 'Billing', name: 'Due' },
      ]);
      expect((await nora.put(path, { code: 'other' })).body.details.code).toBe('IMMUTABLE_FIELD');
      expect((await nora.delete(path)).status).toBe(204);
      expect((await nora.delete(path)).status).toBe(404);
      for (const action of ['created', 'changed', 'deleted']) {
        expect((await audits(`notification_type.${action}`)).filter(({ subject }) => subject === 'due')).toMatchObject([
          { actor: 'user:nora@example.com', appCode: 'billing' },
        ]);
      }
    });

    test('a taken type code is 409, even for two concurrent requests', async () => {
      const answers = await Promise.all([1, 2, 3].map(() => root.post(TYPES, { code: 'twice', name: 'T' })));
      expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 409, 409]);
    });

    test('`generic`, system types and types in use cannot be deleted', async () => {
      const generic = await root.delete(`${TYPES}/${await typeId(root, 'billing', 'generic')}`);
      expect([generic.status, generic.body.details.code]).toEqual([409, 'SYSTEM_RECORD']);
      const system = `/api/applications/auth/notification-types/${await typeId(root, 'auth', 'auth_idp')}`;
      expect((await root.delete(system)).body.details.code).toBe('SYSTEM_RECORD');

      const used = (await root.post(TYPES, { code: 'used', name: 'U' })).body.data.id;
      await sendBySystem(registry.usher, { appCode: 'billing', type: 'used', recipients: ['u@example.com'] });
      const answer = await root.delete(`${TYPES}/${used}`);
      expect([answer.status, answer.body.details.code]).toEqual([409, 'TYPE_IN_USE']);
    });

    test('no request creates a system type, or makes an ordinary type of one', async () => {
      const made = await root.post(TYPES, { code: 'built-in', name: 'B', system: true });
      expect([made.status, made.body.details]).toEqual([400, { code: 'IMMUTABLE_FIELD', field: 'system' }]);
      const plain = await root.post(TYPES, { code: 'plain', name: 'P', system: false });
      expect([plain.status, plain.body.data.system]).toEqual([201, false]);
      const path = `${TYPES}/${plain.body.data.id}`;
      expect((await root.put(path, { system: false })).status).toBe(200);
      expect((await root.put(path, { system: true })).body.details.code).toBe('IMMUTABLE_FIELD');
      const auth = `/api/applications/auth/notification-types/${await typeId(root, 'auth', 'auth_idp')}`;
      expect((await root.put(auth, { system: true })).status).toBe(200);
      expect((await root.put(auth, { system: false })).body.details.code).toBe('IMMUTABLE_FIELD');
      expect((await root.delete(path)).status).toBe(204);
    });

    test('a PUT of types and templates from GET is accepted, and changes nothing', async () => {
      const kinds = await root.post(TYPES, { code: 'echo', name: 'E', description: 'd', emailFromName: 'N' });
      for (const [locale, more] of [
        ['en', {}],
        ['cs', { text: 't', pushTitle: 'p', pushBody: 'b', url: '/{{ n }}', requiredVariables: ['n', 'a.b'] }],
      ] as const) {
        const words = { notificationTypeId: kinds.body.data.id, locale, subject: 's', html: '<p>h</p>', ...more };
        expect((await root.post(TEMPLATES, words)).status).toBe(201);
      }
      for (const app of ['billing', 'auth']) {
        for (const kind of ['notification-types', 'templates']) {
          const path = `/api/applications/${app}/${kind}`;
          const { body: before } = await root.get(path);
          for (const record of before.data) {
            const answer = await root.put(`${path}/${record.id}`, record);
            expect([answer.status, answer.body.data]).toEqual([200, record]);
          }
          expect((await root.get(path)).body.data).toEqual(before.data);
        }
      }
      const echoes = (await root.get(TEMPLATES)).body.data.filter(({ type }: { type: string }) => type === 'echo');
      expect(echoes).toHaveLength(2);
      for (const { id } of echoes) expect((await root.delete(`${TEMPLATES}/${id}`)).status).toBe(204);
    });

    test.each([
      [{ code: 'Not A Slug', name: 'x' }, 'code'],
      [{ code: 'x' }, 'name'],
      [{ code: 'x', name: '' }, 'name'],
      [{ code: 'x', name: 'x', emailEnabled: 'yes' }, 'emailEnabled'],
      [{ code: 'x', name: 'x', emailFromName: 'a\r\nBcc: b' }, 'emailFromName'],
      [{ code: 'x', name: 'x', emailenabled: true }, 'emailenabled'],
    ])('invalid type input %# is refused with its field', async (body, field) => {
      const answer = await root.post(TYPES, body);
      expect([answer.status, answer.body.details.code]).toEqual([400, 'VALIDATION_FAILED']);
      expect(answer.body.details.issues.map(({ path }: { path: string }) => path)).toContain(field);
    });
  });

  describe('templates', () => {
    let due: number;
    beforeAll(async () => {
      due = (await root.post(TYPES, { code: 'reminder', name: 'Reminder' })).body.data.id;
    });
    const body = (more: Record<string, unknown> = {}) => ({
      notificationTypeId: due,
      locale: 'en',
      subject: 'Invoice {{ number }}',
      html: '<p>{{ user.email }} owes {{ sum }}</p>',
      ...more,
    });

    test('templates are created, listed, changed and deleted', async () => {
      const made = await nora.post(TEMPLATES, body({ requiredVariables: ['number'] }));
      expect(made.status).toBe(201);
      expect(made.headers.get('location')).toBe(`${TEMPLATES}/${made.body.data.id}`);
      expect(made.body.data).toEqual({
        id: made.body.data.id,
        ...body(),
        type: 'reminder',
        key: 'default',
        text: null,
        pushTitle: null,
        pushBody: null,
        url: null,
        requiredVariables: ['number'],
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      });
      expect((await nora.get(TEMPLATES)).body.data).toEqual([made.body.data]);
      const path = `${TEMPLATES}/${made.body.data.id}`;
      const put = await nora.put(path, { ...made.body.data, subject: 'New', text: 'T', requiredVariables: [] });
      expect([put.status, put.body.data]).toMatchObject([200, { subject: 'New', text: 'T', requiredVariables: [] }]);
      expect((await nora.put(path, { key: 'other' })).body.details.code).toBe('IMMUTABLE_FIELD');
      const used = await root.delete(`${TYPES}/${due}`);
      expect(used.body.details.code).toBe('TYPE_IN_USE');
      expect((await nora.delete(path)).status).toBe(204);
      expect((await nora.delete(path)).status).toBe(404);
      expect(await audits('template.changed')).toMatchObject([{ subject: 'reminder/default/en' }]);
    });

    test('type, key and language of a template are unique, even for two at once and after a change', async () => {
      const answers = await Promise.all([1, 2, 3].map(() => root.post(TEMPLATES, body({ key: 'once' }))));
      expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 409, 409]);
      const other = await root.post(TEMPLATES, body({ key: 'once', locale: 'cs' }));
      expect((await root.put(`${TEMPLATES}/${other.body.data.id}`, { locale: 'en' })).body.details.code).toBe(
        'ALREADY_EXISTS',
      );
      expect((await root.put(`${TEMPLATES}/${other.body.data.id}`, { locale: 'de' })).status).toBe(200);
    });

    test('a template that does not parse is refused with field, line and column, and changes nothing', async () => {
      const before = (await root.get(TEMPLATES)).body.data;
      const answer = await root.post(TEMPLATES, body({ key: 'bad', subject: '{{ a', html: 'x\n {% if %}' }));
      expect([answer.status, answer.body.details.code]).toEqual([400, 'VALIDATION_FAILED']);
      expect(answer.body.details.issues).toMatchObject([
        { path: 'subject', line: 1, column: 1, message: expect.stringMatching(/line 1, column 1/) },
        { path: 'html', line: 2, column: 7 },
      ]);
      const put = await root.put(`${TEMPLATES}/${before[0].id}`, { html: '{% for %}' });
      expect(put.body.details.issues).toMatchObject([{ path: 'html', line: 1 }]);
      expect((await root.get(TEMPLATES)).body.data).toEqual(before);
    });

    test.each([
      [{ locale: 'xx' }, 'UNKNOWN_LANGUAGES'],
      [{ locale: 'EN' }, 'VALIDATION_FAILED'],
      [{ notificationTypeId: 999_999 }, 'UNKNOWN_REFERENCE'],
      [{ notificationTypeId: undefined }, 'VALIDATION_FAILED'],
      [{ notificationTypeId: undefined, type: 'nothing' }, 'UNKNOWN_REFERENCE'],
      [{ type: 'generic' }, 'UNKNOWN_REFERENCE'],
      [{ url: 'javascript:alert(1)' }, 'VALIDATION_FAILED'],
      [{ url: 'https://user:secret@example.com/' }, 'VALIDATION_FAILED'],
      [{ requiredVariables: ['a', 'a'] }, 'VALIDATION_FAILED'],
      [{ key: 'A b' }, 'VALIDATION_FAILED'],
      [{ html: undefined }, 'VALIDATION_FAILED'],
      [{ body: 'x' }, 'VALIDATION_FAILED'],
    ])('the template input %j is refused', async (more, code) => {
      const answer = await root.post(TEMPLATES, body({ key: 'refused', ...more }));
      expect([answer.status, answer.body.details.code]).toEqual([400, code]);
    });

    test("a template's type may be given by its code, or by both", async () => {
      for (const named of [{ notificationTypeId: undefined, type: 'reminder' }, { type: 'reminder' }]) {
        const made = await nora.post(TEMPLATES, body({ key: 'by-code', ...named }));
        expect([made.status, made.body.data]).toMatchObject([201, { notificationTypeId: due, type: 'reminder' }]);
        expect((await nora.delete(`${TEMPLATES}/${made.body.data.id}`)).status).toBe(204);
      }
    });

    test('a template moves to the given type, within its application only', async () => {
      const generic = await typeId(root, 'billing', 'generic');
      const made = (await nora.post(TEMPLATES, body({ key: 'moving' }))).body.data;
      const put = async (sent: object) => {
        const answer = await nora.put(`${TEMPLATES}/${made.id}`, sent);
        return [answer.status, answer.body.details?.code ?? answer.body.data?.type];
      };
      expect(await put({ type: 'generic' })).toEqual([200, 'generic']);
      // The code of the present type comes back beside the new id when somebody reads, changes and sends.
      expect(await put({ ...made, type: 'generic', notificationTypeId: due })).toEqual([200, 'reminder']);
      expect(await put({ ...made, type: 'generic' })).toEqual([200, 'generic']);
      expect(await put({ type: 'reminder', notificationTypeId: due })).toEqual([200, 'reminder']);
      expect(await put({ type: 'nothing' })).toEqual([400, 'UNKNOWN_REFERENCE']);
      expect(await put({ type: 'locked', notificationTypeId: generic })).toEqual([400, 'UNKNOWN_REFERENCE']);
      expect(await put({ notificationTypeId: await typeId(root, 'shop', 'generic') })).toEqual([
        400,
        'UNKNOWN_REFERENCE',
      ]);
      const unknown = await nora.put(`${TEMPLATES}/${made.id}`, { locale: 'xx' });
      expect([unknown.status, unknown.body.details]).toEqual([
        400,
        { code: 'UNKNOWN_LANGUAGES', languages: ['xx'], path: 'locale' },
      ]);
      expect(await put({})).toEqual([200, 'reminder']);
      expect((await nora.delete(`${TEMPLATES}/${made.id}`)).status).toBe(204);
    });

    test('a type of another application is unknown in this one', async () => {
      const foreign = await typeId(root, 'shop', 'generic');
      expect((await root.post(TEMPLATES, body({ notificationTypeId: foreign }))).body.details.code).toBe(
        'UNKNOWN_REFERENCE',
      );
    });

    test('a preview returns what would be sent, escapes, and sends nothing', async () => {
      const made = await root.post(
        TEMPLATES,
        body({
          key: 'preview',
          pushBody: 'Push {{ sum }}',
          html: '<p>{{ sum }} {{ locale }} {{ app.name }} {{ missing }}</p>',
        }),
      );
      const path = `${TEMPLATES}/${made.body.data.id}/preview`;
      const answer = await nora.post(path, { payload: { number: '7', sum: '<b>' }, locale: 'cs' });
      expect([answer.status, answer.body]).toEqual([
        200,
        {
          success: true,
          data: {
            subject: 'Invoice 7',
            html: '<p>&lt;b&gt; cs Billing </p>',
            text: '<b> cs Billing',
            push: { title: 'Invoice 7', body: 'Push <b>' },
          },
        },
      ]);
      expect((await nora.post(path, { payload: {}, brand: 'no-such' })).body.details.code).toBe('UNKNOWN_REFERENCE');
      const loop = await root.post(
        TEMPLATES,
        body({
          key: 'loop',
          html: '{% for i in (1..99999) %}{% for j in (1..99999) %}{{ i }}{% endfor %}{% endfor %}',
        }),
      );
      const endless = await nora.post(`${TEMPLATES}/${loop.body.data.id}/preview`, { payload: {} });
      expect([endless.status, endless.body.code]).toEqual([422, 'UNPROCESSABLE']);
    });
  });

  test('a send is delivered, and appears in inbox and log', async () => {
    const ann = await Rest.as(registry.usher, 'ann@example.com');
    const sent = await nora.post('/api/applications/billing/notifications', {
      recipients: ['ann@example.com'],
      subject: 'Delivered',
      body: 'For the mailbox.',
    });
    const [{ id }] = sent.body.data.notifications;
    const item = async () => (await ann.get('/api/profile/me/notifications/inbox?limit=1')).body.response[0];
    const late = performance.now() + 20_000;
    while ((await item()).status === 'queued' && performance.now() < late) await new Promise((r) => setTimeout(r, 100));
    expect(await item()).toMatchObject({ id, status: 'sent', statusReason: null });
    const log = await nora.get('/api/applications/billing/notifications?email=ann@example.com&limit=1');
    expect(log.body.data).toMatchObject([
      { id, deliveries: [{ channel: 'email', status: 'sent', sentAt: expect.any(String) }] },
    ]);
    const mail = await fetch(`${registry.usher.rest}/dev/mail`);
    expect(await mail.text()).toContain('Delivered');
  });

  test('sends and templates of 1 MiB are accepted, and a send is bounded for all its recipients', async () => {
    const filled = (body: Record<string, unknown>, bytes: number): unknown => {
      const text = 'x'.repeat(bytes - JSON.stringify({ ...body, fill: '' }).length);
      return { ...body, fill: text };
    };
    const renamed = (body: unknown, to: string): unknown =>
      JSON.parse(JSON.stringify(body).replace('"fill"', `"${to}"`));
    const limit = 1024 * 1024;
    const send = { appCode: 'billing', recipients: ['big@example.com'] };
    const type = await typeId(root, 'billing', 'twice');
    const template = { notificationTypeId: type, locale: 'en', subject: 'S', key: 'big' };
    expect((await sendBySystem(registry.usher, renamed(filled(send, limit), 'body'))).status).toBe(202);
    expect((await sendBySystem(registry.usher, renamed(filled(send, limit + 1), 'body'))).status).toBe(413);
    expect((await root.post(TEMPLATES, renamed(filled(template, limit), 'html'))).status).toBe(201);
    expect((await root.post(TEMPLATES, renamed(filled({ ...template, key: 'more' }, limit + 1), 'html'))).status).toBe(
      413,
    );
    const many = Array.from({ length: 1000 }, (_, n) => `b${n}@example.com`);
    const payload = { text: 'x'.repeat(100_000) };
    const answer = await sendBySystem(registry.usher, { appCode: 'billing', recipients: many, payload });
    expect([answer.status, answer.body.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  });

  test('deleting an application deletes its types, templates, notifications and queued deliveries', async () => {
    await registry.usher.app.manifests.apply('application: { code: gone, name: Gone }', { actor: 'cli' });
    const type = await typeId(root, 'gone', 'generic');
    const template = { notificationTypeId: type, locale: 'en', subject: 'S', html: 'H' };
    expect((await root.post('/api/applications/gone/templates', template)).status).toBe(201);
    const sent = await sendBySystem(registry.usher, {
      appCode: 'gone',
      recipients: ['g@example.com'],
      idempotencyKey: 'g',
    });
    expect(sent.status).toBe(202);
    expect((await root.delete('/api/applications/gone')).status).toBe(204);
    const inbox = await (await Rest.as(registry.usher, 'g@example.com')).get('/api/profile/me/notifications/inbox');
    expect(inbox.body.response).toEqual([]);
    expect(await deliveriesOf(registry.usher, sent.body.data.notifications[0].id)).toEqual([]);
  });

  test('administrators of the application manage types and templates, and others learn nothing', async () => {
    const [nobody, plain, foreign] = [
      await Rest.as(registry.usher),
      await Rest.as(registry.usher, 'ben@example.com'),
      await Rest.as(registry.usher, 'olga@example.com'),
    ];
    const type = await typeId(root, 'billing', 'twice');
    const template = (await root.get(TEMPLATES)).body.data[0].id;
    const calls = (rest: Rest, app: string) => [
      rest.get(`/api/applications/${app}/notification-types`),
      rest.post(`/api/applications/${app}/notification-types`, { code: 'sneaked', name: 'x' }),
      rest.get(`/api/applications/${app}/templates`),
      rest.post(`/api/applications/${app}/templates`, {}),
      rest.get(`/api/applications/${app}/notifications`),
      rest.post(`/api/applications/${app}/notifications`, { recipients: ['x@example.com'] }),
      rest.put(`/api/applications/${app}/notification-types/${type}`, { name: 'sneaked' }),
      rest.delete(`/api/applications/${app}/notification-types/${type}`),
      rest.put(`/api/applications/${app}/templates/${template}`, { subject: 'sneaked' }),
      rest.delete(`/api/applications/${app}/templates/${template}`),
      rest.post(`/api/applications/${app}/templates/${template}/preview`, { payload: {} }),
      rest.post(`/api/applications/${app}/notifications/1/retry`),
    ];
    for (const answer of await Promise.all(calls(nobody, 'billing'))) expect(answer.status).toBe(401);
    for (const rest of [plain, foreign]) {
      for (const app of ['billing', 'unknown']) {
        for (const answer of await Promise.all(calls(rest, app))) {
          expect([answer.status, answer.body.details.code]).toEqual([403, 'NO_APPLICATION_LEVEL']);
        }
      }
    }
    for (const answer of await Promise.all(calls(foreign, 'shop').slice(6))) expect(answer.status).toBe(404);
    expect((await root.get('/api/applications/unknown/templates')).status).toBe(404);
    expect((await root.get('/api/applications/unknown/notification-types')).status).toBe(404);
    expect((await root.post('/api/applications/unknown/notifications', { recipients: ['x@example.com'] })).status).toBe(
      404,
    );
  });
});
