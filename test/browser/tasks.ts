/** What somebody does who sets up their first application, in the panel alone. */

import type { CountingHand } from './counting-hand.ts';

interface Task {
  readonly title: string;
  readonly act: (hand: CountingHand) => Promise<void>;
}

/** A picture of one pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const MESSAGES = 'Types & templates';

export const TASKS: readonly Task[] = [
  {
    title: 'an application',
    act: async (hand) => {
      await hand.place('Applications');
      await hand.press('New application');
      await hand.page.getByLabel('Code', { exact: true }).waitFor();
      // The code is made of it.
      await hand.type('Help desk');
      await hand.click(hand.page.getByRole('checkbox', { name: 'English' }));
      await hand.click(hand.page.getByRole('checkbox', { name: /cs/ }));
      await hand.answer('Create');
      await hand.page.getByRole('heading', { name: 'Help desk' }).waitFor();
    },
  },
  {
    title: 'permissions',
    act: async (hand) => {
      await hand.follow('Permissions');
      await hand.press('New permission');
      await hand.page.getByRole('dialog').waitFor();
      await hand.type('ticket.access');
      await hand.key('Enter');
      await hand.page.getByRole('dialog').waitFor({ state: 'detached' });
      await hand.press('New permission');
      await hand.page.getByRole('dialog').waitFor();
      await hand.type('report.export');
      await hand.choose(hand.page.getByLabel('Type').last(), 'binary');
      await hand.answer('Create');
      await hand.page.getByRole('dialog').waitFor({ state: 'detached' });
    },
  },
  {
    title: 'roles',
    act: async (hand) => {
      await hand.follow('Roles');
      for (const name of ['Agent', 'Reader']) {
        await hand.press('New role');
        await hand.page.getByRole('dialog').waitFor();
        await hand.type(name);
        await hand.key('Enter');
        await hand.page.getByRole('dialog').waitFor({ state: 'detached' });
      }
      // agent: both permissions; reader: may see tickets.
      if (hand.isNarrow) {
        // A narrow window shows one role at a time, the one that was made last to begin with.
        await hand.choose(hand.page.getByLabel('ticket.access, reader'), 'view');
        await hand.choose(hand.page.getByLabel('Role', { exact: true }), 'agent');
        await hand.choose(hand.page.getByLabel('report.export, agent'), 'allowed');
        await hand.choose(hand.page.getByLabel('ticket.access, agent'), 'edit');
        await hand.press('Review');
        await hand.answer('Save');
        await hand.page.getByRole('dialog').waitFor({ state: 'detached' });
        return;
      }
      const cells = hand.page.getByRole('gridcell');
      await hand.click(cells.nth(0));
      await hand.key('a');
      await hand.key('ArrowDown');
      await hand.key('ArrowDown');
      await hand.key('e');
      await hand.key('ArrowRight');
      await hand.key('v');
      await hand.press('Review');
      await hand.answer('Save');
      await hand.page.getByRole('dialog').waitFor({ state: 'detached' });
    },
  },
  {
    title: 'an assignment',
    act: async (hand) => {
      await hand.page.getByRole('navigation').getByRole('link', { name: 'People', exact: true }).last().click();
      hand.clicks += 1;
      await hand.press('Add people');
      await hand.page.getByRole('dialog').waitFor();
      await hand.type('eva@example.com');
      await hand.click(hand.page.getByRole('dialog').getByRole('checkbox', { name: 'agent' }));
      await hand.answer('Review', 'Save');
      await hand.page.getByRole('dialog').waitFor({ state: 'detached' });
    },
  },
  {
    title: 'a denial on one record',
    act: async (hand) => {
      await hand.follow('Records');
      await hand.press('New override');
      const dialog = hand.page.getByRole('dialog');
      await dialog.getByRole('combobox', { name: 'Person' }).waitFor();
      await hand.type('eva@example.com');
      await hand.key('Tab');
      await hand.type('ticket');
      await hand.key('Tab');
      await hand.type('42');
      await hand.choose(dialog.getByLabel('ticket.access'), 'denied');
      await hand.answer('Review', 'Save');
      await dialog.waitFor({ state: 'detached' });
    },
  },
  {
    title: 'why',
    act: async (hand) => {
      await hand.click(
        hand.page
          .getByRole('link', { name: /^Ask about eva@example.com/ })
          .locator('visible=true')
          .first(),
      );
      await hand.page.locator('a', { hasText: 'An override for ticket:42' }).waitFor();
    },
  },
  {
    title: 'who can',
    act: async (hand) => {
      await hand.follow('Who can');
      await hand.page.getByRole('heading', { name: 'Who may ticket.access on ticket:42' }).waitFor();
    },
  },
  {
    title: 'a template in two languages',
    act: async (hand) => {
      await hand.place('Applications');
      await hand.follow(/Help desk/);
      await hand.follow(MESSAGES);
      await hand.press('New type');
      await hand.page.getByRole('dialog').waitFor();
      await hand.type('Assigned');
      await hand.key('Enter');
      await hand.page.getByRole('dialog').waitFor({ state: 'detached' });
      await hand.press('New template: assigned');
      await hand.answer('Create');
      await hand.fill(hand.page.getByLabel('Subject', { exact: true }), 'Ticket {{number}}');
      await hand.press('Save');
      await hand.page.getByText('The template is saved.').waitFor();
      await hand.follow('All types');
      await hand.press('New template: assigned');
      await hand.answer('Create');
      await hand.page.getByText('Template default in cs').waitFor();
      await hand.click(hand.page.getByLabel('Subject', { exact: true }));
      await hand.key('ControlOrMeta+a');
      await hand.type('Lístek {{number}}');
      await hand.press('Save');
    },
  },
  {
    title: 'a test send',
    act: async (hand) => {
      await hand.press('Send to me');
      await hand.page.getByText('Sent to admin@example.com.').waitFor();
    },
  },
  {
    title: 'a logo',
    act: async (hand) => {
      await hand.place('Brands');
      await hand.click(hand.page.locator('main').getByRole('link').first());
      // The field, and the file in the window of the system.
      hand.clicks += 2;
      await hand.page
        .getByLabel(/^Logo from a file/)
        .setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: PIXEL });
      await hand.page.getByText('Saved.').first().waitFor();
    },
  },
  {
    title: 'the audit',
    act: async (hand) => {
      await hand.place('Activity');
      await hand.press(/^Details: Overrides? (made|changed)/);
      await hand.page.locator('main').getByRole('table').getByText('ticket').first().waitFor();
    },
  },
  {
    title: 'a recovery',
    act: async (hand) => {
      await hand.follow('Restore');
      await hand.answer('Review', 'Save');
      await hand.page.getByText('The overrides are saved.').waitFor();
    },
  },
];
