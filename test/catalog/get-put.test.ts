import { beforeAll, describe, expect, test } from '@jest/globals';
import { KINDS } from '../support/databases.ts';
import { useRegistry } from '../support/registry.ts';
import type { RestAnswer } from '../support/rest.ts';

const MANIFEST = `
application: { code: billing, name: Billing, description: Invoices., supportedLanguages: [cs, en], strictCodes: true }
entities: [{ code: invoice, name: Invoice, description: Due., idLabel: Number, listEndpoint: "https://billing.example.com/invoices" }]
permissions:
  - { code: invoice.access, type: tiered, groupName: Invoices }
  - { code: invoice.pay, type: binary, parent: invoice.access, description: Pays. }
roles: [{ code: reader, description: Reads., permissions: { invoice.access: view } }]
notificationTypes: [{ code: due, name: Due, description: Soon., pushEnabled: false, emailFromName: Billing }]
templates:
  - { type: due, locale: en, subject: Due, html: "<p>Due</p>", text: Due, pushTitle: Due, pushBody: Now, url: "https://billing.example.com", requiredVariables: [n] }
assignments: [{ email: ada@example.com, roles: [reader] }]
overrides: [{ email: ada@example.com, resourceType: invoice, resourceId: "1", permission: invoice.pay, granted: false }]
`;

for (const kind of KINDS) {
  describe(`GET followed by PUT (${kind})`, () => {
    const registry = useRegistry(kind, [MANIFEST]);
    const { root } = registry;
    const APP = '/api/applications/billing';
    const only = async (path: string, code?: string): Promise<{ at: string; record: object }> => {
      const { body } = await root.get(path);
      const record = body.data.find((row: { code?: string; slug?: string }) => code === undefined || row.code === code);
      return { at: `${path}/${record.id}`, record };
    };
    const whole = async (path: string): Promise<{ at: string; record: object }> => ({
      at: path,
      record: (await root.get(path)).body.data,
    });
    const person = '/api/users/ada@example.com/apps/billing';
    const records: [string, () => Promise<{ at: string; record: object }>][] = [
      ['an application', () => whole(APP)],
      [
        'an application as listed',
        async () => ({ at: APP, record: (await only('/api/applications', 'billing')).record }),
      ],
      ['an entity', () => only(`${APP}/entities`)],
      ['a permission', () => only(`${APP}/permissions`, 'invoice.pay')],
      ['a role', () => only(`${APP}/roles`)],
      ["a role's permissions", async () => whole(`${(await only(`${APP}/roles`)).at}/permissions`)],
      ['a notification type', () => only(`${APP}/notification-types`, 'due')],
      ['a template', () => only(`${APP}/templates`)],
      ['overrides', () => whole(`${person}/resources/invoice/1/permissions`)],
      ['preferences of a user', () => whole(`${person}/preferences`)],
      [
        'the roles of a user',
        async () => {
          const { body } = await root.get(`${person}/roles`);
          return { at: `${person}/roles`, record: { roles: body.data.map(({ code }: { code: string }) => code) } };
        },
      ],
      [
        'a language',
        async () => {
          const { body } = await root.get('/api/languages');
          const record = body.data.find(({ code }: { code: string }) => code === 'cs');
          return { at: '/api/languages/cs', record };
        },
      ],
      [
        'a brand',
        async () => {
          const { body } = await root.get('/api/admin/brands');
          return whole(`/api/admin/brands/${body.data[0].id}`);
        },
      ],
      ['my profile', () => whole('/api/profile/me')],
      [
        'my switches of a notification type',
        async () => {
          const { body } = await root.get('/api/profile/me/notifications/billing');
          const record = body.response.find(({ code }: { code: string }) => code === 'due');
          return { at: `/api/profile/me/notifications/preferences/${record.notificationTypeId}`, record };
        },
      ],
      ['my application preferences', () => whole('/api/profile/me/apps/billing')],
    ];

    beforeAll(async () => {
      await root.get('/api/profile/me');
      await root.get('/api/profile/me/apps/billing');
    });

    /** Without what the clock writes: a profile is touched by being seen. */
    const content = ({ body }: RestAnswer): object => ({ ...body.data, updatedAt: undefined });

    test.each(records)(
      'a PUT of the result of GET is accepted, changes nothing and makes no revision: %s',
      async (_, read) => {
        const { at, record } = await read();
        const before = await root.get(at.startsWith('/api/languages') ? '/api/languages' : at);
        const head = registry.usher.app.engine.cursor;
        const audited = (await root.get('/api/admin/audit?limit=1')).body.data[0]?.id;
        const put = await root.put(at, record);
        expect([put.status, put.body?.details]).toEqual([200, undefined]);
        expect(registry.usher.app.engine.cursor).toBe(head);
        expect((await root.get('/api/admin/audit?limit=1')).body.data[0]?.id).toBe(audited);
        const after = await root.get(at.startsWith('/api/languages') ? '/api/languages' : at);
        if (before.status === 200) expect(content(after)).toEqual(content(before));
      },
    );
  });
}
