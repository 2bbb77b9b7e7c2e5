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

const press = (keys: string) => (page: Page) => page.keyboard.press(keys);
const pressButton = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name }).first().click();

/** A changed cell of the matrix, reviewed with who gains and who loses. */
async function reviewMatrix(page: Page): Promise<void> {
  await page.getByRole('gridcell').nth(3).click();
  await page.keyboard.press('Space');
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
  { name: 'types', path: `${ATELIER}/types` },
  { name: 'manifest', path: `${ATELIER}/manifest` },
  { name: 'history', path: `${ATELIER}/history` },
  { name: 'people', path: '/people' },
  { name: 'person', path: CLARA },
  { name: 'change-roles', path: CLARA, act: pressButton(/Change roles|Změnit role/) },
  { name: 'ask', path: `/ask?${QUESTION}` },
  { name: 'playground', path: '/playground' },
  { name: 'activity', path: '/activity' },
  { name: 'notifications', path: '/notifications' },
  { name: 'send', path: '/notifications/send' },
  { name: 'inbox', path: '/notifications/inbox' },
  { name: 'preferences', path: '/notifications/preferences' },
  { name: 'brands', path: '/brands' },
  { name: 'sign-in-place', path: '/sign-in' },
  { name: 'settings', path: '/settings' },
  { name: 'mailbox', path: '/mailbox' },
  { name: 'mail', path: '/mailbox', act: openFirstMail },
  { name: 'palette', path: '/', act: press('Control+k') },
  { name: 'keys', path: '/', act: press('?') },
  { name: 'inspect', path: '/people', act: press('~') },
  { name: 'unknown', path: '/nowhere' },
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
