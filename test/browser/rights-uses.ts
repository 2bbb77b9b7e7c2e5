/**
 * Each write that the panel offers, made once: where, by whom, with which controls, and the request that it must come to. The
 * same request is then made by the kinds of people who are not offered it (panel-rights-writes.browser.ts).
 */
import type { Page } from 'playwright-core';
import type { Kind } from './kinds.ts';
import { ROOT, WRITERS } from './rights-table.ts';

export interface Use {
  readonly title: string;
  readonly path: string;
  /** Who is offered it. The last of them makes it: whoever has the fewest rights. */
  readonly kinds: readonly Kind[];
  /** Method and path of the request. */
  readonly write: RegExp;
  readonly act: (hand: Hand) => Promise<void>;
}

/** What somebody does with a page. */
export class Hand {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  async press(name: string): Promise<void> {
    await this.page.locator('main').getByRole('button', { name, exact: true }).first().click();
  }

  /** A button of the dialog that is open, or is about to open. */
  async answer(...names: readonly string[]): Promise<void> {
    for (const name of names) await this.page.getByRole('dialog').getByRole('button', { name, exact: true }).click();
  }

  async fill(fields: Readonly<Record<string, string>>): Promise<void> {
    for (const [label, text] of Object.entries(fields)) await this.page.getByLabel(label, { exact: true }).fill(text);
  }

  async check(name: string): Promise<void> {
    await this.page.getByRole('checkbox', { name }).check();
  }
}

const ATELIER = '/applications/atelier';
const definitions: readonly Use[] = [
  {
    title: 'New application',
    path: '/applications',
    kinds: ROOT,
    write: /^POST \/api\/applications$/,
    act: async (hand) => {
      await hand.press('New application');
      await hand.fill({ Code: 'made', Name: 'Made' });
      await hand.page.keyboard.press('Enter');
    },
  },
  {
    title: 'Paste a manifest',
    path: '/applications',
    kinds: ROOT,
    write: /^POST \/api\/manifests\/apply$/,
    act: async (hand) => {
      await hand.press('Paste a manifest');
      await hand.page.getByRole('textbox', { name: 'Manifest' }).fill('application: {code: pasted, name: Pasted}');
      await hand.answer('Review', 'Apply');
    },
  },
  {
    title: 'Delete of an application',
    path: '/applications/spare',
    kinds: ROOT,
    write: /^DELETE \/api\/applications\/spare$/,
    act: async (hand) => {
      await hand.press('Delete');
      await hand.fill({ 'Type spare to confirm': 'spare' });
      await hand.answer('See what it takes away', 'Delete the application');
    },
  },
  {
    title: 'Edit of an application',
    path: ATELIER,
    kinds: WRITERS,
    write: /^PUT \/api\/applications\/atelier$/,
    act: async (hand) => {
      await hand.press('Edit');
      await hand.fill({ Description: 'Other words' });
      await hand.answer('Save');
    },
  },
  {
    title: 'Add of an administrator',
    path: ATELIER,
    kinds: WRITERS,
    write: /^POST \/api\/users\/admins\/apps\/atelier$/,
    act: async (hand) => {
      await hand.press('Add');
      await hand.page.getByRole('combobox', { name: 'E-mail address' }).fill('dan@example.com');
      await hand.page.keyboard.press('Escape');
      await hand.answer('Review', 'Apply');
    },
  },
  {
    title: 'Remove of an administrator',
    path: ATELIER,
    kinds: WRITERS,
    write: /^DELETE \/api\/users\/admins\/apps\/atelier\/eva/,
    act: async (hand) => {
      await hand.press('Remove eva@client.example');
      await hand.answer('Remove eva@client.example');
    },
  },
  {
    title: 'New role',
    path: `${ATELIER}/matrix`,
    kinds: WRITERS,
    write: /^POST \/api\/applications\/atelier\/roles$/,
    act: async (hand) => {
      await hand.press('New role');
      await hand.fill({ Code: 'helper' });
      await hand.answer('Create');
    },
  },
  {
    title: 'Add people to a role',
    path: `${ATELIER}/matrix/guest`,
    kinds: WRITERS,
    write: /^POST \/api\/applications\/atelier\/roles\/\d+\/users$/,
    act: async (hand) => {
      await hand.press('Add people');
      await hand.page.getByRole('textbox', { name: 'E-mail address' }).fill('new@example.com');
      await hand.answer('Review', 'Apply');
    },
  },
  {
    title: 'Delete role',
    path: `${ATELIER}/matrix/spare-role`,
    kinds: WRITERS,
    write: /^DELETE \/api\/applications\/atelier\/roles\/\d+$/,
    act: async (hand) => {
      await hand.press('Delete role');
      await hand.answer('Delete role');
    },
  },
  {
    title: 'New permission',
    path: `${ATELIER}/permissions`,
    kinds: WRITERS,
    write: /^POST \/api\/applications\/atelier\/permissions$/,
    act: async (hand) => {
      await hand.press('New permission');
      await hand.fill({ Code: 'project.rename' });
      await hand.answer('Create');
    },
  },
  {
    title: 'Delete permission',
    path: `${ATELIER}/permissions/spare.permission`,
    kinds: WRITERS,
    write: /^DELETE \/api\/applications\/atelier\/permissions\/\d+$/,
    act: async (hand) => {
      await hand.press('Delete permission');
      await hand.answer('Delete permission');
    },
  },
  {
    title: 'New entity',
    path: `${ATELIER}/records/entities`,
    kinds: WRITERS,
    write: /^POST \/api\/applications\/atelier\/entities$/,
    act: async (hand) => {
      await hand.press('New entity');
      await hand.fill({ Code: 'invoice', Name: 'Invoice' });
      await hand.answer('Save');
    },
  },
  {
    title: 'Delete of an entity',
    path: `${ATELIER}/records/entities`,
    kinds: WRITERS,
    write: /^DELETE \/api\/applications\/atelier\/entities\/\w+$/,
    act: async (hand) => {
      await hand.press('Delete the entity spare');
      await hand.answer('Delete');
    },
  },
  {
    title: 'New type',
    path: `${ATELIER}/messages`,
    kinds: WRITERS,
    write: /^POST \/api\/applications\/atelier\/notification-types$/,
    act: async (hand) => {
      await hand.press('New type');
      await hand.fill({ Code: 'made', Name: 'Made' });
      await hand.answer('Save');
    },
  },
];

const people: readonly Use[] = [
  {
    title: 'Add override',
    path: '/people/dan%40example.com',
    kinds: WRITERS,
    write: /^PUT \/api\/users\/[^/]+\/apps\/atelier\/resources\/project\/77\/permissions$/,
    act: async (hand) => {
      await hand.press('Add override');
      await hand.page.getByRole('dialog').getByLabel('Type').selectOption('project');
      await hand.page.getByRole('dialog').getByLabel('Project number').fill('77');
      await hand.page.getByRole('dialog').getByLabel('project.archive').selectOption('allowed');
      await hand.answer('Review', 'Apply');
    },
  },
  {
    title: 'Change roles',
    path: '/people/dan%40example.com',
    kinds: WRITERS,
    write: /^PUT \/api\/users\/[^/]+\/apps\/atelier\/roles$/,
    act: async (hand) => {
      await hand.press('Change roles');
      await hand.check('guest');
      await hand.answer('Review', 'Apply');
    },
  },
  {
    title: 'Make application admin',
    path: '/people/ben%40example.com/profile',
    kinds: WRITERS,
    write: /^POST \/api\/users\/admins\/apps\/atelier$/,
    act: async (hand) => {
      await hand.press('Make application admin');
      await hand.answer('Apply');
    },
  },
  {
    title: 'Block',
    path: '/people/spare%40example.com',
    kinds: ROOT,
    write: /^\w+ \/api\/users\/[^/]+\/\w+$/,
    act: async (hand) => {
      await hand.press('Block');
      await hand.answer('Block');
    },
  },
  {
    title: 'Make SuperAdmin',
    path: '/people/spare%40example.com/profile',
    kinds: ROOT,
    write: /^POST \/api\/users\/admins\/super$/,
    act: async (hand) => {
      await hand.press('Make SuperAdmin');
      await hand.answer('Apply');
    },
  },
  {
    title: 'Delete of overrides',
    path: `${ATELIER}/records?email=eva%40client.example`,
    kinds: WRITERS,
    write: /^POST \/api\/applications\/atelier\/overrides\/delete$/,
    act: async (hand) => {
      await hand.page.getByRole('checkbox').first().check();
      await hand.page.getByRole('button', { name: 'Delete' }).click();
      await hand.page
        .getByRole('dialog')
        .getByRole('button', { name: /^(Apply|Delete)$/ })
        .click();
    },
  },
];

const service: readonly Use[] = [
  {
    title: 'Send one to me',
    path: '/notifications/send',
    kinds: WRITERS,
    write: /^POST \/api\/applications\/atelier\/notifications$/,
    act: async (hand) => {
      await hand.fill({ Subject: 'Hello' });
      await hand.press('Send one to me');
    },
  },
  {
    title: 'New brand',
    path: '/brands',
    kinds: ROOT,
    write: /^POST \/api\/admin\/brands$/,
    act: async (hand) => {
      await hand.press('New brand');
      await hand.page.getByRole('dialog').getByLabel('Name').fill('Pale');
      await hand.page.getByRole('dialog').getByLabel('Code').fill('pale');
      await hand.page.keyboard.press('Enter');
    },
  },
  {
    title: 'Save of a brand',
    path: '/brands/default',
    kinds: ROOT,
    write: /^PUT \/api\/admin\/brands\/\d+$/,
    act: async (hand) => {
      await hand.fill({ Footer: 'Other words' });
      await hand.press('Save');
    },
  },
  {
    title: 'Add language',
    path: '/settings/languages',
    kinds: ROOT,
    write: /^POST \/api\/languages$/,
    act: async (hand) => {
      await hand.press('Add language');
      await hand.fill({ Code: 'pt-br', 'Own name': 'Português', Name: 'Portuguese' });
      await hand.answer('Save');
    },
  },
  {
    title: 'Delete of a language',
    path: '/settings/languages',
    kinds: ROOT,
    write: /^DELETE \/api\/languages\/\w+$/,
    act: async (hand) => {
      await hand.press('Delete: lv');
      await hand.answer('Delete');
    },
  },
];

export const USES: readonly Use[] = [...definitions, ...people, ...service];
