import { describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { systemClock } from '../../src/base/clock.ts';
import { Mailbox } from '../../src/delivery/mailbox.ts';
import { Rest } from '../support/rest.ts';
import { countRequests, KINDS, makeKinds, REFUSED_STREAM } from './kinds.ts';
import { axeFaults, overflow, settled } from './panel.ts';
import { usePanel } from './panel-fixture.ts';

let root: Rest;
const panels = usePanel('pglite', async (usher) => {
  await makeKinds(usher);
  root = await Rest.as(usher, KINDS.superadmin);
});

const send = (recipient: string, subject: string, body = 'Have a look.') =>
  root.post('/api/applications/atelier/notifications', { recipients: [recipient], subject, body });

/** Puts a mail there, as the delivery does. */
const keep = (subject: string, html: string): Promise<string> =>
  new Mailbox(panels.usher.app.config.dataDir, systemClock).keep({
    from: { address: 'a@example.com', name: 'A' },
    to: 'hal@example.com',
    subject,
    html,
    text: 'Text <b>',
    messageId: '<1@example.com>',
    headers: { 'X-Kind': '<i>' },
  });
const LINKED = '<!doctype html><html><head></head><body><a href="https://example.com/">There</a></body></html>';
const mailLink = (page: Page, subject: string) => page.getByRole('link', { name: subject });

describe('the development mailbox', () => {
  test('shows new mail by itself, keeps the focus, and filters by recipient', async () => {
    await send('fay@example.com', 'The first');
    const { page, go, complaints, close } = await panels.open({ as: KINDS.superadmin });
    const requests = countRequests(page);
    await go('/mailbox');
    expect(requests()).toBeLessThanOrEqual(6);
    await mailLink(page, 'The first').focus();
    await send('gus@example.com', 'The second');
    await mailLink(page, 'The second').waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe('The first');
    expect(await page.getByRole('status').filter({ hasText: 'mails' }).textContent()).toBe(
      '2 mails. New mail appears by itself.',
    );
    await page.getByRole('searchbox').fill('GUS@');
    await page.getByText('1 mail. New mail appears by itself.').waitFor();
    expect(page.url()).toContain('/panel/mailbox?q=GUS%40');
    await page.reload();
    await page.getByText('1 mail. New mail appears by itself.').waitFor();
    expect(await page.getByRole('searchbox').inputValue()).toBe('GUS@');
    expect(complaints).toEqual([]);
    await close();
  });

  test('is read by keyboard alone: go there, open a mail, turn it dark, go to the list', async () => {
    await keep('By keys', LINKED);
    const { page, go, complaints, close } = await panels.open({ as: KINDS.superadmin });
    await go('/');
    await page.keyboard.type('gm');
    await mailLink(page, 'By keys').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'By keys' }).waitFor();
    await page.frameLocator('iframe').getByRole('link', { name: 'There' }).waitFor();
    const focused = () => page.evaluate('document.activeElement.textContent');
    for (let presses = 0; presses < 20 && (await focused()) !== 'Dark'; presses++) await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await page.waitForURL('**?scheme=dark');
    // Escape leaves no page.
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { level: 1, name: 'By keys' }).waitFor();
    await page.keyboard.type('gm');
    await mailLink(page, 'By keys').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('opens links of a mail in isolated tabs, and runs nothing of a mail', async () => {
    const elsewhere = panels.usher.rest;
    const ran = "document.body.append('RAN'); alert(1)";
    const id = await keep(
      '<script>alert(1)</script>',
      `<!doctype html><html><head><title>x</title><meta http-equiv="refresh" content="0; url=${elsewhere}"></head>
<body onload="${ran}"><script>${ran}</script>
<p><a href="${elsewhere}/api/docs" rel="opener">out</a></p><p><a href="javascript:${ran}">script</a></p><p><a href="/panel/settings">path</a></p>
<p><a href="${elsewhere}/api/docs?top" target="_top">top</a></p><form action="${elsewhere}"><button>send</button></form></body></html>`,
    );
    // The policy that lets no script run is what the browser reports; the tab of a link is another page.
    const expected = /script-src|inline (event handler|script)|docs/;
    const { page, go, complaints, close } = await panels.open({ as: KINDS.superadmin, besides: [elsewhere], expected });
    const dialogs: string[] = [];
    page.on('dialog', (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    await go(`/mailbox/${id}`);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('<script>alert(1)</script> ');
    const frame = page.frameLocator('iframe');
    for (const name of ['script', 'path']) await frame.getByRole('link', { name }).click();
    await frame.getByRole('button', { name: 'send' }).click();
    const tabs: Page[] = [];
    for (const press of [
      () => frame.getByRole('link', { name: 'out' }).click(),
      () => frame.getByRole('link', { name: 'top' }).press('Enter'),
    ]) {
      const [tab] = await Promise.all([page.context().waitForEvent('page'), press()]);
      await tab.waitForLoadState();
      tabs.push(tab);
    }
    expect(tabs.map((tab) => new URL(tab.url()).pathname + new URL(tab.url()).search)).toEqual([
      '/api/docs',
      '/api/docs?top',
    ]);
    for (const tab of tabs) {
      expect(await tab.evaluate('window.opener')).toBeNull();
      // It is a page as any other: the sandbox of the mail is not its own.
      expect(await tab.evaluate('self.origin')).not.toBe('null');
    }
    expect(page.context().pages()).toHaveLength(3);
    expect(new URL(page.url()).pathname).toBe(`/panel/mailbox/${id}`);
    expect(await frame.locator('body').innerText()).not.toContain('RAN');
    expect(dialogs).toEqual([]);
    expect(await page.getByText('Text <b>').count()).toBe(1);
    await page.getByText('Headers').click();
    await page.getByText('<i>').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('needs no sign-in, and is where /dev/mail leads a browser', async () => {
    await keep('For anybody', LINKED);
    const { page, go, complaints, close } = await panels.open();
    await go('/mailbox');
    const origin = new URL(page.url()).origin;
    await page.goto(`${origin}/dev/mail?q=anybody`);
    await mailLink(page, 'For anybody').waitFor();
    expect(new URL(page.url()).pathname).toBe('/panel/mailbox');
    await mailLink(page, 'For anybody').click();
    await page.frameLocator('iframe').getByRole('link', { name: 'There' }).waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await page.goto(`${origin}/dev/mail/000000000000001-00000000`);
    await page.getByText('This mail is no longer here.').waitFor();
    await page.getByRole('link', { name: 'All mail' }).click();
    await mailLink(page, 'For anybody').waitFor();
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByText('Open the link that the service printed').waitFor();
    // The browser itself reports the mail that is not there.
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([]);
    await close();
  });

  test('is reached from the navigation and the palette by everybody, and from home and the notifications', async () => {
    for (const as of [KINDS.superadmin, KINDS.view, KINDS.nobody]) {
      const { page, go, complaints, close } = await panels.open({ as, expected: REFUSED_STREAM });
      await go('/');
      await page.getByRole('navigation').getByRole('link', { name: 'Mailbox' }).click();
      await page.getByRole('heading', { level: 1, name: 'Development mailbox' }).waitFor();
      await page.keyboard.press('Control+k');
      await page.keyboard.type('mailbox');
      await page.getByRole('option', { name: /Go to Mailbox/ }).waitFor();
      await page.keyboard.press('Escape');
      for (const place of as === KINDS.nobody ? [] : ['/', '/notifications']) {
        await go(place);
        await page.getByRole('main').getByRole('link', { name: 'Development mailbox' }).click();
        await page.getByRole('heading', { level: 1, name: 'Development mailbox' }).waitFor();
      }
      expect(complaints).toEqual([]);
      await close();
    }
  });

  test('has no faults of accessibility, and fits a narrow window, in light, dark and Czech', async () => {
    await send('ben@example.com', 'ř'.repeat(200));
    const id = await keep(
      'An unbroken subject '.padEnd(220, 'x'),
      `<!doctype html><head></head><p>${'y'.repeat(400)}</p>`,
    );
    for (const dark of [false, true]) {
      const locale = dark ? 'cs-CZ' : 'en-US';
      const panel = await panels.open({ as: KINDS.superadmin, dark, locale, width: 320 });
      for (const path of ['/mailbox', `/mailbox/${id}`]) {
        await panel.go(path);
        await settled(panel.page);
        expect([path, await axeFaults(panel.page)]).toEqual([path, []]);
        expect([path, await overflow(panel.page)]).toEqual([path, 0]);
      }
      expect(panel.complaints).toEqual([]);
      await panel.close();
    }
  }, 90_000);
});
