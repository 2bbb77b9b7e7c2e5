import { describe, expect, test } from '@jest/globals';
import { axeFaults, overflow, settled } from './panel.ts';
import { usePanel } from './panel-fixture.ts';
import { administer, makeDemo, makeReader } from './panel-world.ts';

const ADMIN = 'admin@example.com';
const READER = 'reader@example.com';
const NORA = 'nora@example.com';

const panels = usePanel('pglite', async (usher) => {
  await makeDemo(usher);
  await makeReader(usher, READER);
});

describe('the list of applications', () => {
  test('shows 10,000 page by page as they are scrolled, searched and sorted by the service', async () => {
    const { page, complaints, go, close } = await panels.open({ as: ADMIN });
    const data = Array.from({ length: 10_000 }, (_, at) => ({
      id: at,
      code: `app-${at}`,
      name: `${'Application '.repeat(at % 20)}${at}`.slice(-200),
      description: null,
      supportedLanguages: [],
      strictCodes: false,
      tellEndings: true,
      createdAt: '2026-01-05T08:30:00.000Z',
      updatedAt: '2026-01-05T08:30:00.000Z',
      counts: { people: at, roles: 1, permissions: 2, admins: 3 },
    }));
    const asked: string[] = [];
    await page.route('**/api/applications?*', (route) => {
      const { searchParams } = new URL(route.request().url());
      asked.push(searchParams.get('q') ?? '');
      const all = data.filter(({ code }) => code.includes(searchParams.get('q') ?? ''));
      if (searchParams.get('sort') === 'people') all.reverse();
      const [from, limit] = [Number(searchParams.get('cursor') ?? 0), Number(searchParams.get('limit'))];
      const nextCursor = from + limit < all.length ? String(from + limit) : null;
      return route.fulfill({ json: { success: true, data: all.slice(from, from + limit), page: { nextCursor } } });
    });
    await go('/applications?sort=people');
    expect(await page.getByRole('row').count()).toBeLessThan(500);
    await page.getByRole('link', { name: '9999' }).waitFor();
    for (let screen = 0; screen < 5; screen += 1) {
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
      await page.waitForTimeout(150);
    }
    const last = page.getByRole('row').last();
    await last.scrollIntoViewIfNeeded();
    expect(await last.getAttribute('aria-rowindex')).not.toBeNull();
    expect(await page.getByRole('row').count()).toBeGreaterThan(300);
    await page.evaluate('scrollTo(0, 0)');
    await page.getByRole('searchbox', { name: 'Search' }).fill('app-77');
    await page.getByText('111 rows').waitFor();
    expect(asked.at(-1)).toBe('app-77');
    expect(complaints).toEqual([]);
    await close();
  }, 40_000);

  test('is without faults of accessibility in light and dark, and reflows', async () => {
    for (const [dark, width] of [
      [false, 1280],
      [true, 320],
    ] as const) {
      const { page, complaints, go, close } = await panels.open({ as: ADMIN, dark, width });
      let requests = 0;
      page.on('request', (request) => {
        if (request.url().includes('/api/')) requests += 1;
      });
      await go('/applications');
      expect(requests).toBeLessThanOrEqual(6);
      for (const path of ['/applications', '/applications/atelier', '/applications/atelier/permissions?q=invoice']) {
        await go(path);
        expect(await axeFaults(page)).toEqual([]);
        expect(await overflow(page)).toBe(0);
      }
      expect(complaints).toEqual([]);
      await close();
    }
  }, 60_000);
});

describe('an application', () => {
  test('is made by keyboard, changed, and deleted by typing its code', async () => {
    const { page, complaints, go, close } = await panels.open({ as: ADMIN, expected: /status of 400/ });
    await go('/applications');
    await page.getByRole('button', { name: 'New application' }).press('Enter');
    await page.getByLabel('Code', { exact: true }).fill('Not A Code');
    await page.getByLabel('Name', { exact: true }).fill('<script>alert(1)</script> مرحبا');
    await page.keyboard.press('Enter');
    await page.getByLabel('Code', { exact: true }).and(page.locator('[aria-invalid=true]')).waitFor();
    await page.getByLabel('Code', { exact: true }).fill('shop');
    await page.getByRole('checkbox', { name: 'English en' }).check();
    await page.getByLabel('Name', { exact: true }).press('Enter');
    await page.getByRole('heading', { name: '<script>alert(1)</script> مرحبا' }).waitFor();
    await settled(page);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Shop');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Shop', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    expect(await page.getByRole('button', { name: 'See what it takes away' }).isDisabled()).toBe(true);
    await page.getByLabel('Type shop to confirm').fill('shop');
    await page.keyboard.press('Enter');
    await page.getByText('Nobody gains or loses access.').waitFor();
    await page.getByRole('button', { name: 'Remove the application' }).click();
    await page.getByText('Shop removed.').waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 40_000);

  test('shows what somebody else has saved, and keeps what is typed', async () => {
    const { page, complaints, go, close } = await panels.open({ as: ADMIN, expected: /status of 412/ });
    await go('/applications/atelier');
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Description').fill('Mine');
    await administer(panels.usher, 'PUT /api/applications/atelier', { description: 'Theirs' });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('Theirs').waitFor();
    expect(await page.getByLabel('Description').inputValue()).toBe('Mine');
    await page.getByRole('button', { name: 'Save mine over it' }).click();
    await page.getByText('Saved.').waitFor();
    const saved = (await administer(panels.usher, 'GET /api/applications/atelier')) as { description: string };
    expect(saved.description).toBe('Mine');
    expect(complaints).toEqual([]);
    await close();
  }, 40_000);

  test('gets and loses an administrator, with what that changes', async () => {
    const { page, complaints, go, close } = await panels.open({ as: NORA });
    await go('/applications/atelier');
    expect(await page.getByRole('button', { name: 'Remove', exact: true }).count()).toBe(0);
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByRole('combobox', { name: 'E-mail address' }).fill('clara@example.com');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByText('1 person concerned').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('clara@example.com administers this application.').waitFor();
    await page.getByRole('button', { name: 'Remove clara@example.com' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove clara@example.com' }).click();
    await page.getByText('clara@example.com no longer administers this application.').waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 40_000);

  test('comes of a pasted manifest', async () => {
    const { page, complaints, go, close } = await panels.open({ as: ADMIN });
    await go('/applications');
    await page.getByRole('button', { name: 'Paste a manifest' }).click();
    await page.getByRole('textbox', { name: 'Manifest' }).fill('application: {code: pasted, name: [');
    await page.getByRole('button', { name: 'Review' }).click();
    await page.locator('textarea[aria-invalid=true]').waitFor();
    await page.getByRole('textbox', { name: 'Manifest' }).fill('application: {code: pasted, name: Pasted}');
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Pasted', exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 40_000);

  test('offers a reader nothing to change', async () => {
    const { page, complaints, go, close } = await panels.open({ as: READER });
    for (const path of ['', '/matrix/designer', '/permissions', '/permissions/project.access']) {
      await go(`/applications/atelier${path}`);
      for (const name of ['Edit', 'Add', 'Remove', 'New permission', 'Add people']) {
        expect(await page.getByRole('button', { name }).count()).toBe(0);
      }
    }
    expect(complaints).toEqual([]);
    await close();
  }, 40_000);
});

describe('a permission', () => {
  test('is made, shown with who holds it, changed and deleted', async () => {
    const { page, complaints, go, close } = await panels.open({ as: ADMIN });
    await go('/applications/atelier/permissions');
    await page.getByRole('button', { name: 'New permission' }).click();
    await page.getByLabel('Code', { exact: true }).fill('project.rename');
    await page.getByLabel('Group').fill('Projects');
    await page.getByLabel('Parent').fill('project.access');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText('Permission project.rename created.').waitFor();
    await page.getByRole('link', { name: 'project.access' }).click();
    await settled(page);
    await page.getByRole('link', { name: 'ben@example.com' }).waitFor();
    expect(await page.getByRole('link', { name: 'designer' }).count()).toBe(1);
    expect(await axeFaults(page)).toEqual([]);
    await page.getByRole('link', { name: 'project.rename' }).click();
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Type').selectOption('binary');
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    await page.getByText('binary: Held or not').waitFor();
    await page.getByRole('button', { name: 'Remove permission' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove permission' }).click();
    await page.getByText('Permission project.rename removed.').waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 40_000);
});
