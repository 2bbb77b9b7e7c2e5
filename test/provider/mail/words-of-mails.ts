import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { Template } from '../../../src/gen/api.ts';
import { ensurePeople } from '../../../src/persistence/people/people.ts';
import { Rest } from '../../support/rest.ts';
import type { MailWorld } from './mail-world.ts';
import { IDP } from './provider-mails.ts';

/** Which words a mail has, and in which language; for endpoint.test.ts. */
export function testWords(world: MailWorld): void {
  const { send, write, audits, template } = world;
  type Args = { oTP?: string; tempUsername?: string; code?: undefined; [other: string]: unknown };
  const NO_CODE = { code: undefined };
  const events = [
    ['user.human.initialization.code.added', 'Activate your account', {}, '/ui/login/user/init?code=%&orgID=100'],
    ['user.human.email.code.added', 'Verify your e-mail address', {}, '/ui/login/mail/verification?code=%&orgID=100'],
    ['user.human.password.code.added', 'Reset your password', {}, '/ui/login/password/init?code=%&orgID=100'],
    [
      'user.human.invite.code.added',
      'You are invited to O’Hara & Sons',
      { applicationName: 'O’Hara &amp; Sons' },
      '/ui/login/user/invite?authRequestID=&code=%&loginname=gigi&orgID=100&userID=200',
    ],
    [
      'user.human.passwordless.initialization.code.requested',
      'Add a way to sign in without a password',
      NO_CODE,
      '/ui/login/login/passwordless/init?userID=200&orgID=100&codeID=K&code=%',
    ],
    [
      'user.human.mfa.otp.email.code.added',
      'Your sign-in code',
      { ...NO_CODE, oTP: '12345678', expiry: 300_000_000_000 },
      '/ui/login/mfa/otp/verify?authRequestID=A&code=12345678&selectedProvider=4',
    ],
    [
      'session.otp.email.challenged',
      'Your sign-in code',
      { ...NO_CODE, oTP: '87654321' },
      '/ui/v2/login/otp/email?code=87654321&userId=200&sessionId=S',
    ],
    ['user.human.password.changed', 'Your password was changed', NO_CODE, '/ui/console?login_hint=gigi'],
    [
      'user.domain.claimed',
      'Your sign-in name has changed',
      { ...NO_CODE, tempUsername: 'gigi@temporary', domain: 'example.com' },
      '/ui/login/login?orgID=100',
    ],
  ] as const;
  // The databases differ in nothing that one event does not show.
  test.each(world.kind === 'postgresql' ? events : events.slice(0, 1))(
    '%s uses its template',
    async (eventType, subject, args: Args, path) => {
      const code = `K${randomBytes(4).toString('hex')}`;
      const url = IDP + path.replace('%', code);
      const given = 'code' in args ? args : { ...args, code };
      const answer = await send({ eventType, args: given, url });
      expect([answer.status, answer.body]).toEqual([
        200,
        { success: true, data: { status: 'sent', templateSource: 'panel' } },
      ]);
      const mail = await world.sink.next();
      expect(mail).toMatchObject({ from: 'hello@atelier.example.com', to: ['gigi@example.com'] });
      expect(mail.parsed.from?.value).toEqual([{ address: 'hello@atelier.example.com', name: 'Auth' }]);
      expect(mail.parsed.subject).toBe(subject);
      expect(mail.parsed.text).toContain('Hello Gigi,');
      expect(mail.parsed.text).toContain(url);
      expect(mail.parsed.text).toContain('Atelier, Brno');
      expect(mail.parsed.html).toContain(`href="${url.replaceAll('&', '&amp;')}"`);
      const secret = args.oTP ?? (path.includes('%') ? code : '');
      expect(mail.parsed.text).toContain(secret);
      if (args.tempUsername) expect(mail.parsed.html).toContain('gigi@temporary');
      expect(mail.parsed.text).not.toContain('Provider t');

      const [record] = await audits();
      expect(record).toMatchObject({ actor: 'idp', appCode: 'auth', subject: 'gigi@example.com' });
      expect(record?.after).toMatchObject({ eventType, brand: 'atelier', locale: 'en', templateSource: 'panel' });
      expect(record?.after).not.toHaveProperty('fallbackReason');
      if (secret !== '') {
        const kept = await world.usher.app.database.read(async (tx) => ({
          audit: await tx.kysely.selectFrom('audit').selectAll().execute(),
          mails: await tx.kysely.selectFrom('auth_mail').selectAll().execute(),
        }));
        expect(JSON.stringify(kept)).not.toContain(secret);
        expect(world.lines.join('')).not.toContain(secret);
      }
      expect(JSON.stringify(record)).not.toContain('/ui/');
    },
  );

  test("an event without a template uses the provider's texts", async () => {
    const answer = await send({ eventType: 'user.human.something.new' });
    expect(answer.body.data).toEqual({ status: 'sent', templateSource: 'idp' });
    const mail = await world.sink.next();
    expect(mail.parsed.subject).toBe('Provider subject');
    expect(mail.parsed.text).toContain("Hello Gigi O'Brien,");
    expect(mail.parsed.text).toContain(`Provider text (Code ${answer.code})`);
    expect(mail.parsed.html).toContain('>Provider button</a>');
    expect(mail.raw).not.toContain('InitCode.Footer');
    // The look is the brand's, not the provider's.
    expect(mail.parsed.html).not.toContain('label/logo');
    expect((await audits())[0]?.after).toMatchObject({ templateSource: 'idp', fallbackReason: 'unknown_event' });
  });

  test("a template with a missing variable, a failing one, or a deleted one gives way to the provider's texts", async () => {
    const reasons: unknown[] = [];
    const event = { eventType: 'user.human.password.changed' };
    const change = async (values: Record<string, unknown>) => {
      await template('password_changed', values);
      const answer = await send(event);
      expect(answer.body.data).toEqual({ status: 'sent', templateSource: 'idp' });
      expect((await world.sink.next()).parsed.subject).toBe('Provider subject');
      const [record] = await audits();
      reasons.push((record?.after as { fallbackReason?: string } | undefined)?.fallbackReason);
    };
    await change({ requiredVariables: ['nickName', 'code'] });
    await change({ requiredVariables: [], html: '{% for i in (1..100000000) %}{{ i }}{% endfor %}' });
    await change({ key: 'elsewhere' });
    expect(reasons).toEqual(['missing_variables', 'render_failed', 'no_template']);
    const words = { html: '<p>{{ displayName }} {{ user.email }} {{ args.userID }}</p>', text: null };
    await write((tx) =>
      tx.kysely
        .updateTable('template')
        .set({
          key: 'password_changed',
          subject: 'Changed: {{ brand.name }}, {{ app.code }}, {{ locale }}',
          ...words,
        })
        .where('key', '=', 'elsewhere')
        .execute(),
    );
    expect((await send(event)).body.data.templateSource).toBe('panel');
    const mail = await world.sink.next();
    expect(mail.parsed.subject).toBe('Changed: Atelier, auth, en');
    expect(mail.parsed.html).toContain('<p>Gigi O&#39;Brien gigi@example.com 200</p>');
    expect(mail.parsed.text).toContain("Gigi O'Brien gigi@example.com 200");
  });

  test('a link to another origin is not put into a mail, anywhere', async () => {
    const evil = 'https://evil.example.com/x?code=1&orgID=100';
    const args = { firstName: 'Visit https://evil.example.com/ now', code: 'C-LINK' };
    const panel = await send({ url: evil, args });
    expect(panel.body.data.templateSource).toBe('panel');
    const mail = await world.sink.next();
    expect(mail.raw).not.toContain('evil.example.com');
    expect(mail.parsed.text).toContain('C-LINK');
    const own = { eventType: 'x.y', url: evil, templateData: { text: `Go to ${evil}` } };
    expect((await send(own)).body.data.templateSource).toBe('idp');
    expect((await world.sink.next()).raw).not.toContain('evil.example.com');
  });

  test('a template stays as its administrator wrote it, and the preview equals the mail', async () => {
    const html = [
      '<p>Zkopírujte url (viz níže). {{ code }}</p>',
      '<table background="#fff"><tr><td style="background:url(https://cdn.example.org/a.png)">background = x</td></tr></table>',
      '<img src="https://cdn.example.org/logo.png" alt="a > b"><a href="https://help.example.org/?a=1&amp;b=2">Help</a>',
      '<style>@import url("https://cdn.example.org/a.css");</style><p>1 < 2 {{ firstName }}</p>',
    ].join('\n');
    const root = await Rest.as(world.usher, 'admin@example.com');
    const templates = (await root.get('/api/applications/auth/templates')).body.data as Template[];
    const { id } = templates.find(({ key, locale }) => key === 'account_activation' && locale === 'en') ?? { id: 0 };
    expect((await root.put(`/api/applications/auth/templates/${id}`, { html, text: null })).status).toBe(200);
    const sent = await send({
      eventType: 'user.human.initialization.code.added',
      args: { firstName: '<b> https://evil.example.com/ & co' },
    });
    expect(sent.body.data.templateSource).toBe('panel');
    const mail = await world.sink.next();
    const written = html.replace('{{ code }}', sent.code).replace('{{ firstName }}', '&lt;b&gt;  &amp; co');
    expect((mail.parsed.html || '').replaceAll('\r\n', '\n')).toContain(written);

    const payload = { code: sent.code, firstName: '<b>  & co' };
    const preview = await root.post(`/api/applications/auth/templates/${id}/preview`, { payload, locale: 'en' });
    expect(preview.body.data.html).toBe(written);
    expect((mail.parsed.text ?? '').trim()).toContain(preview.body.data.text.trim());
    expect(mail.parsed.subject).toBe(preview.body.data.subject);
  });

  test("the language is the profile's, else the registration's, which the profile then keeps, else English", async () => {
    const subjectFor = async (to: string) => {
      expect((await send({ to, eventType: 'user.human.password.code.added' })).status).toBe(200);
      return (await world.sink.next()).parsed.subject;
    };
    const profileOf = async (email: string) =>
      await world.usher.app.database.read(
        async (tx) =>
          await tx.kysely
            .selectFrom('profile as p')
            .innerJoin('person as e', 'e.id', 'p.personId')
            .select('p.locale')
            .where('e.email', '=', email)
            .executeTakeFirst(),
      );
    await write(async (tx) => {
      const ids = await ensurePeople(tx, ['czech@example.com', 'slovak@example.com', 'plain@example.com']);
      for (const [email, locale] of [
        ['czech@example.com', 'cs'],
        ['slovak@example.com', 'sk'],
        ['plain@example.com', null],
      ] as const) {
        await tx.kysely
          .insertInto('profile')
          .values({ personId: ids.get(email) ?? 0, locale })
          .execute();
      }
      const registered = (email: string, orgId: string, at: Date) => ({ email, orgId, locale: 'cs', at });
      const [now, yesterday] = [new Date(), new Date(Date.now() - 25 * 3600_000)];
      await tx.kysely
        .insertInto('registration_locale')
        .values([
          registered('newcomer@example.com', '100', now),
          registered('elsewhere@example.com', '999', now),
          registered('late@example.com', '100', yesterday),
          registered('plain@example.com', '100', now),
          registered('slovak@example.com', '100', now),
        ])
        .execute();
    });
    expect(await subjectFor('czech@example.com')).toBe('Obnovení hesla');
    // Slovak falls back to English in the registry, and a profile's language goes before a registration's.
    expect(await subjectFor('slovak@example.com')).toBe('Reset your password');
    expect(await subjectFor('newcomer@example.com')).toBe('Obnovení hesla');
    expect(await subjectFor('elsewhere@example.com')).toBe('Reset your password');
    expect(await subjectFor('late@example.com')).toBe('Reset your password');
    expect(await subjectFor('nobody@example.com')).toBe('Reset your password');
    expect(await subjectFor('plain@example.com')).toBe('Obnovení hesla');
    expect(await profileOf('plain@example.com')).toEqual({ locale: 'cs' });
    expect(await profileOf('newcomer@example.com')).toBeUndefined();
  });

  test("a registration's language reaches the first mail, before there is a profile", async () => {
    const to = 'registering@example.com';
    const headers = { 'x-internal-api-key': world.usher.app.localKey ?? '' };
    const body = { email: to, orgId: '100', locale: 'cs-CZ' };
    const told = await (await Rest.as(world.usher)).send(
      'PUT',
      '/api/internal/auth/registration-locale',
      body,
      headers,
    );
    expect(told.status).toBe(200);
    expect((await send({ to, eventType: 'user.human.initialization.code.added' })).status).toBe(200);
    const mail = await world.sink.next();
    expect(mail.parsed.subject).toBe('Aktivujte svůj účet');
    expect(mail.parsed.html).toContain('<html lang="cs"');
    expect((await audits())[0]?.after).toMatchObject({ locale: 'cs' });
  });
}
