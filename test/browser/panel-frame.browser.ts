import { describe, expect, test } from '@jest/globals';
import { axeFaults, overflow } from './panel.ts';
import { usePanel } from './panel-fixture.ts';

const panels = usePanel('pglite');

describe('the frame of the panel', () => {
  test('is without faults of accessibility in light and dark, and as wide as a narrow window', async () => {
    for (const dark of [false, true]) {
      const panel = await panels.open({ as: 'admin@example.com', dark, width: 320 });
      await panel.go('/applications');
      expect(await axeFaults(panel.page)).toEqual([]);
      expect(await overflow(panel.page)).toBe(0);
      expect(panel.complaints).toEqual([]);
      await panel.close();
    }
  });

  test('shows the last line of the navigation beside a long page', async () => {
    const { page, go, close } = await panels.open({ as: 'admin@example.com' });
    await go('/settings/configuration');
    expect(await page.evaluate('document.documentElement.scrollHeight > innerHeight')).toBe(true);
    const last = page
      .getByRole('banner')
      .locator('span', { hasText: /^Usher/ })
      .last();
    const box = await last.boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(900);
    await close();
  });

  test('keeps the tab of the view in sight of a narrow window', async () => {
    const { page, go, complaints, close } = await panels.open({ as: 'admin@example.com', width: 390 });
    await go('/applications/auth/history');
    const box = await page.getByRole('navigation').getByRole('link', { name: 'History' }).boundingBox();
    expect((box?.x ?? 0) + (box?.width ?? 391)).toBeLessThanOrEqual(390);
    expect(complaints).toEqual([]);
    await close();
  });

  test.each([
    ['/applications/auth/roles', 'Roles', '/applications/auth/matrix'],
    ['/applications/auth/roles/panel_admin', 'Roles', '/applications/auth/matrix/panel_admin'],
    ['/applications/auth/templates', 'Types & templates', '/applications/auth/messages'],
    ['/people/admin@example.com/profile', 'Profile', '/people/admin@example.com/profile'],
    ['/people/admin%40example.com', 'Access', '/people/admin%40example.com'],
  ])('marks the tab of %s', async (path, tab, address) => {
    const { page, go, complaints, close } = await panels.open({ as: 'admin@example.com' });
    await go(path);
    const current = page.locator('main nav [aria-current=page]').first();
    await current.waitFor();
    expect([await current.textContent(), new URL(page.url()).pathname]).toEqual([tab, `/panel${address}`]);
    expect(complaints).toEqual([]);
    await close();
  });

  test('is signed in in a second tab as it is in the first, by the code of one link, and stores nothing for it', async () => {
    const { page, close } = await panels.open();
    const origin = panels.usher.rest.replace('127.0.0.1', 'localhost');
    await page.goto(`${origin}/panel/?code=${panels.usher.app.developmentSignIn?.code}`);
    await page.getByText('development: admin@example.com').waitFor();
    const second = await page.context().newPage();
    await second.goto(`${origin}/panel/people`);
    await second.getByRole('heading', { name: 'People' }).waitFor();
    await second.getByText('development: admin@example.com').waitFor();
    expect(await second.evaluate('Object.keys(localStorage).filter((name) => /code|email/.test(name)).length')).toBe(0);
    // Who has signed out in every tab is nobody in the next.
    for (const tab of [page, second]) await tab.getByRole('button', { name: 'change' }).click();
    const third = await page.context().newPage();
    await third.goto(`${origin}/panel/people`);
    await third.getByText('It carries a code.').waitFor();
    await close();
  });

  test.each([
    '/nowhere',
    '/applications/auth/nowhere',
    '/people/admin@example.com/nowhere',
    '/ask/nowhere',
    '/notifications/nowhere',
    '/sign-in/nowhere',
  ])('says at %s that there is no such page', async (path) => {
    const { page, go, complaints, close } = await panels.open({ as: 'admin@example.com' });
    await go(path);
    await page.getByRole('main').getByText('There is no such page.').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });
});
