/** Writes of notifications, brands and settings. */

import { EVERYBODY, ROOT, WRITERS } from './rights-table.ts';
import type { Use } from './rights-uses.ts';

export const OF_THE_SERVICE: readonly Use[] = [
  {
    title: 'Send one to me',
    path: '/notifications/send',
    control: 'button Send one to me',
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
    control: 'button New brand',
    kinds: ROOT,
    write: /^POST \/api\/admin\/brands$/,
    act: async (hand) => {
      await hand.press('New brand');
      await hand.page.getByRole('dialog').getByLabel('Name').fill('Pale');
      await hand.page.getByRole('dialog').getByLabel('Code').fill('pale');
      await hand.enter();
    },
  },
  {
    title: 'Save of a brand',
    path: '/brands/default',
    control: 'button Save',
    kinds: ROOT,
    write: /^PUT \/api\/admin\/brands\/\d+$/,
    act: async (hand) => {
      await hand.fill({ Footer: 'Other words' });
      await hand.press('Save');
    },
  },
  ...(['Logo', 'Icon'] as const).map(
    (image): Use => ({
      title: `${image} from a file`,
      path: '/brands/default',
      control: `button ${image} from a file *`,
      kinds: ROOT,
      write: new RegExp(`^PUT /api/admin/brands/\\d+/${image.toLowerCase()}$`),
      act: async (hand) => {
        const drawing = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle cx="4" cy="4" r="4"/></svg>';
        const file = { name: 'a.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(drawing) };
        await hand.page.getByLabel(new RegExp(`^${image} from a file`)).setInputFiles(file);
      },
    }),
  ),
  {
    title: 'New language',
    path: '/settings/languages',
    control: 'button New language',
    kinds: ROOT,
    write: /^POST \/api\/languages$/,
    act: async (hand) => {
      await hand.press('New language');
      await hand.fill({ Code: 'sr-latn', 'Own name': 'Srpski', Name: 'Serbian' });
      await hand.answer('Save');
    },
  },
  {
    title: 'Removal of a language',
    path: '/settings/languages',
    control: 'button Remove: lv',
    kinds: ROOT,
    write: /^DELETE \/api\/languages\/\w+$/,
    act: async (hand) => {
      await hand.press('Remove: lv');
      await hand.answer('Remove');
    },
  },
  {
    title: 'Removal of a brand',
    path: '/brands/pale',
    control: 'button Remove the brand',
    kinds: ROOT,
    write: /^DELETE \/api\/admin\/brands\/\d+$/,
    act: async (hand) => {
      await hand.press('Remove the brand');
      await hand.answer('Remove');
    },
  },
  {
    title: 'Edit of a language',
    path: '/settings/languages',
    control: 'button Edit: cs',
    kinds: ROOT,
    write: /^PUT \/api\/languages\/cs$/,
    act: async (hand) => {
      await hand.press('Edit: cs');
      await hand.page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('Czech again');
      await hand.answer('Save');
    },
  },
  {
    title: 'Add SuperAdmin',
    path: '/settings/superadmins',
    control: 'button Add SuperAdmin',
    kinds: ROOT,
    write: /^POST \/api\/users\/admins\/super$/,
    act: async (hand) => {
      await hand.press('Add SuperAdmin');
      await hand.page.getByRole('dialog').getByRole('combobox').fill('root@example.com');
      await hand.answer('Review', 'Save');
    },
  },
  {
    title: 'Save of one’s own profile',
    path: '/settings',
    control: 'button Save',
    kinds: EVERYBODY,
    write: /^PUT \/api\/profile\/me$/,
    act: async (hand) => {
      await hand.fill({ 'First name': 'Somebody' });
      await hand.press('Save');
    },
  },
];
