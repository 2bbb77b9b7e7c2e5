import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import type { RunningUsher } from '../support/usher.ts';

/** The five kinds of people who open the panel. The last holds a role of the demonstration, and administers nothing. */
export const KINDS = {
  superadmin: 'admin@example.com',
  appAdmin: 'nora@example.com',
  edit: 'writes@example.com',
  view: 'looks@example.com',
  nobody: 'clara@example.com',
} as const;
export type Kind = keyof typeof KINDS;

/** What the browser itself says when it follows changes for somebody who administers nothing. */
export const REFUSED_STREAM = /status of 403/;

const PANEL_PEOPLE = `
application: { code: auth, name: Administration }
assignments:
  - { email: ${KINDS.edit}, roles: [application_manager] }
  - { email: ${KINDS.view}, roles: [application_manager] }
overrides:
  - { email: ${KINDS.edit}, resourceType: application, resourceId: atelier, permission: applications.manage, granted: true, accessLevel: edit }
  - { email: ${KINDS.view}, resourceType: application, resourceId: atelier, permission: applications.manage, granted: true, accessLevel: view }
`;

/** Applies the demonstration, and makes the five kinds of people in it. */
export async function makeKinds(usher: RunningUsher): Promise<void> {
  const { manifests } = usher.app;
  await manifests.apply(await readFile('examples/demo.yaml', 'utf8'), { actor: 'system' });
  await manifests.apply(PANEL_PEOPLE, { actor: 'system' });
}

/** The names of the buttons that can be seen in the page's content, in order. */
export async function buttonsOf(page: Page): Promise<string[]> {
  return (await page.locator('main button:visible').allInnerTexts()).map((text) => text.trim());
}

/** Counts requests to the API from now on; the stream of changes is one of them. */
export function countRequests(page: Page): () => number {
  let count = 0;
  page.on('request', (request) => {
    if (/\/api\/|config\.json/.test(request.url())) count += 1;
  });
  return () => count;
}
