import { readFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { axeFaults, overflow, type PanelPage } from './panel.ts';
import { usePanel } from './panel-fixture.ts';

/** Whom the tests are; the demonstration names Nora as administrator of atelier and Eva as a guest. */
const ADMIN = 'admin@example.com';
const READER = 'reader@example.com';
const QUESTION = '?app=atelier&email=clara@example.com&permission=project.access&resourceType=project&resourceId=1042';

const panels = usePanel('postgresql', async (usher) => {
  const demo = await readFile(new URL('../../examples/demo.yaml', import.meta.url), 'utf8');
  await usher.app.manifests.apply(demo, { actor: 'system' });
  await put(`/api/users/${READER}/apps/auth/roles`, { roles: ['application_manager'] });
  await put(`/api/users/${READER}/apps/auth/resources/application/atelier/permissions`, {
    permissions: [{ permission: 'applications.manage', granted: true, accessLevel: 'view' }],
  });
});

async function put(path: string, body: unknown): Promise<void> {
  const headers = { authorization: `Bearer ${await panels.usher.token(ADMIN)}`, 'content-type': 'application/json' };
  const response = await fetch(`${panels.usher.rest}${path}`, { method: 'PUT', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
}

async function opened(as: string, path: string, options: { dark?: boolean; width?: number } = {}): Promise<PanelPage> {
  const panel = await panels.open({ as, ...options });
  await panel.go(path);
  return panel;
}

/** Waits until the bench shows the answer to a question that holds the text. */
async function answerTo(page: Page, part: string): Promise<string> {
  const answer = page.locator(`[data-asked*=${JSON.stringify(part)}]`);
  await answer.waitFor();
  return (await answer.locator('p').first().textContent()) ?? '';
}

describe('the bench', () => {
  test('says why Clara cannot open project 1042, and mends it with two presses', async () => {
    const panel = await panels.open({ as: ADMIN });
    const { page } = panel;
    const asked: string[] = [];
    page.on('request', (request) => request.url().includes('/api/') && asked.push(request.url()));
    await panel.go('/ask');
    expect(await answerTo(page, 'resourceId=1042')).toBe('No');
    expect(asked.filter((url) => !url.includes('/audit')).length).toBeLessThanOrEqual(6);
    const deciding = page.locator('li[aria-current]');
    expect(await deciding.textContent()).toContain('An override for project:1042 denies it.');
    await deciding.getByText('(by the first start').waitFor();
    await page.locator('[data-asked]').getByText('An override for project:1042 denies it.').waitFor();
    const ways = page.getByRole('region', { name: 'What would change it?' }).getByRole('listitem');
    expect(await ways.first().textContent()).toContain('Remove the override for project:1042.');
    const offered = (await ways.allTextContents()).join(' ');
    expect(offered).not.toMatch(/SuperAdmin|administrator of/);
    await ways.first().getByRole('button').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('1 decision gained').waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Yes, view').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('No', { exact: true }).waitFor();
    expect(panel.complaints).toEqual([]);
    await panel.close();
  });

  // How fast is measured by `npm run bench -- panel`.
  test('answers each key while somebody types', async () => {
    const panel = await opened(ADMIN, `/ask${QUESTION}`);
    const { page } = panel;
    await answerTo(page, 'clara');
    const field = page.getByRole('combobox', { name: 'Person' });
    await field.fill('');
    const typed = 'ada@example.com';
    for (let length = 1; length <= typed.length; length++) {
      await field.press(typed.charAt(length - 1));
      await answerTo(page, `email=${encodeURIComponent(typed.slice(0, length))}&`);
    }
    expect(await answerTo(page, 'ada')).toBe('Yes, edit');
    expect(panel.complaints).toEqual([]);
    await panel.close();
  });

  test('names the code that a misspelling meant, and the address holds the question', async () => {
    const panel = await opened(ADMIN, `/ask${QUESTION.replace('project.access', 'project.acces')}`);
    const { page } = panel;
    await page.getByRole('button', { name: 'Did you mean project.access?' }).click();
    await answerTo(page, 'permission=project.access');
    await page.waitForURL('**permission=project.access&**');
    await page.getByRole('link', { name: 'Who can' }).click();
    await page.getByRole('row').filter({ hasText: 'ada@example.com' }).waitFor();
    await page.goBack();
    expect(await answerTo(page, 'project.access')).toBe('No');
    expect(panel.complaints).toEqual([]);
    await panel.close();
  });

  test('offers a reader no change, and an administrator none that only SuperAdmins may make', async () => {
    const reader = await opened(READER, `/ask${QUESTION}`);
    expect(await answerTo(reader.page, '1042')).toBe('No');
    const ways = (page: Page) => page.getByRole('region', { name: 'What would change it?' });
    await ways(reader.page).getByText('You may look, not change.').waitFor();
    expect(
      await ways(reader.page)
        .getByRole('button', { name: /^Draft/ })
        .count(),
    ).toBe(0);
    expect(reader.complaints).toEqual([]);
    await reader.close();
    const nora = await opened('nora@example.com', `/ask${QUESTION}`);
    await ways(nora.page).getByRole('button').first().waitFor();
    expect(await ways(nora.page).textContent()).not.toContain('SuperAdmin');
    expect(nora.complaints).toEqual([]);
    await nora.close();
  });

  test.each([
    ['a permission', '/applications/atelier/permissions/project.access', 'Who may project.access'],
    ['a record', '/applications/atelier/records/of/project/1042', null],
    ['nothing', '/ask/who?app=atelier&permission=project.access', 'Who may project.access'],
  ])('asks who can from %s, and names nobody for it', async (_from, place, title) => {
    const panel = await opened(ADMIN, place);
    const { page } = panel;
    await page.locator('main').getByRole('link', { name: 'Who can' }).click();
    await page.getByRole('region', { name: 'Question' }).getByText('Who may').waitFor();
    expect(await page.getByRole('combobox', { name: 'Person' }).count()).toBe(0);
    if (title === null) {
      await page.getByText('Name a permission and an application.').waitFor();
      await page.getByRole('combobox', { name: 'Permission' }).fill('project.access');
      await page.keyboard.press('Escape');
    }
    await page.getByRole('heading', { name: title ?? 'Who may project.access on project:1042' }).waitFor();
    await page.getByRole('row').filter({ hasText: 'ada@example.com' }).waitFor();
    await page.getByLabel('Level', { exact: true }).selectOption('edit');
    await page.waitForURL('**level=edit**');
    expect(panel.complaints).toEqual([]);
    await panel.close();
  });

  test('says in the dialog of an override what holds without it', async () => {
    const panel = await opened(ADMIN, '/applications/atelier/records?edit=1&of=eva@client.example&rt=project&rid=7');
    const { page } = panel;
    const field = page.getByRole('dialog').getByLabel('project.access', { exact: true });
    await field.getByText('as roles say: view').waitFor({ state: 'attached' });
    await field.selectOption('denied');
    await page.getByText('as roles say: view → denied').waitFor();
    expect(panel.complaints).toEqual([]);
    await panel.close();
  });

  test('lets somebody without rights ask about themselves', async () => {
    const panel = await opened('eva@client.example', '/ask?app=atelier&permission=project.access');
    await panel.page.getByText('Yes, view').waitFor();
    expect(await panel.page.getByRole('combobox', { name: 'Person' }).count()).toBe(0);
    expect(await axeFaults(panel.page)).toEqual([]);
    expect(panel.complaints).toEqual([]);
    await panel.close();
  });

  test('keeps questions as assertions, runs them, and drops them', async () => {
    const panel = await opened(ADMIN, `/ask${QUESTION}`);
    const { page } = panel;
    await page.getByRole('button', { name: 'Keep as assertion' }).click();
    await page.getByRole('link', { name: 'Assertions' }).click();
    await page.getByRole('button', { name: 'Run all' }).click();
    await page.getByText('1 passed').waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await page.getByRole('button', { name: /^Remove/ }).click();
    await page.getByText('None yet.').waitFor();
    expect(panel.complaints).toEqual([]);
    await panel.close();
  });

  test('is without faults of accessibility in light and dark, and as wide as a narrow window', async () => {
    for (const dark of [false, true]) {
      const panel = await panels.open({ as: ADMIN, dark, width: 320 });
      // What is dark is the same in every view but for the answer.
      for (const view of dark ? ['', '/what'] : ['', '/who', '/what', '/since', '/playground']) {
        await panel.go(`/ask${view}${QUESTION}`);
        await panel.page.getByRole('region').first().waitFor();
        expect([view, await axeFaults(panel.page)]).toEqual([view, []]);
        expect([view, await overflow(panel.page)]).toEqual([view, 0]);
      }
      expect(panel.complaints).toEqual([]);
      await panel.close();
    }
  }, 60_000);
});
