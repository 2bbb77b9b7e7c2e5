import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { AUDIENCE } from '../support/oidc.ts';
import { type IdpDouble, SERVICE_TOKEN, startIdp } from '../support/provider/double.ts';
import { sendSigned } from '../support/provider/notifier.ts';
import { Rest } from '../support/rest.ts';
import { type SmtpSink, startSmtp } from '../support/smtp.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { launchShell } from './chromium.ts';
import { axeFaults, openPanel, overflow, type PanelOptions, type PanelPage } from './panel.ts';

const EVENT_KEY = 'event-key-canary';
const MAIL_KEY = 'm'.repeat(36);
const ORGANIZATION = '285000000000000002';

let storage: TestStorage;
let idp: IdpDouble;
let usher: RunningUsher;
let browser: Browser;
let sink: SmtpSink;
let root: Rest;

beforeAll(async () => {
  [storage, browser, idp, sink] = await Promise.all([
    createStorage('postgresql'),
    launchShell(),
    startIdp(),
    startSmtp(),
  ]);
  idp.oidc.addClient({ clientId: 'usher-panel', redirectUris: ['http://localhost/panel/'], jwt: true });
  idp.oidc.accounts.set('ada', { email: 'ada@example.com', email_verified: true, name: 'Ada' });
  idp.oidc.tokenClaims = ['email', 'email_verified'];
  usher = await startUsher(storage, {
    env: {
      AUTH_ISSUER: idp.url,
      AUTH_AUDIENCE: AUDIENCE,
      SUPERADMINS: 'ada@example.com',
      PANEL_CLIENT_ID: 'usher-panel',
      // The double signs in whoever the hint names.
      PANEL_AUTHORIZE_PARAMS: JSON.stringify({ login_hint: 'ada', resource: AUDIENCE }),
      IDP_API_URL: idp.url,
      IDP_PUBLIC_URL: idp.url,
      IDP_SERVICE_ACCOUNT_TOKEN: SERVICE_TOKEN,
      IDP_EVENT_SIGNING_KEYS: EVENT_KEY,
      IDP_NOTIFICATION_SIGNING_KEY: MAIL_KEY,
      BRAND_SMTP_KEY: Buffer.alloc(32, 7).toString('base64'),
      INTERNAL_API_KEY: 'narrow:check+notify@billing+atelier:a-key-of-two,wide:check:a-key-of-all',
    },
  });
  root = await bearing('ada', 'ada@example.com');
  expect((await root.get('/api/profile/me')).status).toBe(200);
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await usher?.close();
  await idp?.close();
  await sink?.close();
  await storage?.remove();
});

let things = 0;
/** A test that is tried again needs people and organizations that nothing has happened to. */
const next = (): string => `${285000000000001000n + BigInt(++things)}`;

async function bearing(subject: string, email: string): Promise<Rest> {
  return Rest.bearing(usher, await idp.oidc.mint({ ...idp.oidc.claims(subject), email }));
}

const open = (options: PanelOptions = {}): Promise<PanelPage> =>
  openPanel(browser, usher, { ...options, besides: [idp.url] });

async function event(type: string, aggregateID: string, sequence: number, payload?: unknown): Promise<void> {
  const body = {
    aggregateID,
    resourceOwner: ORGANIZATION,
    sequence,
    event_type: type,
    created_at: '2026-11-28T02:34:25.807136Z',
    ...(payload === undefined ? {} : { event_payload: payload }),
  };
  const { status } = await sendSigned(`${usher.rest}/api/idp/events`, JSON.stringify(body), EVENT_KEY);
  expect(status).toBe(200);
}

/** A mail of an organization that no brand carries, delivered until it is kept. */
async function refusedMail(to: string, orgID: string): Promise<void> {
  const code = `CODE${next()}`;
  const url = `${idp.url}/ui/login/mail/verification?code=${code}&orgID=${orgID}`;
  const body = JSON.stringify({
    contextInfo: { eventType: 'user.human.email.code.added', recipientEmailAddress: to },
    templateData: { title: 'Verify', subject: 'Verify', text: `Code ${code}`, url, buttonText: 'Verify' },
    args: { code, orgID },
  });
  const deliver = () => sendSigned(`${usher.rest}/api/idp/notifications/email`, body, MAIL_KEY);
  expect([(await deliver()).status, (await deliver()).status]).toEqual([422, 200]);
}

describe('what waits for a SuperAdmin in the panel', () => {
  test('events about nobody known, with the reason, and a set-up that makes the provider send them', async () => {
    const subject = next();
    for (const _ of [1, 2]) await event('user.deactivated', subject, 2);
    const { page, go, complaints, close } = await open();
    await go('/sign-in/events');
    const card = page.getByRole('region', { name: 'Events about unknown people' });
    const cells = await card.getByRole('row').filter({ hasText: subject }).getByRole('cell').allInnerTexts();
    expect(cells.slice(1)).toEqual([
      'user.deactivated',
      subject,
      ORGANIZATION,
      'nobody here, and nobody at the provider by this id',
      '2',
    ]);
    await go('/sign-in');
    await page.getByRole('button', { name: 'Set up the events' }).click();
    await page.getByText('The provider sends its events to Usher.').waitFor();
    expect(idp.state.targets).toMatchObject([{ endpoint: expect.stringMatching(/\/api\/idp\/events$/) }]);
    expect(idp.state.executions.size).toBe(11);
    expect(complaints).toEqual([]);
    await close();
  });

  test('an address that changed at the provider, and the person moves to it', async () => {
    const subject = next();
    const [before, after] = [`life${subject}@example.com`, `new${subject}@example.com`] as const;
    await event('user.human.added', subject, 1, { email: before, firstName: 'Life' });
    await event('user.human.email.changed', subject, 6, { email: after });
    const { page, go, complaints, close } = await open();
    await go('/sign-in/events');
    const card = page.getByRole('region', { name: 'Addresses that changed at the provider' });
    const row = card.getByRole('row').filter({ hasText: before });
    expect((await row.getByRole('cell').allInnerTexts()).slice(1, 3)).toEqual([before, after]);
    await card.getByRole('button', { name: `Move: ${before}` }).click();
    const dialog = page.getByRole('dialog', { name: `Move ${before}?` });
    await dialog.getByText('Nobody gains or loses').waitFor();
    expect((await root.get(`/api/users/${before}`)).body.data.movedTo).toBeNull();
    await dialog.getByRole('button', { name: 'Move' }).click();
    await page.getByText(`${before} is now ${after}.`).waitFor();
    await row.waitFor({ state: 'detached' });
    expect((await root.get(`/api/users/${before}`)).body.data).toMatchObject({
      active: false,
      movedTo: after,
    });
    // Who comes by the old address is led on.
    await go(`/people/${encodeURIComponent(before)}`);
    expect(await page.getByText('moved', { exact: true }).getAttribute('title')).toContain(after);
    await page.getByRole('link', { name: after }).click();
    await page.getByRole('heading', { level: 1, name: after }).waitFor();
    await go(`/people?q=life${subject}`);
    await page.getByText('moved', { exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('a refused mail, which goes out once when its organization has a brand', async () => {
    const organization = next();
    await refusedMail('gigi@example.com', organization);
    const { page, go, complaints, close } = await open({ expected: /status of 422/ });
    await go('/sign-in/mails');
    const card = page.getByRole('region', { name: 'Mails that wait for a sender' });
    const row = card.getByRole('row').filter({ hasText: organization });
    expect((await row.getByRole('cell').allInnerTexts()).slice(1, 5)).toEqual([
      'user.human.email.code.added',
      'gigi@example.com',
      organization,
      'the organization has no brand',
    ]);
    const send = row.getByRole('button', { name: 'Send: gigi@example.com' });
    await send.click();
    await row.getByRole('alert').waitFor();
    const before = sink.mails.length;
    const brand = {
      slug: `late-${organization}`,
      name: 'Late',
      emailFrom: 'hello@late.example.com',
      idpOrgId: organization,
    };
    const smtp = { host: '127.0.0.1', port: sink.port };
    expect((await root.post('/api/admin/brands', { ...brand, smtp })).status).toBe(201);
    await send.click();
    await page.getByText('The mail is sent.').waitFor();
    expect((await sink.next()).to).toEqual(['gigi@example.com']);
    await row.getByText('sent', { exact: true }).waitFor();
    expect([await send.count(), sink.mails.length - before]).toEqual([0, 1]);
    expect(complaints).toEqual([]);
    await close();
  });

  test('an account that was refused with an address, and is named for it', async () => {
    const email = `ben${next()}@example.com`;
    const [first, second] = [await bearing('ben', email), await bearing('ben-of-another-organization', email)];
    expect((await first.get('/api/profile/me')).status).toBe(200);
    expect((await second.get('/api/profile/me')).status).toBe(403);
    const { page, go, complaints, close } = await open();
    await go(`/people/${encodeURIComponent(email)}/profile`);
    await page.getByRole('button', { name: 'Name the account' }).click();
    const dialog = page.getByRole('dialog', { name: `Name the account of ${email}` });
    await dialog.getByText('Refused with this address').waitFor();
    await dialog.getByRole('button', { name: 'Use: ben-of-another-organization' }).click();
    expect(await dialog.getByLabel('Account (sub)').inputValue()).toBe('ben-of-another-organization');
    expect(await dialog.getByLabel('Issuer').inputValue()).toBe(idp.url);
    await dialog.getByRole('button', { name: 'Name the account' }).click();
    await page.getByText(`The account of ${email} is named.`).waitFor();
    expect([(await second.get('/api/profile/me')).status, (await first.get('/api/profile/me')).status]).toEqual([
      200, 403,
    ]);
    expect(complaints).toEqual([]);
    await close();
  });

  test('keys with the applications that they are narrowed to', async () => {
    const { page, go, complaints, close } = await open();
    await go('/settings/keys');
    const cells = async (name: string) =>
      (await page.getByRole('row').filter({ hasText: name }).getByRole('cell').allInnerTexts())[2]?.split(/\s+/);
    expect(await cells('narrow')).toEqual(['billing', 'atelier']);
    expect(await cells('wide')).toEqual(['all', 'applications']);
    expect(complaints).toEqual([]);
    await close();
  });

  test('has no faults of accessibility, and fits a narrow window, in Czech too', async () => {
    const subject = next();
    const email = `${'other'.repeat(8)}${subject}@example.com`;
    await event('user.removed', next(), 2);
    await event('user.human.added', subject, 1, { email });
    await event('user.human.email.changed', subject, 2, { email: `new.${email}` });
    await refusedMail('hana@example.com', next());
    for (const locale of ['en-US', 'cs-CZ'] as const) {
      const panel = await open({ width: 320, locale, dark: locale === 'cs-CZ' });
      for (const path of [
        '/sign-in',
        '/sign-in/events',
        '/sign-in/mails',
        `/people/${encodeURIComponent(email)}/profile`,
      ]) {
        await panel.go(path);
        expect([path, await axeFaults(panel.page)]).toEqual([path, []]);
        expect([path, await overflow(panel.page)]).toEqual([path, 0]);
      }
      expect(panel.complaints).toEqual([]);
      await panel.close();
    }
  }, 90_000);
});
