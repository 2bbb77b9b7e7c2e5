import { describe, expect, test } from '@jest/globals';
import { Rest } from '../support/rest.ts';
import { countRequests, KINDS, makeKinds, REFUSED_STREAM } from './kinds.ts';
import { axeFaults, overflow } from './panel.ts';
import { usePanel } from './panel-fixture.ts';

const panels = usePanel('pglite', async (usher) => {
  await makeKinds(usher);
});

describe('home', () => {
  test.each(['superadmin', 'appAdmin', 'edit', 'view'] as const)(
    'shows %s that all is quiet, the demonstration and what happened',
    async (kind) => {
      const { page, go, complaints, close } = await panels.open({ as: KINDS[kind] });
      const requests = countRequests(page);
      await go('/');
      expect(requests()).toBeLessThanOrEqual(6);
      await page.getByText('All quiet.').waitFor();
      await page.getByText('Last changes').waitFor();
      expect(await page.getByRole('link', { name: 'Why can Clara not open project 1042?' }).getAttribute('href')).toBe(
        '/panel/ask?app=atelier&email=clara%40example.com&permission=project.access&resourceType=project&resourceId=1042',
      );
      expect(await page.getByRole('alert').count()).toBe(0);
      expect(complaints).toEqual([]);
      await close();
    },
  );

  test('tells somebody without any right what they may do themselves', async () => {
    const options = { as: KINDS.nobody, expected: REFUSED_STREAM };
    const { page, go, complaints, close } = await panels.open(options);
    await go('/');
    await page.getByText('neither a SuperAdmin').waitFor();
    await page.getByText('invoice.access').waitFor();
    expect(await page.locator('nav a').allInnerTexts()).toEqual([
      'Home',
      'Ask',
      'Notifications',
      'Settings',
      'Mailbox',
    ]);
    expect(await axeFaults(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });

  test('counts inactive people who still hold something, and leads to them', async () => {
    const root = await Rest.as(panels.usher, KINDS.superadmin);
    await root.put('/api/users/ben@example.com/active', { active: false });
    const { page, go, complaints, close } = await panels.open({ as: KINDS.superadmin });
    await go('/');
    await page.getByRole('link', { name: /inactive, still with grants/ }).click();
    await page.getByText('1 row').waitFor();
    expect(page.url()).toContain('/people?orphan=true');
    await root.put('/api/users/ben@example.com/active', { active: true });
    expect(complaints).toEqual([]);
    await close();
  });

  test('remembers the tour and what was opened, and the tour can be dismissed', async () => {
    const { page, go, complaints, close } = await panels.open({ as: KINDS.superadmin });
    await go('/');
    await page.getByRole('link', { name: /See who gains before you save/ }).press('Enter');
    await page.getByRole('heading', { name: 'clara@example.com' }).waitFor();
    await page.getByRole('button', { name: 'Change roles' }).first().waitFor();
    await go('/');
    await page.getByRole('heading', { name: /See who gains before you save .Done/ }).waitFor();
    expect(await page.getByRole('link', { name: 'clara@example.com', exact: true }).count()).toBeGreaterThan(0);
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await go('/');
    expect(await page.getByText('A tour in five steps').count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  test('has no faults of accessibility, and fits a narrow window, in light, dark and Czech', async () => {
    for (const dark of [false, true]) {
      const locale = dark ? 'cs-CZ' : 'en-US';
      const panel = await panels.open({ as: KINDS.superadmin, dark, locale, width: 320 });
      await panel.go('/');
      expect(await axeFaults(panel.page)).toEqual([]);
      expect(await overflow(panel.page)).toBe(0);
      expect(panel.complaints).toEqual([]);
      await panel.close();
    }
  }, 60_000);
});
