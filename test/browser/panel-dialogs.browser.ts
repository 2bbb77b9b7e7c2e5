/** What holds for every dialog: generated over the uses of the panel, so that a new one is asked, too. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { KINDS } from './kinds.ts';
import type { PanelPage } from './panel.ts';
import { usePanel } from './panel-fixture.ts';
import { follow } from './rights-page.ts';
import { makeUsable, USES } from './rights-uses.ts';

const panels = usePanel('pglite', makeUsable);
let panel: PanelPage;

beforeAll(async () => {
  panel = await panels.open({ as: KINDS.superadmin, expected: /status of 40[04]/ });
  await panel.go('/');
  panel.page.setDefaultTimeout(4_000);
}, 120_000);

/** Buttons that open a dialog; the others write at once, or are of a form. */
const OPENERS = USES.filter(({ control, title }) => control.startsWith('button ') && !/^(Save|Send|Draft)/.test(title))
  .map(({ path, control }) => ({ path, button: control.slice('button '.length) }))
  .filter(({ path, button }, at, all) => all.findIndex((one) => one.path === path && one.button === button) === at);

/** A place to type that is empty, and no choice of a list. */
const EMPTY_FIELD =
  'input:not([type]):visible, input[type=text]:visible, input[type=email]:visible, input[type=url]:visible, textarea:visible';

async function typeable(dialog: Locator): Promise<Locator | null> {
  for (const field of await dialog.locator(EMPTY_FIELD).all()) {
    if (await field.isEditable()) return field;
  }
  return null;
}

/** Composes a text as an input method does, and ends it with a key that is also a command. */
async function compose(page: Page, key: 'Enter' | 'Escape'): Promise<void> {
  const browser = await page.context().newCDPSession(page);
  await browser.send('Input.imeSetComposition', { text: 'に', selectionStart: 1, selectionEnd: 1 });
  const pressed = { key, code: key, windowsVirtualKeyCode: 229 };
  await browser.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', ...pressed });
  await browser.send('Input.dispatchKeyEvent', { type: 'keyUp', ...pressed });
  await browser.detach();
}

/** Asks one dialog everything; false where its button is not there, for another use makes what it is about. */
async function asked({ path, button }: (typeof OPENERS)[number]): Promise<boolean> {
  const { page } = panel;
  await follow(page, path);
  const opener = page.locator('main').getByRole('button', { name: button, exact: true }).first();
  if (!(await opener.isVisible())) return false;
  await opener.click();
  const dialog = page.locator('dialog[open]');
  await dialog.waitFor();
  await dialog.locator('[data-loading]').first().waitFor({ state: 'detached' });
  // Whatever cannot be done says why.
  for (const off of await dialog.locator('button[disabled]:not([aria-busy]), button[aria-disabled]').all()) {
    const id = await off.getAttribute('aria-describedby');
    expect((await dialog.locator(`[id="${id}"]`).textContent())?.length ?? 0).toBeGreaterThan(5);
  }
  const field = await typeable(dialog);
  if (field === null) {
    await page.keyboard.press('Escape');
  } else {
    await field.focus();
    for (const key of ['Enter', 'Escape'] as const) await compose(page, key);
    expect(await dialog.count()).toBe(1);
    await field.fill('');
    await field.press('x');
    const question = dialog.getByText('What you typed is lost if you leave.');
    // A list of suggestions may be open: it is the innermost.
    await page.keyboard.press('Escape');
    if (!(await question.isVisible())) await page.keyboard.press('Escape');
    await question.waitFor();
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'detached' });
    expect(await field.inputValue()).toBe('x');
    await page.keyboard.press('Escape');
    await dialog.getByRole('button', { name: 'Leave', exact: true }).click();
  }
  await dialog.waitFor({ state: 'detached' });
  expect(page.url()).toContain(path.split('?')[0]);
  return true;
}

describe('a dialog', () => {
  test('keeps what is typed, and says what it lacks', async () => {
    const { page, complaints } = panel;
    const writes: string[] = [];
    page.on('request', (request) => {
      if (request.method() !== 'GET' && !/dryRun|preview|explain|effective|subjects/.test(request.url()))
        writes.push(`${request.method()} ${request.url()}`);
    });
    const faults: string[] = [];
    let count = 0;
    for (const opener of OPENERS) {
      try {
        if (await asked(opener)) count += 1;
      } catch (error) {
        faults.push(`${opener.button} at ${opener.path}: ${String(error).slice(0, 400)}`);
        await page.reload();
      }
    }
    expect(faults).toEqual([]);
    expect(count).toBeGreaterThan(25);
    expect([writes, complaints]).toEqual([[], []]);
  });

  test('beside which Escape never leaves the page', async () => {
    const { page } = panel;
    await follow(page, '/applications/atelier/matrix/guest');
    await page.keyboard.press('Escape');
    await page.waitForTimeout(50);
    expect(page.url()).toContain('/matrix/guest');
  });

  test('whose save is refused goes to the first fault', async () => {
    const { page } = panel;
    await follow(page, '/applications/atelier/records/entities');
    await page.locator('main').getByRole('button', { name: 'New entity' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Code', { exact: true }).fill('No Code');
    await dialog.getByLabel('Name', { exact: true }).fill('Name');
    await dialog.getByLabel('List endpoint').fill('https://example.com/items');
    await dialog.getByLabel('List endpoint').press('Enter');
    await dialog.locator('[aria-invalid=true]:focus').waitFor();
    expect(await dialog.getByLabel('Code', { exact: true }).evaluate((field) => field.matches(':focus'))).toBe(true);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
  });
});
