import { describe, expect, test } from '@jest/globals';
import { Rest } from '../support/rest.ts';
import { buttonsOf, countRequests, KINDS, type Kind, makeKinds } from './kinds.ts';
import { axeFaults, overflow, settled } from './panel.ts';
import { usePanel } from './panel-fixture.ts';

let root: Rest;

const LONG = 'مرحبا 🦄 <script>alert(1)</script> '.repeat(3).trim();
const MANY = 10_000;

const panels = usePanel('postgresql', async (usher) => {
  await makeKinds(usher);
  root = await Rest.as(usher, KINDS.superadmin);
});

const DAN = '/people/dan%40example.com';
const rolesOf = async (email: string) =>
  (await root.get(`/api/users/${email}/apps/atelier/roles`)).body.data.map(({ code }: { code: string }) => code);

describe('the list of people', () => {
  test('is filtered in the address, and found again by it', async () => {
    const { page, go, complaints, close } = await panels.open({ as: KINDS.superadmin });
    const requests = countRequests(page);
    await go('/people');
    expect(requests()).toBeLessThanOrEqual(6);
    await page.getByRole('searchbox').fill('clara');
    await page.getByText('1 row').waitFor();
    expect(page.url()).toContain('q=clara');
    await go('/people?app=atelier&role=accountant');
    expect(await page.locator('[role=row] a').allInnerTexts()).toEqual(['clara@example.com', 'dan@example.com']);
    await root.put('/api/users/dan@example.com/active', { active: false });
    await page.getByRole('button', { name: 'Inactive, still with grants' }).click();
    await page.getByText('1 row').waitFor();
    expect(page.url()).toContain('orphan=true');
    expect(await page.locator('[role=row] a').allInnerTexts()).toEqual(['dan@example.com']);
    await root.put('/api/users/dan@example.com/active', { active: true });
    expect(complaints).toEqual([]);
    await close();
  });

  test('has no faults of accessibility, and fits a narrow window, in light, dark and Czech', async () => {
    for (const dark of [false, true]) {
      const locale = dark ? 'cs-CZ' : 'en-US';
      const panel = await panels.open({ as: KINDS.superadmin, dark, locale, width: 320 });
      for (const path of ['/people', DAN, `${DAN}/profile`]) {
        await panel.go(path);
        expect(await axeFaults(panel.page)).toEqual([]);
        expect([path, await overflow(panel.page)]).toEqual([path, 0]);
      }
      expect(panel.complaints).toEqual([]);
      await panel.close();
    }
  }, 60_000);
});

describe('the page of a person', () => {
  const offered: Record<Exclude<Kind, 'nobody'>, readonly string[]> = {
    superadmin: ['Block', 'New override', 'Change roles', 'Make application admin'],
    appAdmin: ['New override', 'Change roles', 'Make application admin'],
    edit: ['New override', 'Change roles', 'Make application admin'],
    view: [],
  };
  const acts = ['Block', 'New override', 'Change roles', 'Make application admin', 'Edit'];

  test.each(Object.entries(offered))('offers %s what they may do, and nothing else', async (kind, expected) => {
    const { page, go, complaints, close } = await panels.open({ as: KINDS[kind as Kind] });
    const requests = countRequests(page);
    await go('/people/clara%40example.com');
    expect(requests()).toBeLessThanOrEqual(6);
    const buttons = (await buttonsOf(page)).filter((name) => acts.includes(name));
    expect([...new Set(buttons)].sort()).toEqual([...expected, ...(expected.length > 0 ? ['Edit'] : [])].sort());
    expect(await page.getByText('View only').count()).toBe(kind === 'view' ? 1 : 0);
    for (const view of ['logins', 'messages', 'profile']) {
      await go(`/people/clara%40example.com/${view}`);
      expect(await page.getByRole('alert').count()).toBe(0);
    }
    expect(complaints).toEqual([]);
    await close();
  });

  test('says why a decision is as it is, and leads to the question', async () => {
    const { page, go, complaints, close } = await panels.open({ as: KINDS.view });
    await go('/people/clara%40example.com');
    await page.getByRole('button', { name: 'Why invoice.access: role' }).press('Enter');
    await page.getByText('decides').waitFor();
    expect(await page.locator('[aria-expanded=true] >> xpath=../..').innerText()).toContain('accountant');
    expect(await page.getByRole('link', { name: 'Ask about invoice.access' }).getAttribute('href')).toBe(
      '/panel/ask?app=atelier&email=clara%40example.com&permission=invoice.access',
    );
    expect(complaints).toEqual([]);
    await close();
  });

  test('changes roles after the impact was shown, by keyboard, and takes it back', async () => {
    const { page, go, complaints, close } = await panels.open({ as: KINDS.appAdmin });
    await go(DAN);
    await page.getByRole('button', { name: 'Change roles' }).first().press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('checkbox', { name: 'director' }).press('Space');
    await dialog.getByRole('checkbox', { name: 'accountant' }).press('Space');
    await dialog.getByRole('button', { name: 'Review' }).press('Enter');
    await dialog.getByText('invoice.approve').waitFor();
    expect(await dialog.innerText()).toMatch(/decisions? gained/);
    expect(await axeFaults(page)).toEqual([]);
    expect(await rolesOf('dan@example.com')).toEqual(['accountant', 'designer']);
    await dialog.getByRole('button', { name: 'Save' }).press('Enter');
    await dialog.waitFor({ state: 'detached' });
    expect(await rolesOf('dan@example.com')).toEqual(['designer', 'director']);
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect(eventually(() => rolesOf('dan@example.com'), ['accountant', 'designer'])).resolves.toBeUndefined();
    await settled(page);
    expect(complaints).toEqual([]);
    await close();
  });

  test('says so when somebody changed the roles meanwhile, and asks again', async () => {
    const options = { as: KINDS.superadmin, expected: /status of 412/ };
    const { page, go, complaints, close } = await panels.open(options);
    await go(DAN);
    await page.getByRole('button', { name: 'Change roles' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('checkbox', { name: 'guest' }).check();
    await dialog.getByRole('button', { name: 'Review' }).click();
    await dialog.getByText('Nobody gains or loses access.').waitFor();
    await root.post('/api/users/dan@example.com/apps/atelier/roles', { role: 'director' });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('Somebody has changed this since you looked').waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await rolesOf('dan@example.com')).toEqual(['accountant', 'designer', 'director', 'guest']);
    await root.put('/api/users/dan@example.com/apps/atelier/roles', { roles: ['accountant', 'designer'] });
    expect(complaints).toEqual([]);
    await close();
  });

  test('an undo leaves alone what somebody else has changed meanwhile', async () => {
    // A person without a role is nobody's to see for a while: 403.
    const options = { as: KINDS.appAdmin, expected: /status of (?:403|412)/ };
    const { page, go, complaints, close } = await panels.open(options);
    await go(DAN);
    await page.getByRole('button', { name: 'Change roles' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('checkbox', { name: 'director' }).check();
    await dialog.getByRole('button', { name: 'Review' }).click();
    await dialog.getByText('invoice.approve').waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await root.put('/api/users/dan@example.com/apps/atelier/roles', { roles: [] });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Somebody has changed this meanwhile in atelier. Nothing was undone there.').waitFor();
    expect(await rolesOf('dan@example.com')).toEqual([]);
    await root.put('/api/users/dan@example.com/apps/atelier/roles', { roles: ['accountant', 'designer'] });
    await page.getByRole('button', { name: 'Close' }).click();

    await go(`${DAN}/profile`);
    await page.getByRole('button', { name: 'Make application admin' }).click();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await root.post('/api/users/dan@example.com/apps/atelier/roles', { role: 'director' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Somebody has changed this meanwhile. Nothing was undone.').waitFor();
    const seats = async () => (await root.get('/api/users/dan@example.com')).body.data.appAdminFor;
    expect(await seats()).toEqual(['atelier']);
    await root.delete('/api/users/admins/apps/atelier/dan@example.com');
    await root.put('/api/users/dan@example.com/apps/atelier/roles', { roles: ['accountant', 'designer'] });
    expect(complaints).toEqual([]);
    await close();
  });

  test('adds an override for a record', async () => {
    const { page, go, complaints, close } = await panels.open({ as: KINDS.edit });
    await go(DAN);
    await page.getByRole('button', { name: 'New override' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Type').selectOption('project');
    await dialog.getByLabel('Project number').fill('77');
    await dialog.getByLabel('project.archive').selectOption('allowed');
    await dialog.getByRole('button', { name: 'Review' }).click();
    await dialog.getByText('1 decision gained').waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The overrides are saved.').waitFor();
    await settled(page);
    expect(await page.getByText('project:77').count()).toBeGreaterThan(0);
    const { body } = await root.get('/api/users/dan@example.com/apps/atelier/resources/project/77/permissions');
    expect(body.data.permissions).toMatchObject([{ code: 'project.archive', granted: true }]);
    expect(complaints).toEqual([]);
    await close();
  });

  test('blocks and unblocks with what follows, for SuperAdmins', async () => {
    const { page, go, complaints, close } = await panels.open({ as: KINDS.superadmin });
    await go('/people/eva%40client.example');
    await page.getByRole('button', { name: 'Block' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('decisions lost').waitFor();
    await dialog.getByRole('button', { name: 'Block' }).click();
    await page.getByRole('button', { name: 'Unblock' }).waitFor();
    expect((await root.get('/api/users/eva@client.example')).body.data.blocked).toBe(true);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('button', { name: 'Block', exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('of an address that nobody knows offers to give it a role', async () => {
    const options = { as: KINDS.appAdmin, expected: /status of (?:403|404)/ };
    const { page, go, complaints, close } = await panels.open(options);
    await go('/people/new%40example.com');
    await page.getByText('Nobody here knows new@example.com.').waitFor();
    await page.getByRole('button', { name: 'Change roles' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('checkbox', { name: 'guest' }).check();
    await dialog.getByRole('button', { name: 'Review' }).click();
    await dialog.getByText('1 decision gained').waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('project.access').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });
});

describe('a person with very much', () => {
  test(`of ${MANY} overrides the first are shown at once, the rest by page`, async () => {
    const overrides = Array.from({ length: MANY }, (_, n) => {
      return `  - { email: many@example.com, resourceType: thing, resourceId: "t${n}", permission: p.read, granted: true }`;
    });
    const name = JSON.stringify(LONG);
    const permissions =
      'permissions: [{ code: p.read, type: binary }]\nroles: [{ code: r, permissions: { p.read: allowed } }]';
    const text = `application: { code: much, name: ${name} }\n${permissions}\noverrides:\n${overrides.join('\n')}\n`;
    await panels.usher.app.manifests.apply(text, { actor: 'system' });
    const { page, go, complaints, close } = await panels.open({ as: KINDS.superadmin, width: 320 });
    await go('/people/many%40example.com');
    await page.getByRole('link', { name: `All ${MANY} overrides` }).click();
    await page.locator('[role=row]').nth(150).waitFor();
    expect(await overflow(page)).toBe(0);
    expect(await page.locator('[role=row]').count()).toBeLessThan(2_000);
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});

/** Resolves once the question has this answer. */
async function eventually<T>(ask: () => Promise<T>, wanted: T): Promise<void> {
  for (let tries = 0; tries < 50; tries += 1) {
    if (JSON.stringify(await ask()) === JSON.stringify(wanted)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`never answered ${JSON.stringify(wanted)}`);
}
