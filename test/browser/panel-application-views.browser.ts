import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { axeFaults, type openPanel, overflow, type PanelPage, settled } from './panel.ts';
import { usePanel } from './panel-fixture.ts';

const ADMIN = 'admin@example.com';
const NORA = 'nora@example.com';
const VIEWS = ['people', 'records', 'records/entities', 'records/of/project/1042', 'messages', 'history'];

const panels = usePanel('postgresql', async () => {
  await applyDemo();
});

async function applyDemo(): Promise<void> {
  const body = readFileSync(new URL('../../examples/demo.yaml', import.meta.url), 'utf8');
  const response = await ask('/api/manifests/apply', { method: 'POST', body, type: 'application/yaml' });
  expect(response.status).toBe(200);
}

async function ask(path: string, { method = 'GET', body, type = 'application/json', as = ADMIN }: AskOptions = {}) {
  const headers = { authorization: `Bearer ${await panels.usher.token(as)}`, 'content-type': type };
  return await fetch(panels.usher.rest + path, { method, headers, ...(body === undefined ? {} : { body }) });
}
interface AskOptions {
  readonly method?: string;
  readonly body?: string;
  readonly type?: string;
  readonly as?: string;
}

async function dataOf(path: string): Promise<unknown> {
  return ((await (await ask(path)).json()) as { data: unknown }).data;
}

/** A view of the demonstration, opened by somebody, and closed after `act`. Nothing may complain. */
async function inView(
  view: string,
  act: (page: Page, panel: PanelPage) => Promise<void>,
  options: Parameters<typeof openPanel>[2] = {},
): Promise<void> {
  const panel = await panels.open({ as: NORA, ...options });
  await panel.go(`/applications/atelier/${view}`);
  await act(panel.page, panel);
  expect(panel.complaints).toEqual([]);
  await panel.close();
}

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const review = async (page: Page): Promise<void> => {
  await button(page, 'Review').click();
  await page
    .getByText(/gained|lost|Nobody gains/)
    .first()
    .waitFor();
};
const apply = async (page: Page): Promise<void> => {
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^(Save|Remove)$/ })
    .click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await settled(page);
};
const undo = async (page: Page): Promise<void> => {
  await button(page, 'Undo').first().click();
  await settled(page);
};

describe('every view', () => {
  test.each([false, true])(
    'is without faults of accessibility, dark: %s',
    async (dark) => {
      const panel = await panels.open({ as: ADMIN, dark, width: 320 });
      // In the dark, only views with colors of their own.
      for (const view of dark ? ['records', 'messages'] : VIEWS) {
        await panel.go(`/applications/atelier/${view}`);
        expect([view, await axeFaults(panel.page)]).toEqual([view, []]);
        expect([view, await overflow(panel.page)]).toEqual([view, 0]);
      }
      expect(panel.complaints).toEqual([]);
      await panel.close();
    },
    60_000,
  );

  test('asks at most six things before its first list', async () => {
    const panel = await panels.open({ as: ADMIN });
    let asked = 0;
    panel.page.on('request', (request) => {
      if (request.url().includes('/api/')) asked += 1;
    });
    for (const view of ['people', 'records', 'messages', 'history']) {
      asked = 0;
      await panel.go(`/applications/atelier/${view}`);
      expect([view, asked <= 6]).toEqual([view, true]);
    }
    await panel.close();
  });
});

describe('people of an application', () => {
  test('are added many at once from a paste, and taken back by undo', async () => {
    await inView('people', async (page) => {
      await button(page, 'Add people').click();
      const pasted = page.getByLabel('E-mail addresses');
      await pasted.fill('Xaver <x@example.com>; yan@example.com\nzoe@example');
      // What is not an address stays, is named, and a press marks it where it stands.
      await page.getByText('This is not an address:').first().waitFor();
      expect(await button(page, 'Review').getAttribute('aria-disabled')).toBe('true');
      await page.getByRole('button', { name: 'zoe@example' }).click();
      expect(
        await pasted.evaluate((field) => {
          const { value, selectionStart, selectionEnd } = field as unknown as Record<string, string & number>;
          return String(value).slice(Number(selectionStart), Number(selectionEnd));
        }),
      ).toBe('zoe@example');
      await page.getByRole('list', { name: 'Names' }).getByText('Xaver').waitFor();
      await pasted.fill('Xaver <x@example.com>; yan@example.com\nx@example.com');
      await page.getByText('2 addresses').waitFor();
      await page.getByLabel(/^guest/).check();
      await page.getByLabel(/^designer/).check();
      await review(page);
      await apply(page);
      await page.getByRole('link', { name: 'yan@example.com' }).waitFor();
      expect(codesOf(await dataOf('/api/users/x@example.com/apps/atelier/roles'))).toEqual(['designer', 'guest']);
      await undo(page);
      await page.getByText(/given/).waitFor({ state: 'detached' });
      await page.getByRole('link', { name: 'yan@example.com' }).waitFor({ state: 'detached' });
      expect(codesOf(await dataOf('/api/users/x@example.com/apps/atelier/roles'))).toEqual([]);
    });
  });

  test('stand with their roles, are filtered by several, and sorted by the last login', async () => {
    await inView('people', async (page) => {
      const row = (email: string) => page.getByRole('row').filter({ hasText: email });
      await row('ben@example.com').getByText('designer', { exact: true }).waitFor();
      const filter = page.getByLabel('Role', { exact: true });
      await filter.selectOption('accountant');
      await filter.selectOption('guest');
      await page.waitForURL('**role=accountant%2Cguest**');
      await row('ben@example.com').waitFor({ state: 'detached' });
      await row('eva@client.example').getByText('guest', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Without the filter guest' }).click();
      await row('eva@client.example').waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Without the filter accountant' }).click();
      await page.getByLabel('Order').selectOption('lastLoginAt');
      await row('ben@example.com').waitFor();
      expect(await page.getByText('active', { exact: true }).count()).toBe(0);
      await page.getByRole('button', { name: 'Roles of ben@example.com' }).click();
      await page.getByRole('dialog', { name: 'Roles of ben@example.com' }).waitFor();
    });
  });

  test('have their roles changed by keyboard, and a choice survives a change by somebody else', async () => {
    await inView(
      'people?edit=dan@example.com',
      async (page) => {
        const guest = page.getByRole('checkbox', { name: /^guest/ });
        await guest.focus();
        await page.keyboard.press('Space');
        const body = JSON.stringify({ roles: ['designer', 'accountant', 'director'] });
        await ask('/api/users/dan@example.com/apps/atelier/roles', { method: 'PUT', body });
        await review(page).catch(() => undefined);
        await button(page, 'Cancel').click();
        await page.getByText('has it now').waitFor();
        expect(await guest.isChecked()).toBe(true);
        await page.getByRole('checkbox', { name: /^director/ }).uncheck();
        await review(page);
        await apply(page);
        const roles = codesOf(await dataOf('/api/users/dan@example.com/apps/atelier/roles'));
        expect(roles).toEqual(['accountant', 'designer', 'guest']);
        expect(page.url()).not.toContain('edit=');
      },
      { expected: /412/ },
    );
  });

  test('are found by role, and the view is a link', async () => {
    await inView('people?role=director', async (page) => {
      await page.getByRole('link', { name: 'ada@example.com' }).waitFor();
      expect(await page.getByRole('link', { name: 'ben@example.com' }).count()).toBe(0);
      await page.getByLabel('Role', { exact: true }).selectOption('guest');
      await page.getByRole('link', { name: 'eva@client.example' }).waitFor();
      // Holders of either.
      expect(page.url()).toContain('role=director%2Cguest');
    });
  });
});

describe('records of an application', () => {
  test('get an override, which undo takes away', async () => {
    await inView('records', async (page) => {
      await button(page, 'New override').click();
      await page.getByRole('combobox', { name: 'Person' }).pressSequentially('ada@exa', { delay: 60 });
      await page.getByRole('option', { name: 'ada@example.com' }).click();
      await page.getByRole('dialog').getByLabel('Type').selectOption('project');
      await page.getByLabel('Project number').fill('7/8 "é"');
      await page.getByLabel('project.access', { exact: true }).selectOption('denied');
      await review(page);
      await apply(page);
      await page.getByRole('link', { name: 'project:7/8 "é"', exact: true }).click();
      await page.getByRole('heading', { name: 'Project 7/8 "é"' }).waitFor();
      await page.getByRole('link', { name: 'ada@example.com', exact: true }).waitFor();
      await undo(page);
      await page.getByRole('link', { name: 'ada@example.com' }).waitFor({ state: 'detached' });
    });
  });

  test('lose many overrides at once, and undo gives them back as they were', async () => {
    await inView('records', async (page) => {
      const before = await dataOf('/api/applications/atelier/overrides');
      for (const box of await page.getByRole('checkbox').all()) await box.check();
      await button(page, 'Remove').click();
      await page
        .getByText(/gained|lost/)
        .first()
        .waitFor();
      await apply(page);
      expect(await dataOf('/api/applications/atelier/overrides')).toEqual([]);
      await undo(page);
      await page.getByRole('link', { name: 'project:1042' }).first().waitFor();
      expect(withoutTimes(await dataOf('/api/applications/atelier/overrides'))).toEqual(withoutTimes(before));
    });
  });

  test('are of entities, whose faults stand at the fields', async () => {
    await inView(
      'records/entities',
      async (page) => {
        await button(page, 'New entity').click();
        await page.getByLabel('Name').fill('<script>alert(1)</script> مرحبا 🎉');
        expect(await page.getByLabel('Code').inputValue()).toBe('script-alert-1-script');
        await page.getByLabel('Code').fill('Not a code');
        await button(page, 'Create').click();
        await page.locator('[aria-invalid=true]').waitFor();
        await page.getByLabel('Code').fill('invoice');
        await button(page, 'Create').click();
        await page.getByText('<script>alert(1)</script>').waitFor();
        await button(page, 'Remove the entity invoice').click();
        await page.getByText('Nobody gains').waitFor();
        await apply(page);
        expect(await page.getByText('<script>').count()).toBe(0);
      },
      { expected: /400/ },
    );
  });
});

describe('types and templates', () => {
  test('are written with a preview of the draft that no script of it can leave', async () => {
    await inView(
      'messages',
      async (page) => {
        await button(page, 'New template: invoice-due').click();
        await button(page, 'Create').click();
        await page.getByLabel('Subject').fill('Invoice {{ number }}');
        await page.locator('.cm-content').click();
        await page.keyboard.press('ControlOrMeta+A');
        await page.keyboard.insertText(
          '<p style="font-size:31px">Due: {{ amount }}</p><script>parent.document.title = "hit"</script>',
        );
        const mail = page.frameLocator('iframe[title="The mail"]');
        await mail.getByText('Due: amount').waitFor();
        expect((await mail.locator('p').boundingBox())?.height).toBeGreaterThan(30);
        await page.getByLabel('Payload for the preview').fill('{"number": "2026-17", "amount": "300 CZK"}');
        await mail.getByText('Due: 300 CZK').waitFor();
        expect(await page.title()).not.toBe('hit');
        await button(page, 'Save').click();
        await page.getByText('The template is saved.').waitFor();
        await button(page, 'Send to me').click();
        await page.getByText(`Sent to ${NORA}.`).waitFor();
        await page.getByRole('link', { name: 'All types' }).click();
        await page.getByText('→ en').waitFor();
        // What is written is said to be, and what is missing is chosen.
        await button(page, 'New template: invoice-due').click();
        const language = page.getByRole('dialog').getByLabel('Language');
        expect(await language.inputValue()).toBe('cs');
        await language.selectOption('en');
        await page.getByText('This template is written already.').waitFor();
        await button(page, 'Open it').click();
        await page.getByText('Template default in en').waitFor();
        expect(await page.getByLabel('Subject').inputValue()).toBe('Invoice {{ number }}');
      },
      // The frame refuses the script of the mail, and the storage that the page of a test is given.
      { expected: /Content Security Policy|script-src|sessionStorage/ },
    );
  });
});

test('a type that is being written stays when the list behind it cannot be read again', async () => {
  await inView(
    'messages',
    async (page) => {
      await button(page, 'New type').click();
      const code = page.getByRole('dialog').getByLabel('Code');
      await code.fill('weekly-digest');
      await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('Weekly digest');
      let refused = 0;
      await page.route(/notification-types/, (route) => {
        refused++;
        return route.fulfill({
          status: 403,
          json: { success: false, code: 'FORBIDDEN', message: 'No.', requestId: 'r' },
        });
      });
      // A change by somebody else: everything of the application is read again.
      const role = JSON.stringify({ code: 'digest-reader', description: null });
      await ask('/api/applications/atelier/roles', { method: 'POST', body: role });
      while (refused === 0) await page.waitForTimeout(50);
      await settled(page);
      expect(await code.inputValue()).toBe('weekly-digest');
      await page.unroute(/notification-types/);
      await button(page, 'Create').click();
      await page.getByText('The type weekly-digest is saved.').waitFor();
    },
    { expected: /403/ },
  );
});

test('a reader is offered nothing that changes', async () => {
  const reader = '/api/users/clara@example.com/apps/auth';
  await ask(`${reader}/roles`, { method: 'PUT', body: JSON.stringify({ roles: ['application_manager'] }) });
  const body = JSON.stringify({
    permissions: [{ permission: 'applications.manage', granted: true, accessLevel: 'view' }],
  });
  await ask(`${reader}/resources/application/atelier/permissions`, { method: 'PUT', body });
  const panel = await panels.open({ as: 'clara@example.com' });
  for (const view of ['people', 'records', 'records/entities', 'messages', 'manifest']) {
    await panel.go(`/applications/atelier/${view}`);
    const main = panel.page.locator('main');
    const names = await main.getByRole('button').allTextContents();
    expect([view, names.filter((name) => !/^(Export CSV|Download)$/.test(name))]).toEqual([view, []]);
    expect(await main.getByRole('checkbox').count()).toBe(0);
  }
  expect(panel.complaints).toEqual([]);
  await panel.close();
});

function codesOf(roles: unknown): string[] {
  return (roles as { code: string }[]).map(({ code }) => code).sort();
}

function withoutTimes(overrides: unknown): unknown[] {
  return (overrides as { createdAt?: string; email: string }[])
    .map((override) => ({ ...override, createdAt: undefined }))
    .sort((a, b) => a.email.localeCompare(b.email));
}
