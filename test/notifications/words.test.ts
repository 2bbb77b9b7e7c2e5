import { beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { EmailContent, PushContent } from '../../src/delivery/channels.ts';
import { KINDS } from '../support/databases.ts';
import { useRegistry } from '../support/registry.ts';
import { writeBeside } from './reading.ts';
import { deliveriesOf, MANIFEST, sendBySystem } from './support.ts';

const TEMPLATES = '/api/applications/billing/templates';
const BRANDS = '/api/admin/brands';

/** Every variable that a template has beside the payload, with what it is called. */
const VARIABLES = [
  ...['email', 'firstName', 'lastName', 'displayName', 'locale'].map((member) => `user.${member}`),
  ...['code', 'name'].map((member) => `app.${member}`),
  ...['slug', 'name', 'primaryColor', 'logoUrl', 'footerText'].map((member) => `brand.${member}`),
  'locale',
  'number',
  'payload.number',
  'payload.user.email',
];
const SOURCE = VARIABLES.map((name) => `${name}={{ ${name} }}`).join('|');

describe.each(KINDS)('texts of a send (%s)', (kind) => {
  // No worker: what is stored to be delivered is looked at as it is.
  const registry = useRegistry(kind, [MANIFEST], { USHER_ROLES: 'gateway,rpc' });
  const deliveriesTo = async (recipients: readonly string[], more: Record<string, unknown>) => {
    const answer = await sendBySystem(registry.usher, { appCode: 'billing', recipients, ...more });
    expect(answer.status).toBe(202);
    const ids: number[] = answer.body.data.notifications.map(({ id }: { id: number }) => id);
    return await Promise.all(ids.map((id) => deliveriesOf(registry.usher, id)));
  };

  beforeAll(async () => {
    const made = await registry.root.post(BRANDS, {
      slug: 'atelier',
      name: 'Atelier',
      primaryColor: '#aa0000',
      logoUrl: 'https://atelier.example.com/logo.png',
      footerText: 'Atelier, Brno',
    });
    expect(made.status).toBe(201);
    const ada = registry.as('ada');
    const names = { firstName: 'Ada', lastName: 'Byron', displayName: 'Ada B.', locale: 'cs', brand: 'atelier' };
    expect((await ada.put('/api/profile/me', names)).status).toBe(200);
    await writeBeside(registry.usher, (tx) =>
      sql`insert into push_subscription (person_id, endpoint, p256dh, auth, device_label, vapid_key)
          select id, 'https://fcm.googleapis.com/ada', 'k', 'a', 'd', 'v' from person
          where email = 'ada@example.com'`.execute(tx.kysely),
    );
    for (const [key, parts] of [
      ['all', { html: 'H', text: SOURCE }],
      ['push', { html: '<p>B {{ number }}</p>' }],
      ['titled', { html: '<p>B {{ number }}</p>', pushTitle: 'T {{ number }}', pushBody: 'P {{ number }}' }],
    ] as const) {
      const words = { type: 'generic', key, locale: 'en', subject: 'S {{ number }}', ...parts };
      expect((await registry.root.post(TEMPLATES, words)).status).toBe(201);
    }
  });

  test('a template has the payload, overridden by user, app, brand and locale', async () => {
    const payload = { number: 17, user: { email: 'forged@example.com' }, app: 'x', brand: 'y', locale: 'zz' };
    // Alone and in a crowd, which is rendered once for all who are alike.
    for (const others of [0, 20]) {
      const crowd = Array.from({ length: others }, (_, at) => `crowd${at}@example.com`);
      const all = await deliveriesTo(['ada@example.com', 'new@example.com', ...crowd], { templateKey: 'all', payload });
      const [ada, fresh] = all.map(
        (deliveries) =>
          (deliveries.find(({ channel }) => channel === 'email')?.content as EmailContent | undefined)?.text,
      );
      const said = (text = '') => Object.fromEntries(text.split('|').map((part) => part.split('=')));
      const shared = {
        'app.code': 'billing',
        'app.name': 'Billing',
        locale: 'en',
        number: '17',
        'payload.number': '17',
      };
      expect(said(ada)).toEqual({
        ...shared,
        'user.email': 'ada@example.com',
        'user.firstName': 'Ada',
        'user.lastName': 'Byron',
        'user.displayName': 'Ada B.',
        'user.locale': 'cs',
        'brand.slug': 'atelier',
        'brand.name': 'Atelier',
        'brand.primaryColor': '#aa0000',
        'brand.logoUrl': 'https://atelier.example.com/logo.png',
        'brand.footerText': 'Atelier, Brno',
        'payload.user.email': 'forged@example.com',
      });
      expect(said(fresh)).toEqual({
        ...shared,
        'user.email': 'new@example.com',
        'user.firstName': '',
        'user.lastName': '',
        'user.displayName': '',
        'user.locale': 'en',
        'brand.slug': 'default',
        'brand.name': 'Default',
        'brand.primaryColor': '',
        'brand.logoUrl': '',
        'brand.footerText': '',
        'payload.user.email': 'forged@example.com',
      });
    }
  });

  test("a push has the rendered subject and text, or the template's push texts", async () => {
    for (const [templateKey, title, body] of [
      ['push', 'S 7', 'B 7'],
      ['titled', 'T 7', 'P 7'],
    ]) {
      const [deliveries = []] = await deliveriesTo(['ada@example.com'], { templateKey, payload: { number: 7 } });
      const push = deliveries.find(({ channel }) => channel === 'push')?.content as PushContent;
      expect(push).toEqual({ title, body, icon: null, url: null });
    }
  });

  test('a PUT of brands from GET is accepted, and changes nothing', async () => {
    const smtp = { host: '127.0.0.1', port: 2525, secure: false };
    expect((await registry.root.post(BRANDS, { slug: 'mail', name: 'Mail', smtp })).status).toBe(201);
    const { body: before } = await registry.root.get(BRANDS);
    expect(before.data).toHaveLength(3);
    for (const brand of before.data) {
      const answer = await registry.root.put(`${BRANDS}/${brand.id}`, brand);
      expect([answer.status, answer.body.data]).toEqual([200, brand]);
    }
    expect((await registry.root.get(BRANDS)).body).toEqual(before);
  });
});
