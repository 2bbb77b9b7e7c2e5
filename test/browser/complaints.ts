import type { BrowserContext, Page } from 'playwright-core';

/** A page, and everything that went wrong in it: errors, violations of its policy, requests to other origins. */
export interface Watched {
  readonly page: Page;
  readonly complaints: string[];
}

// What runs in a page is text: the types of this project are not those of a browser.
const REPORT = `addEventListener('securitypolicyviolation', (event) =>
  console.error('violation: ' + event.effectiveDirective + ' ' + event.blockedURI + ' ' + event.sample))`;

/** Opens a page that may load from `origins` alone. */
export async function watch(context: BrowserContext, url: string, origins: readonly string[]): Promise<Watched> {
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (protocol.startsWith('http') && !origins.includes(origin)) complaints.push(`request to ${request.url()}`);
  });
  await page.addInitScript(REPORT);
  await page.goto(url);
  return { page, complaints };
}
