import { describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import type { Matrix } from '../../src/gen/api.ts';
import { axeFaults, overflow, settled } from './panel.ts';
import { usePanel } from './panel-fixture.ts';
import { administer, makeDemo, makeReader, makeWide } from './panel-world.ts';

const ADMIN = 'admin@example.com';
const READER = 'reader@example.com';
const MATRIX = '/applications/atelier/matrix';

const panels = usePanel('postgresql', async (usher) => {
  await makeDemo(usher);
  await makeReader(usher, READER);
  await makeWide(usher, 'wide', 500, 100);
});

/** What the service holds in a cell. */
async function held(role: string, permission: string): Promise<string | null> {
  const matrix = (await administer(panels.usher, 'GET /api/applications/atelier/matrix')) as Matrix;
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
    const { page, complaints, go, close } = await panels.open({ as: ADMIN });
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
    await page.getByRole('button', { name: 'Save' }).press('Enter');
    await page.getByText('1 cell changed.').waitFor();
    expect(await held('guest', 'invoice.access')).toBe('view');
    await page.getByRole('button', { name: 'Undo' }).press('Enter');
    await cell(page, 'invoice.access', 'guest').getByText('·').waitFor();
    expect(await held('guest', 'invoice.access')).toBeNull();
    expect(complaints).toEqual([]);
    await close();
  }, 40_000);

  test('keeps the draft when another window has saved first, and shows theirs beside it', async () => {
    const first = await panels.open({ as: ADMIN });
    const second = await panels.open({ as: ADMIN, expected: /status of 412/ });
    // The second window hears of nothing, so that only its own write finds out.
    await second.page.route('**/api/admin/stream', () => undefined);
    await Promise.all([first.go(MATRIX), second.go(MATRIX)]);
    const press = async (page: Page, permission: string, role: string, key: string) => {
      await cell(page, permission, role).focus();
      await page.keyboard.press(key);
    };
    await press(second.page, 'project.access', 'guest', 'Delete');
    await press(second.page, 'document.access', 'guest', 'v');
    await press(first.page, 'project.access', 'guest', 'e');
    await first.page.getByRole('button', { name: 'Review' }).click();
    await first.page.getByRole('button', { name: 'Save' }).click();
    await first.page.getByText('1 cell changed.').waitFor();
    await second.page.getByRole('button', { name: 'Review' }).click();
    await second.page.getByText('1 of your changes concerns a cell that they changed, too.').waitFor();
    expect(await second.page.getByRole('dialog').count()).toBe(0);
    await second.page.getByText('2 changes').first().waitFor();
    const rows = second.page.locator('table tbody tr');
    expect(await rows.allInnerTexts()).toEqual([
      expect.stringMatching(/guest\s+project.access\s+view\s+no access\s+edit/),
    ]);
    expect(await axeFaults(second.page)).toEqual([]);
    await second.page.getByRole('button', { name: 'Keep mine' }).click();
    await second.page.getByRole('button', { name: 'Review' }).click();
    await second.page.getByText('loses project.access (edit)').waitFor();
    await second.page.getByRole('button', { name: 'Save' }).click();
    await second.page.getByText('2 cells changed.').waitFor();
    expect([await held('guest', 'project.access'), await held('guest', 'document.access')]).toEqual([null, 'view']);
    // The first window hears of it.
    await cell(first.page, 'document.access', 'guest').getByText('view').waitFor();
    expect([...first.complaints, ...second.complaints]).toEqual([]);
    await Promise.all([first.close(), second.close()]);
  }, 40_000);

  test('lets a reader draft, and hand the draft on as a manifest', async () => {
    const { page, complaints, go, close } = await panels.open({ as: READER });
    await go(MATRIX);
    expect(await page.getByRole('button', { name: 'New role' }).count()).toBe(0);
    await cell(page, 'report.export', 'guest').click();
    await page.keyboard.press('a');
    expect(await page.getByRole('button', { name: 'Review' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Copy as a manifest' }).click();
    const yaml = page.getByRole('dialog').locator('pre');
    await yaml.getByText('report.export: allowed').waitFor();
    expect(await yaml.innerText()).toContain('strictCodes: true');
    expect(await axeFaults(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  }, 30_000);

  test('draws 50,000 cells by what is in sight, and moves in them', async () => {
    const { page, complaints, go, close } = await panels.open({ as: ADMIN });
    await go('/applications/wide/matrix');
    expect(await page.locator('[role=gridcell]').count()).toBeLessThan(1_000);
    await page.locator('[role=gridcell][tabindex="0"]').focus();
    await page.keyboard.press('Control+End');
    await page.keyboard.press('End');
    expect(await focused(page)).toMatch(/^area9\.action-99, role-499: /);
    expect(await page.getByRole('grid').getAttribute('aria-colcount')).toBe('501');
    await page.keyboard.press('Space');
    await page.keyboard.press('Control+Home');
    expect(await focused(page)).toMatch(/^area0\.action-0, role-000: /);
    // What has the focus is drawn, however far the table is scrolled.
    await page.evaluate("document.querySelector('[role=grid]').scrollTo(20000, 2000)");
    await page.locator('[role=gridcell][aria-colindex="180"]').first().waitFor();
    expect(await focused(page)).toMatch(/^area0\.action-0, role-000: /);
    await page.getByLabel('Filter roles').fill('role-499, role-007');
    await page.getByLabel('Only changes').check();
    expect(await page.locator('[role=gridcell]').count()).toBe(1);
    expect(complaints).toEqual([]);
    await close();
  }, 40_000);

  test('compares two roles, and copies and pastes ranges', async () => {
    const { page, complaints, go, close } = await panels.open({ as: ADMIN });
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await go(`${MATRIX}?compare=designer,accountant`);
    const codes = await page.locator('[role=rowheader] a').allInnerTexts();
    expect(codes).toEqual(['invoice.access', 'report.export', 'document.access', 'project.access']);
    await page.getByRole('button', { name: 'End the comparison' }).click();
    await cell(page, 'invoice.access', 'director').click();
    await page.keyboard.press('Shift+ArrowDown');
    await page.keyboard.press('Control+c');
    await cell(page, 'invoice.access', 'guest').click();
    await page.keyboard.press('Control+v');
    await page.getByText('2 changes').first().waitFor();
    await cell(page, 'invoice.approve', 'guest').getByText('allowed').waitFor();
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('2 changes').first().waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 30_000);

  test('is without faults of accessibility in light and dark, with a draft', async () => {
    for (const dark of [false, true]) {
      const { page, complaints, go, close } = await panels.open({ as: ADMIN, dark });
      await go(MATRIX);
      await cell(page, 'document.access', 'guest').click();
      await page.keyboard.press('e');
      expect(await axeFaults(page)).toEqual([]);
      expect(complaints).toEqual([]);
      await close();
    }
  }, 40_000);

  test('is a list of one role in a narrow window', async () => {
    const { page, complaints, go, close } = await panels.open({ as: ADMIN, width: 320 });
    await go(`${MATRIX}?role=guest`);
    await page.getByLabel('workspace.settings, guest').selectOption('view');
    await page.getByText('changed from no access').waitFor();
    expect(await overflow(page)).toBe(0);
    expect(await axeFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByText('gets view on workspace.settings').waitFor();
    expect(await overflow(page)).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  }, 40_000);
});

describe('a role', () => {
  test('is made, given to many people, taken away and deleted', async () => {
    const { page, complaints, go, close } = await panels.open({ as: ADMIN });
    await go(MATRIX);
    await page.getByRole('button', { name: 'New role' }).click();
    await page.getByLabel('Code').fill('helper');
    await page.getByLabel('Description').fill('<script>alert(1)</script> שלום 🎨');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText('Role helper created.').waitFor();
    await page.getByRole('link', { name: 'helper', exact: true }).click();
    await settled(page);
    await page.getByText('Nobody holds this role.').waitFor();
    await page.getByRole('button', { name: 'Add people' }).click();
    const people = Array.from({ length: 12 }, (_, at) => `person-${at}@example.com`);
    await page.getByRole('textbox', { name: 'E-mail address' }).fill(`${people.join('\n')}\nnobody`);
    await page.getByRole('list', { name: 'This is not an address:' }).getByText('nobody').waitFor();
    await page.getByRole('textbox', { name: 'E-mail address' }).fill(people.join('; '));
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('12 people got the role.').waitFor();
    await page.getByRole('checkbox', { name: 'person-3@example.com' }).check();
    await page.getByRole('checkbox', { name: 'person-4@example.com' }).check();
    await page.getByRole('button', { name: 'Remove 2 people' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove 2 people' }).click();
    await page.getByText('2 people lost the role.').waitFor();
    await page.getByText('10 rows').waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Remove role' }).click();
    await page.getByText('10 people hold this role and lose it.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove role' }).click();
    await page.getByText('Role helper removed.').waitFor();
    await settled(page);
    expect(await page.getByRole('columnheader', { name: 'helper' }).count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  }, 40_000);
});
