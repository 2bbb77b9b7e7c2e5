/** Writes about people. */

import type { Hand } from './hand.ts';
import { ROOT, WRITERS } from './rights-table.ts';
import type { Use } from './rights-uses.ts';

const ATELIER = '/applications/atelier';

/** Drafts one of the changes that would turn the answer. Those that give more may have to be asked for. */
async function draft(hand: Hand, name: RegExp): Promise<void> {
  const ways = hand.page.getByRole('region', { name: 'What would change it?' });
  await ways
    .getByRole('button', { name: /^Draft/ })
    .first()
    .waitFor();
  const more = ways.getByRole('button', { name: /^Show/ });
  if (await more.isVisible()) await more.click();
  await ways.getByRole('button', { name }).first().click();
  await hand.answer('Save');
}

export const ABOUT_PEOPLE: readonly Use[] = [
  {
    title: 'New override',
    path: '/people/dan%40example.com',
    control: 'button New override',
    kinds: WRITERS,
    write: /^PUT \/api\/users\/[^/]+\/apps\/atelier\/resources\/project\/77\/permissions$/,
    act: async (hand) => {
      await hand.press('New override');
      await hand.page.getByRole('dialog').getByLabel('Type').selectOption('project');
      await hand.page.getByRole('dialog').getByLabel('Project number').fill('77');
      await hand.page.getByRole('dialog').getByLabel('project.archive').selectOption('allowed');
      await hand.answer('Review', 'Save');
    },
  },
  {
    title: 'Change roles',
    path: '/people/dan%40example.com',
    control: 'button Change roles',
    kinds: WRITERS,
    write: /^PUT \/api\/users\/[^/]+\/apps\/atelier\/roles$/,
    act: async (hand) => {
      await hand.press('Change roles');
      await hand.check('guest');
      await hand.answer('Review', 'Save');
    },
  },
  {
    title: 'Make application admin',
    path: '/people/ben%40example.com/profile',
    control: 'button Make application admin',
    kinds: WRITERS,
    write: /^POST \/api\/users\/admins\/apps\/atelier$/,
    act: async (hand) => {
      await hand.press('Make application admin');
      await hand.answer('Save');
    },
  },
  {
    title: 'Block',
    path: '/people/spare%40example.com',
    control: 'button Block',
    kinds: ROOT,
    write: /^PUT \/api\/users\/[^/]+\/active$/,
    act: async (hand) => {
      await hand.press('Block');
      await hand.answer('Block');
    },
  },
  {
    title: 'Make SuperAdmin',
    path: '/people/spare%40example.com/profile',
    control: 'button Make SuperAdmin',
    kinds: ROOT,
    write: /^POST \/api\/users\/admins\/super$/,
    act: async (hand) => {
      await hand.press('Make SuperAdmin');
      await hand.answer('Save');
    },
  },
  {
    title: 'Removal of overrides',
    path: `${ATELIER}/records?email=eva%40client.example`,
    control: 'checkbox eva@client.example',
    kinds: WRITERS,
    write: /^POST \/api\/applications\/atelier\/overrides\/delete$/,
    act: async (hand) => {
      await hand.page.getByRole('checkbox').first().check();
      await hand.page.getByRole('button', { name: 'Remove' }).click();
      await hand.answer('Remove');
    },
  },
  {
    title: 'Change of an override',
    path: '/people/many%40example.com',
    control: 'button Edit project.archive on project:78',
    kinds: WRITERS,
    write: /^PUT \/api\/users\/[^/]+\/apps\/atelier\/resources\/project\/78\/permissions$/,
    act: async (hand) => {
      await hand.click(hand.page.getByRole('button', { name: /^Edit project.archive/ }));
      await hand.page.getByRole('dialog').getByLabel('project.archive', { exact: true }).selectOption('denied');
      await hand.answer('Review', 'Save');
    },
  },
  {
    title: 'Preferences of a person',
    path: '/people/ben%40example.com/profile',
    control: 'checkbox Help in the application',
    kinds: WRITERS,
    write: /^PUT \/api\/users\/[^/]+\/apps\/atelier\/preferences$/,
    act: async (hand) => {
      await hand.click(hand.page.getByRole('checkbox', { name: 'Help in the application' }));
    },
  },
  {
    title: 'Name the account',
    path: '/people/spare%40example.com/profile',
    control: 'button Name the account',
    kinds: ROOT,
    write: /^PUT \/api\/users\/[^/]+\/account$/,
    act: async (hand) => {
      await hand.press('Name the account');
      await hand.page.getByRole('dialog').getByLabel('Account (sub)').fill('285181292935381370');
      await hand.answer('Name the account');
    },
  },
  {
    title: 'Forget the account',
    path: '/people/spare%40example.com/profile',
    control: 'button Forget the account',
    kinds: ROOT,
    write: /^DELETE \/api\/users\/[^/]+\/subject$/,
    act: async (hand) => {
      await hand.press('Forget the account');
      await hand.answer('Forget the account');
    },
  },
  {
    title: 'Draft of a level',
    path: `/ask?app=atelier&email=many%40example.com&permission=report.export`,
    control: 'button Draft Let the role guest give',
    kinds: WRITERS,
    write: /^PUT \/api\/applications\/atelier\/matrix$/,
    act: async (hand) => {
      await draft(hand, /^Draft Let the role guest/);
    },
  },
  {
    title: 'Draft of a role',
    path: `/ask?app=atelier&email=many%40example.com&permission=invoice.approve`,
    control: 'button Draft Give the role director.',
    kinds: WRITERS,
    write: /^POST \/api\/users\/[^/]+\/apps\/atelier\/roles$/,
    act: async (hand) => {
      await draft(hand, /^Draft Give the role director/);
    },
  },
  {
    title: 'Draft of an administrator',
    path: `/ask?app=atelier&email=eva%40client.example&permission=workspace.settings`,
    control: 'button Draft Make the person an administrator of atelier.',
    kinds: WRITERS,
    write: /^POST \/api\/users\/admins\/apps\/atelier$/,
    act: async (hand) => {
      await draft(hand, /^Draft Make the person an administrator/);
    },
  },
  {
    title: 'Draft of a SuperAdmin',
    path: `/ask?app=atelier&email=new%40example.com&permission=workspace.settings`,
    control: 'button Draft Make the person a SuperAdmin.',
    kinds: ROOT,
    write: /^POST \/api\/users\/admins\/super$/,
    act: async (hand) => {
      await draft(hand, /^Draft Make the person a SuperAdmin/);
    },
  },
  {
    title: 'Edit of an override',
    path: `${ATELIER}/records?email=many%40example.com`,
    control: 'button Edit many@example.com',
    kinds: WRITERS,
    write: /^PUT \/api\/users\/[^/]+\/apps\/atelier\/resources\/project\/78\/permissions$/,
    act: async (hand) => {
      await hand.click(hand.page.getByRole('button', { name: /^Edit many@example.com/ }));
      await hand.page.getByRole('dialog').getByLabel('project.archive', { exact: true }).selectOption('allowed');
      await hand.answer('Review', 'Save');
    },
  },
];
