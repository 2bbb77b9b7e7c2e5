import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { axeFaults, overflow, settled } from './panel.ts';
import { usePanel } from './panel-fixture.ts';

const NORA = 'nora@example.com';
const VIEW = '/applications/atelier/manifest';
const DEMO = readFileSync(new URL('../../examples/demo.yaml', import.meta.url), 'utf8');

const panels = usePanel('pglite', async () => {
  await applyDemo();
});

/** What is live, as a SuperAdmin sets it, beside the panel. */
async function applyDemo(text = DEMO): Promise<void> {
  const headers = {
    authorization: `Bearer ${await panels.usher.token('admin@example.com')}`,
    'content-type': 'application/yaml',
  };
  const response = await fetch(`${panels.usher.rest}/api/manifests/apply?prune=true`, {
    method: 'POST',
    headers,
    body: text,
  });
  expect(response.status).toBe(200);
}

const editor = (page: Page) => page.locator('.cm-content');
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

/** Replaces the whole text by keyboard, as somebody would who pastes. */
async function write(page: Page, text: string): Promise<void> {
  await editor(page).click();
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.insertText(text);
}

test('has no faults of accessibility, and reflows', async () => {
  for (const dark of [false, true]) {
    const panel = await panels.open({ as: NORA, dark, width: 320 });
    await panel.go(`${VIEW}?prune=1`);
    await editor(panel.page).waitFor();
    expect(await axeFaults(panel.page)).toEqual([]);
    expect(await overflow(panel.page)).toBe(0);
    expect(panel.complaints).toEqual([]);
    await panel.close();
  }
});

test('names faults at their lines before the service is asked, and those that only the service knows', async () => {
  const panel = await panels.open({ as: NORA, expected: /400/ });
  const { page } = panel;
  await panel.go(VIEW);
  await editor(page).waitFor();
  const plans: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST') plans.push(request.url());
  });
  await write(page, DEMO.replace('type: binary', 'type: binari'));
  const line = DEMO.split('\n').findIndex((text) => text.includes('type: binary')) + 1;
  await page.getByText(`Line ${line}`, { exact: true }).waitFor();
  expect(plans).toEqual([]);
  await write(page, DEMO.replace('      project.access: view\n', '      project.acces: view\n'));
  await page.getByText('did you mean project.access?').waitFor();
  const unknown = DEMO.split('\n').indexOf('      project.access: view') + 1;
  await page.getByRole('button', { name: `Line ${unknown}` }).click();
  expect(await page.evaluate('document.activeElement.shadowRoot?.activeElement?.className ?? ""')).toContain(
    'cm-content',
  );
  expect(panel.complaints).toEqual([]);
  await panel.close();
});

test('plans what is drafted, and applies exactly that', async () => {
  const panel = await panels.open({ as: NORA });
  const { page } = panel;
  await panel.go(`${VIEW}?compare=1`);
  await editor(page).waitFor();
  await write(page, DEMO.replace('roles: [guest]', 'roles: [guest, designer]'));
  await page.getByText('2 decisions gained').waitFor();
  await page.getByText('eva@client.example:designer').waitFor();
  await page.locator('.cm-insertedLine, .cm-changedLine').first().waitFor();
  await button(page, 'Save').click();
  await page.getByText('The manifest is saved.').waitFor();
  await page.getByText('The text is what is live.').waitFor();
  await settled(page);
  expect(panel.complaints).toEqual([]);
  await panel.close();
  await applyDemo();
});

test('says how many roles end by pruning', async () => {
  const panel = await panels.open({ as: NORA });
  const { page } = panel;
  await panel.go(`${VIEW}?prune=1`);
  await editor(page).waitFor();
  await write(page, DEMO.replace('roles: [designer, accountant]', 'roles: [designer]'));
  await page.getByText('1 person loses a role').waitFor();
  await page.getByText('1 removed').waitFor();
  expect(panel.complaints).toEqual([]);
  await panel.close();
});

test('keeps the draft and plans anew when something changed since the plan', async () => {
  const panel = await panels.open({ as: NORA, expected: /412/ });
  const { page } = panel;
  // The other change is not heard of before applying.
  await page.route('**/api/admin/stream', (route) => route.abort());
  await panel.go(VIEW);
  await editor(page).waitFor();
  await write(page, DEMO.replace('roles: [guest]', 'roles: [guest, designer]'));
  await page.getByText('2 decisions gained').waitFor();
  await applyDemo(
    DEMO.replace('      project.access: edit\n      document.access: edit\n', '      project.access: view\n'),
  );
  await button(page, 'Save').click();
  await page
    .getByText(/Something changed since this plan|What is live has changed/)
    .first()
    .waitFor();
  expect(await editor(page).textContent()).toContain('Ben closes the project that he leads');
  await panel.close();
  await applyDemo();
});

test('keeps the draft of a view that is left, and offers the way back to what is live', async () => {
  const panel = await panels.open({ as: NORA });
  const { page } = panel;
  await panel.go(VIEW);
  await editor(page).waitFor();
  await write(page, 'application:\n  code: atelier\n  name: Draft\n');
  await page.getByRole('link', { name: 'History' }).click();
  await page
    .getByText(/Role .* given to/)
    .first()
    .waitFor();
  await page.goBack();
  await page.getByText('name: Draft').waitFor();
  await button(page, 'Back to what is live').click();
  await page.getByText('The text is what is live.').waitFor();
  expect(panel.complaints).toEqual([]);
  await panel.close();
});
