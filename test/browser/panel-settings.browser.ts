import { describe, expect, test } from '@jest/globals';
import { Rest } from '../support/rest.ts';
import { countRequests, KINDS, type Kind, makeKinds, REFUSED_STREAM } from './kinds.ts';
import { axeFaults, overflow } from './panel.ts';
import { usePanel } from './panel-fixture.ts';

let root: Rest;

const panels = usePanel('pglite', async (usher) => {
  await makeKinds(usher);
  root = await Rest.as(usher, KINDS.superadmin);
});

const OF_SUPERADMINS = ['/settings/languages', '/settings/superadmins', '/settings/keys', '/settings/configuration'];
const SIGN_IN = ['/sign-in', '/sign-in/events', '/sign-in/organizations', '/sign-in/mails'];

describe('settings', () => {
  test.each(Object.keys(KINDS) as Kind[])(
    'lets %s choose for themselves, and shows the rest to SuperAdmins',
    async (kind) => {
      const options = { as: KINDS[kind], ...(kind === 'nobody' ? { expected: REFUSED_STREAM } : {}) };
      const { page, go, complaints, close } = await panels.open(options);
      const requests = countRequests(page);
      await go('/settings');
      expect(requests()).toBeLessThanOrEqual(6);
      expect(await page.locator('main nav a').count()).toBe(kind === 'superadmin' ? 5 : 0);
      await page.getByLabel('First name').fill(`Name of ${kind}`);
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Saved.').waitFor();
      const own = await Rest.as(panels.usher, KINDS[kind]);
      expect((await own.get('/api/profile/me')).body.data.firstName).toBe(`Name of ${kind}`);
      // An address written by hand shows what one has.
      await go('/settings/keys');
      expect(await page.getByLabel('First name').count()).toBe(kind === 'superadmin' ? 0 : 1);
      expect(complaints).toEqual([]);
      await close();
    },
  );

  test('says what is wrong at the field, and keeps what was typed', async () => {
    const options = { as: KINDS.superadmin, expected: /status of 400/ };
    const { page, go, complaints, close } = await panels.open(options);
    await go('/settings');
    await page.getByLabel('Time zone').fill('Mars/Olympus');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('[aria-invalid=true]').waitFor();
    expect(await page.getByLabel('Time zone').inputValue()).toBe('Mars/Olympus');
    expect(complaints).toEqual([]);
    await close();
  });

  test('language, theme and density hold at once and after a reload', async () => {
    const { page, go, complaints, close } = await panels.open({ as: KINDS.view });
    await go('/settings');
    await page.getByLabel('Theme').selectOption('dark');
    await page.getByLabel('Density').selectOption('compact');
    await page.getByLabel('Language', { exact: true }).selectOption('cs');
    await page.getByRole('heading', { name: 'Nastavení' }).waitFor();
    await go('/settings');
    const { theme, density } = (await page.evaluate('({ ...document.documentElement.dataset })')) as Record<
      string,
      string
    >;
    expect([theme, density]).toEqual(['dark', 'compact']);
    expect(complaints).toEqual([]);
    await close();
  });

  test('SuperAdmins add and delete a language, and never the last SuperAdmin', async () => {
    const { page, go, complaints, close } = await panels.open({ as: KINDS.superadmin });
    await go('/settings/languages');
    await page.getByRole('button', { name: 'New language' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Code').fill('fr-ca');
    await dialog.getByLabel('Own name').fill('Français du Canada');
    await dialog.getByLabel('Name', { exact: true }).fill('French (Canada)');
    await dialog.getByLabel('Fallback').selectOption('fr');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Remove: fr-ca' }).click();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('The language fr-ca is removed.').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('button', { name: 'Remove: fr-ca' }).waitFor();
    await go('/settings/superadmins');
    await page.getByText('the last one').waitFor();
    expect(await page.getByRole('button', { name: /^Remove/ }).count()).toBe(0);
    await root.post('/api/users/admins/super', { email: 'ada@example.com' });
    await go('/settings/superadmins');
    await page.getByRole('button', { name: 'Remove: ada@example.com' }).click();
    await dialog.getByText('Loses everything in every other application.').waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('the last one').waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});

describe('the views of SuperAdmins', () => {
  test('have no faults of accessibility, and fit a narrow window', async () => {
    const panel = await panels.open({ as: KINDS.superadmin, width: 320 });
    for (const path of ['/settings', ...OF_SUPERADMINS, ...SIGN_IN]) {
      await panel.go(path);
      expect([path, await axeFaults(panel.page)]).toEqual([path, []]);
      expect([path, await overflow(panel.page)]).toEqual([path, 0]);
    }
    expect(panel.complaints).toEqual([]);
    await panel.close();
  }, 90_000);

  test('fit in the dark and in Czech', async () => {
    const panel = await panels.open({ as: KINDS.superadmin, width: 320, dark: true, locale: 'cs-CZ' });
    for (const path of ['/settings', '/settings/configuration', '/sign-in', '/sign-in/mails']) {
      await panel.go(path);
      expect([path, await axeFaults(panel.page)]).toEqual([path, []]);
      expect([path, await overflow(panel.page)]).toEqual([path, 0]);
    }
    expect(panel.complaints).toEqual([]);
    await panel.close();
  }, 90_000);

  test('of sign-in name the keys to set, and are not there for others', async () => {
    const { page, go, complaints, close } = await panels.open({ as: KINDS.superadmin });
    await go('/sign-in');
    await page.getByText('IDP_SERVICE_ACCOUNT_TOKEN').waitFor();
    expect(await page.getByRole('button', { name: 'Set up' }).count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
    const other = await panels.open({ as: KINDS.appAdmin });
    await other.go('/sign-in');
    await other.page.getByText('This does not exist, or you may not see it.').waitFor();
    expect(other.complaints).toEqual([]);
    await other.close();
  });
});
