/** The views of the panel in a service with the demonstration, for the pictures that screenshots.ts makes. */

import type { Page } from 'playwright-core';

export interface Screen {
  /** The name of the picture's file. */
  readonly name: string;
  /** Below `/panel`. */
  readonly path: string;
  /** What is done before the picture is taken: a dialog is opened, a cell is changed. */
  readonly act?: (page: Page) => Promise<void>;
  /** Taken without anybody signed in. */
  readonly signedOut?: boolean;
}

const QUESTION = 'app=atelier&email=clara%40example.com&permission=project.access&resourceType=project&resourceId=1042';
const CLARA = '/people/clara%40example.com';
const ATELIER = '/applications/atelier';

/** Presses keys that open a dialog. */
const press = (keys: string) => async (page: Page) => {
  await page.keyboard.press(keys);
  await page.getByRole('dialog').waitFor();
};
/** Presses a button that opens a dialog. */
const pressButton = (name: string | RegExp) => async (page: Page) => {
  await page.getByRole('main').getByRole('button', { name }).first().click();
  await page.getByRole('dialog').waitFor();
};

/** A changed cell of the matrix, reviewed with who gains and who loses. */
async function reviewMatrix(page: Page): Promise<void> {
  // A narrow window has a list of one role instead of the grid.
  const cell = page.getByRole('gridcell').nth(3);
  if (await cell.isVisible()) {
    await cell.click();
    await page.keyboard.press('Space');
  } else await page.getByLabel('invoice.approve, accountant').selectOption('allowed');
  await page
    .getByRole('button', { name: /Review|Zkontrolovat/ })
    .first()
    .click();
  await page.getByRole('dialog').waitFor();
}

async function openFirstMail(page: Page): Promise<void> {
  await page.getByRole('table').getByRole('link').first().click();
  await page.frameLocator('iframe').locator('a').first().waitFor();
}

export const SCREENS: readonly Screen[] = [
  { name: 'home', path: '/' },
  { name: 'applications', path: '/applications' },
  { name: 'overview', path: ATELIER },
  { name: 'matrix', path: `${ATELIER}/matrix` },
  { name: 'matrix-review', path: `${ATELIER}/matrix`, act: reviewMatrix },
  { name: 'permissions', path: `${ATELIER}/permissions` },
  { name: 'application-people', path: `${ATELIER}/people` },
  { name: 'records', path: `${ATELIER}/records` },
  { name: 'role', path: `${ATELIER}/matrix/designer` },
  { name: 'permission', path: `${ATELIER}/permissions/project.access` },
  { name: 'new-permission', path: `${ATELIER}/permissions`, act: pressButton(/New permission|Nové oprávnění/) },
  { name: 'add-people', path: `${ATELIER}/people`, act: pressButton(/Add people|Přidat lidi/) },
  { name: 'entities', path: `${ATELIER}/records/entities` },
  { name: 'new-override', path: `${ATELIER}/records`, act: pressButton(/New override|Nová výjimka/) },
  { name: 'types', path: `${ATELIER}/messages` },
  { name: 'new-type', path: `${ATELIER}/messages`, act: pressButton(/New type|Nový typ/) },
  { name: 'template', path: `${ATELIER}/messages/project-ready/default/en` },
  { name: 'manifest', path: `${ATELIER}/manifest` },
  { name: 'history', path: `${ATELIER}/history` },
  { name: 'people', path: '/people' },
  { name: 'person', path: CLARA },
  { name: 'change-roles', path: CLARA, act: pressButton(/Change roles|Změnit role/) },
  { name: 'person-profile', path: `${CLARA}/profile` },
  { name: 'person-messages', path: `${CLARA}/messages` },
  { name: 'ask', path: `/ask?${QUESTION}` },
  { name: 'ask-who', path: `/ask/who?${QUESTION}` },
  { name: 'ask-what', path: `/ask/what?${QUESTION}` },
  { name: 'ask-since', path: `/ask/since?${QUESTION}` },
  { name: 'ask-assertions', path: `/ask/assertions?${QUESTION}` },
  { name: 'playground', path: '/playground' },
  { name: 'activity', path: '/activity' },
  { name: 'notifications', path: '/notifications' },
  { name: 'send', path: '/notifications/send' },
  { name: 'inbox', path: '/notifications/inbox' },
  { name: 'preferences', path: '/notifications/preferences' },
  { name: 'brands', path: '/brands' },
  { name: 'brand', path: '/brands/default' },
  { name: 'sign-in-place', path: '/sign-in' },
  { name: 'sign-in-events', path: '/sign-in/events' },
  { name: 'sign-in-mails', path: '/sign-in/mails' },
  { name: 'settings', path: '/settings' },
  { name: 'languages', path: '/settings/languages' },
  { name: 'superadmins', path: '/settings/superadmins' },
  { name: 'keys-of-services', path: '/settings/keys' },
  { name: 'configuration', path: '/settings/configuration' },
  { name: 'mailbox', path: '/mailbox' },
  { name: 'mail', path: '/mailbox', act: openFirstMail },
  { name: 'palette', path: '/', act: press('Control+k') },
  { name: 'keys', path: '/', act: press('?') },
  { name: 'inspect', path: '/people', act: press('~') },
  { name: 'unknown', path: '/nowhere' },
  { name: 'unknown-view', path: `${ATELIER}/nowhere` },
  { name: 'signed-out', path: '/', signedOut: true },
];

/** Those of README.md and docs/guides/panel.md. */
export const PICTURES: readonly (Screen & { readonly dark?: boolean; readonly width?: number })[] = [
  { name: 'home', path: '/' },
  { name: 'ask', path: `/ask?${QUESTION}` },
  { name: 'ask-dark', path: `/ask?${QUESTION}`, dark: true },
  { name: 'matrix', path: `${ATELIER}/matrix` },
  { name: 'person', path: CLARA },
  { name: 'manifest', path: `${ATELIER}/manifest` },
  { name: 'playground', path: '/playground' },
  { name: 'narrow', path: `${ATELIER}/matrix`, width: 390 },
];
