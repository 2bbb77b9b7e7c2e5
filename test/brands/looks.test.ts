import { beforeAll, describe, expect, test } from '@jest/globals';
import { KINDS } from '../support/databases.ts';
import { outcome, useRegistry } from '../support/registry.ts';

const BILLING = `
application: { code: billing, name: Billing }
admins: [nora@example.com]
`;
const PANEL = `
application: { code: auth, name: Administration }
assignments: [{ email: petra@example.com, roles: [application_manager] }]
`;
const LOOK = {
  name: 'Atelier <i>',
  primaryColor: '#aa3311',
  backgroundColor: '#fff0f0',
  logoUrl: 'https://atelier.example.com/logo.png',
};

for (const kind of KINDS) {
  describe(`how brands look (${kind})`, () => {
    const registry = useRegistry(kind, [BILLING, PANEL]);
    const { root } = registry;
    let brand = 0;

    beforeAll(async () => {
      const made = await root.post('/api/admin/brands', {
        slug: 'atelier',
        ...LOOK,
        iconUrl: 'https://atelier.example.com/icon.png',
        footerText: 'Atelier, Brno',
        emailFrom: 'hello@atelier.example.com',
        smtp: { host: '127.0.0.1', port: 2525 },
      });
      expect(made.status).toBe(201);
      brand = made.body.data.id;
    });
    const preview = (sent: unknown, id: number | string = brand, rest = root) =>
      rest.post(`/api/admin/brands/${id}/preview`, sent);

    test('every administrator lists slug, name, colors and logo, and nothing of senders', async () => {
      const plain = { slug: 'default', name: 'Default', primaryColor: null, backgroundColor: null, logoUrl: null };
      for (const name of ['nora', 'petra', 'admin']) {
        const { status, body } = await registry.as(name).get('/api/brands');
        expect([name, status, body.data]).toEqual([name, 200, [{ slug: 'atelier', ...LOOK }, plain]]);
      }
      expect(outcome(await registry.as('ben').get('/api/brands'))).toEqual([403, 'FORBIDDEN']);
    });

    test('the tag of the list changes with a look, and with nothing else of a brand', async () => {
      const nora = registry.as('nora');
      const etag = (await nora.get('/api/brands')).headers.get('etag') ?? '';
      const change = async (body: object) =>
        expect((await root.put(`/api/admin/brands/${brand}`, body)).status).toBe(200);
      await change({ emailFromName: 'Somebody' });
      expect((await nora.get('/api/brands', { 'if-none-match': etag })).status).toBe(304);
      await change({ primaryColor: '#aa3312' });
      expect((await nora.get('/api/brands', { 'if-none-match': etag })).status).toBe(200);
      await change({ primaryColor: LOOK.primaryColor });
    });

    test('a mail shows colors, logo, footer, button and unsubscribe link, and escapes the name', async () => {
      const { status, body } = await preview({ kind: 'mail' });
      expect([status, body.data.kind, body.data.subject]).toEqual([200, 'mail', 'Mail from Atelier <i>']);
      const { html, text } = body.data;
      for (const part of ['<!doctype html>', '#aa3311', '#fff0f0', LOOK.logoUrl, 'Atelier, Brno', 'usher-button']) {
        expect(html).toContain(part);
      }
      expect(html).toContain('Stop receiving e-mails of this kind');
      expect(html).not.toContain('<i>');
      expect(text).toContain('Atelier, Brno');
    });

    test('the unsubscribe page shows them, too', async () => {
      const { status, body } = await preview({ kind: 'unsubscribe' });
      expect([status, Object.keys(body.data)]).toEqual([200, ['kind', 'html']]);
      for (const part of ['#fff0f0', LOOK.logoUrl, 'Atelier, Brno', '<button>', 'Atelier &lt;i&gt;']) {
        expect(body.data.html).toContain(part);
      }
    });

    test('a push has the name and the icon', async () => {
      expect((await preview({ kind: 'push' })).body.data).toEqual({
        kind: 'push',
        title: 'Atelier <i>',
        body: 'This is how a push from Atelier <i> looks.',
        icon: 'https://atelier.example.com/icon.png',
      });
    });

    test('a brand without any look has the defaults', async () => {
      const { data } = (await root.get('/api/admin/brands')).body;
      const plain = data.find(({ slug }: { slug: string }) => slug === 'default').id;
      for (const what of ['mail', 'unsubscribe', 'push']) {
        expect([what, (await preview({ kind: what }, plain)).status]).toEqual([what, 200]);
      }
    });

    test('a draft is shown with the fields sent, and is not stored', async () => {
      const draft = {
        name: 'Draft',
        primaryColor: '#123456',
        backgroundColor: null,
        footerText: 'Nowhere',
        iconUrl: null,
      };
      const { html } = (await preview({ kind: 'mail', ...draft })).body.data;
      for (const part of ['Mail from Draft', '#123456', 'Nowhere', LOOK.logoUrl]) expect(html).toContain(part);
      for (const part of ['#aa3311', '#fff0f0']) expect(html).not.toContain(part);
      expect((await preview({ kind: 'push', ...draft })).body.data).toMatchObject({ title: 'Draft', icon: null });
      expect((await root.get(`/api/admin/brands/${brand}`)).body.data).toMatchObject({
        ...LOOK,
        footerText: 'Atelier, Brno',
      });
      for (const wrong of [{ primaryColor: 'red' }, { logoUrl: 'javascript:alert(1)' }, { name: '' }, { smtp: null }]) {
        expect(outcome(await preview({ kind: 'mail', ...wrong }))).toEqual([400, 'VALIDATION_FAILED']);
      }
    });

    test('only SuperAdmins preview, and unknown kinds and brands are refused', async () => {
      for (const name of ['nora', 'petra']) {
        expect(outcome(await preview({ kind: 'mail' }, brand, registry.as(name)))).toEqual([403, 'FORBIDDEN']);
      }
      for (const sent of [{}, { kind: 'letter' }, { kind: 'mail', locale: 'en' }]) {
        expect(outcome(await preview(sent))).toEqual([400, 'VALIDATION_FAILED']);
      }
      expect(outcome(await preview({ kind: 'mail' }, 999_999))).toEqual([404, 'NOT_FOUND']);
      expect(outcome(await preview({ kind: 'mail' }, 'atelier'))).toEqual([400, 'VALIDATION_FAILED']);
    });
  });
}
