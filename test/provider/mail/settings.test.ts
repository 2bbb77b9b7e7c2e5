import { describe, expect, test } from '@jest/globals';
import type { ErrorBody } from '../../../src/gen/api.ts';
import { Rest } from '../../support/rest.ts';
import { startSmtp } from '../../support/smtp.ts';
import { useMailWorld } from './mail-world.ts';
import { IDP, mailBody, post, signature } from './provider-mails.ts';

/** What operators and administrators set for the provider's e-mails, seen in what leaves. */

describe.each([
  ['body', { body: 200, timestamped: 401 }],
  ['timestamped', { body: 401, timestamped: 200 }],
  ['either', { body: 200, timestamped: 200 }],
] as const)('idp.signatureScheme %s', (scheme, expected) => {
  const world = useMailWorld('postgresql', { IDP_SIGNATURE_SCHEME: scheme });

  test.each(['body', 'timestamped'] as const)(
    'a signature over the %s is valid only under its scheme',
    async (over) => {
      const { body } = mailBody();
      const answer = await post(world.usher.rest, body, signature(body, { scheme: over }));
      expect([answer.status, answer.body.details?.code]).toEqual([
        expected[over],
        expected[over] === 200 ? undefined : 'SIGNATURE_INVALID',
      ]);
      if (expected[over] === 200) await world.sink.next();
    },
  );
});

describe('without any signing key', () => {
  const world = useMailWorld('postgresql', { IDP_NOTIFICATION_SIGNING_KEY: undefined });

  test('without any signing key every call is 401, signed or not', async () => {
    const { body } = mailBody();
    for (const header of [null, signature(body), signature(body, { key: '' })]) {
      const answer = await post(world.usher.rest, body, header);
      expect([answer.status, answer.body.details.code]).toEqual([401, 'SIGNATURE_INVALID']);
    }
  });
});

describe('the signature headers of the default', () => {
  const world = useMailWorld('postgresql');
  const send = async (headers: Record<string, string>, body: string) => {
    const all = { 'content-type': 'application/json', ...headers };
    const answer = await fetch(`${world.usher.rest}/api/idp/notifications/email`, {
      method: 'POST',
      headers: all,
      body,
    });
    return [answer.status, ((await answer.json()) as Partial<ErrorBody>).details?.code];
  };

  test("a signature is taken from either header, and the provider's own counts", async () => {
    for (const name of ['IDP-Signature', 'ZITADEL-Signature', 'zitadel-signature']) {
      const { body } = mailBody();
      expect([name, await send({ [name]: signature(body) }, body)]).toEqual([name, [200, undefined]]);
      await world.sink.next();
    }
  });

  test('two headers must say the same', async () => {
    const { body } = mailBody();
    const good = signature(body);
    const bad = signature(body, { key: 'another' });
    const refused = [401, 'SIGNATURE_INVALID'];
    expect(await send({ 'idp-signature': good, 'zitadel-signature': bad }, body)).toEqual(refused);
    expect(await send({ 'idp-signature': bad, 'zitadel-signature': good }, body)).toEqual(refused);
    expect(await send({ 'idp-signature': '', 'zitadel-signature': good }, body)).toEqual(refused);
    expect(await send({ 'idp-signature': good, 'zitadel-signature': good }, body)).toEqual([200, undefined]);
    await world.sink.next();
  });
});

describe('a configured signature header', () => {
  const world = useMailWorld('postgresql', { IDP_SIGNATURE_HEADER: 'X-Idp-Proof' });

  test('only the configured signature header counts', async () => {
    const { body } = mailBody();
    expect((await post(world.usher.rest, body, signature(body))).status).toBe(401);
    const answer = await fetch(`${world.usher.rest}/api/idp/notifications/email`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-idp-proof': signature(body) },
      body,
    });
    expect(answer.status).toBe(200);
    await world.sink.next();
  });
});

describe('idp.notificationAppCode', () => {
  const world = useMailWorld('postgresql', { IDP_NOTIFICATION_APP_CODE: 'portal' });
  const audit = async () =>
    (
      await world.usher.app.database.read((tx) =>
        tx.kysely
          .selectFrom('audit')
          .selectAll()
          .where('action', '=', 'auth_email.sent')
          .orderBy('id', 'desc')
          .execute(),
      )
    )[0];

  test("template, sender's name and audit record are of the configured application", async () => {
    const before = await world.send();
    // There is no such application yet: the provider's words go out.
    expect(before.body.data).toEqual({ status: 'sent', templateSource: 'idp' });
    expect((await world.sink.next()).parsed.subject).toBe('Provider subject');
    expect(await audit()).toMatchObject({ appCode: 'portal', after: { fallbackReason: 'no_template' } });

    await world.usher.app.manifests.apply(
      `
application: { code: portal, name: Portal }
notificationTypes: [{ code: auth_idp, name: Sign-in mails, emailFromName: Portal team }]
templates:
  - { type: auth_idp, key: email_verification, locale: en, subject: "{{ app.name }}: {{ code }}", html: "<p>{{ app.code }}</p>" }
`,
      { actor: 'cli' },
    );
    const after = await world.send();
    expect(after.body.data.templateSource).toBe('panel');
    const mail = await world.sink.next();
    expect(mail.parsed.subject).toBe(`Portal: ${after.code}`);
    expect(mail.parsed.html).toContain('<p>portal</p>');
    expect(mail.parsed.from?.value).toEqual([{ address: 'hello@atelier.example.com', name: 'Portal team' }]);
    expect(await audit()).toMatchObject({ appCode: 'portal', after: { templateSource: 'panel' } });
  });
});

describe('the brand of the organization', () => {
  const world = useMailWorld('pglite');

  test("the organization's brand gives look, sender and server to both sources of texts", async () => {
    const other = await startSmtp();
    try {
      const root = await Rest.as(world.usher, 'admin@example.com');
      const looks = [
        {
          orgId: '901',
          sink: world.sink,
          brand: {
            slug: 'sea',
            name: 'Sea & Co',
            primaryColor: '#0a6b5c',
            backgroundColor: '#e0f0ee',
            logoUrl: 'https://img.example.com/sea.png?a=1&b=2',
            footerText: 'Sea & Co, Ostende',
            emailFrom: 'crew@sea.example.com',
          },
        },
        {
          orgId: '902',
          sink: other,
          brand: {
            slug: 'hill',
            name: 'Hill',
            primaryColor: '#7a1f3d',
            backgroundColor: '#101010',
            logoUrl: null,
            footerText: 'Hill, Bergen',
            emailFrom: 'post@hill.example.com',
          },
        },
      ];
      for (const { orgId, sink, brand } of looks) {
        const smtp = { host: '127.0.0.1', port: sink.port };
        expect((await root.post('/api/admin/brands', { ...brand, idpOrgId: orgId, smtp })).status).toBe(201);
      }
      for (const eventType of ['user.human.email.code.added', 'user.human.something.new']) {
        for (const { orgId, sink, brand } of looks) {
          const before = looks.map((look) => look.sink.mails.length);
          const sent = await world.send({ eventType, args: { orgID: orgId }, url: `${IDP}/x?orgID=${orgId}` });
          expect(sent.body.data.templateSource).toBe(eventType.endsWith('new') ? 'idp' : 'panel');
          const mail = await sink.next();
          // By this brand's server, and by no other.
          expect(looks.map((look) => look.sink.mails.length)).toEqual(
            looks.map((look, index) => (before[index] ?? 0) + (look.sink === sink ? 1 : 0)),
          );
          expect(mail.from).toBe(brand.emailFrom);
          expect(mail.parsed.from?.value[0]?.address).toBe(brand.emailFrom);
          const html = String(mail.parsed.html);
          expect(html).toContain(`border-top:4px solid ${brand.primaryColor}`);
          expect(html).toContain(`background:${brand.backgroundColor}`);
          expect(html).toContain(brand.footerText.replace('&', '&amp;'));
          expect(mail.parsed.text).toContain(brand.footerText);
          if (brand.logoUrl === null) expect(html).toMatch(/class="usher-name"[^>]*>Hill</);
          else expect(html).toContain(`src="${brand.logoUrl.replaceAll('&', '&amp;')}" alt="Sea &amp; Co"`);
          // The provider's look is not used.
          expect(html).not.toContain('#5469d4');
          expect(html).not.toContain('/policy/label/logo');
        }
      }
    } finally {
      await other.close();
    }
  });
});
