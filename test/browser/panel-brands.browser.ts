import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type SmtpSink, startSmtp } from '../support/smtp.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { launchShell } from './chromium.ts';
import { axeFaults, openPanel, overflow, settled, untilTrue } from './panel.ts';

let storage: TestStorage;
let usher: RunningUsher;
let browser: Browser;
let smtp: SmtpSink;
let root: Rest;

beforeAll(async () => {
  [storage, browser, smtp] = await Promise.all([createStorage('pglite'), launchShell(), startSmtp()]);
  usher = await startUsher(storage, { env: { BRAND_SMTP_KEY: Buffer.alloc(32, 7).toString('base64') } });
  await usher.app.manifests.apply('application: { code: billing, name: Billing }\nadmins: [nora@example.com]\n', {
    actor: 'cli',
  });
  root = await Rest.as(usher, 'admin@example.com');
  const brand = { slug: 'nordic', name: `<script>${'x'.repeat(180)}</script>`, primaryColor: '#0b6e4f' };
  expect((await root.post('/api/admin/brands', brand)).status).toBe(201);
}, 90_000);
afterAll(async () => {
  await browser?.close();
  await usher?.close();
  await smtp?.close();
  await storage?.remove();
});

/** A picture of one pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const frame = (page: Page) => page.frameLocator('iframe');

describe('brands in the panel', () => {
  test('the gallery and a brand are without faults in light and dark, and as narrow as 320 pixels', async () => {
    for (const dark of [false, true]) {
      const panel = await openPanel(browser, usher, { as: 'admin@example.com', dark, width: dark ? 320 : 1280 });
      for (const path of ['/brands', '/brands/nordic', '/brands/nordic?kind=push']) {
        await panel.go(path);
        expect([path, await axeFaults(panel.page)]).toEqual([path, []]);
        expect([path, await overflow(panel.page)]).toEqual([path, 0]);
      }
      expect(panel.complaints).toEqual([]);
      await panel.close();
    }
  }, 60_000);

  test('a logo is uploaded beside what is typed, is removed, and is said not to load', async () => {
    const { page, go, close } = await openPanel(browser, usher, {
      as: 'admin@example.com',
      expected: /net::|sessionStorage/,
    });
    await go('/brands/nordic');
    await page.getByLabel('Footer').fill('Typed before');
    const file = page.getByLabel(/^Logo from a file/);
    const url = page.getByLabel('Logo', { exact: true });
    await file.setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: PIXEL });
    await page.getByText('Saved.').first().waitFor();
    expect(await url.inputValue()).toMatch(/\/media\//);
    expect(await page.getByLabel('Footer').inputValue()).toBe('Typed before');
    await page.getByText('1 change', { exact: true }).waitFor();
    await file.setInputFiles({ name: 'big.png', mimeType: 'image/png', buffer: Buffer.alloc(512 * 1024 + 1) });
    await page.getByText('The file is larger than 512 KiB.').waitFor();
    await page.getByRole('button', { name: 'Remove: Logo' }).click();
    await untilTrue(page, "document.querySelector('input[type=url]').value === ''");
    await url.fill('http://localhost:9/nothing.png');
    await page.getByText('No picture loads from this address').waitFor();
    await close();
  });

  test('a brand is made, shown as one types, saved, tested and deleted', async () => {
    const { page, go, complaints, close } = await openPanel(browser, usher, {
      as: 'admin@example.com',
      // A mail server that refuses the test answers 502, a token endpoint on the inside 400.
      expected: /status of (400|502)/,
    });
    await go('/brands');
    await page.getByRole('button', { name: 'New brand' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Pale');
    await page.getByRole('dialog').getByLabel('Code').fill('pale');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/brands/pale');
    await frame(page).getByRole('heading', { name: 'Mail from Pale' }).waitFor();
    await page.getByLabel('Main color', { exact: true }).fill('#fff2a8');
    await page.getByText('Links in the main color could hardly be read').waitFor();
    await page.getByLabel('Footer').fill('Pale s.r.o. <b>');
    await frame(page).getByText('Pale s.r.o. <b>').waitFor();
    await page.getByRole('button', { name: 'Dark' }).click();
    expect(page.url()).toContain('scheme=dark');
    await page.getByRole('button', { name: 'Unsubscribe page' }).click();
    await frame(page).getByText('Newsletter').first().waitFor();

    await page.getByLabel('Send through a mail server of its own').check();
    await page.getByLabel('Host').fill('127.0.0.1');
    await page.getByLabel('Port').fill(String(smtp.port));
    await page.getByLabel('User').fill('pale');
    await page.getByLabel('Password').fill('secret');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('It is never shown; type to replace it.').waitFor();
    expect(await page.getByLabel('Password', { exact: true }).inputValue()).toBe('');
    const stored = (await root.get('/api/admin/brands')).body.data.find((one: { slug: string }) => one.slug === 'pale');
    expect(stored).toMatchObject({ primaryColor: '#fff2a8', smtp: { port: smtp.port, hasPassword: true } });

    await page.getByLabel('User').fill('');
    await page.getByText('Type it again').waitFor();
    await page.getByLabel('Forget the stored password').check();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('None is stored.').waitFor();

    await page.getByLabel('Sign in with').selectOption('oauth2');
    await page.getByLabel('User').fill('pale');
    await page.getByLabel('Token endpoint').fill('https://10.0.0.5/token');
    await page.getByLabel('Client ID').fill('usher');
    await page.getByLabel('Client secret').fill('secret');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('must not name an address').first().waitFor();
    await page.getByLabel('Token endpoint').fill('http://127.0.0.1:9/token');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('It is never shown; type to replace it.').waitFor();
    expect(await page.getByLabel('Client secret', { exact: true }).inputValue()).toBe('');
    await page.getByLabel('Client ID').fill('other');
    await page.getByText('Type it again: host, port, user, token endpoint or client ID have changed.').waitFor();
    await page.getByLabel('Sign in with').selectOption('password');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('None is stored.').waitFor();
    await page.getByRole('button', { name: 'Test mail' }).click();
    smtp.fault = { at: 'rcpt', code: 550, words: 'no such user' };
    await page.getByRole('button', { name: 'Send test' }).click();
    await page.getByText('no such user').waitFor();
    smtp.fault = null;
    await page.getByRole('button', { name: 'Send test' }).click();
    await page.getByText('The server took the mail to admin@example.com.').waitFor();
    await page.keyboard.press('Escape');

    await page.getByRole('button', { name: 'Remove the brand' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('Pale is removed.').waitFor();
    await settled(page);
    expect(await page.getByRole('link', { name: 'Pale' }).count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test('a change can be taken back', async () => {
    const { page, go, complaints, close } = await openPanel(browser, usher, { as: 'admin@example.com' });
    await go('/brands/nordic');
    await page.getByLabel('Name', { exact: true }).fill('Nordic');
    await page.keyboard.press('Control+s');
    await page.getByText('Nordic is saved.').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('heading', { level: 1, name: '<script>' }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 40_000);

  test('an administrator of one application sees how brands look, and nothing to change', async () => {
    const { page, go, complaints, close } = await openPanel(browser, usher, { as: 'nora@example.com' });
    await go('/brands');
    expect(await page.getByRole('button', { name: 'New brand' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Default' }).click();
    await page.getByText('Brands are changed by SuperAdmins.').waitFor();
    expect(await page.getByRole('main').locator('input, button').count()).toBe(0);
    expect(await axeFaults(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  }, 40_000);
});
