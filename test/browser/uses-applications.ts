/** Writes in the place of applications. */

import { ROOT, WRITERS } from './rights-table.ts';
import type { Use } from './rights-uses.ts';

const ATELIER = '/applications/atelier';
export const IN_APPLICATIONS: readonly Use[] = [
  {
    title: 'New application',
    path: '/applications',
    control: 'button New application',
    kinds: ROOT,
    write: /^POST \/api\/applications$/,
    act: async (hand) => {
      await hand.press('New application');
      await hand.fill({ Code: 'made', Name: 'Made' });
      await hand.enter();
    },
  },
  {
    title: 'Paste a manifest',
    path: '/applications',
    control: 'button Paste a manifest',
    kinds: ROOT,
    write: /^POST \/api\/manifests\/apply$/,
    act: async (hand) => {
      await hand.press('Paste a manifest');
      await hand.page.getByRole('textbox', { name: 'Manifest' }).fill('application: {code: pasted, name: Pasted}');
      await hand.answer('Review', 'Save');
    },
  },
  {
    title: 'Removal of an application',
    path: '/applications/spare',
    control: 'button Remove',
    kinds: ROOT,
    write: /^DELETE \/api\/applications\/spare$/,
    act: async (hand) => {
      await hand.press('Remove');
      await hand.fill({ 'Type spare to confirm': 'spare' });
      await hand.answer('See what it takes away', 'Remove the application');
    },
  },
  {
    title: 'Edit of an application',
    path: ATELIER,
    control: 'button Edit',
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
    control: 'button Add',
    kinds: WRITERS,
    write: /^POST \/api\/users\/admins\/apps\/atelier$/,
    act: async (hand) => {
      await hand.press('Add');
      await hand.page.getByRole('combobox', { name: 'E-mail address' }).fill('dan@example.com');
      await hand.page.keyboard.press('Escape');
      await hand.answer('Review', 'Save');
    },
  },
  {
    title: 'Removal of an administrator',
    path: ATELIER,
    control: 'button Remove eva@client.example',
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
    control: 'button New role',
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
    control: 'button Add people',
    kinds: WRITERS,
    write: /^POST \/api\/applications\/atelier\/roles\/\d+\/users$/,
    act: async (hand) => {
      await hand.press('Add people');
      await hand.page.getByRole('textbox', { name: 'E-mail address' }).fill('new@example.com');
      await hand.answer('Review', 'Save');
    },
  },
  {
    title: 'Remove role',
    path: `${ATELIER}/matrix/spare-role`,
    control: 'button Remove role',
    kinds: WRITERS,
    write: /^DELETE \/api\/applications\/atelier\/roles\/\d+$/,
    act: async (hand) => {
      await hand.press('Remove role');
      await hand.answer('Remove role');
    },
  },
  {
    title: 'New permission',
    path: `${ATELIER}/permissions`,
    control: 'button New permission',
    kinds: WRITERS,
    write: /^POST \/api\/applications\/atelier\/permissions$/,
    act: async (hand) => {
      await hand.press('New permission');
      await hand.fill({ Code: 'project.rename' });
      await hand.answer('Create');
    },
  },
  {
    title: 'Remove permission',
    path: `${ATELIER}/permissions/spare.permission`,
    control: 'button Remove permission',
    kinds: WRITERS,
    write: /^DELETE \/api\/applications\/atelier\/permissions\/\d+$/,
    act: async (hand) => {
      await hand.press('Remove permission');
      await hand.answer('Remove permission');
    },
  },
  {
    title: 'New entity',
    path: `${ATELIER}/records/entities`,
    control: 'button New entity',
    kinds: WRITERS,
    write: /^POST \/api\/applications\/atelier\/entities$/,
    act: async (hand) => {
      await hand.press('New entity');
      await hand.fill({ Name: 'Invoice' });
      await hand.answer('Create');
    },
  },
  {
    title: 'Removal of an entity',
    path: `${ATELIER}/records/entities`,
    control: 'button Remove the entity spare',
    kinds: WRITERS,
    write: /^DELETE \/api\/applications\/atelier\/entities\/\w+$/,
    act: async (hand) => {
      await hand.press('Remove the entity spare');
      await hand.answer('Remove');
    },
  },
  {
    title: 'New type',
    path: `${ATELIER}/messages`,
    control: 'button New type',
    kinds: WRITERS,
    write: /^POST \/api\/applications\/atelier\/notification-types$/,
    act: async (hand) => {
      await hand.press('New type');
      await hand.fill({ Name: 'Made' });
      await hand.answer('Create');
    },
  },
  {
    title: 'Edit of a role',
    path: `${ATELIER}/matrix/guest`,
    control: 'button Edit',
    kinds: WRITERS,
    write: /^PUT \/api\/applications\/atelier\/roles\/\d+$/,
    act: async (hand) => {
      await hand.press('Edit');
      await hand.fill({ Description: 'Other words' });
      await hand.answer('Save');
    },
  },
  {
    title: 'Remove people from a role',
    path: `${ATELIER}/matrix/guest`,
    control: 'checkbox new@example.com',
    kinds: WRITERS,
    write: /^POST \/api\/applications\/atelier\/roles\/\d+\/users$/,
    act: async (hand) => {
      await hand.check('new@example.com');
      await hand.press('Remove 1 person');
      await hand.answer('Remove 1 person');
    },
  },
  {
    title: 'Save of the matrix',
    path: `${ATELIER}/matrix`,
    control: 'button view V',
    kinds: WRITERS,
    write: /^PUT \/api\/applications\/atelier\/matrix$/,
    act: async (hand) => {
      await hand.page.getByRole('gridcell').nth(1).click();
      await hand.page.keyboard.press('v');
      await hand.press('Review');
      await hand.answer('Save');
    },
  },
  {
    title: 'Edit of a permission',
    path: `${ATELIER}/permissions/project.access`,
    control: 'button Edit',
    kinds: WRITERS,
    write: /^PUT \/api\/applications\/atelier\/permissions\/\d+$/,
    act: async (hand) => {
      await hand.press('Edit');
      await hand.fill({ Description: 'Other words' });
      await hand.answer('Save');
    },
  },
  {
    title: 'Edit of an entity',
    path: `${ATELIER}/records/entities`,
    control: 'button Edit project',
    kinds: WRITERS,
    write: /^PUT \/api\/applications\/atelier\/entities\/\w+$/,
    act: async (hand) => {
      await hand.press('Edit project');
      await hand.fill({ Description: 'Other words' });
      await hand.answer('Save');
    },
  },
  {
    title: 'Edit of a type',
    path: `${ATELIER}/messages`,
    control: 'button Edit project-ready',
    kinds: WRITERS,
    write: /^PUT \/api\/applications\/atelier\/notification-types\/\w+$/,
    act: async (hand) => {
      await hand.press('Edit project-ready');
      await hand.fill({ Description: 'Other words' });
      await hand.answer('Save');
    },
  },
  {
    title: 'Removal of a type',
    path: `${ATELIER}/messages`,
    control: 'button Remove the type made',
    kinds: WRITERS,
    write: /^DELETE \/api\/applications\/atelier\/notification-types\/\w+$/,
    act: async (hand) => {
      await hand.press('Remove the type made');
      await hand.answer('Remove');
    },
  },
  {
    title: 'New template',
    path: `${ATELIER}/messages`,
    control: 'button New template: project-ready',
    kinds: WRITERS,
    write: /^POST \/api\/applications\/atelier\/templates$/,
    act: async (hand) => {
      await hand.press('New template: project-ready');
      await hand.page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
      await hand.fill({ Subject: 'Ready' });
      await hand.press('Save');
    },
  },
  {
    title: 'Save of a template',
    path: `${ATELIER}/messages/project-ready/default/en`,
    control: 'button Save',
    kinds: WRITERS,
    write: /^PUT \/api\/applications\/atelier\/templates\/\w+$/,
    act: async (hand) => {
      await hand.fill({ Subject: 'Ready now' });
      await hand.press('Save');
    },
  },
  {
    title: 'Removal of a template',
    path: `${ATELIER}/messages/project-ready/default/en`,
    control: 'button Remove',
    kinds: WRITERS,
    write: /^DELETE \/api\/applications\/atelier\/templates\/\w+$/,
    act: async (hand) => {
      await hand.press('Remove');
      await hand.answer('Remove');
    },
  },
  {
    title: 'Save of a manifest',
    path: `${ATELIER}/manifest`,
    control: 'button Save',
    kinds: WRITERS,
    write: /^POST \/api\/applications\/atelier\/manifest$/,
    act: async (hand) => {
      await hand.page.getByRole('textbox', { name: 'Manifest as YAML' }).click();
      await hand.page.keyboard.press('ControlOrMeta+a');
      await hand.page.keyboard.insertText(
        'application: {code: atelier, name: Atelier}\nroles: [{code: from-manifest}]',
      );
      await hand.press('Save');
    },
  },
  {
    title: 'Add people to an application',
    path: `${ATELIER}/people`,
    control: 'button Add people',
    kinds: WRITERS,
    write: /^POST \/api\/applications\/atelier\/manifest$/,
    act: async (hand) => {
      await hand.press('Add people');
      await hand.fill({ 'E-mail addresses': 'many@example.com' });
      await hand.check('guest');
      await hand.answer('Review', 'Save');
    },
  },
  {
    title: 'Roles of a person in an application',
    path: `${ATELIER}/people`,
    control: 'button Roles of many@example.com',
    kinds: WRITERS,
    write: /^PUT \/api\/users\/[^/]+\/apps\/atelier\/roles$/,
    act: async (hand) => {
      await hand.press('Roles of many@example.com');
      await hand.check('designer');
      await hand.answer('Review', 'Save');
    },
  },
  {
    title: 'Take a role away',
    path: `${ATELIER}/people?role=designer`,
    control: 'checkbox many@example.com',
    kinds: WRITERS,
    write: /^POST \/api\/applications\/atelier\/roles\/\d+\/users$/,
    act: async (hand) => {
      await hand.check('many@example.com');
      await hand.press('Take designer away');
      await hand.answer('Save');
    },
  },
  {
    title: 'New override',
    path: `${ATELIER}/records`,
    control: 'button New override',
    kinds: WRITERS,
    write: /^PUT \/api\/users\/[^/]+\/apps\/atelier\/resources\/project\/78\/permissions$/,
    act: async (hand) => {
      await hand.press('New override');
      const dialog = hand.page.getByRole('dialog');
      await dialog.getByRole('combobox', { name: 'Person' }).fill('many@example.com');
      await dialog.getByLabel('Type').selectOption('project');
      await dialog.getByLabel('Project number').fill('78');
      await dialog.getByLabel('project.archive').selectOption('allowed');
      await hand.answer('Review', 'Save');
    },
  },
];
