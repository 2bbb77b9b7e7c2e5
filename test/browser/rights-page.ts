import type { Page } from 'playwright-core';
import { settled } from './panel.ts';

/** Roles of what somebody can operate. Fields hold drafts: what sends them is a button. */
const OPERATED =
  /^- '?(button|switch|checkbox|radio|menuitem|menuitemcheckbox|menuitemradio|slider) "((?:[^"\\]|\\.)*)"/;

/** What can be operated on the page, as role and accessible name, from its accessibility tree. */
export async function controlsOf(page: Page): Promise<string[]> {
  const lines = (await page.locator('body').ariaSnapshot()).split('\n');
  const found = lines.flatMap((line) => {
    const [, role, name] = OPERATED.exec(line.trim()) ?? [];
    return role === undefined ? [] : [`${role} ${name}`];
  });
  return [...new Set(found)].sort();
}

/** Whether a control is one of a row of the table, where `*` stands for any text. */
export function isOf(row: string, control: string): boolean {
  const parts = row.split('*');
  const [first = '', last = ''] = [parts[0], parts.at(-1)];
  if (parts.length === 1) return row === control;
  if (!control.startsWith(first) || !control.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = control.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= control.length - last.length;
}

/** Goes to another address as a link does, without loading the panel again. */
export async function follow(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', ${JSON.stringify(`/panel${path}`)})`);
  await settled(page);
}
