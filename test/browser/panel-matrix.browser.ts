import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';
import { launchChromium } from './chromium.ts';
import { axeFaults, openPanel, overflow, settled } from './panel.ts';
import { administer, makeReader, makeWide } from './panel-world.ts';

const ADMIN = 'admin@example.com';
const READER = 'reader@example.com';
const MATRIX = '/applications/atelier/matrix';

let storage: TestStorage;
let usher: RunningUsher;
let browser: Browser;

beforeAll(async () => {
  [storage, browser] = await Promise.all([createStorage('pglite'), launchChromium()]);
  usher = await startUsher(storage);
  await makeReader(usher, READER);
  await makeWide(usher, 'wide', 500, 100);
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await usher?.close();
  await storage?.remove();
});

interface MatrixAnswer {
  readonly permissions: readonly { readonly id: number; readonly code: string }[];
  readonly roles: readonly { readonly id: number; readonly code: string }[];
  readonly levels: readonly { readonly roleId: number; readonly permissionId: number; readonly accessLevel: string }[];
}

/** What the service holds in a cell. */
async function held(role: string, permission: string): Promise<string | null> {
  const matrix = (await administer(usher, 'GET /api/applications/atelier/matrix')) as MatrixAnswer;
  const roleId = matrix.roles.find(({ code }) => code === role)?.id;
  const permissionId = matrix.permissions.find(({ code }) => code === permission)?.id;
  const found = matrix.levels.find((level) => level.roleId === roleId && level.permissionId === permissionId);
  return found?.accessLevel ?? null;
}

function cell(page: Page, permission: string, role: string) {
  return page.locator(`[role=gridcell][aria-label^="${permission}, ${role}:"]`);
}

/** The name of what has the focus. */
async function focused(page: Page): Promise<string | null> {
  return await page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent");
}

describe('the matrix', () => {
  test('is changed, reviewed, saved and undone by keyboard alone', async () => {
    const { page, complaints, go, close } = await openPanel(browser, usher, { as: ADMIN });
    await go(MATRIX);
    await page.locator('[role=gridcell][tabindex="0"]').focus();
    await page.keyboard.press('Control+End');
    expect(await focused(page)).toBe('workspace.settings, guest: no access');
    await page.keyboard.press('Control+Home');
    expect(await focused(page)).toBe('invoice.access, accountant: edit');
    await page.keyboard.press('ArrowUp');
    expect(await focused(page)).toBe('accountant');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowLeft');
    expect(await focused(page)).toBe('invoice.access');
    await page.keyboard.press('End');
    // Space cycles, E and V set, Delete takes away; Ctrl+Z steps back.
    await page.keyboard.press('Space');
    expect(await focused(page)).toBe('invoice.access, guest: view, changed from no access');
    await page.keyboard.press('e');
    await page.keyboard.press('Control+z');
    expect(await focused(page)).toBe('invoice.access, guest: view, changed from no access');
    // A range: from invoice.access down over two rows.
    await page.keyboard.press('Shift+ArrowDown');
    await page.keyboard.press('Shift+ArrowDown');
    await page.getByText('3 cells selected').waitFor();
    await page.keyboard.press('a');
    await page.getByText('3 changes').first().waitFor();
    await page.keyboard.press('Control+z');
    await page.getByText('1 change', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Review' }).press('Enter');
    await page.getByText('gets view on invoice.access').waitFor();
    await page.getByText('1 decision gained').waitFor();
    await page.getByRole('button', { name: 'Apply' }).press('Enter');
    await page.getByText('1 cell changed.').waitFor();
    expect(await held('guest', 'invoice.access')).toBe('view');
    await page.getByRole('button', { name: 'Undo' }).press('Enter');
    await expect.poll?.(() => held('guest', 'invoice.access')).toBeNull();
    expect(complaints).toEqual([]);
    await close();
  }, 40_000);
});
