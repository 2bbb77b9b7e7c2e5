/** The way through the panel that everybody takes, in Firefox: at two widths, in light and dark, with axe finding nothing. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'puppeteer-core';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { launchFirefox, openInFirefox } from './firefox.ts';
import { administer, makeDemo } from './panel-world.ts';

/** The axe that the tests in Chromium use. */
const AXE = readFileSync(
  createRequire(import.meta.resolve('@axe-core/playwright')).resolve('axe-core/axe.min.js'),
  'utf8',
);
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** What axe finds: the rules, and the first places. */
async function axeFaults(page: Page): Promise<unknown> {
  await page.evaluate(AXE);
  return await page.evaluate(
    `axe.run({ runOnly: ${JSON.stringify(TAGS)} }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))`,
  );
}

const click = (page: Page, role: 'button' | 'link' | 'checkbox', name: string) =>
  page.locator(`::-p-aria([role="${role}"][name="${name}"])`).click();
const seen = (page: Page, text: string) => page.locator(`::-p-text(${text})`).wait();
const tooWide = (page: Page) => page.evaluate('Math.max(0, document.documentElement.scrollWidth - innerWidth)');

describe.each([
  { width: 1440, dark: false },
  { width: 390, dark: true },
])('in a window of $width pixels, dark: $dark', ({ width, dark }) => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let browser: Browser;
  beforeAll(async () => {
    [storage, browser] = await Promise.all([createStorage('pglite'), launchFirefox({ dark })]);
    usher = await startUsher(storage);
    await makeDemo(usher);
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await usher?.close();
    await storage?.remove();
  });

  test('an administrator signs in, changes a role, gives it, asks why, and finds it in the activity', async () => {
    const { page, complaints, origin } = await openInFirefox(browser, usher, { width });
    const faults: [string, unknown][] = [];
    const look = async (view: string): Promise<void> => {
      const found = [await axeFaults(page), await tooWide(page)];
      if (JSON.stringify(found) !== '[[],0]') faults.push([view, found]);
    };
    const code = usher.app.developmentSignIn?.code ?? '';

    await page.goto(`${origin}/panel/?code=${code}`);
    await page.locator('::-p-text(admin@example.com)').click();
    await seen(page, 'Last changes');
    expect(await page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")).toBe(dark);
    await look('home');

    await page.goto(`${origin}/panel/applications/atelier/matrix?role=guest`);
    await page.locator('::-p-aria([role="button"][name="New role"])').wait();
    await look('roles');
    await click(page, 'button', 'New role');
    await page.locator('dialog input').fill('Helper');
    await page.keyboard.press('Enter');
    await seen(page, 'Role helper created.');

    await page.goto(`${origin}/panel/applications/atelier/people`);
    await click(page, 'button', 'Add people');
    await page.locator('dialog textarea').fill('eva@example.com');
    await click(page, 'checkbox', 'helper');
    await look('a dialog');
    await click(page, 'button', 'Review');
    await seen(page, 'What this changes');
    await click(page, 'button', 'Save');
    await seen(page, '1 role given.');
    expect(await administer(usher, 'GET /api/users/eva@example.com/apps/atelier/roles')).toEqual([
      expect.objectContaining({ code: 'helper' }),
    ]);
    await look('people');

    await page.goto(`${origin}/panel/ask?app=atelier&email=eva%40example.com&permission=invoice.access`);
    await seen(page, 'The six rules');
    await seen(page, 'helper');
    await look('ask');

    await page.goto(`${origin}/panel/activity`);
    await seen(page, 'eva@example.com');
    await look('activity');

    expect(faults).toEqual([]);
    expect(complaints).toEqual([]);
    await page.close();
  }, 180_000);
});
