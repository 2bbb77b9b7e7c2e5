import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { TESTS_A_MINUTE } from '../../src/notifications/template-tests.ts';
import { KINDS } from '../support/databases.ts';
import { outcome, useRegistry } from '../support/registry.ts';
import { type SmtpSink, startSmtp } from '../support/smtp.ts';

const BILLING = `
application: { code: billing, name: Billing }
notificationTypes: [{ code: due, name: Due, emailFromName: Billing department }]
templates:
  - type: due
    locale: en
    subject: Invoice {{ number }}
    html: "<p>{{ user.email }} owes {{ sum }} to {{ brand.name }} ({{ app.name }}, {{ locale }})</p>"
    requiredVariables: [number]
  - { type: due, key: endless, locale: en, subject: s, html: "{% for i in (1..99999) %}{% for j in (1..99999) %}{{ i }}{% endfor %}{% endfor %}" }
admins: [nora@example.com, olga@example.com]
`;
/** An application that a SuperAdmin gave the type of auth mails. */
const PORTAL = `
application: { code: portal, name: Portal }
notificationTypes: [{ code: auth_idp, name: Codes }]
templates: [{ type: auth_idp, key: otp_email, locale: en, subject: Code, html: "<p>{{ code }}</p>" }]
admins: [nora@example.com]
`;
const PANEL = `
application: { code: auth, name: Administration }
assignments: [{ email: view@example.com, roles: [application_manager] }]
overrides:
  - { email: view@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: true, accessLevel: view }
`;
const TEMPLATES = '/api/applications/billing/templates';

let sink: SmtpSink;
beforeAll(async () => {
  sink = await startSmtp();
});
afterEach(() => {
  sink.fault = null;
});
afterAll(() => sink.close());

for (const kind of KINDS) {
  describe(`templates that administrators try (${kind})`, () => {
    const registry = useRegistry(kind, [BILLING, PORTAL, PANEL]);
    const { root, audits } = registry;
    const nora = registry.as('nora');

    const testPath = async (app: string, key: string): Promise<string> => {
      const { data } = (await root.get(`/api/applications/${app}/templates`)).body;
      return `/api/applications/${app}/templates/${data.find((one: { key: string }) => one.key === key).id}/test`;
    };

    describe('a template that is not stored', () => {
      const draft = (more: object = {}) => ({
        subject: 'Invoice {{ number }}',
        html: '<p>{{ sum }} {{ locale }} {{ app.name }} {{ brand.slug }} {{ missing }}</p>',
        ...more,
      });

      test('its preview is that of a stored one with the same fields', async () => {
        const fields = { ...draft({ pushBody: 'Push {{ sum }}' }), locale: 'cs', requiredVariables: ['number'] };
        const made = await nora.post(TEMPLATES, { type: 'due', key: 'same', ...fields });
        expect(made.status).toBe(201);
        const filled = { payload: { number: '7', sum: '<b>' }, brand: 'default' };
        const stored = await nora.post(`${TEMPLATES}/${made.body.data.id}/preview`, filled);
        const before = (await nora.get(TEMPLATES)).body;
        // The record as an editor has read it, too.
        for (const sent of [fields, made.body.data]) {
          const answer = await nora.post(`${TEMPLATES}/preview`, { ...sent, ...filled });
          expect([answer.status, answer.body]).toEqual([200, stored.body]);
          expect(answer.body.data).toEqual({
            subject: 'Invoice 7',
            html: '<p>&lt;b&gt; cs Billing default </p>',
            text: '<b> cs Billing default',
            push: { title: 'Invoice 7', body: 'Push <b>' },
          });
        }
        expect((await nora.get(TEMPLATES)).body).toEqual(before);
        expect((await nora.delete(`${TEMPLATES}/${made.body.data.id}`)).status).toBe(204);
      });

      test('its language is English unless given, and viewers see it, too', async () => {
        const answer = await registry.as('view').post(`${TEMPLATES}/preview`, draft({ html: '{{ locale }}' }));
        expect([answer.status, answer.body.data.html]).toEqual([200, 'en']);
      });

      test.each<[object, string, string]>([
        [{ subject: '{{ a' }, 'VALIDATION_FAILED', 'subject'],
        [{ html: 'x\n {% if %}' }, 'VALIDATION_FAILED', 'html'],
        [{ html: undefined }, 'VALIDATION_FAILED', 'html'],
        [{ subject: ' ' }, 'VALIDATION_FAILED', 'subject'],
        [{ url: 'javascript:alert(1)' }, 'VALIDATION_FAILED', 'url'],
        [{ template: 'x' }, 'VALIDATION_FAILED', 'template'],
        [{ locale: 'EN' }, 'VALIDATION_FAILED', 'locale'],
      ])('the fields %j are refused by name', async (more, code, field) => {
        const answer = await nora.post(`${TEMPLATES}/preview`, draft(more));
        expect(outcome(answer)).toEqual([400, code]);
        expect(answer.body.details.issues.map(({ path }: { path: string }) => path)).toEqual([field]);
      });

      test('an unknown brand, type or language is 400, an endless template 422, an unknown application 404', async () => {
        const post = (more: object, rest = nora, app = 'billing') =>
          rest.post(`/api/applications/${app}/templates/preview`, draft(more));
        for (const unknown of [{ brand: 'no-such' }, { type: 'no-such' }, { notificationTypeId: 999_999 }]) {
          expect(outcome(await post(unknown))).toEqual([400, 'UNKNOWN_REFERENCE']);
        }
        expect(outcome(await post({ locale: 'zz' }))).toEqual([400, 'UNKNOWN_LANGUAGES']);
        const html = '{% for i in (1..99999) %}{% for j in (1..99999) %}{{ i }}{% endfor %}{% endfor %}';
        expect(outcome(await post({ html }))).toEqual([422, 'UNPROCESSABLE']);
        expect(outcome(await post({}, root, 'nowhere'))).toEqual([404, 'NOT_FOUND']);
        expect(outcome(await post({}, nora, 'nowhere'))).toEqual([403, 'NO_APPLICATION_LEVEL']);
        expect(outcome(await post({}, registry.as('view'), 'portal'))).toEqual([403, 'NO_APPLICATION_LEVEL']);
      });
    });

    describe('a test mail', () => {
      beforeAll(async () => {
        const made = await root.post('/api/admin/brands', {
          slug: 'atelier',
          name: 'Atelier',
          primaryColor: '#aa3311',
          emailFrom: 'hello@atelier.example.com',
          smtp: { host: '127.0.0.1', port: sink.port },
        });
        expect(made.status).toBe(201);
        expect((await nora.put('/api/profile/me', { brand: 'atelier' })).status).toBe(200);
      });

      test("goes to the caller alone, by the caller's brand, in its look, with a record", async () => {
        // Whoever has switched mail off still gets a test.
        const muted = { notificationsEnabled: false };
        expect((await root.put('/api/users/nora@example.com/apps/billing/preferences', muted)).status).toBe(200);
        const path = await testPath('billing', 'default');
        const answer = await nora.post(path, { payload: { number: '7', sum: '<b>9</b>' } });
        expect([answer.status, answer.body.data]).toEqual([
          200,
          { sent: true, to: 'nora@example.com', smtp: { response: expect.stringMatching(/^250/) } },
        ]);
        const mail = await sink.next();
        expect([mail.from, mail.to]).toEqual(['hello@atelier.example.com', ['nora@example.com']]);
        expect(mail.parsed.subject).toBe('Invoice 7');
        expect(mail.parsed.from?.text).toContain('Billing department');
        expect(mail.parsed.html).toContain('nora@example.com owes &lt;b&gt;9&lt;/b&gt; to Atelier (Billing, en)');
        expect(mail.parsed.html).toContain('#aa3311');
        expect(mail.parsed.headers.has('list-unsubscribe')).toBe(false);
        expect((await audits('template.tested')).at(-1)).toMatchObject({
          actor: 'user:nora@example.com',
          appCode: 'billing',
          subject: 'due/default/en',
          after: { to: 'nora@example.com' },
        });
        // It is no notification.
        expect((await nora.get('/api/applications/billing/notifications')).body.data).toEqual([]);
      });

      test('may lack what a send must have', async () => {
        const answer = await nora.post(await testPath('billing', 'default'), {});
        expect([answer.status, (await sink.next()).parsed.subject]).toEqual([200, 'Invoice']);
      });

      test("tells the server's refusal, and what cannot be rendered is not sent", async () => {
        sink.fault = { at: 'rcpt', code: 550, words: 'No such user' };
        const answer = await nora.post(await testPath('billing', 'default'), {});
        expect(outcome(answer)).toEqual([502, 'SMTP_FAILED']);
        expect(answer.body.details.smtp).toMatchObject({ kind: 'permanent', code: '550' });
        const sent = sink.mails.length;
        expect(outcome(await nora.post(await testPath('billing', 'endless'), {}))).toEqual([422, 'UNPROCESSABLE']);
        expect(sink.mails).toHaveLength(sent);
      });

      test('of the default brand without a server is kept in the development mailbox', async () => {
        const answer = await root.post(await testPath('billing', 'default'), { payload: { number: 'kept' } });
        expect([answer.status, answer.body.data.smtp.response]).toEqual([200, expect.stringContaining('mailbox')]);
        expect(await (await fetch(`${registry.usher.rest}/dev/mail`)).text()).toContain('Invoice kept');
      });

      test('needs the level edit, and for `auth_idp` a SuperAdmin', async () => {
        const sent = sink.mails.length;
        const viewer = await registry.as('view').post(await testPath('billing', 'default'), {});
        expect(outcome(viewer)).toEqual([403, 'NO_APPLICATION_LEVEL']);
        const code = await testPath('portal', 'otp_email');
        expect(outcome(await nora.post(code, { payload: { code: '123456' } }))).toEqual([403, 'FORBIDDEN']);
        const refused = await audits('template.tested.refused');
        expect(refused.map(({ actor, appCode }) => [actor, appCode])).toEqual([
          ['user:view@example.com', 'billing'],
          ['user:nora@example.com', 'portal'],
        ]);
        expect(sink.mails).toHaveLength(sent);
        expect((await root.post(code)).status).toBe(200);
        expect(outcome(await nora.post(`${TEMPLATES}/999999/test`, {}))).toEqual([404, 'NOT_FOUND']);
      });

      test('is sent a few times a minute, to each caller', async () => {
        const path = await testPath('billing', 'default');
        const olga = registry.as('olga');
        for (let sent = 0; sent < TESTS_A_MINUTE; sent++) expect((await olga.post(path, {})).status).toBe(200);
        const more = await olga.post(path, {});
        expect([...outcome(more), Number(more.headers.get('retry-after')) > 0]).toEqual([429, 'RATE_LIMITED', true]);
        expect((await root.post(path, {})).status).toBe(200);
      });
    });
  });
}
