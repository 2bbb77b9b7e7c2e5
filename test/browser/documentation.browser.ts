import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type BuiltPanel, buildPanel, documentationFiles } from '../support/panel-folder.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { type RunningBrowser, startChromium } from './chromium.ts';
import { watch } from './complaints.ts';

let storage: TestStorage;
let built: BuiltPanel;
let usher: RunningUsher;
let browser: RunningBrowser;
let home: string;

beforeAll(async () => {
  [storage, browser, built] = await Promise.all([
    createStorage('pglite'),
    startChromium(),
    buildPanel({ 'index.html': '', ...(await documentationFiles()) }),
  ]);
  usher = await startUsher(storage, { parts: { panelFolder: pathToFileURL(`${built.path}/`) } });
  home = usher.app.publicUrl();
}, 90_000);
afterAll(async () => {
  await Promise.all([usher?.close(), browser?.close(), built?.remove()]);
  await storage?.remove();
});

const code = () => usher.app.developmentSignIn?.code ?? '';
const open = (path: string) => watch(browser.context, home + path, [home]);

/** Opens the group of an operation, and it. The list holds only what is on the screen. */
async function operation({ page }: Awaited<ReturnType<typeof open>>, path: string) {
  await page.getByRole('textbox', { name: 'Filter by tag or path' }).fill(path);
  const block = page.locator('.opblock', { has: page.locator(`[data-path="${path}"]`) }).first();
  const body = block.locator('.opblock-body');
  while (!(await block.isVisible())) {
    const closed = page.locator('.opblock-tag-section:not(.is-open) .opblock-tag');
    if (await closed.first().isVisible()) await closed.first().click();
    await page.waitForTimeout(500);
  }
  // The list is drawn again a moment after the filter has changed, and a click before is lost.
  while (!(await body.isVisible())) {
    await block.locator('.opblock-summary-control').click();
    await page.waitForTimeout(500);
  }
  return block;
}

test('the API documentation finds operations by their path, without an error or a violation of its policy', async () => {
  const opened = await open('/api/docs');
  const { page, complaints } = opened;
  await page.locator('.opblock-tag').first().waitFor();
  // Groups are closed: what is drawn first is short.
  expect(await page.locator('.opblock').count()).toBe(0);
  expect(await page.title()).toBe('Usher API');
  const document = (await (await fetch(`${home}/api/openapi.json`)).json()) as { paths: Record<string, object> };
  const [last = ''] = Object.keys(document.paths).slice(-1);
  for (const path of ['/api/check', '/api/applications/{appCode}/matrix', last])
    await (await operation(opened, path)).waitFor();
  // Code in a description is an element, and nothing of a description is HTML.
  expect(await page.locator('.markdown code').count()).toBeGreaterThan(0);
  expect(complaints).toEqual([]);
  await page.close();
}, 60_000);

test('a call from the documentation is made with the token of the person chosen', async () => {
  const opened = await open(`/api/docs#code=${code()}`);
  const { page, complaints } = opened;
  await page.getByRole('button', { name: 'admin@example.com' }).click();
  await page.getByText('Calls are made as admin@example.com, for an hour.').waitFor();
  // The code leaves the address bar, and with it the history.
  expect(page.url()).toBe(`${home}/api/docs`);
  const block = await operation(opened, '/api/languages');
  await block.getByRole('button', { name: 'Execute' }).click();
  await block.locator('.live-responses-table .response-col_status').getByText('200').first().waitFor();
  expect(complaints).toEqual([]);
  await page.close();
}, 60_000);

test('a call with the key of a backend is made from the documentation', async () => {
  const opened = await open('/api/docs');
  const { page, complaints } = opened;
  await page.locator('.opblock-tag').first().waitFor();
  await page.getByRole('button', { name: 'Authorize' }).first().click();
  const dialog = page.locator('.modal-ux');
  const key = dialog.locator('.auth-container', { hasText: 'x-internal-api-key' });
  await key.locator('input').fill(usher.app.localKey ?? '');
  await key.getByRole('button', { name: 'Apply credentials' }).click();
  await dialog.locator('.close-modal').click();
  const block = await operation(opened, '/api/check');
  const sent = page.waitForRequest(`${home}/api/check`);
  await block.getByRole('button', { name: 'Execute' }).click();
  expect((await (await sent).allHeaders())['x-internal-api-key']).toBe(usher.app.localKey);
  await block.locator('.live-responses-table .response-col_status').getByText('200').first().waitFor();
  expect(complaints).toEqual([]);
  await page.close();
}, 60_000);

test('without the code nobody is offered, and a wrong one is refused in words', async () => {
  const { page } = await open('/api/docs');
  await page.getByLabel('Code of this start').fill('wrong');
  await page.getByRole('button', { name: 'Show people' }).click();
  await page.getByRole('status').getByText('This is not the code of this start').waitFor();
  expect(await page.locator('#people button').count()).toBe(0);
  await page.getByLabel('Code of this start').fill(code());
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'admin@example.com' }).waitFor();
  await page.close();
}, 60_000);

test('opened at 127.0.0.1 the documentation moves to the host of publicUrl, with its code', async () => {
  const { page, complaints } = await watch(browser.context, `${usher.rest}/api/docs#code=${code()}`, [
    home,
    usher.rest,
  ]);
  await page.getByRole('button', { name: 'admin@example.com' }).waitFor();
  expect(page.url()).toBe(`${home}/api/docs`);
  expect(complaints).toEqual([]);
  await page.close();
}, 60_000);

test('on a phone, in the dark, the documentation is not wider than the screen', async () => {
  const { page, complaints } = await open(`/api/docs#code=${code()}`);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.locator('.opblock-tag').first().waitFor();
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
  expect(await page.evaluate("document.documentElement.classList.contains('dark-mode')")).toBe(true);
  expect(
    await page.evaluate("[document.querySelectorAll('main').length, document.querySelectorAll('h1').length]"),
  ).toEqual([1, 1]);
  expect(complaints).toEqual([]);
  await page.close();
}, 60_000);
