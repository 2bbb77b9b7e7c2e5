import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page, Route } from 'playwright-core';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { launchShell } from './chromium.ts';
import { openPanel, type PanelOptions, type PanelPage } from './panel.ts';
import { administer, makeDemo } from './panel-world.ts';

const ADMIN = 'admin@example.com';
const OWNER = 'owner@example.com';
/** The browser's own lines for requests that fail. */
const FAILED = /Failed to load resource|net::ERR_/;
const QUESTION = '?app=atelier&email=clara@example.com&permission=project.access&resourceType=project&resourceId=1042';

let storage: TestStorage;
let usher: RunningUsher;
let browser: Browser;

beforeAll(async () => {
  [storage, browser] = await Promise.all([createStorage('postgresql'), launchShell()]);
  usher = await startUsher(storage);
  await makeDemo(usher);
  await administer(usher, 'POST /api/users/admins/apps/atelier', { email: OWNER });
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await usher?.close();
  await storage?.remove();
});

const open = (options: PanelOptions = {}): Promise<PanelPage> =>
  openPanel(browser, usher, { as: ADMIN, expected: FAILED, ...options });

const retry = (page: Page) => page.getByRole('button', { name: 'Try again' });

describe('a service in trouble', () => {
  test('a list that hangs says that it takes long, then that nobody answered, and is read at a press', async () => {
    const { page, close, complaints } = await open();
    const held: Route[] = [];
    await page.route('**/api/applications?*', (route) => void held.push(route));
    await page.goto(`${usher.rest.replace('127.0.0.1', 'localhost')}/panel/applications`);
    await page.getByText('This takes longer than usual.').waitFor();
    await page.getByText('Usher did not answer in time.').waitFor({ timeout: 25_000 });
    // One question, and no other behind its back.
    expect(held).toHaveLength(1);
    await page.unroute('**/api/applications?*');
    await retry(page).click();
    await page.getByRole('link', { name: 'Atelier' }).first().waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test('a service that was restarted is found again, and what was typed meanwhile is saved', async () => {
    const { page, go, close, complaints } = await open();
    await go('/settings');
    await page.getByLabel('Shown as').fill('Admin of the night');
    const port = new URL(usher.rest).port;
    await usher.close();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('Usher cannot be reached. What you typed is kept.').waitFor();
    await page.getByText('Live changes are interrupted; trying again.').waitFor();
    usher = await startUsher(storage, { env: { HTTP_PORT: port } });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    await page.getByText('Live changes are interrupted; trying again.').waitFor({ state: 'detached' });
    const { displayName } = (await administer(usher, 'GET /api/profile/me')) as { displayName: string };
    expect(displayName).toBe('Admin of the night');
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);

  test('a page that cannot start says so, and starts at a press', async () => {
    for (const [locale, button] of [
      ['en-US', 'Try again'],
      ['cs-CZ', 'Zkusit znovu'],
    ] as const) {
      const { page, close, complaints } = await open({ locale });
      await page.route('**/panel/config.json', (route) => route.fulfill({ status: 503 }));
      await page.goto(`${usher.rest.replace('127.0.0.1', 'localhost')}/panel/applications`);
      await page.getByRole('alert').waitFor();
      await page.unroute('**/panel/config.json');
      await page.getByRole('button', { name: button }).click();
      await page.getByRole('link', { name: 'Atelier' }).first().waitFor();
      expect(complaints).toEqual([]);
      await close();
    }
  });

  test('the bench answers where its catalog cannot be read, and reads it at a press', async () => {
    const { page, close } = await open();
    await page.route('**/api/applications/atelier/matrix', (route) => route.fulfill({ status: 500, body: '{}' }));
    await page.goto(`${usher.rest.replace('127.0.0.1', 'localhost')}/panel/ask${QUESTION}`);
    await page.getByText('No', { exact: true }).waitFor();
    await retry(page).waitFor();
    await page.unroute('**/api/applications/atelier/matrix');
    await retry(page).click();
    await page.getByRole('region', { name: 'What would change it?' }).getByRole('listitem').first().waitFor();
    await close();
  });
});

test('a list endpoint that hangs and then fails takes neither the text nor the focus from who types an id', async () => {
  const { page, go, close, complaints } = await open();
  const entities = (await administer(usher, 'GET /api/applications/atelier/entities')) as {
    id: number;
    code: string;
  }[];
  const project = entities.find(({ code }) => code === 'project');
  const entity = `PUT /api/applications/atelier/entities/${String(project?.id)}`;
  await administer(usher, entity, { listEndpoint: 'https://atelier.example/projects' });
  const hanging = Promise.withResolvers<void>();
  const refuse = async (route: Route): Promise<void> => {
    await hanging.promise;
    // Questions about less text have been given up meanwhile.
    await route.fulfill({ status: 400, json: { message: 'no' } }).catch(() => undefined);
  };
  await page.route('**/entities/project/items?*', refuse);
  await go('/applications/atelier/records?edit=1&of=clara%40example.com&rt=project');
  const field = page.getByRole('dialog').getByRole('combobox', { name: 'Project number' });
  const asked = page.waitForRequest('**/entities/project/items?*q=77*');
  await field.pressSequentially('77');
  await asked;
  hanging.resolve();
  await page.getByRole('dialog').getByText('The application did not list its records.').waitFor();
  await page.keyboard.type('8');
  expect(await field.inputValue()).toBe('778');
  expect(complaints).toEqual([]);
  await administer(usher, entity, { listEndpoint: null });
  await close();
});

describe('a page that stays open', () => {
  test('loses the right to administer: what it offers goes without a reload', async () => {
    const { page, go, close } = await open({ as: OWNER });
    await go('/applications/atelier/permissions');
    await page.getByRole('button', { name: 'New permission' }).waitFor();
    await administer(usher, `DELETE /api/users/admins/apps/atelier/${OWNER}`);
    await page.getByRole('button', { name: 'New permission' }).waitFor({ state: 'detached' });
    await go('/');
    expect(await page.getByRole('link', { name: 'Applications' }).count()).toBe(0);
    await administer(usher, 'POST /api/users/admins/apps/atelier', { email: OWNER });
    await close();
  });

  test('is of an older version: it offers to reload', async () => {
    const { page, go, close } = await open();
    await go('/applications');
    await page.route('**/panel/config.json', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ json: { ...((await response.json()) as object), version: '99.0.0' } });
    });
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    const reload = page.getByRole('status').getByRole('button', { name: 'Reload' });
    await reload.waitFor();
    await page.unroute('**/panel/config.json');
    await reload.click();
    await page.getByRole('link', { name: 'Atelier' }).first().waitFor();
    expect(await reload.count()).toBe(0);
    await close();
  });
});

test('a view whose code is gone after an upgrade offers to reload, and the reload brings it', async () => {
  const { page, go, close } = await openPanel(browser, usher, { as: ADMIN, expected: /./ });
  await go('/');
  // Of the older version: the next does not have these files any more.
  await page.route('**/panel/assets/*.js', (route) => route.fulfill({ status: 404, body: '' }));
  await page.getByRole('link', { name: 'Brands' }).first().click();
  const reload = page.getByRole('button', { name: 'Reload' }).first();
  await reload.waitFor();
  await page.unroute('**/panel/assets/*.js');
  await reload.click();
  await page.getByRole('heading', { name: 'Brands', level: 1 }).waitFor();
  await close();
});

test('a browser that blocks its storage has the whole panel, and keeps nothing', async () => {
  const { page, close, complaints } = await openPanel(browser, usher);
  await page.addInitScript(`for (const area of ['localStorage', 'sessionStorage'])
    Object.defineProperty(self, area, { get() { throw new DOMException('blocked', 'SecurityError') } })`);
  const code = usher.app.developmentSignIn?.code ?? '';
  await page.goto(`${usher.rest.replace('127.0.0.1', 'localhost')}/panel/settings?code=${encodeURIComponent(code)}`);
  await page.getByLabel('Theme').selectOption('dark');
  expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark');
  await page.getByRole('link', { name: 'Applications' }).click();
  await page.getByRole('link', { name: 'Atelier' }).first().waitFor();
  expect(complaints).toEqual([]);
  await close();
});

describe('what is typed and not saved', () => {
  /** A form, the field that is typed into, and the way away from it. */
  const forms = [
    ['a profile', '/settings', 'First name'],
    ['a send', '/notifications/send', 'Recipients'],
    ['a brand', '/brands/default', 'Sender’s name'],
    ['a template', '/applications/atelier/messages/generic/default/en', 'Subject'],
  ] as const;

  test.each(forms)('of %s is there after going elsewhere and back, until it is discarded', async (_, path, label) => {
    const { page, go, close } = await open();
    await go(path);
    await page.getByLabel(label).first().fill('typed at night');
    await page.getByRole('link', { name: 'Activity' }).first().click();
    await page.waitForURL('**/activity');
    await page.goBack();
    const field = page.getByLabel(label).first();
    await field.waitFor();
    expect(await field.inputValue()).toBe('typed at night');
    await page.getByRole('button', { name: 'Discard' }).click();
    expect(await field.inputValue()).not.toBe('typed at night');
    await page.getByRole('link', { name: 'Activity' }).first().click();
    await page.goBack();
    await field.waitFor();
    expect(await field.inputValue()).not.toBe('typed at night');
    await close();
  });

  test('is asked about before the tab is closed, from any view', async () => {
    const { page, go, close } = await open();
    await go('/settings');
    await page.getByLabel('First name').fill('typed at night');
    await page.getByRole('link', { name: 'Activity' }).first().click();
    const asked = page.waitForEvent('dialog');
    await page.close({ runBeforeUnload: true });
    const dialog = await asked;
    expect(dialog.type()).toBe('beforeunload');
    await dialog.accept();
    await close();
  });
});
