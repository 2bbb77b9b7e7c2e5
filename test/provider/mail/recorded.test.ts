import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { KINDS } from '../../support/databases.ts';
import { sendSigned } from '../../support/provider/notifier.ts';
import { Rest } from '../../support/rest.ts';
import { type MailWorld, useMailWorld } from './mail-world.ts';
import { SIGNING_KEY } from './provider-mails.ts';

/**
 * What a provider in the field sent (ZITADEL of July 2026), byte for byte but for ids, codes and words: eight mails as it sends them by default,
 * then five of its queue mode.
 */
const BODIES = readFileSync('test/provider/mail/recorded-mails.jsonl', 'utf8').trimEnd().split('\n');
const QUEUED_FROM = 8;
const PROVIDER = 'http://localhost:24080';
const ORGANIZATIONS = ['285000000000000002', '285000000000000014'];

interface Recorded {
  readonly contextInfo: { readonly eventType: string; readonly recipientEmailAddress: string };
  readonly templateData: Readonly<Record<string, string>>;
  readonly args: Readonly<Record<string, string>>;
}

const RECORDED = BODIES.map((body, at): [string, Recorded, string] => {
  const recorded = JSON.parse(body) as Recorded;
  return [`${recorded.contextInfo.eventType}${at < QUEUED_FROM ? '' : ' (queue mode)'}`, recorded, body];
});

/** What each mail says in the words of examples/auth-emails-en.json, beside its link. */
const SAYS: Readonly<Record<string, (recorded: Recorded) => { subject: string; words: readonly string[] }>> = {
  'user.human.initialization.code.added': () => ({ subject: 'Activate your account', words: ['CODE01'] }),
  'user.human.email.code.added': () => ({ subject: 'Verify your e-mail address', words: ['CODE01'] }),
  'user.human.password.code.added': () => ({ subject: 'Reset your password', words: ['CODE01'] }),
  'user.human.password.changed': () => ({ subject: 'Your password was changed', words: [] }),
  'user.human.passwordless.initialization.code.requested': () => ({
    subject: 'Add a way to sign in without a password',
    words: [],
  }),
  'user.human.invite.code.added': () => ({ subject: 'You are invited to Atelier app', words: ['CODE01'] }),
  'session.otp.email.challenged': ({ args }) => ({ subject: 'Your sign-in code', words: [args.code ?? '12345678'] }),
  'user.domain.claimed': () => ({
    subject: 'Your sign-in name has changed',
    words: ['285000000000000009@temporary.localhost', 'claimed.example'],
  }),
};

/** Gives the recorded organizations a brand each. */
async function carry(world: MailWorld): Promise<void> {
  const root = await Rest.as(world.usher, 'admin@example.com');
  for (const [at, idpOrgId] of ORGANIZATIONS.entries()) {
    const made = await root.post('/api/admin/brands', {
      slug: `recorded-${at}`,
      name: `Recorded ${at}`,
      emailFrom: `hello@recorded-${at}.example.com`,
      idpOrgId,
      smtp: { host: '127.0.0.1', port: world.sink.port },
    });
    expect(made.status).toBe(201);
  }
}

const deliver = (world: MailWorld, body: string) =>
  sendSigned(`${world.usher.rest}/api/idp/notifications/email`, body, SIGNING_KEY);

/** The targets of all links of a document, as a mail program reads them. */
function linksOf(html: string): string[] {
  return [...html.matchAll(/href="([^"]*)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'));
}

/** The mail of a body: to whom, from whom, and with which link. Returns its text. */
async function received(world: MailWorld, { contextInfo, templateData, args }: Recorded): Promise<string[]> {
  const { to, from, parsed } = await world.sink.next();
  const brand = ORGANIZATIONS.indexOf(args.orgID ?? '');
  expect([to, from]).toEqual([[contextInfo.recipientEmailAddress], `hello@recorded-${brand}.example.com`]);
  const html = parsed.html || '';
  const text = parsed.text ?? '';
  const link = new URL(templateData.url ?? '').href;
  expect(linksOf(html)).toEqual([link]);
  expect(text).toContain(link);
  // Nothing of the provider's escapes, of its look or of its untranslated keys.
  expect(text).not.toMatch(/&(?:#39|amp|lt|gt);|\\u0026|\.Footer/);
  expect(html).not.toMatch(/&amp;(?:#39|amp|lt|gt);|\.Footer|assets\/v1/);
  return [parsed.subject ?? '', text, html];
}

describe.each(KINDS)('recorded mails of the provider (%s)', (kind) => {
  const world = useMailWorld(kind, { IDP_PUBLIC_URL: PROVIDER });
  beforeAll(() => carry(world));

  test.each(RECORDED)('%s goes out by the template, with code and link', async (_name, recorded, body) => {
    const answer = await deliver(world, body);
    expect([answer.status, answer.body.data]).toEqual([200, { status: 'sent', templateSource: 'panel' }]);
    const [subject, text, html] = await received(world, recorded);
    const says = SAYS[recorded.contextInfo.eventType]?.(recorded);
    expect(subject).toBe(says?.subject);
    expect(text).toContain(`Hello ${recorded.args.firstName},`);
    for (const word of says?.words ?? []) for (const part of [text, html]) expect(part).toContain(word);
  });

  test('the batch comes again with the same bodies, and nothing goes out twice', async () => {
    const before = world.sink.mails.length;
    expect(before).toBe(BODIES.length);
    for (const body of BODIES) {
      const { status, body: answer } = await deliver(world, body);
      expect([status, answer.data.status]).toEqual([200, 'duplicate']);
    }
    expect(world.sink.mails.length).toBe(before);
  });
});

describe('recorded mails of the provider, where no template serves them', () => {
  const world = useMailWorld('postgresql', { IDP_PUBLIC_URL: PROVIDER });
  beforeAll(async () => {
    await carry(world);
    await world.write((tx) => tx.kysely.deleteFrom('template').execute());
  });

  test.each(RECORDED)("%s goes out in the provider's words", async (_name, recorded, body) => {
    const answer = await deliver(world, body);
    expect([answer.status, answer.body.data]).toEqual([200, { status: 'sent', templateSource: 'idp' }]);
    const [subject, text] = await received(world, recorded);
    const { templateData } = recorded;
    expect(subject).toBe(templateData.subject);
    // It escapes greeting and names for HTML, and these are texts.
    expect(text).toContain(templateData.greeting?.replace('&#39; &amp; &lt; &gt; &lt; &gt;', "' & < > < >"));
    expect(text).toContain(templateData.text);
  });
});
