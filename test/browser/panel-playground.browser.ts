import { readFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { axeFaults, overflow } from './panel.ts';
import { usePanel } from './panel-fixture.ts';

const panels = usePanel('pglite', async (usher) => {
  const demo = await readFile(new URL('../../examples/demo.yaml', import.meta.url), 'utf8');
  await usher.app.manifests.apply(demo, { actor: 'system' });
});

/** Replaces the text of the editor, which stands in a shadow root. */
async function write(page: Page, text: string): Promise<void> {
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+a');
  await page.keyboard.insertText(text);
}

const SMALL = `application: { code: shop, name: Shop }
permissions: [{ code: order.read, type: tiered }]
roles: [{ code: clerk, permissions: { order.read: view } }]
assignments: [{ email: kim@example.com, roles: [clerk] }]
tests: [{ email: kim@example.com, permission: order.read, expect: edit }]
`;

describe('the playground', () => {
  test('works signed out and offline: it asks the service for nothing but its files', async () => {
    // The browser asks for the page's icon again when the address changes, and gets none offline.
    const panel = await panels.open({ expected: /ERR_INTERNET_DISCONNECTED/ });
    const { page } = panel;
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await panel.go('/playground');
    await page.getByText('No', { exact: true }).waitFor();
    await page.locator('.cm-content').waitFor();
    expect(asked.filter((path) => !path.startsWith('/panel/'))).toEqual([]);
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'ada@example.com, invoice.approve: allowed' }).click();
    await page.getByText('Yes, allowed').waitFor();
    await page.getByText('director gives allowed').waitFor();
    await write(page, SMALL);
    await page.getByRole('button', { name: 'kim@example.com, order.read: view' }).click();
    await page.getByText('Yes, view').waitFor();
    expect(await page.getByRole('region', { name: 'Policy tests' }).textContent()).toContain(
      'expected edit, got allowed (level view, by role)',
    );
    expect(panel.complaints).toEqual([]);
    await panel.close();
  });

  test('says each fault with its line, and leads there', async () => {
    const panel = await panels.open();
    const { page } = panel;
    await panel.go('/playground');
    await page.locator('.cm-content').waitFor();
    await write(page, SMALL.replace('roles: [clerk]', 'roles: [clark]'));
    await page.getByText('clark is not a role of shop; did you mean clerk?').waitFor();
    await page.getByRole('button', { name: 'Line 4, column 49' }).click();
    await page.keyboard.insertText('x');
    await page.getByText('xclark is not a role of shop').waitFor();
    await write(page, 'application: [');
    await page.getByText('is not YAML').waitFor();
    expect(panel.complaints).toEqual([]);
    await panel.close();
  });

  test('is shared by its address, once somebody asks for the link', async () => {
    const panel = await panels.open();
    await panel.go('/playground');
    await panel.page.locator('.cm-content').waitFor();
    await write(panel.page, SMALL);
    await panel.page.getByRole('button', { name: 'kim@example.com, order.read: view' }).click();
    await panel.page.getByText('Yes, view').waitFor();
    await panel.page.waitForTimeout(800);
    expect(new URL(panel.page.url()).hash).toBe('');
    // Where the browser forbids the clipboard, the link is shown.
    panel.page.on('dialog', (dialog) => void dialog.dismiss());
    await panel.page.getByRole('button', { name: 'Copy link with the manifest' }).click();
    await panel.page.waitForURL('**/playground#1.*');
    const other = await panels.open();
    await other.go(`/playground${new URL(panel.page.url()).hash}`);
    await other.page.getByText('Yes, view').waitFor();
    expect(await other.page.locator('.cm-content').textContent()).toContain('code: shop');
    expect([...panel.complaints, ...other.complaints]).toEqual([]);
    await panel.close();
    await other.close();
  });

  test('stands beside the live answer when somebody is signed in, and opens an application', async () => {
    const panel = await panels.open({ as: 'admin@example.com' });
    const { page } = panel;
    await panel.go('/ask/playground');
    await page.getByText('The service says: The same.').waitFor();
    await page.getByLabel('Open an application').selectOption('atelier');
    await page.locator('.cm-content').getByText('code: atelier').first().waitFor();
    await page.getByText('No faults').waitFor();
    await page.waitForTimeout(800);
    // Who holds which role there stays in the service.
    expect(new URL(page.url()).hash).toBe('');
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).not.toContain('atelier');
    expect(panel.complaints).toEqual([]);
    await panel.close();
  });

  test('is without faults of accessibility in light and dark, and as wide as a narrow window', async () => {
    for (const dark of [false, true]) {
      const panel = await panels.open({ dark, width: 320, locale: dark ? 'cs-CZ' : 'en-US' });
      await panel.go('/playground');
      await panel.page.locator('.cm-content').waitFor();
      expect(await axeFaults(panel.page)).toEqual([]);
      expect(await overflow(panel.page)).toBe(0);
      expect(panel.complaints).toEqual([]);
      await panel.close();
    }
  });
});
