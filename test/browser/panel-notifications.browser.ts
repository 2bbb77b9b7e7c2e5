import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { until } from '../delivery/rows.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type SmtpSink, startSmtp } from '../support/smtp.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { launchShell } from './chromium.ts';
import { axeFaults, openPanel, overflow, settled } from './panel.ts';

const MANIFESTS = [
  'application: { code: billing, name: Billing }\nadmins: [nora@example.com]\n',
  'application: { code: shop, name: Shop }\n',
  `application: { code: auth, name: Administration }
assignments: [{ email: vera@example.com, roles: [application_manager] }]
overrides:
  - { email: vera@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: true, accessLevel: view }
`,
];
let refused = 0;
/** Each in words of its own: the same words to three recipients in a row would be about the account, which is tried again. */
const REFUSED = { at: 'rcpt', code: 550, words: () => `no such user (${++refused})` } as const;

let storage: TestStorage;
let usher: RunningUsher;
let browser: Browser;
let smtp: SmtpSink;
let root: Rest;

beforeAll(async () => {
  [storage, browser, smtp] = await Promise.all([createStorage('pglite'), launchShell(), startSmtp()]);
  usher = await startUsher(storage);
  for (const text of MANIFESTS) await usher.app.manifests.apply(text, { actor: 'cli' });
  root = await Rest.as(usher, 'admin@example.com');
  const [{ id }] = (await root.get('/api/admin/brands')).body.data;
  const server = { host: '127.0.0.1', port: smtp.port };
  expect((await root.put(`/api/admin/brands/${id}`, { emailFrom: 'hi@example.com', smtp: server })).status).toBe(200);
  smtp.fault = REFUSED;
  await send('billing', ['ann@example.com', 'ben@example.com']);
  await send('shop', ['<script>alert(1)</script>'.replaceAll(/[<>()/]/g, '-').concat('@example.com')]);
  await ended('failed', 3);
}, 90_000);
afterAll(async () => {
  await browser?.close();
  await usher?.close();
  await smtp?.close();
  await storage?.remove();
});

async function send(app: string, recipients: readonly string[]): Promise<void> {
  const order = { recipients, subject: '<script>alert(1)</script> اختبار 🎉', body: 'Text' };
  expect((await root.post(`/api/applications/${app}/notifications`, order)).status).toBe(202);
}

/** Waits until so many notifications have the status. */
async function ended(status: string, count: number): Promise<void> {
  for (;;) {
    const { body } = await root.get(`/api/admin/notifications?status=${status}`);
    if (body.data.length >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const rows = (page: Page) => page.getByRole('table', { name: 'Log' }).getByRole('row');

describe('notifications in the panel', () => {
  test('the log is read by six requests, without faults in light and dark, and as narrow as 320 pixels', async () => {
    for (const dark of [false, true]) {
      const panel = await openPanel(browser, usher, { as: 'admin@example.com', dark, width: dark ? 320 : 1280 });
      const asked: string[] = [];
      panel.page.on('request', (request) => {
        if (request.url().includes('/api/')) asked.push(request.url());
      });
      await panel.go('/notifications');
      const list = asked.findIndex(
        (url) => url.includes('/api/admin/notifications?') || url.endsWith('/notifications'),
      );
      expect([list >= 0, list < 6]).toEqual([true, true]);
      expect(await rows(panel.page).count()).toBe(4);
      expect(await panel.page.getByText('3 did not arrive').count()).toBeGreaterThan(0);
      expect(await panel.page.getByText('Refused by the mail server').first().isVisible()).toBe(true);
      expect(await axeFaults(panel.page)).toEqual([]);
      expect(await overflow(panel.page)).toBe(0);
      for (const path of ['/notifications/send', '/notifications/inbox', '/notifications/preferences']) {
        await panel.go(path);
        expect([path, await axeFaults(panel.page)]).toEqual([path, []]);
        expect([path, await overflow(panel.page)]).toEqual([path, 0]);
      }
      expect(panel.complaints).toEqual([]);
      await panel.close();
    }
  }, 60_000);

  test('an administrator of one application sees why a mail failed, and retries it', async () => {
    const { page, go, complaints, close } = await openPanel(browser, usher, { as: 'nora@example.com' });
    await go('/notifications?status=failed');
    expect(await rows(page).count()).toBe(3);
    await page.getByRole('link', { name: 'ann@example.com' }).click();
    await page.getByText('Every channel failed').waitFor();
    expect(await page.getByText('Refused by the mail server').count()).toBeGreaterThan(0);
    expect(page.url()).toMatch(/\/panel\/notifications\/billing\/\d+$/);
    smtp.fault = null;
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('every channel that applies has delivered it').waitFor();
    expect(await page.getByRole('button', { name: 'Retry' }).count()).toBe(0);
    expect(await axeFaults(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  }, 40_000);

  test('many are retried at once, counted before', async () => {
    const { page, go, complaints, close } = await openPanel(browser, usher, { as: 'admin@example.com' });
    await go('/notifications');
    await page.getByRole('button', { name: 'Retry what failed' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('2 notifications have failed').waitFor();
    await dialog.getByRole('button', { name: 'Queue again' }).click();
    await dialog.getByText('2 notifications queued again (2 deliveries).').waitFor();
    await page.keyboard.press('Escape');
    expect(await dialog.count()).toBe(0);
    await ended('sent', 3);
    expect(complaints).toEqual([]);
    await close();
  }, 40_000);

  test('variables are fields, the preview follows them, and many people or empty words are asked about', async () => {
    const templates = '/api/applications/billing/templates';
    const html = '<p>Due: {{ amount }} {{ note }}</p>';
    for (const [locale, subject] of [
      ['en', 'Invoice {{ number }}'],
      ['cs', 'Faktura {{ number }}'],
    ] as const) {
      const body = { type: 'generic', key: 'due', locale, subject, html, requiredVariables: ['number'] };
      expect([201, 409]).toContain((await root.post(templates, body)).status);
    }
    expect((await root.put('/api/applications/billing', { supportedLanguages: ['en', 'cs'] })).status).toBe(200);
    const { page, go, complaints, close } = await openPanel(browser, usher, {
      as: 'nora@example.com',
      expected: /sessionStorage/,
    });
    await go('/notifications/send?app=billing');
    expect(await page.getByLabel('Language', { exact: true }).locator('option').count()).toBe(3);
    await page.getByLabel('Template').selectOption('due');
    const many = Array.from({ length: 11 }, (_, at) => `p${at}@example.com`).join(' ');
    await page.getByLabel('Recipients').fill(many);
    const send = page.getByRole('button', { name: 'Send to 11 people' });
    expect(await send.getAttribute('aria-disabled')).toBe('true');
    expect(await send.getAttribute('title')).toBe('Still missing: number.');
    await page.getByLabel('number', { exact: true }).fill('2026-17');
    await page.getByLabel('amount (optional)').fill('300 CZK');
    const mail = page.frameLocator('iframe[title="The mail"]');
    await mail.getByText('Due: 300 CZK').waitFor();
    await page.getByRole('button', { name: 'en', exact: true }).click();
    await page.getByText('Invoice 2026-17').first().waitFor();
    await page.getByRole('button', { name: 'cs', exact: true }).click();
    await page.getByText('Faktura 2026-17').first().waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await send.click();
    const dialog = page.getByRole('dialog', { name: 'Send to 11 people?' });
    await dialog.getByText('Without a value: note.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByLabel('note (optional)').fill('soon');
    await page.getByLabel('Recipients').fill('p1@example.com');
    await page.getByRole('button', { name: 'Send to 1 person' }).click();
    await page.getByText('Sent to 1 person.').waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test('what has not left is taken back: after a send, of one notification, and of all that wait', async () => {
    smtp.fault = { at: 'rcpt', code: 451, words: '4.3.0 later' };
    const { page, go, complaints, close } = await openPanel(browser, usher, { as: 'nora@example.com' });
    await go('/notifications/send?app=billing');
    await page.getByLabel('Subject').fill('Oops');
    await page.getByLabel('Recipients').fill('t1@example.com t2@example.com');
    await page.getByRole('button', { name: 'Send to 2 people' }).click();
    await page.getByText('Sent to 2 people.').waitFor();
    // Each was tried, and waits for the next attempt.
    await until(
      async () => (await root.get('/api/admin/notifications?status=queued')).body.data,
      (all: { deliveries: { status: string; attempts: number }[] }[]) =>
        all.length === 2 && all.every(({ deliveries: [mail] }) => mail?.status === 'queued' && mail.attempts > 0),
    );
    await page.getByRole('button', { name: 'Take back' }).click();
    const dialog = page.getByRole('dialog', { name: 'Take back what has not left' });
    await dialog.getByText('2 notifications').waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Take back' }).click();
    await dialog.getByText('2 deliveries taken back.').waitFor();
    await dialog.getByText('2 unread items taken out of inboxes.').waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await page.keyboard.press('Escape');
    expect(await dialog.count()).toBe(0);

    await send('billing', ['t3@example.com', 't4@example.com']);
    await go('/notifications?status=queued');
    await page.getByRole('link', { name: 't3@example.com' }).click();
    await page.getByRole('button', { name: 'Take back' }).click();
    await dialog.getByLabel('Out of the inbox, too').uncheck();
    await dialog.getByRole('button', { name: 'Take back' }).click();
    await dialog
      .getByText(/taken back\.|being handed over/)
      .first()
      .waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('Somebody took back what had not left.').first().waitFor();
    expect(await page.getByText('has delivered it').count()).toBe(0);

    await go('/notifications');
    await page.getByRole('button', { name: 'Take back what waits' }).click();
    await dialog.getByText('1 notification', { exact: true }).waitFor();
    await dialog.getByRole('button', { name: 'Take back' }).click();
    await dialog
      .getByText(/taken back\.|being handed over/)
      .first()
      .waitFor();
    await page.keyboard.press('Escape');
    smtp.fault = null;
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test('somebody is sent one by keyboard, and finds it in their inbox', async () => {
    const { page, go, complaints, close } = await openPanel(browser, usher, { as: 'nora@example.com' });
    await go('/notifications/send');
    await page.getByLabel('Subject').fill('Hello Nora');
    await page.getByLabel('Payload').fill('[1]');
    await page.getByText('This must be an object').first().waitFor();
    await page.getByLabel('Payload').fill('{"number": 1}');
    await page.getByRole('button', { name: 'Send one to me' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Sent to 1 person.').waitFor();
    await page.getByRole('link', { name: 'nora@example.com' }).click();
    await page.getByText('billing', { exact: true }).waitFor();
    await go('/notifications/inbox');
    await page.getByRole('heading', { name: 'Hello Nora' }).waitFor();
    await page.getByRole('button', { name: 'Mark as read: Hello Nora' }).click();
    await page.getByRole('button', { name: 'Mark as read: Hello Nora' }).waitFor({ state: 'detached' });
    await page.getByLabel('Unread only').check();
    await page.getByText('Everything is read.').waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 40_000);

  test('a reader sees the log of what they may view, and nothing to change', async () => {
    const { page, go, complaints, close } = await openPanel(browser, usher, { as: 'vera@example.com' });
    await go('/notifications');
    expect(await rows(page).filter({ hasText: 'billing' }).count()).toBeGreaterThan(1);
    expect(await rows(page).filter({ hasText: 'shop' }).count()).toBe(0);
    for (const name of ['Send', 'Retry what failed', 'Take back what waits']) {
      expect(await page.getByText(name, { exact: true }).count()).toBe(0);
    }
    await go('/notifications/send');
    await page.getByText('You cannot send in any application.').waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 40_000);

  test('whoever administers nothing has an inbox and switches', async () => {
    const ben = await Rest.as(usher, 'ben@example.com');
    expect((await ben.put('/api/profile/me/apps/billing', { showHelp: true })).status).toBe(200);
    const { page, go, complaints, close } = await openPanel(browser, usher, { as: 'ben@example.com' });
    await go('/notifications');
    await page.waitForURL('**/notifications/inbox');
    await page.getByRole('link', { name: 'My preferences' }).click();
    await page.getByLabel('Notifications of billing').waitFor();
    // It changes when the service has answered.
    await page.getByLabel('Generic: E-mail').click();
    await settled(page);
    const { body } = await ben.get('/api/profile/me/notifications/billing');
    expect(body.response[0]).toMatchObject({ code: 'generic', email: false });
    expect(complaints).toEqual([]);
    await close();
  }, 40_000);
});
