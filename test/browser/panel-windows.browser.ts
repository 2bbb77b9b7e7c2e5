/** Beginnings and ends of grants: chosen where a grant is made, and shown wherever it is. */
import { describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { axeFaults, overflow, type PanelPage, settled } from './panel.ts';
import { usePanel } from './panel-fixture.ts';
import { administer, makeDemo } from './panel-world.ts';

const ADMIN = 'admin@example.com';
const DAY = 24 * 3600_000;
const panels = usePanel('pglite', makeDemo);

interface Held {
  readonly code: string;
  readonly startsAt: string | null;
  readonly endsAt: string | null;
}

const rolesOf = async (email: string) =>
  (await administer(panels.usher, `GET /api/users/${email}/apps/atelier/roles`)) as Held[];
const endOf = async (email: string, role: string) => (await rolesOf(email)).find(({ code }) => code === role)?.endsAt;
const ahead = (days: number) => new Date(Date.now() + days * DAY).toISOString();

async function press(page: Page, ...names: string[]): Promise<void> {
  for (const name of names) await page.getByRole('dialog').getByRole('button', { name, exact: true }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await settled(page);
}

/** Axe finds nothing, and nothing is wider than the window. */
async function expectGood({ page }: PanelPage): Promise<void> {
  expect([await axeFaults(page), await overflow(page)]).toEqual([[], 0]);
}

describe.each([
  { width: 1280, dark: false },
  { width: 390, dark: true },
])('in a window of $width pixels, dark: $dark', ({ width, dark }) => {
  const email = `until-${width}@example.com`;

  test('people are added for a week: a role with an end is given by itself', async () => {
    const panel = await panels.open({ as: ADMIN, width, dark });
    const { page } = panel;
    await panel.go('/applications/atelier/people');
    await page.getByRole('button', { name: 'Add people' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('E-mail addresses').fill(email);
    await dialog.getByRole('checkbox', { name: 'designer' }).check();
    await dialog.getByRole('checkbox', { name: 'guest' }).check();
    await dialog.getByLabel('designer until').selectOption('week');
    // The moment in the time of the reader and in UTC.
    await dialog.getByText('(UTC)').waitFor();
    await expectGood(panel);
    expect(await dialog.getByRole('button', { name: 'Review' }).getAttribute('title')).toContain('given by itself');
    await dialog.getByRole('checkbox', { name: 'guest' }).uncheck();
    await dialog.getByRole('button', { name: 'Review' }).click();
    await dialog.getByText(/designer until /).waitFor();
    await press(page, 'Save');
    const designer = await endOf(email, 'designer');
    const days = (Date.parse(designer ?? '') - Date.now()) / DAY;
    expect(days).toBeGreaterThan(7);
    expect(days).toBeLessThan(8.1);
    expect(panel.complaints).toEqual([]);
    await panel.close();
  }, 60_000);

  test('an end is changed by keyboard to a date, and back by Undo', async () => {
    const before = await endOf(email, 'designer');
    const panel = await panels.open({ as: ADMIN, width, dark });
    const { page } = panel;
    await panel.go(`/applications/atelier/people?edit=${email}`);
    const field = page.getByLabel('designer ends at');
    await field.waitFor();
    await field.fill('2031-05-06T07:08');
    await expectGood(panel);
    await page.getByRole('dialog').getByRole('button', { name: 'Review' }).press('Enter');
    await page
      .getByRole('dialog')
      .getByText(/until May 6, 2031/)
      .waitFor();
    await press(page, 'Save');
    const local = (await page.evaluate("new Date('2031-05-06T07:08').toISOString()")) as string;
    expect(await endOf(email, 'designer')).toBe(local);
    await page.getByRole('button', { name: 'Undo' }).click();
    await settled(page);
    for (let tries = 0; tries < 100 && (await endOf(email, 'designer')) === local; tries++)
      await page.waitForTimeout(50);
    expect(await endOf(email, 'designer')).toBe(before);
    expect(panel.complaints).toEqual([]);
    await panel.close();
  }, 60_000);

  test('what ends and what has not begun is said of a person, and found by filters and at home', async () => {
    const roles = [
      { role: 'designer', endsAt: ahead(2) },
      { role: 'guest', startsAt: ahead(3), endsAt: ahead(30) },
    ];
    await administer(panels.usher, `PUT /api/users/${email}/apps/atelier/roles`, { roles });
    const panel = await panels.open({ as: ADMIN, width, dark });
    const { page } = panel;
    await panel.go('/');
    await page.getByRole('link', { name: /grants? ends? within 7 days/ }).click();
    await settled(page);
    await page.getByRole('link', { name: email }).first().waitFor();
    await expectGood(panel);
    await panel.go(`/people/${encodeURIComponent(email)}`);
    const windows = page.getByRole('list', { name: 'Roles with an end' });
    await windows.getByText(/^until /).waitFor();
    await windows.getByText(/^from .*, not begun$/).waitFor();
    await expectGood(panel);
    await panel.go('/applications/atelier/people?ending=7');
    await page.getByRole('link', { name: email }).first().waitFor();
    await page
      .getByText(/^until /)
      .first()
      .waitFor();
    expect(await page.getByRole('link', { name: 'clara@example.com' }).count()).toBe(0);
    expect(panel.complaints).toEqual([]);
    await panel.close();
  }, 60_000);

  test('an override ends, and its record says so', async () => {
    const panel = await panels.open({ as: ADMIN, width, dark });
    const { page } = panel;
    const record = `77${width}`;
    await panel.go(`/applications/atelier/records?edit=1&of=${email}&rt=project&rid=${record}`);
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('project.access', { exact: true }).selectOption('denied');
    await dialog.getByLabel('project.access until').selectOption('month');
    await expectGood(panel);
    await dialog.getByRole('button', { name: 'Review' }).click();
    await dialog
      .getByText(/until /)
      .first()
      .waitFor();
    await press(page, 'Save');
    await panel.go(`/applications/atelier/records/of/project/${record}`);
    await page
      .getByText(/^until /)
      .locator('visible=true')
      .first()
      .waitFor();
    await expectGood(panel);
    await panel.go('/applications/atelier/records?ending=7');
    expect(await page.getByRole('link', { name: `project:${record}` }).count()).toBe(0);
    await panel.go('/applications/atelier/records?ending=90');
    await page
      .getByRole('link', { name: `project:${record}` })
      .locator('visible=true')
      .first()
      .waitFor();
    expect(panel.complaints).toEqual([]);
    await panel.close();
  }, 60_000);

  test('an administrator is one until a moment', async () => {
    const panel = await panels.open({ as: ADMIN, width, dark });
    const { page } = panel;
    await panel.go('/applications/atelier');
    await page.getByRole('main').getByRole('button', { name: 'Add', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('combobox', { name: 'E-mail address' }).fill(email);
    // Closes the list of suggestions.
    await page.keyboard.press('Tab');
    await dialog.getByLabel('Until', { exact: true }).selectOption('today');
    await expectGood(panel);
    await dialog.getByRole('button', { name: 'Review' }).click();
    await press(page, 'Save');
    await page
      .getByRole('listitem')
      .filter({ hasText: email })
      .getByText(/^until /)
      .waitFor();
    await expectGood(panel);
    expect(panel.complaints).toEqual([]);
    await panel.close();
  }, 60_000);
});
