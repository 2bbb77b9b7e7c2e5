import { describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { usePanel } from './panel-fixture.ts';
import { administer, makeDemo } from './panel-world.ts';

const ADMIN = 'admin@example.com';
const ATELIER = '/applications/atelier';
const REST = '/api/applications/atelier';

const panels = usePanel('pglite', async (usher) => {
  await makeDemo(usher);
  const template = { type: 'project-ready', locale: 'en', subject: 'Ready', html: '<p>Ready.</p>' };
  await administer(usher, `POST ${REST}/templates`, template);
});

type Fields = Readonly<Record<string, unknown>>;
interface Place {
  readonly path: string;
  /** The button that opens the form in a dialog; null where it stands on the page. */
  readonly opens: string | null;
  /** The field that both change: as the form and as the API call it. */
  readonly both: readonly [label: string, name: string];
  /** A field that only the other one changes. */
  readonly other: string | null;
  /** Where the record is read: in a list, by what it is found; or alone. */
  readonly read: string;
  readonly found?: Fields;
  /** Where it is written, below `read` or by the record itself. */
  readonly write: (record: Fields) => string;
}

const below = (read: string) => (record: Fields) => `PUT ${read}/${String(record.id)}`;
const PLACES: readonly (Place & { readonly what: string })[] = [
  {
    what: 'a permission',
    path: `${ATELIER}/permissions/project.access`,
    opens: 'Edit',
    both: ['Description', 'description'],
    other: 'groupName',
    read: `${REST}/permissions`,
    found: { code: 'project.access' },
    write: below(`${REST}/permissions`),
  },
  {
    what: 'a role',
    path: `${ATELIER}/matrix/guest`,
    opens: 'Edit',
    both: ['Description', 'description'],
    other: null,
    read: `${REST}/roles`,
    found: { code: 'guest' },
    write: below(`${REST}/roles`),
  },
  {
    what: 'a type',
    path: `${ATELIER}/messages`,
    opens: 'Edit project-ready',
    both: ['Description', 'description'],
    other: 'name',
    read: `${REST}/notification-types`,
    found: { code: 'project-ready' },
    write: below(`${REST}/notification-types`),
  },
  {
    what: 'a template',
    path: `${ATELIER}/messages/project-ready/default/en`,
    opens: null,
    both: ['Subject', 'subject'],
    other: 'pushTitle',
    read: `${REST}/templates`,
    found: { type: 'project-ready' },
    write: below(`${REST}/templates`),
  },
  {
    what: 'an entity',
    path: `${ATELIER}/records/entities`,
    opens: 'Edit project',
    both: ['Name', 'name'],
    other: 'idLabel',
    read: `${REST}/entities`,
    found: { code: 'project' },
    write: below(`${REST}/entities`),
  },
  {
    what: 'a brand',
    path: '/brands/default',
    opens: null,
    both: ['Footer', 'footerText'],
    other: 'emailFromName',
    read: '/api/admin/brands',
    found: { slug: 'default' },
    write: below('/api/admin/brands'),
  },
  {
    what: 'a language',
    path: '/settings/languages',
    opens: 'Edit: cs',
    both: ['Name', 'name'],
    other: 'nativeName',
    read: '/api/languages',
    found: { code: 'cs' },
    write: () => 'PUT /api/languages/cs',
  },
  {
    what: 'a profile',
    path: '/settings',
    opens: null,
    both: ['First name', 'firstName'],
    other: 'lastName',
    read: '/api/profile/me',
    write: () => 'PUT /api/profile/me',
  },
];

async function recordOf({ read, found }: Place): Promise<Fields> {
  const data = (await administer(panels.usher, `GET ${read}`)) as Fields | readonly Fields[];
  const all = Array.isArray(data) ? (data as readonly Fields[]) : [data as Fields];
  const record = all.find((one) => Object.entries(found ?? {}).every(([name, value]) => one[name] === value));
  if (record === undefined) throw new Error(`${read} has no ${JSON.stringify(found)}`);
  return record;
}

/** Presses the button that saves, in the dialog where there is one. */
async function save(page: Page, inDialog: boolean): Promise<void> {
  const within = inDialog ? page.getByRole('dialog') : page.getByRole('main');
  await within.getByRole('button', { name: 'Save', exact: true }).click();
}

describe('two administrators at once', () => {
  test.each(PLACES)(
    'who saves $what last sees what the other saved, and takes nothing else from them',
    async (place) => {
      const { path, opens, both, other } = place;
      const [label, name] = both;
      const { page, go, complaints, close } = await panels.open({ as: ADMIN });
      await go(path);
      if (opens !== null)
        await page.getByRole('main').getByRole('button', { name: opens, exact: true }).first().click();
      const field = (opens === null ? page : page.getByRole('dialog')).getByLabel(label, { exact: true }).first();
      await field.fill('Mine');
      const theirs = { [name]: 'Theirs', ...(other === null ? {} : { [other]: 'Theirs, too' }) };
      await administer(panels.usher, place.write(await recordOf(place)), theirs);

      await save(page, opens !== null);
      const told = page.getByRole('alert').filter({ hasText: 'Somebody has changed the same' });
      await told.getByText('Theirs', { exact: true }).waitFor();
      expect(await field.inputValue()).toBe('Mine');
      expect(await recordOf(place)).toMatchObject(theirs);

      await save(page, opens !== null);
      await told.waitFor({ state: 'detached' });
      await page.getByRole('status').filter({ hasText: /saved/i }).first().waitFor();
      expect(await recordOf(place)).toMatchObject({ ...theirs, [name]: 'Mine' });
      expect(complaints).toEqual([]);
      await close();
    },
  );
});
