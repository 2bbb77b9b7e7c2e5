import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { axeFaults, overflow, settled } from './panel.ts';
import { usePanel } from './panel-fixture.ts';

const ADMIN = 'admin@example.com';

const panels = usePanel('pglite', async () => {
  const demo = readFileSync(new URL('../../examples/demo.yaml', import.meta.url), 'utf8');
  await write('POST', '/api/manifests/apply', demo, 'application/yaml');
  await write(
    'PUT',
    '/api/applications/atelier/matrix',
    JSON.stringify({ changes: [{ role: 'designer', permission: 'document.access', accessLevel: 'view' }] }),
  );
  const gone = { email: 'ben@example.com', resourceType: 'project', resourceId: '1042', permission: 'project.archive' };
  await write('POST', '/api/applications/atelier/overrides/delete', JSON.stringify({ overrides: [gone] }));
});

async function write(method: string, path: string, body: string, type = 'application/json'): Promise<void> {
  const headers = { authorization: `Bearer ${await panels.usher.token(ADMIN)}`, 'content-type': type };
  const response = await fetch(panels.usher.rest + path, { method, headers, body });
  expect([path, response.status]).toEqual([path, 200]);
}

test('is without faults of accessibility, reflows, and asks little', async () => {
  for (const dark of [false, true]) {
    const panel = await panels.open({ as: ADMIN, dark, width: 320 });
    let asked = 0;
    panel.page.on('request', (request) => {
      if (request.url().includes('/api/')) asked += 1;
    });
    await panel.go('/activity');
    expect(asked).toBeLessThanOrEqual(6);
    await panel.page.getByRole('button', { name: /^Details: Levels of the role/ }).click();
    expect(await axeFaults(panel.page)).toEqual([]);
    expect(await overflow(panel.page)).toBe(0);
    expect(panel.complaints).toEqual([]);
    await panel.close();
  }
});

test('is filtered by person, kind and time, and each view is a link', async () => {
  const panel = await panels.open({ as: ADMIN });
  const { page } = panel;
  await panel.go('/activity?person=ben@example.com');
  await page.getByText('Override deleted').waitFor();
  expect(await page.getByText('Levels of the role').count()).toBe(0);
  await page.getByLabel('What').selectOption('role');
  await page.getByText('Nothing matches the filter.').waitFor();
  await page.getByLabel(/^Person/).fill('');
  await page.getByText('Levels of the role').waitFor();
  const { searchParams } = new URL(page.url());
  expect(Object.fromEntries(searchParams)).toEqual({ area: 'role' });
  await panel.go('/activity?from=2020-01-01&to=2020-01-31');
  await page.getByText('Nothing matches the filter.').waitFor();
  expect(panel.complaints).toEqual([]);
  await panel.close();
});

test('shows before and after, and gives a role its levels back with the impact', async () => {
  const panel = await panels.open({ as: ADMIN });
  const { page } = panel;
  await panel.go('/activity?area=role');
  await page
    .getByRole('button', { name: /^Details: Levels of the role/ })
    .first()
    .click();
  await page.getByRole('row', { name: 'document.access edit view' }).waitFor();
  await page.getByRole('button', { name: 'Restore' }).click();
  await page.getByText('2 decisions gained').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByText('It is as it was.').waitFor();
  await settled(page);
  expect(await page.getByRole('button', { name: /^Details: Levels of the role/ }).count()).toBe(2);
  expect(panel.complaints).toEqual([]);
  await panel.close();
});

test('opens the draft of an override that was deleted', async () => {
  const panel = await panels.open({ as: ADMIN });
  const { page } = panel;
  await panel.go('/applications/atelier/history?area=override.');
  await page.getByRole('button', { name: /^Details: Override deleted/ }).click();
  await page.getByRole('link', { name: 'Restore' }).click();
  expect(await page.getByLabel('project.archive', { exact: true }).inputValue()).toBe('allowed');
  await page.getByRole('button', { name: 'Review' }).click();
  await page.getByText('1 decision gained').waitFor();
  await page.getByLabel('Reason (optional)').fill('Žádost č. 7: 100 %');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByText('The overrides are saved.').waitFor();
  // The reason stands wherever the change is told, and with the explanation.
  const question = 'app=atelier&email=ben@example.com&permission=project.archive&resourceType=project&resourceId=1042';
  for (const view of ['/activity', '/people/ben%40example.com', `/ask/since?${question}`, `/ask?${question}`]) {
    await panel.go(view);
    await page.locator('main').getByText('Žádost č. 7: 100 %').first().waitFor();
  }
  expect(panel.complaints).toEqual([]);
  await panel.close();
});

test('is of their own application for an application admin, by the keyboard', async () => {
  const panel = await panels.open({ as: 'nora@example.com' });
  const { page } = panel;
  await panel.go('/');
  await page.keyboard.press('g');
  await page.keyboard.press('t');
  await page.getByText('Override deleted').first().waitFor();
  expect(await page.getByLabel('Application').inputValue()).toBe('atelier');
  expect(panel.complaints).toEqual([]);
  await panel.close();
});

/** How many denials have the color of what is good. */
const GREEN_DENIALS = `(() => {
  const probe = document.body.appendChild(document.createElement('span'));
  probe.style.color = 'var(--good)';
  const good = getComputedStyle(probe).color;
  probe.remove();
  return [...document.querySelectorAll('main *')]
    .filter((one) => one.children.length === 0 && one.textContent.trim() === 'denied')
    .filter((one) => getComputedStyle(one).color === good).length;
})()`;

test('names the record of an override, and who denied it, wherever it is told', async () => {
  const place = '/api/users/dan%40example.com/apps/atelier/resources/project/2077/permissions';
  await write('PUT', place, JSON.stringify({ permissions: [{ permission: 'project.access', granted: false }] }));
  const panel = await panels.open({ as: ADMIN });
  const { page } = panel;
  const question = 'app=atelier&email=dan%40example.com&permission=project.access&resourceType=project&resourceId=2077';
  for (const view of [
    '/',
    '/activity',
    '/applications/atelier',
    '/people/dan%40example.com',
    `/ask/since?${question}`,
  ]) {
    await panel.go(view);
    const main = page.locator('main');
    await main.getByText('Overrides changed for dan@example.com on project:2077').first().waitFor();
    expect([view, await page.evaluate(GREEN_DENIALS)]).toEqual([view, 0]);
  }
  await panel.go('/activity');
  await page.getByRole('button', { name: /^Details: Overrides changed for dan@example.com on project:2077/ }).click();
  await page.getByRole('row', { name: 'project.access · project:2077 nothing denied' }).waitFor();
  await panel.go(`/ask?${question}`);
  await page.getByText(/denies it\. \(by admin@example\.com,/).waitFor();
  expect(panel.complaints).toEqual([]);
  await panel.close();
});
